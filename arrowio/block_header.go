package arrowio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// headerBytes is how much is read at first to find a header.
const headerBytes = 64 << 10

// header is the first record of a file: the names of its columns.
type header struct {
	file string
	// names has one for each field of a record. The last may be "" in files whose
	// lines end in a delimiter: then nothing may be in that field.
	names []string
}

// index returns the position of the named column, or -1.
func (h *header) index(name string) int {
	for i, n := range h.names {
		if n == name {
			return i
		}
	}
	return -1
}

// readHeader reads the file's first record, which next then leaves out. It is
// called once, before next.
func (r *blockReader) readHeader() error {
	size := min(headerBytes, r.size)
	buf := make([]byte, size+1)
	n, bom := 0, 0
	for {
		var err error
		if n, err = r.fill(buf[:size], n); err != nil {
			return err
		}
		if bytes.HasPrefix(buf[:n], []byte("\xef\xbb\xbf")) {
			bom = 3
		}
		if r.eof {
			n = closeLast(buf, n)
		}
		if what := notText(buf[:n]); what != "" {
			return inputErrorf("%s %s", r.file, what)
		}
		end := firstRecordEnd(buf[bom:n])
		if end > 0 || r.eof {
			return r.parseHeader(buf[bom:n], end)
		}
		if size == r.limit {
			r.line = 1
			return r.tooLong(buf[bom:n])
		}
		size = min(2*size, r.limit)
		buf = append(buf[:n], make([]byte, size+1-n)...)
	}
}

// parseHeader takes the header from b[:end] and gives the rest of b back to
// the reader. Where end is 0 the file ends before its header does.
func (r *blockReader) parseHeader(b []byte, end int) error {
	if r.noHeader {
		return r.countFields(b, end)
	}
	if len(b) == 0 {
		return inputErrorf("%s is empty: it has no header line", r.file)
	}
	if end == 0 {
		end = len(b)
	}
	pos := 0
	for pos < end && isBlank(b, pos) {
		pos += bytes.IndexByte(b[pos:], '\n') + 1
	}
	if pos == end {
		return inputErrorf("%s has no header line", r.file)
	}
	line := 1 + int64(bytes.Count(b[:pos], []byte{'\n'}))
	names, err := headerNames(b[:end], pos, r.delim)
	if err != nil {
		return inputErrorf("%s line %d: %v", r.file, line, err)
	}
	r.header = &header{file: r.file, names: names}
	r.line = 1 + int64(bytes.Count(b[:end], []byte{'\n'}))
	r.giveBack(b[end:])
	return nil
}

// giveBack lets what was read beyond the header be read again, so that the
// blocks are cut as if the file began here.
func (r *blockReader) giveBack(b []byte) {
	rest := io.Reader(bytes.NewReader(b))
	if !r.eof {
		rest = io.MultiReader(rest, r.r)
	}
	r.r, r.eof = rest, false
}

// countFields names the columns of a file without a header line. Where no names
// are given they are c1, c2 and so on, as many as the first record has fields.
func (r *blockReader) countFields(b []byte, end int) error {
	r.header, r.line = &header{file: r.file, names: r.names}, 1
	pos := 0
	for pos < end && isBlank(b, pos) {
		pos += bytes.IndexByte(b[pos:], '\n') + 1
	}
	if pos < end {
		line := 1 + int64(bytes.Count(b[:pos], []byte{'\n'}))
		n, err := fieldCount(b[:end], pos, r.delim)
		if err != nil {
			return inputErrorf("%s line %d: %v", r.file, line, err)
		}
		for i := range n {
			if len(r.names) == 0 {
				r.header.names = append(r.header.names, fmt.Sprintf("c%d", i+1))
			}
		}
	}
	r.giveBack(b)
	return nil
}

// fieldCount is the number of fields of the record at pos.
func fieldCount(b []byte, pos int, delim byte) (n int, err error) {
	s := scanner{delim: delim}
	for {
		f, err := s.field(b, pos)
		if err != nil {
			return 0, err
		}
		if what := notRecord(string(f.text)); what != "" {
			return 0, errors.New(what)
		}
		if n++; f.last {
			return n, nil
		}
		pos = f.next
	}
}

// headerNames splits the record at pos into names, each of which must be there
// once.
func headerNames(b []byte, pos int, delim byte) ([]string, error) {
	s := scanner{delim: delim}
	seen := map[string]int{}
	var names []string
	for {
		f, err := s.field(b, pos)
		if err != nil {
			return nil, err
		}
		name := string(f.text)
		names = append(names, name)
		if what := notRecord(name); what != "" {
			return nil, errors.New(what)
		}
		switch first := seen[name]; {
		case name == "" && f.last && len(names) > 1:
		case name == "":
			return nil, fmt.Errorf("column %d of the header has no name", len(names))
		case !utf8.ValidString(name):
			return nil, fmt.Errorf("the name of column %d is not UTF-8: %q", len(names), name)
		case first > 0:
			return nil, fmt.Errorf("columns %d and %d have the same name %q", first, len(names), name)
		}
		seen[name] = len(names)
		if f.last {
			return names, nil
		}
		pos = f.next
	}
}

// isBlank reports whether the line at pos holds nothing. Blank lines between
// records are skipped, also in a file of one column, as encoding/csv does.
func isBlank(b []byte, pos int) bool {
	return b[pos] == '\n' || b[pos] == '\r' && pos+1 < len(b) && b[pos+1] == '\n'
}
