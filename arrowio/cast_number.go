package arrowio

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// castInts casts whole numbers. To a float it takes those only below which
// every whole number is one: 2^53, and 2^24 for float.
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
