package arrowio

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"
)

// unexpected parses the rest of a record that is not like those before it: its
// first keys were as expected, so many of them, and pos is after the last one's
// value.
func (p *jsonParser) unexpected(b []byte, pos, row, keys int) (next int, err error) {
	p.record++
	p.learned = append(p.learned[:0], p.order[:keys]...)
	for _, e := range p.learned {
		e.column.record = p.record
	}
	strict, learn, i := pos >= p.bad, len(p.order) == 0, keys
	for {
		e, end, err := p.next(b, pos, i, strict)
		if err != nil {
			return end, err
		}
		if e.column == nil {
			pos = end
			break
		}
		c := e.column
		if c.record == p.record {
			return pos, p.errorAt(pos, fmt.Sprintf("the key %s occurs twice in the record", shown([]byte(c.field.Name))))
		}
		c.record = p.record
		p.learned = append(p.learned, e)
		// A key that was left out is no other order: the ones after it are known.
		switch {
		case c.place < i || c.place >= len(p.order) || p.order[c.place].column != c:
			learn = true
		default:
			learn = learn || c.place == i && !bytes.Equal(p.order[i].lead, e.lead)
			i = c.place + 1
		}
		if pos, err = p.anyValue(c, b, end, row, strict); err != nil {
			return pos, err
		}
	}
	for _, c := range p.columns {
		if c.wanted && c.record != p.record {
			if err := p.missing(c, pos, row); err != nil {
				return pos, err
			}
		}
	}
	if learn && len(p.learned) > 0 {
		p.learn()
	}
	return p.afterRecord(pos)
}

// next is key, and quick where the i-th expected key follows others.
func (p *jsonParser) next(b []byte, pos, i int, strict bool) (e expected, next int, err error) {
	if !strict && 0 < i && i < len(p.order) && p.order[i].at(b, pos) {
		e = p.order[i]
		return e, pos + len(e.lead), nil
	}
	return p.key(b, pos, len(p.learned) == 0)
}

// anyValue parses the value at pos; where strict, the text may not be UTF-8.
func (p *jsonParser) anyValue(c *jsonColumn, b []byte, pos, row int, strict bool) (end int, err error) {
	if !strict {
		if end, ok := c.value(b, pos, row); ok {
			return end, nil
		}
	}
	return p.slow(c, pos, row)
}

// learn expects records like the last one from now on.
func (p *jsonParser) learn() {
	p.order, p.learned = p.learned, p.order
	for i, e := range p.order {
		e.column.place = i
	}
	p.absent = nil
	for _, c := range p.columns {
		if c.wanted && c.record != p.record {
			p.absent = append(p.absent, c)
		}
	}
}

// missing makes a column null in a record without its key.
func (p *jsonParser) missing(c *jsonColumn, pos, row int) error {
	if c.required() {
		return p.errorAt(pos, fmt.Sprintf("the record has no key %s, and the column is required", shown([]byte(c.field.Name))))
	}
	c.null(row)
	return nil
}

// key parses what stands at pos before the next value, which begins at next. At
// the record's end the column is nil, and next is after the brace.
func (p *jsonParser) key(b []byte, pos int, first bool) (e expected, next int, err error) {
	start := pos
	pos = skipSpace(b, pos)
	switch ch := b[pos]; {
	case first && ch != '{':
		return e, pos, p.noObject(pos)
	case !first && ch == '}':
		return e, pos + 1, nil
	case ch == '\n':
		return e, pos, p.incomplete(pos)
	case !first && ch != ',':
		return e, pos, p.errorAt(pos, fmt.Sprintf("a comma or the closing brace is expected, and there is %s", p.shownAt(pos)))
	}
	pos = skipSpace(b, pos+1)
	switch ch := b[pos]; {
	case first && ch == '}':
		return e, pos + 1, nil
	case ch == '\n':
		return e, pos, p.incomplete(pos)
	case ch != '"':
		return e, pos, p.errorAt(pos, fmt.Sprintf("a key in double quotes is expected, and there is %s", p.shownAt(pos)))
	}
	name, pos, err := p.name(pos)
	if err != nil {
		return e, pos, err
	}
	pos = skipSpace(b, pos)
	switch b[pos] {
	case ':':
	case '\n':
		return e, pos, p.incomplete(pos)
	default:
		return e, pos, p.errorAt(pos, fmt.Sprintf("a colon is expected after the key %s, and there is %s", shown(name), p.shownAt(pos)))
	}
	c, err := p.lookup(pos, name)
	if err != nil {
		return e, pos, err
	}
	pos = skipSpace(b, pos+1)
	return expect(b[start:pos], c), pos, nil
}

func skipSpace(b []byte, pos int) int {
	for isSpace(b[pos]) {
		pos++
	}
	return pos
}

// name parses the key at pos.
func (p *jsonParser) name(pos int) (name []byte, end int, err error) {
	t, err := p.stringAt(pos)
	switch {
	case err == nil && !utf8.Valid(t.text):
		err = errNotUTF8
	case err == nil && len(t.text) == 0:
		return nil, pos, p.errorAt(pos, "a key is empty, and a column needs a name")
	}
	switch {
	case err == errIncomplete: //nolint:errorlint // never wrapped
		return nil, pos, p.incomplete(pos)
	case err != nil:
		return nil, pos, p.errorAt(pos, fmt.Sprintf("the key %s: %v", p.shownAt(pos), err))
	}
	return t.text, t.end, nil
}

const tooManyKeys = "the records have more than 10000 different keys; keys that are data, such as ids, are no columns"

// lookup returns the column of a key. One that nobody asked for is skipped.
func (p *jsonParser) lookup(pos int, name []byte) (*jsonColumn, error) {
	if c, ok := p.byName[string(name)]; ok {
		return c, nil
	}
	if len(p.columns) > mostKeys {
		return nil, p.errorAt(pos, tooManyKeys)
	}
	c := skipped(string(name))
	p.columns = append(slices.Clip(p.columns), c)
	p.byName[c.field.Name] = c
	return c, nil
}

// afterRecord checks that nothing follows the record that ends at pos, and
// returns where the next line begins.
func (p *jsonParser) afterRecord(pos int) (next int, err error) {
	pos = skipSpace(p.b.buf, pos)
	if p.b.buf[pos] != '\n' {
		return pos, p.errorAt(pos, fmt.Sprintf("one object a line is expected, and after it there is %s", p.shownAt(pos)))
	}
	return pos + 1, nil
}
