package arrowio

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonParser parses the records of one block into columns, one per key.
//
// A record is expected to have the keys of the one before in the same order and
// with the same white space between them. Then what stands between two values is
// compared in one go, and only values are read. A key that is not where it is
// expected is looked up, and the new order learned.
//
// A value is first given to its column's quick conversion. Where that does not
// take it, it is read by the book.
type jsonParser struct {
	b *block
	// columns are those that were asked for, and then the other keys as they
	// appeared.
	columns []*jsonColumn
	byName  map[string]*jsonColumn
	// order is what the records are expected to look like, and absent the wanted
	// columns that such a record does not have.
	order  []expected
	absent []*jsonColumn
	// learned is where the next order is put together.
	learned []expected
	// record is the number of the record, from 1, that differed from what was
	// expected: keys are marked with it.
	record int
	// bad is where the first line begins that is not UTF-8.
	bad int
	// text is where a string with escapes is put together; the decoder and its
	// input are for nested values.
	text    []byte
	decoder *jsontext.Decoder
	input   bytes.Buffer
}

// expected is what precedes a value: a comma or brace, the key, a colon, and
// white space around them.
type expected struct {
	lead []byte
	// head and mask are the first 16 bytes of lead, for comparison in two steps.
	head, mask [2]uint64
	column     *jsonColumn
}

func expect(lead []byte, c *jsonColumn) expected {
	e := expected{lead: lead, column: c}
	var head, mask [16]byte
	for i := range copy(head[:], lead) {
		mask[i] = 0xff
	}
	for i := range e.head {
		e.head[i] = binary.LittleEndian.Uint64(head[8*i:])
		e.mask[i] = binary.LittleEndian.Uint64(mask[8*i:])
	}
	return e
}

// at reports whether lead stands at b[pos:], which has 16 bytes or more.
func (e *expected) at(b []byte, pos int) bool {
	if binary.LittleEndian.Uint64(b[pos:])&e.mask[0] != e.head[0] || binary.LittleEndian.Uint64(b[pos+8:])&e.mask[1] != e.head[1] {
		return false
	}
	return len(e.lead) <= 16 || bytes.HasPrefix(b[pos+16:], e.lead[16:])
}

// newJSONParser returns a parser into columns, which get the values of the keys
// of their names.
func newJSONParser(b *block, columns []*jsonColumn) *jsonParser {
	p := &jsonParser{b: b, columns: columns, byName: make(map[string]*jsonColumn, len(columns)), bad: firstNotUTF8(b.buf[:b.n])}
	for _, c := range columns {
		c.wanted = c.guess == nil
		p.byName[c.field.Name] = c
	}
	p.absent = columns
	return p
}

// firstNotUTF8 returns where the first line begins that is not UTF-8, or the
// length of b. A line end is no part of a rune, so lines stand for themselves.
func firstNotUTF8(b []byte) int {
	if utf8.Valid(b) {
		return len(b)
	}
	for pos := 0; ; {
		end := pos + bytes.IndexByte(b[pos:], '\n') + 1
		if !utf8.Valid(b[pos:end]) {
			return pos
		}
		pos = end
	}
}

// names returns the keys of all records so far.
func (p *jsonParser) names() []string {
	list := make([]string, len(p.columns))
	for i, c := range p.columns {
		list[i] = c.field.Name
	}
	return list
}

// scan parses the whole block, of which no column is wanted.
func (p *jsonParser) scan() error {
	_, _, err := p.parse(0, p.b.n)
	return err
}

// parse parses at most limit records from pos on and returns their number and
// where the next one begins. The error is the earliest.
func (p *jsonParser) parse(pos, limit int) (rows, next int, err error) {
	b := p.b.buf[:p.b.n+blockSlack]
	for rows < limit && pos < p.b.n {
		start := pos
		for isSpace(b[pos]) {
			pos++
		}
		if b[pos] == '\n' { // a blank line
			pos++
			continue
		}
		if start >= p.bad {
			pos, err = p.unexpected(b, pos, rows, 0)
		} else {
			pos, err = p.like(b, pos, rows)
		}
		if err != nil {
			return rows, pos, err
		}
		rows++
	}
	return rows, pos, nil
}

// like parses the record at pos, which should be like those before it, into row.
func (p *jsonParser) like(b []byte, pos, row int) (next int, err error) {
	for i := range p.order {
		e := &p.order[i]
		if !e.at(b, pos) {
			return p.unexpected(b, pos, row, i)
		}
		pos += len(e.lead)
		end, ok := e.column.value(b, pos, row)
		if !ok {
			if end, err = p.slow(e.column, pos, row); err != nil {
				return pos, err
			}
		}
		pos = end
	}
	if len(p.order) == 0 || b[pos] != '}' {
		return p.unexpected(b, pos, row, len(p.order))
	}
	for _, c := range p.absent {
		if err := p.missing(c, pos, row); err != nil {
			return pos, err
		}
	}
	if b[pos+1] == '\n' {
		return pos + 2, nil
	}
	return p.afterRecord(pos + 1)
}
