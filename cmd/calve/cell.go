package main

import (
	"encoding/base64"
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// cellText is the i-th value of a column as people read it; NULL where it is null.
func cellText(column arrow.Array, i int) string {
	if column.IsNull(i) {
		return "NULL"
	}
	switch c := column.(type) {
	case *array.String:
		return c.Value(i)
	case *array.LargeString:
		return c.Value(i)
	case *array.Decimal128:
		return decimalText(c.Value(i).BigInt(), c.DataType())
	case *array.Decimal256:
		return decimalText(c.Value(i).BigInt(), c.DataType())
	case *array.Dictionary:
		return cellText(c.Dictionary(), c.GetValueIndex(i))
	case array.ExtensionArray:
		return c.ValueStr(i)
	}
	if b, ok := cellBytes(column, i); ok {
		return hex.EncodeToString(b)
	}
	if text, ok := timeText(column, i); ok {
		return text
	}
	switch column.(type) {
	case array.ListLike, *array.Struct:
		return string(appendCell(nil, column, i))
	}
	return column.ValueStr(i)
}

// appendCell appends the i-th value of a column as JSON. Integers are exact,
// decimals are strings, times are ISO 8601 with Z only where they are instants,
// binary is base64, and what JSON has no number for is a string.
func appendCell(b []byte, column arrow.Array, i int) []byte {
	if column.IsNull(i) {
		return append(b, "null"...)
	}
	switch c := column.(type) {
	case *array.Boolean:
		return strconv.AppendBool(b, c.Value(i))
	case *array.Int8, *array.Int16, *array.Int32, *array.Int64, *array.Uint8, *array.Uint16, *array.Uint32, *array.Uint64:
		return append(b, column.ValueStr(i)...)
	case *array.Float32:
		return appendFloat(b, float64(c.Value(i)), 32)
	case *array.Float64:
		return appendFloat(b, c.Value(i), 64)
	case *array.Dictionary:
		return appendCell(b, c.Dictionary(), c.GetValueIndex(i))
	case *array.Map:
		return appendMap(b, c, i)
	case array.ListLike:
		return appendList(b, c, i)
	case *array.Struct:
		return appendStruct(b, c, i)
	}
	if raw, ok := cellBytes(column, i); ok {
		return appendString(b, base64.StdEncoding.EncodeToString(raw))
	}
	return appendString(b, cellText(column, i))
}

func appendFloat(b []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, bits)
}

func appendList(b []byte, c array.ListLike, i int) []byte {
	start, end := c.ValueOffsets(i)
	b = append(b, '[')
	for j := start; j < end; j++ {
		if j > start {
			b = append(b, ',')
		}
		b = appendCell(b, c.ListValues(), int(j))
	}
	return append(b, ']')
}

// appendMap writes a map as a list of entries: its keys need not be text.
func appendMap(b []byte, c *array.Map, i int) []byte {
	start, end := c.ValueOffsets(i)
	b = append(b, '[')
	for j := start; j < end; j++ {
		if j > start {
			b = append(b, ',')
		}
		b = append(appendCell(append(b, `{"key":`...), c.Keys(), int(j)), `,"value":`...)
		b = append(appendCell(b, c.Items(), int(j)), '}')
	}
	return append(b, ']')
}

func appendStruct(b []byte, c *array.Struct, i int) []byte {
	b = append(b, '{')
	for j, f := range c.DataType().(*arrow.StructType).Fields() {
		if j > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, f.Name), ':')
		b = appendCell(b, c.Field(j), i)
	}
	return append(b, '}')
}

func cellBytes(column arrow.Array, i int) ([]byte, bool) {
	switch c := column.(type) {
	case *array.Binary:
		return c.Value(i), true
	case *array.LargeBinary:
		return c.Value(i), true
	case *array.FixedSizeBinary:
		return c.Value(i), true
	}
	return nil, false
}

// decimalText writes all digits that the type has: 12.50 stays 12.50.
func decimalText(unscaled *big.Int, typ arrow.DataType) string {
	scale := int(typ.(arrow.DecimalType).GetScale())
	digits := new(big.Int).Abs(unscaled).String()
	if short := scale + 1 - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	if scale > 0 {
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if unscaled.Sign() < 0 {
		return "-" + digits
	}
	return digits
}

// timeText prints times as ISO 8601: with Z for instants, without for the
// readings of a clock on the wall.
func timeText(column arrow.Array, i int) (string, bool) {
	switch c := column.(type) {
	case *array.Timestamp:
		typ := c.DataType().(*arrow.TimestampType)
		at := c.Value(i).ToTime(typ.Unit)
		if typ.TimeZone == "" {
			return at.Format("2006-01-02T15:04:05.999999999"), true
		}
		return at.Format(time.RFC3339Nano), true
	case *array.Date32:
		return c.Value(i).ToTime().Format(time.DateOnly), true
	case *array.Time64:
		return c.Value(i).ToTime(c.DataType().(*arrow.Time64Type).Unit).Format("15:04:05.999999999"), true
	}
	return "", false
}

// appendString appends text as a JSON string. Bytes that are no UTF-8 become
// the replacement character.
func appendString(b []byte, text string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\t':
			b = append(b, '\\', 't')
		case r < ' ' || r == 0x7f:
			b = append(b, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
