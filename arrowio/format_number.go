package arrowio

import (
	"bytes"
	"fmt"
	"math"
	"regexp"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/calve-data/calve/lake"
)

// numberFormat is how numbers are written, told by how 1234.56 is: 1234,56 or
// 1.234,56 or 1'234.56 and so on.
//
// Digits may be grouped or not. Where they are, all groups but the first must
// have three of them, and the mark of the other format is nowhere: "1.5" is no
// number where a point groups.
type numberFormat struct {
	example string
	point   byte
	// group is what may stand between groups of three digits.
	group []string
}

var numberExample = regexp.MustCompile(`^1([., '’` + "\u00a0\u202f" + `]?)234([.,])56$`)

// compileNumber reads an example. Its error wraps [lake.ErrUsage].
func compileNumber(example string) (*numberFormat, error) {
	m := numberExample.FindStringSubmatch(example)
	if m == nil || m[1] == m[2] {
		return nil, fmt.Errorf("format %q: say how 1234.56 is written, as 1234,56 or 1.234,56 or 1'234.56: %w", example, lake.ErrUsage)
	}
	f := &numberFormat{example: example, point: m[2][0]}
	switch m[1] {
	case "":
	case " ", "\u00a0", "\u202f": // nobody sees which space it is
		f.group = []string{" ", "\u00a0", "\u202f"}
	default:
		f.group = []string{m[1]}
	}
	return f, nil
}

// isPlain reports whether numbers are in the plain form, which no format or that
// of 1234.56 is.
func (f *numberFormat) isPlain() bool { return f == nil || f.point == '.' && len(f.group) == 0 }

// toPlain appends the number in its plain form to dst. It checks the grouping;
// whether the rest is a number is for the plain form's reader to say.
func (f *numberFormat) toPlain(dst, text []byte) ([]byte, bool) {
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		dst, text = append(dst, text[0]), text[1:]
	}
	digits, grouped := 0, false
	for len(text) > 0 {
		if text[0]-'0' <= 9 {
			dst, text = append(dst, text[0]), text[1:]
			digits++
			continue
		}
		n := f.groupAt(text)
		if n == 0 {
			break
		}
		if digits == 0 || digits > 3 || grouped && digits != 3 {
			return dst, false
		}
		digits, grouped, text = 0, true, text[n:]
	}
	if grouped && digits != 3 {
		return dst, false
	}
	if len(text) > 0 && text[0] == f.point {
		dst, text = append(dst, '.'), text[1:]
	}
	return append(dst, text...), !bytes.ContainsAny(text, ".,")
}

// groupAt is the length of the mark between groups that text begins with.
func (f *numberFormat) groupAt(text []byte) int {
	for _, g := range f.group {
		if len(text) >= len(g) && string(text[:len(g)]) == g {
			return len(g)
		}
	}
	return 0
}

// shape is [shapeOf] for text whose numbers are in the format. A number in the
// plain form alone is text.
func (f *numberFormat) shape(text []byte) shape {
	if f.isPlain() {
		return shapeOf(text)
	}
	plain, ok := f.toPlain(nil, text)
	if n, number := splitNumber(plain); ok && number {
		return n.shape(plain)
	}
	if _, number := splitNumber(text); number {
		return shape{forms: formText}
	}
	return shapeOf(text)
}

// setNumber is set for a column with a format of numbers.
func (c *column) setNumber(row int, text []byte) error {
	plain, ok := c.numbers.toPlain(c.plain[:0], text)
	n := len(plain)
	// The quick converters look at what follows.
	c.plain = append(plain, '\n')
	if !ok {
		return fmt.Errorf("numbers are declared to be written as %s", c.numbers.example)
	}
	switch c.kind {
	case kindDecimal:
		if v, end, ok := fastDecimal(c.plain, 0, c.precision, c.scale); ok && end == n {
			num := decimal128.FromI64(v)
			c.i64[2*row], c.i64[2*row+1] = int64(num.LowBits()), num.HighBits()
			return nil
		}
	case kindFloat64:
		if v, end, ok := fastFloat(c.plain, 0); ok && end == n {
			c.i64[row] = int64(math.Float64bits(v))
			return nil
		}
	}
	return c.setPlain(row, c.plain[:n])
}
