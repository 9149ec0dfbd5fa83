package arrowio

import (
	"fmt"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/calve-data/calve/lake"
)

// place is where an array is from, and what its values are read with.
type place struct {
	file   string
	column string
	// row is the number of the array's first row in its file, from 1.
	row  int64
	zone *time.Location
	mem  memory.Allocator
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
	return fmt.Errorf("%s: row %d, column %q: %s does not fit %s: %w", at.file, at.row+int64(i), at.column, arr.ValueStr(i), icebergWord(to), lake.ErrInput)
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

func castInts[F interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}](arr arrow.Array, values []F, to arrow.DataType, at place) (arrow.Array, error) {
	switch to := to.(type) {
	case *arrow.Int32Type:
		return fill(arr, values, to, at, func(v F) (int32, bool) { w := int32(v); return w, F(w) == v && (w < 0) == (v < 0) })
	case *arrow.Int64Type:
		return fill(arr, values, to, at, func(v F) (int64, bool) { w := int64(v); return w, F(w) == v && (w < 0) == (v < 0) })
	case *arrow.Float64Type:
		return fill(arr, values, to, at, func(v F) (float64, bool) {
			w := float64(v)
			return w, w > -(1<<53) && w < 1<<53 || int64(v) == -(1<<53)
		})
	case *arrow.Float32Type:
		return fill(arr, values, to, at, func(v F) (float32, bool) { w := float32(v); return w, w > -(1<<24) && w < 1<<24 })
	case *arrow.Decimal128Type:
		return fill(arr, values, to, at, func(v F) (decimal128.Num, bool) {
			n := decimal128.FromU64(uint64(v))
			if v < 0 {
				n = decimal128.FromI64(int64(v))
			}
			return rescale(n, 0, to)
		})
	}
	return nil, at.refuse(arr, to, "")
}

func castFloats(arr arrow.Array, to arrow.DataType, at place) (arrow.Array, error) {
	var wide []float64
	switch arr := arr.(type) {
	case *array.Float16:
		for _, v := range arr.Values() {
			wide = append(wide, float64(v.Float32()))
		}
	case *array.Float32:
		for _, v := range arr.Values() {
			wide = append(wide, float64(v))
		}
	case *array.Float64:
		wide = arr.Values()
	}
	switch to := to.(type) {
	case *arrow.Float32Type:
		return fill(arr, wide, to, at, func(v float64) (float32, bool) { w := float32(v); return w, float64(w) == v || math.IsNaN(v) })
	case *arrow.Float64Type:
		return fill(arr, wide, to, at, func(v float64) (float64, bool) { return v, true })
	}
	return nil, at.refuse(arr, to, "")
}

func castDecimals(arr arrow.Array, to arrow.DataType, at place) (arrow.Array, error) {
	target, ok := to.(*arrow.Decimal128Type)
	if !ok {
		return nil, at.refuse(arr, to, "")
	}
	scale := arr.DataType().(arrow.DecimalType).GetScale()
	switch arr := arr.(type) {
	case *array.Decimal32:
		return fill(arr, arr.Values(), to, at, func(v decimal.Decimal32) (decimal128.Num, bool) {
			return rescale(decimal128.FromI64(int64(v)), scale, target)
		})
	case *array.Decimal64:
		return fill(arr, arr.Values(), to, at, func(v decimal.Decimal64) (decimal128.Num, bool) {
			return rescale(decimal128.FromI64(int64(v)), scale, target)
		})
	case *array.Decimal128:
		return fill(arr, arr.Values(), to, at, func(v decimal128.Num) (decimal128.Num, bool) { return rescale(v, scale, target) })
	case *array.Decimal256:
		return fill(arr, arr.Values(), to, at, func(v decimal.Decimal256) (decimal128.Num, bool) {
			n := v.BigInt()
			if n.BitLen() > 126 {
				return decimal128.Num{}, false
			}
			return rescale(decimal128.FromBigInt(n), scale, target)
		})
	}
	return nil, at.refuse(arr, to, "")
}

// rescale writes a decimal with another scale, if that is exact and fits.
func rescale(v decimal128.Num, scale int32, to *arrow.Decimal128Type) (decimal128.Num, bool) {
	if scale != to.Scale {
		w, err := v.Rescale(scale, to.Scale)
		if err != nil {
			return w, false
		}
		v = w
	}
	return v, v.FitsInPrecision(to.Precision)
}
