package lake

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/iceberg-go"
)

// ordering encodes columns of rows so that the bytes are the same exactly if all
// the values are, and are in order as the values are, column by column, NULL
// first. Keys are looked up and versions compared by it. An int that became a
// long, or a decimal that got more digits before the point, has the same bytes.
type ordering struct {
	fields []iceberg.NestedField
}

// newOrdering binds columns of a schema, for what they are called in errors.
// Floats are let in only where they need not be exact.
func newOrdering(sc *iceberg.Schema, what string, names []string, floats bool) (*ordering, error) {
	o := &ordering{}
	for _, name := range names {
		f, ok := findField(sc, name)
		if !ok {
			return nil, fmt.Errorf("the table has no column %q for the %s; it has %s: %w", name, what, columnNames(sc), ErrUsage)
		}
		switch f.Type.(type) {
		case iceberg.Float32Type, iceberg.Float64Type:
			if floats {
				break
			}
			return nil, fmt.Errorf("column %q is a %s, which is not exact enough for the %s: declare it as a decimal: %w", f.Name, f.Type, what, ErrUsage)
		case iceberg.BooleanType, iceberg.Int32Type, iceberg.Int64Type, iceberg.DateType, iceberg.TimeType, iceberg.TimestampType, iceberg.TimestampTzType,
			iceberg.DecimalType, iceberg.StringType, iceberg.BinaryType, iceberg.FixedType, iceberg.UUIDType:
		default:
			return nil, fmt.Errorf("column %q is a %s; the %s needs columns of single values: %w", f.Name, f.Type, what, ErrUsage)
		}
		o.fields = append(o.fields, f)
	}
	return o, nil
}

// names are the columns' names.
func (o *ordering) names() (names []string) {
	for _, f := range o.fields {
		names = append(names, f.Name)
	}
	return names
}

// The first byte of a column.
const (
	orderedNull  = 0
	orderedValue = 1
)

// ordered is an ordering bound to a batch.
type ordered []func(buf []byte, row int) []byte

// bind binds the ordering to the columns of a batch of schema sc.
func (o *ordering) bind(sc *iceberg.Schema, rec arrow.RecordBatch) ordered {
	out := make(ordered, len(o.fields))
	for i, f := range o.fields {
		c := rec.Column(columnIndex(sc, f.ID))
		value := orderedValues(c)
		out[i] = func(buf []byte, row int) []byte {
			if c.IsNull(row) {
				return append(buf, orderedNull)
			}
			return value(append(buf, orderedValue), row)
		}
	}
	return out
}

// append appends the columns of a row.
func (o ordered) append(buf []byte, row int) []byte {
	for _, column := range o {
		buf = column(buf, row)
	}
	return buf
}

// orderedValues appends values of an array that are not NULL.
func orderedValues(a arrow.Array) func(buf []byte, row int) []byte {
	switch a := a.(type) {
	case *array.Dictionary:
		words := orderedValues(a.Dictionary())
		return func(buf []byte, i int) []byte { return words(buf, a.GetValueIndex(i)) }
	case *array.Boolean:
		return func(buf []byte, i int) []byte {
			if a.Value(i) {
				return append(buf, 1)
			}
			return append(buf, 0)
		}
	case *array.Int32:
		return func(buf []byte, i int) []byte { return appendOrderedInt(buf, int64(a.Value(i))) }
	case *array.Date32:
		return func(buf []byte, i int) []byte { return appendOrderedInt(buf, int64(a.Value(i))) }
	case *array.Int64:
		return func(buf []byte, i int) []byte { return appendOrderedInt(buf, a.Value(i)) }
	case *array.Time64:
		return func(buf []byte, i int) []byte { return appendOrderedInt(buf, int64(a.Value(i))) }
	case *array.Timestamp:
		return func(buf []byte, i int) []byte { return appendOrderedInt(buf, int64(a.Value(i))) }
	case *array.Float32:
		return func(buf []byte, i int) []byte { return appendOrderedFloat(buf, float64(a.Value(i))) }
	case *array.Float64:
		return func(buf []byte, i int) []byte { return appendOrderedFloat(buf, a.Value(i)) }
	case *array.Decimal128:
		return func(buf []byte, i int) []byte { return appendOrderedDecimal(buf, a.Value(i)) }
	case *array.String:
		return func(buf []byte, i int) []byte { return appendOrderedText(buf, a.Value(i)) }
	case *array.Binary:
		return func(buf []byte, i int) []byte { return appendOrderedText(buf, string(a.Value(i))) }
	case *array.FixedSizeBinary:
		return func(buf []byte, i int) []byte { return append(buf, a.Value(i)...) }
	case *extensions.UUIDArray:
		return func(buf []byte, i int) []byte { v := a.Value(i); return append(buf, v[:]...) }
	}
	panic(fmt.Sprintf("no order for %s", a.DataType()))
}

