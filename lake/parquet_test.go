package lake

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet/compress"
)

// TestNoEmptyRowGroup: a file that ends right after a row group has no empty one
// behind it, which would cost the file the statistics of every column.
func TestNoEmptyRowGroup(t *testing.T) {
	for name, typ := range map[string]arrow.DataType{
		"flat":   arrow.PrimitiveTypes.Int64,
		"nested": arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true, Metadata: fieldID("2")}),
	} {
		t.Run(name, func(t *testing.T) {
			sc := arrow.NewSchema([]arrow.Field{{Name: "v", Type: typ, Nullable: true, Metadata: fieldID("1")}}, nil)
			b := array.NewRecordBuilder(allocator, sc)
			for range 10 {
				b.Field(0).AppendEmptyValue()
			}
			rows := []arrow.RecordBatch{b.NewRecordBatch()}
			var out bytes.Buffer
			f, err := newParquetFile(&out, sc, codec{compress.Codecs.Zstd, 1})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := f.write(t.Context(), rows, 2); err != nil {
					t.Fatal(err)
				}
				if err := f.endRowGroup(); err != nil {
					t.Fatal(err)
				}
			}
			footer, err := f.close()
			if err != nil {
				t.Fatal(err)
			}
			if footer.NumRowGroups() != 2 || footer.GetNumRows() != 20 {
				t.Errorf("%d row groups of %d rows, want 2 of 20", footer.NumRowGroups(), footer.GetNumRows())
			}
		})
	}
}

func fieldID(id string) arrow.Metadata {
	return arrow.NewMetadata([]string{"PARQUET:field_id"}, []string{id})
}
