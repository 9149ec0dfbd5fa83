package arrowio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
)

// What can be wrong with the form of a field.
var (
	errBareQuote  = errors.New("a quote stands inside a field that is not quoted")
	errAfterQuote = errors.New("a quoted field goes on after its closing quote; a quote inside must be doubled")
	errOpenQuote  = errors.New("a quote is opened and never closed")
)

// scanner finds fields by the book. It is the reference for the converters'
// own search for the end of a field, and takes over where they give up.
type scanner struct {
	delim byte
	// text is where a field with doubled quotes is put together.
	text []byte
}

// field is one field of a record.
type field struct {
	// text is the value without quotes, valid until the next call.
	text   []byte
	quoted bool
	// next is where the next field begins; last says that it is in another record.
	next int
	last bool
}

// field returns the field that begins at pos. Line ends inside quotes are kept
// as they are, which differs from encoding/csv on purpose: a value goes into
// the table as it was written.
func (s *scanner) field(b []byte, pos int) (field, error) {
	if pos < len(b) && b[pos] == '"' {
		return s.quoted(b, pos)
	}
	end := pos
	for end < len(b) && b[end] != s.delim && b[end] != '\n' {
		if b[end] == '"' {
			return field{}, errBareQuote
		}
		end++
	}
	f := field{text: b[pos:end], next: min(end+1, len(b))}
	if end == len(b) || b[end] == '\n' {
		f.last = true
		f.text = bytes.TrimSuffix(f.text, []byte{'\r'})
	}
	return f, nil
}

func (s *scanner) quoted(b []byte, pos int) (field, error) {
	s.text = s.text[:0]
	start := pos + 1
	for end := start; ; {
		i := bytes.IndexByte(b[end:], '"')
		if i < 0 {
			return field{}, errOpenQuote
		}
		end += i + 1
		if end < len(b) && b[end] == '"' {
			s.text = append(s.text, b[start:end]...)
			end++
			start = end
			continue
		}
		text := b[start : end-1]
		if len(s.text) > 0 {
			s.text = append(s.text, text...)
			text = s.text
		}
		return s.afterQuote(b, end, text)
	}
}

// afterQuote ends a quoted field, whose closing quote is before pos.
func (s *scanner) afterQuote(b []byte, pos int, text []byte) (field, error) {
	f := field{text: text, quoted: true}
	switch {
	case pos == len(b):
		f.next, f.last = pos, true
	case b[pos] == s.delim:
		f.next = pos + 1
	case b[pos] == '\n':
		f.next, f.last = pos+1, true
	case b[pos] == '\r' && pos+1 < len(b) && b[pos+1] == '\n':
		f.next, f.last = pos+2, true
	default:
		return field{}, errAfterQuote
	}
	return f, nil
}

// record counts the fields of the record at pos and returns where the next one
// begins.
func (s *scanner) record(b []byte, pos int) (fields, next int, err error) {
	for {
		f, err := s.field(b, pos)
		if err != nil {
			return fields, pos, err
		}
		fields++
		if f.last {
			return fields, f.next, nil
		}
		pos = f.next
	}
}

const (
	eachByte = 0x0101010101010101
	highBits = 0x8080808080808080
)

// endOfText returns the position of the first delimiter, newline or quote at or
// after pos, where delims holds the delimiter in each byte. One of them must
// follow, and 8 bytes be readable after it.
func endOfText(b []byte, pos int, delims uint64) int {
	for {
		x := binary.LittleEndian.Uint64(b[pos:])
		y := x ^ delims
		m := (y - eachByte) &^ y
		y = x ^ eachByte*'\n'
		m |= (y - eachByte) &^ y
		y = x ^ eachByte*'"'
		m |= (y - eachByte) &^ y
		if m &= highBits; m != 0 {
			return pos + bits.TrailingZeros64(m)>>3
		}
		pos += 8
	}
}
