package arrowio

import (
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// jsonColumn is one key of the records, and what becomes of its values: of a
// flat column they are written into memory like those of CSV; of any other
// column, they go to an Arrow builder; or they are only looked at.
type jsonColumn struct {
	*column
	// root and builder are of a column that is not flat.
	root    *node
	builder array.Builder
	// guess collects what is seen of a column whose type is inferred.
	guess *guess
	// wanted says that each record needs a value, be it null.
	wanted bool
	// record is the number of the last record that had the key.
	record int
	// place is the key's place among the expected ones, if it is there.
	place int
}

// skipped returns a column that nobody asked for.
func skipped(name string) *jsonColumn {
	return &jsonColumn{column: &column{field: arrow.Field{Name: name, Nullable: true}, kind: kindSkip}}
}

func (c *jsonColumn) grow(rows int) {
	if c.root == nil {
		c.column.grow(rows)
	}
}

// release gives up what the column holds, for good.
func (c *jsonColumn) release() {
	c.free()
	if c.builder != nil {
		c.builder.Release()
	}
}

// null makes row null.
func (c *jsonColumn) null(row int) {
	switch {
	case c.builder != nil:
		c.builder.AppendNull()
	case c.kind != kindNone:
		c.setNull(row)
	}
}

// value converts the value at b[pos:] into row where that is quick, and returns
// where it ends. Where it returns false, the value is read by the book. The text
// of the block must be UTF-8.
func (c *jsonColumn) value(b []byte, pos, row int) (end int, ok bool) {
	switch ch := b[pos]; ch {
	case '"':
		return c.quoted(b, pos, row)
	case 'n':
		if c.kind != kindNone && c.field.Nullable && binary.LittleEndian.Uint32(b[pos:]) == wordNull {
			c.setNull(row)
			return pos + 4, true
		}
	case 't':
		if binary.LittleEndian.Uint32(b[pos:]) == wordTrue && (c.kind == kindBool || c.kind == kindSkip) {
			if c.kind == kindBool {
				c.setBit(row, true)
			}
			return pos + 4, true
		}
	case 'f':
		if binary.LittleEndian.Uint32(b[pos+1:]) == wordAlse && (c.kind == kindBool || c.kind == kindSkip) {
			return pos + 5, true
		}
	case '{', '[':
	default:
		switch c.kind {
		case kindInt64, kindInt32, kindDecimal, kindFloat64:
			end, ok = c.fast(b, pos, row)
			return end, ok && isNumber(b, pos, end)
		case kindSkip:
			return numberEnd(b, pos)
		}
	}
	return 0, false
}

// The words of JSON as the 4 bytes that they begin with; "false" without its f.
const (
	wordNull = 'n' | 'u'<<8 | 'l'<<16 | 'l'<<24
	wordTrue = 't' | 'r'<<8 | 'u'<<16 | 'e'<<24
	wordAlse = 'a' | 'l'<<8 | 's'<<16 | 'e'<<24
)

// quoted is value for a string.
func (c *jsonColumn) quoted(b []byte, pos, row int) (end int, ok bool) {
	switch c.kind {
	case kindText:
		end = endOfString(b, pos+1)
		if b[end] != '"' {
			return 0, false
		}
		c.put(b, pos+1, end, row)
		return end + 1, true
	case kindSkip:
		end = endOfString(b, pos+1)
		return end + 1, b[end] == '"'
	case kindDecimal, kindDate, kindTimestamp, kindTimestampTZ:
		end, ok = c.fast(b, pos+1, row)
		return end + 1, ok && b[end] == '"'
	}
	return 0, false
}

// isNumber reports whether the quick conversion of b[pos:end] took a whole
// number of JSON: without zeros before it, a point at its end, or a rest.
func isNumber(b []byte, pos, end int) bool {
	if b[pos] == '-' {
		pos++
	}
	return (b[pos] != '0' || b[pos+1]-'0' > 9) && b[end-1] != '.' && endsValue(b[end])
}

// endsValue reports whether ch may stand after a number.
func endsValue(ch byte) bool {
	return ch == ',' || ch == '}' || ch == ']' || isSpace(ch) || ch == '\n'
}

// isSpace reports whether ch is white space within a line.
func isSpace(ch byte) bool { return ch == ' ' || ch == '\t' || ch == '\r' }

// numberEnd returns where the number of JSON at b[pos:] ends, if there is one.
func numberEnd(b []byte, pos int) (end int, ok bool) {
	digits := func() bool {
		start := pos
		for b[pos]-'0' <= 9 {
			pos++
		}
		return pos > start
	}
	if b[pos] == '-' {
		pos++
	}
	zero := b[pos] == '0'
	start := pos
	if !digits() || zero && pos > start+1 {
		return 0, false
	}
	if b[pos] == '.' {
		pos++
		if !digits() {
			return 0, false
		}
	}
	if b[pos] == 'e' || b[pos] == 'E' {
		pos++
		if b[pos] == '+' || b[pos] == '-' {
			pos++
		}
		if !digits() {
			return 0, false
		}
	}
	return pos, endsValue(b[pos])
}

// endOfString returns the position of the first quote, backslash or control
// character at or after pos. One of them must follow, and 8 bytes be readable
// after it.
func endOfString(b []byte, pos int) int {
	for {
		x := binary.LittleEndian.Uint64(b[pos:])
		y := x ^ eachByte*'"'
		m := (y - eachByte) &^ y
		y = x ^ eachByte*'\\'
		m |= (y - eachByte) &^ y
		// Bytes below 0x20 borrow from their high bit.
		m |= (x - eachByte*0x20) &^ x
		if m &= highBits; m != 0 {
			return pos + bits.TrailingZeros64(m)>>3
		}
		pos += 8
	}
}
