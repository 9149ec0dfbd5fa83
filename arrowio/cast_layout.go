package arrowio

import (
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// retype gives an array the type of the same shape, at every depth. No value is
// touched.
func retype(arr arrow.Array, to arrow.DataType) arrow.Array {
	data := retypeData(arr.Data(), to)
	defer data.Release()
	return array.MakeFromData(data)
}

func retypeData(data arrow.ArrayData, to arrow.DataType) arrow.ArrayData {
	var children []arrow.ArrayData
	if nested, ok := to.(arrow.NestedType); ok {
		for i, f := range nested.Fields() {
			child := retypeData(data.Children()[i], f.Type)
			defer child.Release()
			children = append(children, child)
		}
	}
	return array.NewData(to, data.Len(), data.Buffers(), children, data.NullN(), data.Offset())
}

// validity is the validity bitmap of an array, beginning at its first row; nil
// if nothing is null.
func validity(arr arrow.Array, mem memory.Allocator) *memory.Buffer {
	if arr.NullN() == 0 || len(arr.Data().Buffers()) == 0 || arr.Data().Buffers()[0] == nil {
		return nil
	}
	bits := arr.Data().Buffers()[0]
	if arr.Data().Offset() == 0 {
		bits.Retain()
		return bits
	}
	out := memory.NewResizableBuffer(mem)
	out.Resize(int(bitutil.BytesForBits(int64(arr.Len()))))
	bitutil.CopyBitmap(bits.Bytes(), arr.Data().Offset(), arr.Len(), out.Bytes(), 0)
	return out
}

// castDictionary keeps a dictionary of strings where strings are wanted, for
// its values are then written once; any other is spelt out.
func castDictionary(arr *array.Dictionary, to arrow.DataType, at place) (arrow.Array, error) {
	if to.ID() == arrow.STRING {
		if arr.Dictionary().DataType().ID() == arrow.STRING {
			arr.Retain()
			return arr, nil
		}
		// Values are cast whole: no row is at fault if one is refused.
		values, err := cast(arr.Dictionary(), to, at)
		if err != nil {
			return nil, err
		}
		defer values.Release()
		t := arr.DataType().(*arrow.DictionaryType)
		return array.NewDictionaryArray(&arrow.DictionaryType{IndexType: t.IndexType, ValueType: to}, arr.Indices(), values), nil
	}
	// Parquet files have dictionaries of text and bytes only.
	if to.ID() == arrow.BINARY && arr.Dictionary().DataType().ID() != arrow.STRING {
		return copyBytes(arr, to, at)
	}
	return castBytes(arr, to, at)
}

// castBytes changes how text and bytes are laid out, never what they mean: text
// becomes text and bytes become bytes, or text where that is what they are: old
// writers, such as Impala and Hive, do not say that their bytes are text.
func castBytes(arr arrow.Array, to arrow.DataType, at place) (arrow.Array, error) {
	switch id := arr.DataType().ID(); {
	case id == arrow.FIXED_SIZE_BINARY && arr.DataType().(*arrow.FixedSizeBinaryType).ByteWidth == 16 && to.ID() == arrow.EXTENSION:
		if _, ok := to.(*extensions.UUIDType); ok {
			return array.NewExtensionArrayWithStorage(to.(arrow.ExtensionType), arr), nil
		}
	case to.ID() == arrow.STRING && (id == arrow.LARGE_STRING || id == arrow.STRING_VIEW),
		to.ID() == arrow.BINARY && (id == arrow.LARGE_BINARY || id == arrow.BINARY_VIEW || id == arrow.FIXED_SIZE_BINARY):
		return copyBytes(arr, to, at)
	case to.ID() == arrow.STRING && id == arrow.BINARY:
		value := bytesOf(arr)
		for i := range arr.Len() {
			if arr.IsValid(i) && !utf8.Valid(value(i)) {
				return nil, at.misfit(arr, i, to)
			}
		}
		return retype(arr, to), nil
	}
	if to.ID() != arrow.STRING && to.ID() != arrow.BINARY && (arr.DataType().ID() == arrow.STRING || arr.DataType().ID() == arrow.LARGE_STRING) {
		return nil, at.refuse(arr, to, "text is not read as anything else in Parquet files")
	}
	return nil, at.refuse(arr, to, "")
}

// copyBytes writes text or bytes with 32-bit offsets.
func copyBytes(arr arrow.Array, to arrow.DataType, at place) (arrow.Array, error) {
	value := bytesOf(arr)
	size := 0
	for i := range arr.Len() {
		if arr.IsValid(i) {
			size += len(value(i))
		}
	}
	if size > math.MaxInt32 {
		return nil, at.refuse(arr, to, "a batch of it is larger than 2 GiB")
	}
	b := array.NewBinaryBuilder(at.mem, to.(arrow.BinaryDataType))
	defer b.Release()
	b.Reserve(arr.Len())
	b.ReserveData(size)
	for i := range arr.Len() {
		if arr.IsNull(i) {
			b.AppendNull()
		} else {
			b.Append(value(i))
		}
	}
	bytes := b.NewBinaryArray()
	defer bytes.Release()
	return array.MakeFromData(bytes.Data()), nil
}

func bytesOf(arr arrow.Array) func(int) []byte {
	switch arr := arr.(type) {
	case *array.LargeString:
		return func(i int) []byte { return []byte(arr.Value(i)) }
	case *array.StringView:
		return func(i int) []byte { return []byte(arr.Value(i)) }
	case *array.LargeBinary:
		return arr.Value
	case *array.BinaryView:
		return arr.Value
	case *array.Binary:
		return arr.Value
	case *array.Dictionary:
		value := bytesOf(arr.Dictionary())
		return func(i int) []byte { return value(arr.GetValueIndex(i)) }
	default:
		return arr.(*array.FixedSizeBinary).Value
	}
}
