package testenv

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/iceberg-go"
)

// literals yields the values of a column as Iceberg's literals of typ; nil for a
// null, and for a type that has no literal here.
func literals(column *arrow.Chunked, typ iceberg.Type) iter.Seq[iceberg.Literal] {
	return func(yield func(iceberg.Literal) bool) {
		for _, chunk := range column.Chunks() {
			for i := range chunk.Len() {
				if !yield(literalAt(chunk, i, typ)) {
					return
				}
			}
		}
	}
}

func literalAt(col arrow.Array, i int, typ iceberg.Type) iceberg.Literal {
	if col.IsNull(i) {
		return nil
	}
	lit, ok := literalOf(valueAt(col, i))
	if !ok {
		return nil
	}
	if to, err := lit.To(typ); err == nil { // an int of a column that is a long by now
		return to
	}
	return lit
}

// valueAt is a value in the Go type that iceberg-go has for it.
func valueAt(col arrow.Array, i int) any {
	switch a := col.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int32:
		return a.Value(i)
	case *array.Int64:
		return a.Value(i)
	case *array.Float32:
		return a.Value(i)
	case *array.Float64:
		return a.Value(i)
	case *array.Date32:
		return iceberg.Date(a.Value(i))
	case *array.Time64:
		return iceberg.Time(a.Value(i))
	case *array.Timestamp:
		if a.DataType().(*arrow.TimestampType).Unit == arrow.Nanosecond {
			return iceberg.TimestampNano(a.Value(i))
		}
		return iceberg.Timestamp(a.Value(i).ToTime(a.DataType().(*arrow.TimestampType).Unit).UnixMicro())
	case *array.String:
		return a.Value(i)
	case *array.LargeString:
		return a.Value(i)
	case *array.Binary:
		return a.Value(i)
	case *array.LargeBinary:
		return a.Value(i)
	case *array.FixedSizeBinary:
		return a.Value(i)
	case *extensions.UUIDArray:
		return a.Value(i)
	case *array.Decimal128:
		return iceberg.Decimal{Val: a.Value(i), Scale: int(a.DataType().(*arrow.Decimal128Type).Scale)}
	case *array.Dictionary:
		return valueAt(a.Dictionary(), a.GetValueIndex(i))
	}
	return nil
}

// literalOf is the literal of a Go value as iceberg-go holds them.
func literalOf(v any) (iceberg.Literal, bool) {
	switch v := v.(type) {
	case bool:
		return iceberg.NewLiteral(v), true
	case int32:
		return iceberg.NewLiteral(v), true
	case int64:
		return iceberg.NewLiteral(v), true
	case float32:
		return iceberg.NewLiteral(v), true
	case float64:
		return iceberg.NewLiteral(v), true
	case string:
		return iceberg.NewLiteral(v), true
	case []byte:
		return iceberg.NewLiteral(v), true
	case iceberg.Date:
		return iceberg.NewLiteral(v), true
	case iceberg.Time:
		return iceberg.NewLiteral(v), true
	case iceberg.Timestamp:
		return iceberg.NewLiteral(v), true
	case iceberg.TimestampNano:
		return iceberg.NewLiteral(v), true
	case iceberg.Decimal:
		return iceberg.NewLiteral(v), true
	}
	// A UUID, whose package is none that we name.
	if u, to := reflect.ValueOf(v), reflect.TypeFor[iceberg.UUIDLiteral](); u.IsValid() && u.Kind() == reflect.Array && u.CanConvert(to) {
		return u.Convert(to).Interface().(iceberg.UUIDLiteral), true
	}
	return nil, false
}

// within checks that the literal lies between bounds as an entry stores them.
func within(typ iceberg.Type, lit iceberg.Literal, lower, upper []byte) error {
	lo, err := iceberg.LiteralFromBytes(typ, lower)
	if err != nil {
		return fmt.Errorf("lower bound: %w", err)
	}
	hi, err := iceberg.LiteralFromBytes(typ, upper)
	if err != nil {
		return fmt.Errorf("upper bound: %w", err)
	}
	below, ok1 := compareLiterals(lit, lo)
	above, ok2 := compareLiterals(lit, hi)
	if ok1 && below < 0 || ok2 && above > 0 {
		return fmt.Errorf("%v is outside its bounds %v and %v", lit, lo, hi)
	}
	return nil
}

// compareLiterals compares two literals of one type; false where they are not.
func compareLiterals(a, b iceberg.Literal) (int, bool) {
	for _, compare := range []func(a, b iceberg.Literal) (int, bool){
		compareAs[bool], compareAs[int32], compareAs[int64], compareAs[float32], compareAs[float64],
		compareAs[iceberg.Date], compareAs[iceberg.Time], compareAs[iceberg.Timestamp], compareAs[iceberg.TimestampNano],
		compareAs[string], compareAs[[]byte], compareAs[iceberg.Decimal], compareUUIDs,
	} {
		if c, ok := compare(a, b); ok {
			return c, true
		}
	}
	return 0, false
}

func compareAs[T iceberg.LiteralType](a, b iceberg.Literal) (int, bool) {
	x, ok := a.(iceberg.TypedLiteral[T])
	if !ok {
		return 0, false
	}
	y, ok := b.(iceberg.TypedLiteral[T])
	if !ok {
		return 0, false
	}
	return x.Comparator()(x.Value(), y.Value()), true
}

func compareUUIDs(a, b iceberg.Literal) (int, bool) {
	x, ok1 := a.(iceberg.UUIDLiteral)
	y, ok2 := b.(iceberg.UUIDLiteral)
	return bytes.Compare(x[:], y[:]), ok1 && ok2
}

func isNaN(v any) bool {
	switch v := v.(type) {
	case float32:
		return math.IsNaN(float64(v))
	case float64:
		return math.IsNaN(v)
	}
	return false
}

// valueText prints a partition value, the same whether it comes from a manifest
// or from a transform.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return fmt.Sprintf("%q", v)
	case []byte:
		return fmt.Sprintf("%x", v)
	case iceberg.Date:
		return fmt.Sprint(int32(v))
	case iceberg.Timestamp:
		return fmt.Sprint(int64(v))
	}
	return fmt.Sprint(v)
}

// tupleText prints a partition tuple.
func tupleText(tuple map[int]any) string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(tuple)) {
		parts = append(parts, fmt.Sprintf("%d=%s", id, valueText(tuple[id])))
	}
	return strings.Join(parts, " ")
}