func appendOrderedInt(buf []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(buf, uint64(n)^1<<63)
}

// appendOrderedFloat has one NaN, after all numbers, and one zero, as the digest.
func appendOrderedFloat(buf []byte, f float64) []byte {
	raw := floatBits(f)
	if raw>>63 == 1 {
		return binary.BigEndian.AppendUint64(buf, ^raw)
	}
	return binary.BigEndian.AppendUint64(buf, raw|1<<63)
}

func appendOrderedDecimal(buf []byte, n decimal128.Num) []byte {
	buf = binary.BigEndian.AppendUint64(buf, uint64(n.HighBits())^1<<63)
	return binary.BigEndian.AppendUint64(buf, n.LowBits())
}

// appendOrderedText ends a text by two zeros; a zero in it gets a mark.
func appendOrderedText(buf []byte, text string) []byte {
	for {
		i := strings.IndexByte(text, 0)
		if i < 0 {
			return append(append(buf, text...), 0, 0)
		}
		buf = append(append(buf, text[:i]...), 0, 0xff)
		text = text[i+1:]
	}
}

// column is one of encoded columns.
func (o *ordering) column(raw []byte, column int) []byte {
	for _, f := range o.fields[:column] {
		raw = raw[orderedSize(f.Type, raw):]
	}
	return raw[:orderedSize(o.fields[column].Type, raw)]
}

// orderedSize is the size of the column that raw begins with.
func orderedSize(t iceberg.Type, raw []byte) int {
	if raw[0] == orderedNull {
		return 1
	}
	switch t := t.(type) {
	case iceberg.BooleanType:
		return 2
	case iceberg.DecimalType, iceberg.UUIDType:
		return 17
	case iceberg.FixedType:
		return 1 + t.Len()
	case iceberg.StringType, iceberg.BinaryType:
		for i := 1; ; i += 2 {
			i += bytes.IndexByte(raw[i:], 0)
			if raw[i+1] == 0 {
				return i + 2
			}
		}
	}
	return 9
}

// orderedBound encodes a bound as a manifest has it; false where it is no value.
func orderedBound(t iceberg.Type, raw []byte) ([]byte, bool) {
	if raw == nil {
		return nil, false
	}
	out := []byte{orderedValue}
	switch t := t.(type) {
	case iceberg.Float32Type, iceberg.Float64Type:
		return nil, false // NaN is outside all bounds
	case iceberg.StringType, iceberg.BinaryType:
		return appendOrderedText(out, string(raw)), true
	case iceberg.FixedType:
		return append(out, raw...), len(raw) == t.Len()
	case iceberg.UUIDType:
		return append(out, raw...), len(raw) == 16
	case iceberg.BooleanType:
		return append(out, raw...), len(raw) == 1
	case iceberg.DecimalType:
		if len(raw) == 0 || len(raw) > 16 {
			return nil, false
		}
		out = append(out, signExtend(raw, 16)...)
		out[1] ^= 0x80
		return out, true
	}
	n, ok := intBound(t, raw)
	return appendOrderedInt(out, n), ok
}
