package lake

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// plainText writes out a dictionary of texts. The caller releases the result.
func plainText(d *array.Dictionary) arrow.Array {
	words := d.Dictionary().(*array.String)
	codes := d.Indices().(*array.Int32).Int32Values()
	n := d.Len()
	offsets := make([]int32, n+1)
	size := 0
	for i, c := range codes {
		if d.IsValid(i) {
			size += len(words.Value(int(c)))
		}
		offsets[i+1] = int32(size)
	}
	data := make([]byte, 0, size)
	for i, c := range codes {
		if d.IsValid(i) {
			data = append(data, words.Value(int(c))...)
		}
	}
	valid := validity(d, n)
	out := array.NewData(arrow.BinaryTypes.String, n, []*memory.Buffer{
		valid, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets)), memory.NewBufferBytes(data),
	}, nil, d.NullN(), 0)
	defer out.Release()
	return array.NewStringData(out)
}

// validity copies an array's bitmap so that it begins at its first slot; nil
// where nothing is NULL.
func validity(a arrow.Array, n int) *memory.Buffer {
	if a.NullN() == 0 {
		return nil
	}
	bits := make([]byte, (n+7)/8)
	for i := range n {
		if a.IsValid(i) {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	return memory.NewBufferBytes(bits)
}

// plainBatch writes out the dictionaries of a batch; sc is its plain schema.
// The caller releases the result.
func plainBatch(b arrow.RecordBatch, sc *arrow.Schema) arrow.RecordBatch {
	columns := make([]arrow.Array, b.NumCols())
	for i, c := range b.Columns() {
		columns[i] = c
		if d, ok := c.(*array.Dictionary); ok {
			plain := plainText(d)
			defer plain.Release()
			columns[i] = plain
		}
	}
	return array.NewRecordBatch(sc, columns, b.NumRows())
}

// plainSchema is sc with texts in place of dictionaries of texts.
func plainSchema(sc *arrow.Schema) *arrow.Schema {
	fields := sc.Fields()
	for i, f := range fields {
		if f.Type.ID() == arrow.DICTIONARY {
			fields[i].Type = arrow.BinaryTypes.String
		}
	}
	return arrow.NewSchema(fields, nil)
}
