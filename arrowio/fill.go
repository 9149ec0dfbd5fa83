package arrowio

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// fillNulls returns arr with the only value of value, which has the type of its
// values, in place of nulls. A dictionary of strings becomes strings. The caller
// releases the result and keeps both.
func fillNulls(arr, value arrow.Array, mem memory.Allocator) arrow.Array {
	switch value := value.(type) {
	case *array.String:
		return fillStrings(arr, value.Value(0), mem)
	case *array.Boolean:
		return fillBooleans(arr.(*array.Boolean), value.Value(0), mem)
	}
	return fillFixed(arr, value, mem)
}

func fillStrings(arr arrow.Array, value string, mem memory.Allocator) arrow.Array {
	b := array.NewStringBuilder(mem)
	defer b.Release()
	b.Reserve(arr.Len())
	text := stringsOf(arr)
	for i := range arr.Len() {
		if arr.IsNull(i) {
			b.Append(value)
		} else {
			b.Append(text(i))
		}
	}
	return b.NewArray()
}

// stringsOf reads strings, as they are or from a dictionary.
func stringsOf(arr arrow.Array) func(int) string {
	if d, ok := arr.(*array.Dictionary); ok {
		words := stringsOf(d.Dictionary())
		return func(i int) string { return words(d.GetValueIndex(i)) }
	}
	return arr.(array.StringLike).Value
}

func fillBooleans(arr *array.Boolean, value bool, mem memory.Allocator) arrow.Array {
	b := array.NewBooleanBuilder(mem)
	defer b.Release()
	b.Reserve(arr.Len())
	for i := range arr.Len() {
		b.Append(arr.IsNull(i) && value || arr.IsValid(i) && arr.Value(i))
	}
	return b.NewArray()
}

// fillFixed copies values of fixed width and writes over those that are null.
func fillFixed(arr, value arrow.Array, mem memory.Allocator) arrow.Array {
	one := value.Data().Buffers()[1].Bytes()
	width, n := fixedWidth(value.DataType()), arr.Len()
	one = one[:width]
	buf := memory.NewResizableBuffer(mem)
	defer buf.Release()
	buf.Resize(n * width)
	out := buf.Bytes()
	copy(out, arr.Data().Buffers()[1].Bytes()[arr.Data().Offset()*width:])
	for i := range n {
		if arr.IsNull(i) {
			copy(out[i*width:], one)
		}
	}
	data := array.NewData(arr.DataType(), n, []*memory.Buffer{nil, buf}, nil, 0, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// fixedWidth is the number of bytes of a value.
func fixedWidth(t arrow.DataType) int {
	if ext, ok := t.(arrow.ExtensionType); ok {
		t = ext.StorageType()
	}
	return t.(arrow.FixedWidthDataType).Bytes()
}
