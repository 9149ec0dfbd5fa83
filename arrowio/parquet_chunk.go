package arrowio

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/calve-data/calve/lake"
)

// weight is the size of the wanted columns of a row group, as stored and as
// decoded.
func (f *footer) weight(g int, want *arrow.Schema) (stored, decoded int64) {
	meta := f.meta.RowGroup(g)
	for _, field := range want.Fields() {
		at := f.find(field.Name)
		if at < 0 {
			continue
		}
		for _, leaf := range f.leaves[at] {
			if chunk, err := meta.ColumnChunk(leaf); err == nil {
				stored += chunk.TotalCompressedSize()
				decoded += chunk.TotalUncompressedSize()
			}
		}
	}
	return stored, decoded
}

// rowsPerBatch is batchRows, or fewer where rows are so long that it would take
// more than an eighth of the memory.
func rowsPerBatch(f *footer, g int, r lake.Request) int64 {
	rows := max(f.meta.RowGroup(g).NumRows(), 1)
	_, decoded := f.weight(g, r.Schema)
	perRow := decoded/rows + 1
	return min(max(r.Memory/8/perRow, 64), batchRows)
}

// isText reports whether a column of the file is text, however the program that
// wrote the file held it.
func (f *footer) isText(at int) bool {
	t := f.columns[at].Type
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	return t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING
}

var textDictionary = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String} //nolint:gochecknoglobals // a constant

// textType is how a text column is decoded: as the dictionary that it is, if it
// has one in row group g and the pages are not known to go on without it, as
// those of a writer do that filled its dictionary up.
func (f *footer) textType(g, at int) arrow.DataType {
	chunk, err := f.meta.RowGroup(g).ColumnChunk(f.leaves[at][0])
	if err != nil || !slices.ContainsFunc(chunk.Encodings(), isDictionary) || leavesDictionary(chunk.EncodingStats()) {
		return arrow.BinaryTypes.String
	}
	return textDictionary
}

func isDictionary(e parquet.Encoding) bool {
	return e == parquet.Encodings.RLEDict || e == parquet.Encodings.PlainDict
}

// The kinds of pages, whose names in Parquet's format the library keeps.
const (
	dataPage   = 0
	dataPageV2 = 3
)

func leavesDictionary(pages []metadata.PageEncodingStats) bool {
	return slices.ContainsFunc(pages, func(p metadata.PageEncodingStats) bool {
		return (p.PageType == dataPage || p.PageType == dataPageV2) && !isDictionary(p.Encoding)
	})
}
