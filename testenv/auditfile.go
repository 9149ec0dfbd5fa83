package testenv

import (
	"context"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
)

// auditFile reads one file and holds it against its entry.
func auditFile(fs iceio.IO, schema *iceberg.Schema, spec iceberg.PartitionSpec, df iceberg.DataFile) error {
	f, err := fs.Open(df.FilePath())
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != df.FileSizeBytes() {
		_ = f.Close()
		return fmt.Errorf("has %d bytes, its entry says %d", info.Size(), df.FileSizeBytes())
	}
	reader, err := file.NewParquetReader(f)
	if err != nil {
		_ = f.Close()
		return err
	}
	defer func() { _ = reader.Close() }()
	if reader.NumRows() != df.Count() {
		return fmt.Errorf("has %d rows, its entry says %d", reader.NumRows(), df.Count())
	}
	for i := range reader.MetaData().Schema.NumColumns() {
		if c := reader.MetaData().Schema.Column(i); c.SchemaNode().FieldID() < 0 {
			return fmt.Errorf("column %s has no field id", c.Path())
		}
	}
	columns, err := readColumns(reader)
	if err != nil {
		return err
	}
	switch df.ContentType() {
	case iceberg.EntryContentPosDeletes:
		return needColumns(columns, iceberg.PositionalDeleteSchema.FieldIDs())
	case iceberg.EntryContentEqDeletes:
		return needColumns(columns, df.EqualityFieldIDs())
	}
	for id, column := range columns {
		if err := auditStats(schema, df, id, column); err != nil {
			return err
		}
	}
	return auditPartition(schema, spec, df, columns)
}

// readColumns reads a file's top-level columns by field id.
func readColumns(reader *file.Reader) (map[int]*arrow.Chunked, error) {
	rows, err := pqarrow.NewFileReader(reader, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	all, err := rows.ReadTable(context.Background()) //nolint:forbidigo // the file is at hand; nothing here waits
	if err != nil {
		return nil, err
	}
	columns := map[int]*arrow.Chunked{}
	for i, f := range all.Schema().Fields() {
		if id, err := strconv.Atoi(fieldID(f)); err == nil {
			columns[id] = all.Column(i).Data()
		}
	}
	return columns, nil
}

func fieldID(f arrow.Field) string {
	id, _ := f.Metadata.GetValue("PARQUET:field_id")
	return id
}

func needColumns(columns map[int]*arrow.Chunked, ids []int) error {
	for _, id := range ids {
		if columns[id] == nil {
			return fmt.Errorf("lacks the column of field id %d", id)
		}
	}
	return nil
}

// auditStats checks what an entry says of one column: counts, and bounds that
// contain every value.
func auditStats(schema *iceberg.Schema, df iceberg.DataFile, id int, column *arrow.Chunked) error {
	typ, ok := schema.FindTypeByID(id)
	if _, primitive := typ.(iceberg.PrimitiveType); !ok || !primitive {
		return nil
	}
	typ = asWritten(typ, column.DataType())
	if n, ok := df.ValueCounts()[id]; ok && n != int64(column.Len()) {
		return fmt.Errorf("field %d has %d values, its entry says %d", id, column.Len(), n)
	}
	if n, ok := df.NullValueCounts()[id]; ok && n != int64(column.NullN()) {
		return fmt.Errorf("field %d has %d nulls, its entry says %d", id, column.NullN(), n)
	}
	lower, lok := df.LowerBoundValues()[id]
	upper, uok := df.UpperBoundValues()[id]
	nans := int64(0)
	for lit := range literals(column, typ) {
		switch {
		case lit == nil:
		case isNaN(lit.Any()):
			nans++
		case lok && uok:
			if err := within(typ, lit, lower, upper); err != nil {
				return fmt.Errorf("field %d: %w", id, err)
			}
		}
	}
	if n, ok := df.NaNValueCounts()[id]; ok && n != nans {
		return fmt.Errorf("field %d has %d NaN, its entry says %d", id, nans, n)
	}
	return nil
}

// asWritten is a column's type when its file was written, if the column was
// widened since: the bounds of the file are of that type.
func asWritten(typ iceberg.Type, column arrow.DataType) iceberg.Type {
	switch typ.(type) {
	case iceberg.Int64Type:
		if column.ID() == arrow.INT32 {
			return iceberg.PrimitiveTypes.Int32
		}
	case iceberg.Float64Type:
		if column.ID() == arrow.FLOAT32 {
			return iceberg.PrimitiveTypes.Float32
		}
	}
	return typ
}

// auditPartition checks that each row belongs to the file's partition.
func auditPartition(schema *iceberg.Schema, spec iceberg.PartitionSpec, df iceberg.DataFile, columns map[int]*arrow.Chunked) error {
	tuple := df.Partition()
	for _, field := range spec.Fields() {
		want := valueText(tuple[field.FieldID])
		typ, ok := schema.FindTypeByID(field.SourceID())
		if !ok {
			continue // the column was dropped
		}
		column := columns[field.SourceID()]
		if column == nil {
			if want != valueText(nil) {
				return fmt.Errorf("is of partition %s=%s and lacks the column", field.Name, want)
			}
			continue
		}
		for lit := range literals(column, typ) {
			in := iceberg.Optional[iceberg.Literal]{Val: lit, Valid: lit != nil}
			got := valueText(nil)
			if out := field.Transform.Apply(in); out.Valid {
				got = valueText(out.Val.Any())
			}
			if got != want {
				return fmt.Errorf("is of partition %s=%s and holds a row of %s", field.Name, want, got)
			}
		}
	}
	return nil
}
