package arrowio

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

// kind is the way in which a column's text becomes values.
type kind uint8

const (
	kindNone  kind = iota // no text can become such a value
	kindSkip              // a column that nobody asked for
	kindEmpty             // one without a name, in which nothing may be
	kindText
	kindBool
	kindInt32
	kindInt64
	kindFloat32
	kindFloat64
	kindDecimal
	kindDate
	kindTime
	kindTimestamp
	kindTimestampTZ
	kindUUID
	// kindFormatted is only a way to read, of columns with a format.
	kindFormatted
)

// kindOf returns how text becomes values of type t.
func kindOf(t arrow.DataType) kind {
	switch t := t.(type) {
	case *arrow.StringType:
		return kindText
	case *arrow.BooleanType:
		return kindBool
	case *arrow.Int32Type:
		return kindInt32
	case *arrow.Int64Type:
		return kindInt64
	case *arrow.Float32Type:
		return kindFloat32
	case *arrow.Float64Type:
		return kindFloat64
	case *arrow.Decimal128Type:
		return kindDecimal
	case *arrow.Date32Type:
		return kindDate
	case *arrow.Time64Type:
		if t.Unit == arrow.Microsecond {
			return kindTime
		}
	case *arrow.TimestampType:
		switch {
		case t.Unit != arrow.Microsecond:
		case t.TimeZone == "":
			return kindTimestamp
		default:
			return kindTimestampTZ
		}
	case arrow.ExtensionType:
		if t.ExtensionName() == "arrow.uuid" {
			return kindUUID
		}
	}
	return kindNone
}

// width returns the bytes of one value, 0 for text and bits.
func (k kind) width() int {
	switch k {
	case kindInt32, kindFloat32, kindDate:
		return 4
	case kindInt64, kindFloat64, kindTime, kindTimestamp, kindTimestampTZ:
		return 8
	case kindDecimal, kindUUID:
		return 16
	}
	return 0
}

// Why a text is not a value of a type. An error of the form says no more than
// the value itself.
var (
	errForm     = errors.New("wrong form")
	errRange    = errors.New("out of range")
	errInexact  = errors.New("it has more digits after the point than the column keeps")
	errNaive    = errors.New("it has no offset; declare the time zone it is in, or write one")
	errZoned    = errors.New("it has an offset, and the column has no time zone")
	errNotUTF8  = errors.New("it is not UTF-8; a file in Latin-1 or Windows-1252 must be converted first, as by iconv -f WINDOWS-1252 -t UTF-8")
	errNullCell = errors.New("is null, but the column is required")
)

// fast converts the unquoted value at b[pos:] into row where that is quick, and
// returns where the value ends. It may look at 64 bytes from there on. Where it
// returns false, or the field does not end where it says, set must decide.
func (c *column) fast(b []byte, pos, row int) (end int, ok bool) {
	var v int64
	switch c.fastKind {
	case kindText:
		end = endOfText(b, pos, c.delims)
		if b[end] == '\n' && end > pos && b[end-1] == '\r' {
			end--
		}
		c.put(b, pos, end, row)
		return end, true
	case kindInt64:
		c.i64[row], end, ok = fastInt(b, pos)
	case kindInt32:
		v, end, ok = fastInt(b, pos)
		c.i32[row] = int32(v)
		ok = ok && v == int64(int32(v))
	case kindDecimal:
		v, end, ok = fastDecimal(b, pos, c.precision, c.scale)
		c.i64[2*row], c.i64[2*row+1] = v, v>>63
	case kindFloat64:
		var f float64
		f, end, ok = fastFloat(b, pos)
		c.i64[row] = int64(math.Float64bits(f))
	case kindTimestamp:
		c.i64[row], end, ok = c.day.fastWall(b, pos)
	case kindTimestampTZ:
		v, end, ok = c.day.fastWall(b, pos)
		c.i64[row] = v
		if ok && b[end] == 'Z' {
			return end + 1, true
		}
		if ok {
			c.i64[row], ok = c.quick(v)
		}
	case kindDate:
		c.i32[row], end, ok = c.day.fastDate(b, pos)
	case kindFormatted:
		return c.fastFormatted(b, pos, row)
	case kindSkip:
		return endOfText(b, pos, c.delims), true
	}
	return end, ok
}

// set converts text into row, exactly, or says why not.
func (c *column) set(row int, text []byte) error {
	if c.times != nil {
		return c.setFormatted(row, text)
	}
	if c.numbers != nil {
		return c.setNumber(row, text)
	}
	return c.setPlain(row, text)
}

// setPlain is set for text without a format of its own.
func (c *column) setPlain(row int, text []byte) error {
	switch c.kind {
	case kindText:
		c.put(text, 0, len(text), row)
		return nil
	case kindBool:
		v, err := parseBool(text)
		c.setBit(row, v)
		return err
	case kindInt32:
		v, err := parseInt(text, 32)
		c.i32[row] = int32(v)
		return err
	case kindInt64:
		v, err := parseInt(text, 64)
		c.i64[row] = v
		return err
	case kindFloat32:
		v, err := parseFloat(text, 32)
		c.i32[row] = int32(math.Float32bits(float32(v)))
		return err
	case kindFloat64:
		v, err := parseFloat(text, 64)
		c.i64[row] = int64(math.Float64bits(v))
		return err
	case kindDecimal:
		v, err := parseDecimal(text, c.precision, c.scale)
		c.i64[2*row], c.i64[2*row+1] = int64(v.LowBits()), v.HighBits()
		return err
	case kindUUID:
		v, err := parseUUID(text)
		c.i64[2*row] = int64(binary.LittleEndian.Uint64(v[:8]))
		c.i64[2*row+1] = int64(binary.LittleEndian.Uint64(v[8:]))
		return err
	case kindSkip:
		return nil
	case kindEmpty:
		if len(text) > 0 {
			return errForm
		}
		return nil
	}
	return c.setTime(row, text)
}

// setTime is set for the types of the calendar and the clock.
func (c *column) setTime(row int, text []byte) (err error) {
	switch c.kind {
	case kindDate:
		c.i32[row], err = parseDate(text)
	case kindTime:
		c.i64[row], err = parseTime(text)
	case kindTimestamp:
		c.i64[row], err = parseTimestamp(text)
	case kindTimestampTZ:
		c.i64[row], err = c.parse(text)
	default:
		err = errForm
	}
	return err
}
