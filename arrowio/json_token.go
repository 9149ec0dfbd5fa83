package arrowio

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonForm is how JSON writes a value.
type jsonForm byte

const (
	jsonNull jsonForm = iota
	jsonBool
	jsonNumber
	jsonString
	jsonObject
	jsonList
)

// token is a value by the book.
type token struct {
	form jsonForm
	// text is what a string means, and how any other value is written; of an
	// object or a list it is the first byte. It is valid until the next token.
	text []byte
	end  int
}

var (
	errIncomplete = errors.New("incomplete")
	errControl    = errors.New("it has a control character, which JSON writes as \\n, \\t or \\u0000")
	errEscape     = errors.New("it has an escape that JSON does not know, or half of a surrogate pair")
	errNoNumber   = errors.New("this is no number of JSON")
	errNoValue    = errors.New("this is no value of JSON")
)

// tokenAt returns the value at pos.
func (p *jsonParser) tokenAt(pos int) (token, error) {
	b := p.b.buf[:p.b.n+blockSlack]
	switch ch := b[pos]; {
	case ch == '"':
		t, err := p.stringAt(pos)
		if err == nil && pos >= p.bad && !utf8.Valid(t.text) {
			err = errNotUTF8
		}
		return t, err
	case ch == '{':
		return token{form: jsonObject, text: b[pos : pos+1], end: pos + 1}, nil
	case ch == '[':
		return token{form: jsonList, text: b[pos : pos+1], end: pos + 1}, nil
	case ch == '-' || ch-'0' <= 9:
		end, ok := numberEnd(b, pos)
		if !ok {
			return token{}, errNoNumber
		}
		return token{form: jsonNumber, text: b[pos:end], end: end}, nil
	case endsLine(b, pos):
		return token{}, errIncomplete
	}
	for _, w := range [...]struct {
		text string
		form jsonForm
	}{{"null", jsonNull}, {"true", jsonBool}, {"false", jsonBool}} {
		end := pos + len(w.text)
		if string(b[pos:end]) == w.text && endsValue(b[end]) {
			return token{form: w.form, text: b[pos:end], end: end}, nil
		}
	}
	return token{}, errNoValue
}

// endsLine reports whether a line ends at pos.
func endsLine(b []byte, pos int) bool { return b[pos] == '\n' || b[pos] == '\r' && b[pos+1] == '\n' }

// stringAt returns the string at pos. Only one with escapes is surely UTF-8.
func (p *jsonParser) stringAt(pos int) (t token, err error) {
	b := p.b.buf[:p.b.n+blockSlack]
	escapes, end := false, pos+1
	for {
		end = endOfString(b, end)
		switch b[end] {
		case '"':
			t = token{form: jsonString, text: b[pos+1 : end], end: end + 1}
			if escapes {
				p.text, err = jsontext.AppendUnquote(p.text[:0], b[pos:end+1])
				t.text = p.text
			}
			if err != nil {
				err = errEscape
				if !utf8.Valid(b[pos:end]) {
					err = errNotUTF8
				}
			}
			return t, err
		case '\\':
			escapes = true
			if end++; endsLine(b, end) {
				return t, errIncomplete
			}
			end++
		default:
			if endsLine(b, end) {
				return t, errIncomplete
			}
			return t, errControl
		}
	}
}

// slow parses the value at pos by the book.
func (p *jsonParser) slow(c *jsonColumn, pos, row int) (end int, err error) {
	t, err := p.tokenAt(pos)
	switch {
	case err != nil:
		return pos, p.valueError(c.field.Name, pos, err)
	case c.guess != nil:
		return p.see(c, t, pos)
	case t.form == jsonNull && c.required():
		return pos, p.cellError(c.field.Name, pos, errNullCell.Error())
	case t.form == jsonNull:
		c.unput(row)
		c.null(row)
		return t.end, nil
	case c.root != nil:
		return p.build(c, t, pos)
	case c.kind == kindSkip && (t.form == jsonObject || t.form == jsonList):
		return p.nested(c.field.Name, pos, func(d *jsontext.Decoder) error { return d.SkipValue() })
	case c.kind == kindSkip:
		return t.end, nil
	}
	c.unput(row)
	if why := refuses(c.field.Type, c.kind, t.form); why != "" {
		return pos, p.cellError(c.field.Name, pos, p.shownAt(pos)+why)
	}
	if err := c.set(row, t.text); err != nil {
		return pos, p.cellError(c.field.Name, pos, misfit(t, c.field.Type, err))
	}
	return t.end, nil
}

// lineAfter returns the rest of the line at pos, without its end.
func (p *jsonParser) lineAfter(pos int) []byte {
	end := pos + bytes.IndexByte(p.b.buf[pos:p.b.n], '\n')
	return p.b.buf[pos:end:end]
}

// nested lets read have the object or list at pos, and returns where it ends.
func (p *jsonParser) nested(column string, pos int, read func(*jsontext.Decoder) error) (end int, err error) {
	if end, err = p.decode(pos, read); err != nil {
		return pos, p.nestedError(column, pos, err)
	}
	return end, nil
}

// decode lets read have what begins at pos, and returns where it stopped.
func (p *jsonParser) decode(pos int, read func(*jsontext.Decoder) error) (end int, err error) {
	p.input = *bytes.NewBuffer(p.lineAfter(pos))
	if p.decoder == nil {
		p.decoder = jsontext.NewDecoder(&p.input)
	} else {
		p.decoder.Reset(&p.input)
	}
	err = read(p.decoder)
	return pos + int(p.decoder.InputOffset()), err
}

// valueError words what tokenAt says.
func (p *jsonParser) valueError(column string, pos int, err error) error {
	if errors.Is(err, errIncomplete) {
		return p.incomplete(pos)
	}
	return p.cellError(column, pos, fmt.Sprintf("%s: %v", p.shownAt(pos), err))
}
