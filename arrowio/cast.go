package arrowio

import (
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/calve-data/calve/lake"
)

// place is where an array is from, and what its values are read with.
type place struct {
	file   string
	column string
	// row is the number of the array's first row in its file, from 1.
	row int64
	// rowOf is the row of each value, where values are not one a row.
	rowOf func(i int) int64
	zone  *time.Location
	fold  Fold
	// options are those of all columns; a zone among them goes before zone.
	options map[string]ColumnOptions
	mem     memory.Allocator
}

// cast returns arr as an array of type to. It loses nothing, time apart, which
// is floored to microseconds: a value that does not fit is an error that wraps
// [lake.ErrInput] and names file, row, column, value and type. Text becomes
// nothing else. A dictionary of strings stays one. The caller releases the
// result and keeps arr.
func cast(arr arrow.Array, to arrow.DataType, at place) (arrow.Array, error) {
	if arrow.TypeEqual(arr.DataType(), to) {
		arr.Retain()
		return arr, nil
	}
	if sameShape(arr.DataType(), to) {
		return retype(arr, to), nil
	}
	switch arr := arr.(type) {
	case *array.Null:
		return array.MakeArrayOfNull(at.mem, to, arr.Len()), nil
	case *array.Dictionary:
		return castDictionary(arr, to, at)
	case *int96Array:
		return castInt96(arr, to, at)
	case array.ExtensionArray:
		return cast(arr.Storage(), to, at)
	case *array.Int8:
		return castInts(arr, arr.Values(), to, at)
	case *array.Int16:
		return castInts(arr, arr.Values(), to, at)
	case *array.Int32:
		return castInts(arr, arr.Values(), to, at)
	case *array.Int64:
		return castInts(arr, arr.Values(), to, at)
	case *array.Uint8:
		return castInts(arr, arr.Values(), to, at)
	case *array.Uint16:
		return castInts(arr, arr.Values(), to, at)
	case *array.Uint32:
		return castInts(arr, arr.Values(), to, at)
	case *array.Uint64:
		return castInts(arr, arr.Values(), to, at)
	case *array.Float16, *array.Float32, *array.Float64:
		return castFloats(arr, to, at)
	case *array.Decimal32, *array.Decimal64, *array.Decimal128, *array.Decimal256:
		return castDecimals(arr, to, at)
	case *array.Date64, *array.Time32, *array.Time64, *array.Timestamp:
		return castTimes(arr, to, at)
	case array.BinaryLike, *array.FixedSizeBinary, *array.StringView, *array.BinaryView:
		return castBytes(arr, to, at)
	}
	return castNested(arr, to, at)
}

func castNested(arr arrow.Array, to arrow.DataType, at place) (arrow.Array, error) {
	switch arr := arr.(type) {
	case *array.Map:
		if to, ok := to.(*arrow.MapType); ok {
			return castMap(arr, to, at)
		}
	case *array.List:
		if to, ok := to.(*arrow.ListType); ok {
			return castList(arr, to, at)
		}
	case *array.Struct:
		if to, ok := to.(*arrow.StructType); ok {
			return castStruct(arr, to, at)
		}
	}
	return nil, at.refuse(arr, to, "")
}

// refuse is the error of a type that never becomes the other.
func (at place) refuse(arr arrow.Array, to arrow.DataType, why string) error {
	if why != "" {
		why = ": " + why
	}
	return fmt.Errorf("%s: column %q is %s there and cannot become %s%s: %w", at.file, at.column, sourceWord(arr.DataType()), icebergWord(to), why, lake.ErrInput)
}

// misfit is the error of the value at i.
func (at place) misfit(arr arrow.Array, i int, to arrow.DataType) error {
	row := at.row + int64(i)
	if at.rowOf != nil {
		row = at.rowOf(i)
	}
	return fmt.Errorf("%s: row %d, column %q: %s does not fit %s: %w", at.file, row, at.column, arr.ValueStr(i), icebergWord(to), lake.ErrInput)
}

// sourceWord names a type as it is in the file: in Iceberg's word where that
// says everything, else in Arrow's.
func sourceWord(t arrow.DataType) string {
	if normal, ok := normalType(t); ok && arrow.TypeEqual(normal, t) {
		return icebergWord(t)
	}
	return t.String()
}

// fill makes an array of fixed-width values, one f for each value that is not
// null. What stands under a null is never looked at.
func fill[F any, T arrow.FixedWidthType](arr arrow.Array, values []F, to arrow.DataType, at place, f func(F) (T, bool)) (arrow.Array, error) {
	n := arr.Len()
	buf := memory.NewResizableBuffer(at.mem)
	defer buf.Release()
	buf.Resize(n * to.(arrow.FixedWidthDataType).Bytes())
	out := arrow.GetData[T](buf.Bytes())
	clear(out)
	for i, v := range values {
		if arr.IsNull(i) {
			continue
		}
		var ok bool
		if out[i], ok = f(v); !ok {
			return nil, at.misfit(arr, i, to)
		}
	}
	valid := validity(arr, at.mem)
	if valid != nil {
		defer valid.Release()
	}
	data := array.NewData(to, n, []*memory.Buffer{valid, buf}, nil, arr.NullN(), 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}
