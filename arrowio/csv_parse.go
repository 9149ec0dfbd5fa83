package arrowio

import (
	"errors"
	"fmt"
)

// csvParser parses the records of one block into columns, one per field of the
// file's header.
//
// Each field is first given to its column's quick conversion, which also finds
// the field's end. Where that does not take it, the scanner finds the field by
// the book and the exact conversion decides.
type csvParser struct {
	opt     *CSVOptions
	b       *block
	columns []*column
	scan    scanner
	// rare marks the first bytes of fields that are no plain value: line ends,
	// delimiters, quotes, and the first bytes of the words for NULL.
	rare [256]bool
}

func newCSVParser(opt *CSVOptions, b *block, columns []*column) *csvParser {
	p := &csvParser{opt: opt, b: b, columns: columns, scan: scanner{delim: opt.Delimiter}}
	for _, ch := range []byte{opt.Delimiter, '\n', '\r', '"'} {
		p.rare[ch] = true
	}
	for _, word := range opt.Null {
		if word != "" {
			p.rare[word[0]] = true
		}
	}
	return p
}

// parse parses at most limit records from pos on and returns their number and
// where the next one begins. The error is that of the earliest bad cell.
func (p *csvParser) parse(pos, limit int) (rows, next int, err error) {
	b, start := p.b.buf[:p.b.n+blockSlack], pos
	for rows < limit && pos < p.b.n {
		if isBlank(b, pos) {
			pos = p.afterBlank(pos)
			continue
		}
		field, next, err := p.record(b, pos, rows)
		if err != nil {
			return rows, pos, p.firstError(start, rows, field, p.explain(pos, err))
		}
		pos = next
		rows++
	}
	return rows, pos, p.firstError(start, rows, 0, nil)
}

func (p *csvParser) afterBlank(pos int) int {
	if p.b.buf[pos] == '\r' {
		pos++
	}
	return pos + 1
}

// record parses the record at pos into row. With an error it returns the
// number of the field.
func (p *csvParser) record(b []byte, pos, row int) (field, next int, err error) {
	last, delim := len(p.columns)-1, p.opt.Delimiter
	for i, c := range p.columns {
		end := delim
		if i == last {
			end = '\n'
		}
		if !p.rare[b[pos]] {
			q, ok := c.fast(b, pos, row)
			switch {
			case !ok:
			case b[q] == end:
				pos = q + 1
				continue
			case b[q] == '\r' && i == last && b[q+1] == '\n':
				pos = q + 2
				continue
			}
		} else if b[pos] == '"' {
			if q, ok := p.fastQuoted(c, b, pos, row, end); ok {
				pos = q
				continue
			}
		} else if b[pos] == end && !c.required() {
			c.setNull(row)
			pos++
			continue
		}
		if pos, err = p.slow(c, pos, row, i == last); err != nil {
			return i, pos, err
		}
	}
	return 0, pos, nil
}

// fastQuoted is the quick conversion for a value within quotes.
func (p *csvParser) fastQuoted(c *column, b []byte, pos, row int, end byte) (next int, ok bool) {
	q, ok := c.fast(b, pos+1, row)
	if ok && b[q] == '"' && b[q+1] == end {
		return q + 2, true
	}
	return 0, false
}

// slow parses the field at pos by the book.
func (p *csvParser) slow(c *column, pos, row int, last bool) (next int, err error) {
	f, err := p.scan.field(p.b.buf[:p.b.n], pos)
	if err != nil {
		return pos, err
	}
	if f.last != last {
		return pos, errFieldCount
	}
	c.unput(row)
	if !f.quoted && p.opt.isNull(f.text) {
		if c.required() {
			return pos, p.cellError(pos, c, errNullCell.Error())
		}
		c.setNull(row)
		return f.next, nil
	}
	if err := c.set(row, f.text); err != nil {
		if c.kind == kindEmpty {
			return pos, inputErrorf("%s line %d: %s is in the last field, for which the header has no name", p.b.header.file, p.b.lineAt(pos), shown(f.text))
		}
		return pos, p.cellError(pos, c, badValue(f.text, c.field.Type, err))
	}
	return f.next, nil
}

// errFieldCount stands for an error that explain words.
var errFieldCount = errors.New("wrong number of fields")

// explain returns the error that helps most with the record at pos, of which
// err was found first: a record with too few or too many fields often shows
// itself as a value that does not fit.
func (p *csvParser) explain(pos int, err error) error {
	fields, _, scanErr := p.scan.record(p.b.buf[:p.b.n], pos)
	line := fmt.Sprintf("%s line %d", p.b.header.file, p.b.lineAt(pos))
	switch {
	case scanErr != nil:
		return inputErrorf("%s, field %d: %v", line, fields+1, scanErr)
	case fields < len(p.columns):
		return inputErrorf("%s: the record ends after %d of %d fields", line, fields, len(p.columns))
	case fields == len(p.columns)+1 && p.endsInDelimiter(pos):
		return inputErrorf("%s: the record ends in a delimiter, and the header does not", line)
	case fields > len(p.columns):
		return inputErrorf("%s: the record has %d fields, and the header has %d", line, fields, len(p.columns))
	}
	return err
}

// endsInDelimiter reports whether nothing is in the last field of the record at pos.
func (p *csvParser) endsInDelimiter(pos int) bool {
	for {
		f, err := p.scan.field(p.b.buf[:p.b.n], pos)
		if err != nil || f.last {
			return err == nil && len(f.text) == 0
		}
		pos = f.next
	}
}

// cellError is an error about the cell at pos.
func (p *csvParser) cellError(pos int, c *column, what string) error {
	return inputErrorf("%s line %d, column %q: %s", p.b.header.file, p.b.lineAt(pos), c.field.Name, what)
}

// firstError returns err, which was found at a field of the given row, unless a
// string before it is not UTF-8: that is looked for only now, a column at once.
// The first row is at start.
func (p *csvParser) firstError(start, row, field int, err error) error {
	badRow, badField := row, field
	for i, c := range p.columns {
		rows := row
		if err != nil && i < field {
			rows++
		}
		if r := c.notUTF8(rows); r >= 0 && (r < badRow || r == badRow && i < badField) {
			badRow, badField = r, i
		}
	}
	if badRow == row && badField == field {
		return err
	}
	pos := p.cellAt(start, badRow, badField)
	f, _ := p.scan.field(p.b.buf[:p.b.n], pos)
	c := p.columns[badField]
	return p.cellError(pos, c, badValue(f.text, c.field.Type, errNotUTF8))
}

// cellAt returns where a cell begins, by walking there from start. All records
// up to it are whole.
func (p *csvParser) cellAt(start, row, field int) int {
	b, pos := p.b.buf[:p.b.n], start
	for {
		for isBlank(b, pos) {
			pos = p.afterBlank(pos)
		}
		if row == 0 {
			break
		}
		_, pos, _ = p.scan.record(b, pos)
		row--
	}
	for range field {
		f, _ := p.scan.field(b, pos)
		pos = f.next
	}
	return pos
}
