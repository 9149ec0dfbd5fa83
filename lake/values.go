package lake

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"
)

// intBound reads a serialised value of a type that is stored as an integer.
func intBound(t iceberg.Type, raw []byte) (int64, bool) {
	if raw == nil {
		return 0, false
	}
	if _, long := t.(iceberg.Int64Type); long && len(raw) == 4 {
		t = iceberg.PrimitiveTypes.Int32 // written before the column was widened
	}
	lit, err := iceberg.LiteralFromBytes(t, raw)
	if err != nil {
		return 0, false
	}
	return intValue(lit.Any())
}

// intValue reads the integer behind a partition value or a literal.
func intValue(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case iceberg.Date:
		return int64(v), true
	case iceberg.Time:
		return int64(v), true
	case iceberg.Timestamp:
		return int64(v), true
	}
	return 0, false
}

// literalOf makes a literal of type t from a partition value as a manifest
// gives it. A nil value has no literal.
func literalOf(t iceberg.Type, value any) (iceberg.Literal, bool) {
	if n, ok := intValue(value); ok {
		switch t.(type) {
		case iceberg.Int32Type:
			return iceberg.Int32Literal(int32(n)), true
		case iceberg.Int64Type:
			return iceberg.Int64Literal(n), true
		case iceberg.DateType:
			return iceberg.DateLiteral(int32(n)), true
		case iceberg.TimeType:
			return iceberg.TimeLiteral(n), true
		case iceberg.TimestampType, iceberg.TimestampTzType:
			return iceberg.TimestampLiteral(n), true
		}
		return nil, false
	}
	switch v := value.(type) {
	case iceberg.Literal:
		return v, true
	case bool:
		return iceberg.BoolLiteral(v), true
	case string:
		return iceberg.StringLiteral(v), true
	case []byte:
		if _, fixed := t.(iceberg.FixedType); fixed {
			return iceberg.FixedLiteral(v), true
		}
		return iceberg.BinaryLiteral(v), true
	case iceberg.Decimal:
		return iceberg.DecimalLiteral(v), true
	case float32:
		return iceberg.Float32Literal(v), true
	case float64:
		return iceberg.Float64Literal(v), true
	}
	if u, ok := value.(uuid.UUID); ok {
		return iceberg.UUIDLiteral(u), true
	}
	return nil, false
}

// partitionBytes serialises a partition value of type t. The result is nil for
// NULL and never nil for a value, not even for an empty text.
func partitionBytes(t iceberg.Type, value any) (raw []byte, ok bool) {
	if value == nil {
		return nil, true
	}
	lit, ok := literalOf(t, value)
	if !ok {
		return nil, false
	}
	raw, err := lit.MarshalBinary()
	if err != nil {
		return nil, false
	}
	if raw == nil {
		raw = []byte{}
	}
	return raw, true
}

// less orders serialised values of t as Iceberg orders the values; known is
// false for types that are not ordered here, and for bytes that are no value.
func less(t iceberg.Type, a, b []byte) (less, known bool) {
	switch t.(type) {
	case iceberg.StringType, iceberg.BinaryType, iceberg.FixedType, iceberg.UUIDType, iceberg.BooleanType:
		return bytes.Compare(a, b) < 0, true
	case iceberg.Int32Type, iceberg.Int64Type, iceberg.DateType, iceberg.TimeType, iceberg.TimestampType, iceberg.TimestampTzType:
		x, okX := intBound(t, a)
		y, okY := intBound(t, b)
		return x < y, okX && okY
	case iceberg.DecimalType:
		return compareDecimals(a, b) < 0, true
	}
	return false, false
}

// certainlyLess reports whether a is known to be less than b.
func certainlyLess(t iceberg.Type, a, b []byte) bool {
	l, known := less(t, a, b)
	return known && l
}

// compareDecimals orders big-endian two's complement numbers of one scale.
func compareDecimals(a, b []byte) int {
	n := max(len(a), len(b)) + 1
	x, y := signExtend(a, n), signExtend(b, n)
	x[0] ^= 0x80 // flips the order of the signs
	y[0] ^= 0x80
	return bytes.Compare(x, y)
}

func signExtend(a []byte, n int) []byte {
	fill := byte(0)
	if len(a) > 0 && a[0]&0x80 != 0 {
		fill = 0xff
	}
	out := bytes.Repeat([]byte{fill}, n)
	copy(out[n-len(a):], a)
	return out
}

func foldName(s string) string { return strings.ToLower(s) }

func columnNames(sc *iceberg.Schema) string {
	var names []string
	for _, f := range sc.Fields() {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

func escapeScope(s string) string { return url.QueryEscape(s) }
