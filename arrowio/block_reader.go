package arrowio

import (
	"bytes"
	"errors"
	"io"
)

// blockReader cuts one file into blocks, in order.
type blockReader struct {
	file string
	r    io.Reader
	// size is that of an ordinary block, limit that of the longest record;
	// size is not above limit.
	size, limit int
	// delim separates fields; it is needed only to say what is wrong with a
	// record that does not end.
	delim byte
	// lines says that every newline ends a record, whatever quotes are before it.
	lines bool
	// noHeader says that the first record is a row; names are the columns', if
	// they are known.
	noHeader bool
	names    []string

	header *header
	// carry is the start of a record whose end has not been read yet, and line
	// is the physical line it begins on.
	carry []byte
	line  int64
	eof   bool
}

// next fills b with the next records. It returns false after the last block.
func (r *blockReader) next(b *block) (bool, error) {
	if r.eof {
		return false, nil
	}
	size := r.size
	for size <= len(r.carry) {
		size *= 2
	}
	size = min(size, r.limit)
	b.resize(size, 0)
	n := copy(b.buf, r.carry)
	for {
		var err error
		if n, err = r.fill(b.buf[:size], n); err != nil {
			return false, err
		}
		if r.eof {
			n = closeLast(b.buf, n)
			return n > 0, r.emit(b, n, n)
		}
		if end := r.recordsEnd(b.buf[:n]); end > 0 {
			return true, r.emit(b, n, end)
		}
		if size == r.limit {
			return false, r.tooLong(b.buf[:n])
		}
		size = min(2*size, r.limit)
		b.resize(size, n)
	}
}

// recordsEnd returns the end of the last whole record in b, or 0.
func (r *blockReader) recordsEnd(b []byte) int {
	if r.lines {
		return bytes.LastIndexByte(b, '\n') + 1
	}
	return recordsEnd(b)
}

// fill reads until buf is full or the file ends, where r.eof is set. The first
// n bytes are there already; it returns the new number.
//
// io.ReadFull would not do: it cannot tell the end of the file from a
// compressed stream that is cut off, which is io.ErrUnexpectedEOF as well.
func (r *blockReader) fill(buf []byte, n int) (int, error) {
	idle := 0
	for n < len(buf) {
		m, err := r.r.Read(buf[n:])
		n += m
		switch {
		case errors.Is(err, io.EOF):
			// Where the buffer is full as well, the end is found by the next call:
			// some readers tell it early, and blocks must not depend on that.
			r.eof = n < len(buf)
			return n, nil
		case err != nil:
			return n, err
		case m > 0:
			idle = 0
		case idle == 100:
			return n, io.ErrNoProgress
		default:
			idle++
		}
	}
	return n, nil
}

// closeLast ends a file's last record with a newline if it has none, as the
// parser expects one, and returns the new length.
func closeLast(buf []byte, n int) int {
	if n > 0 && buf[n-1] != '\n' {
		buf[n] = '\n'
		n++
	}
	return n
}

// emit makes b the block of the first end of n bytes and keeps the rest.
func (r *blockReader) emit(b *block, n, end int) error {
	r.carry = append(r.carry[:0], b.buf[end:n]...)
	clear(b.buf[n:min(n+blockSlack, len(b.buf))])
	b.n = end
	b.header = r.header
	b.line = r.line
	b.lines = bytes.Count(b.buf[:end], []byte{'\n'})
	r.line += int64(b.lines)
	return nil
}

// tooLong says why the record b, of which the start is given, does not end. A
// stray quote is the likely reason, and then the better error.
func (r *blockReader) tooLong(b []byte) error {
	if r.lines {
		return inputErrorf("%s line %d: the line is longer than %d bytes; a record is one line", r.file, r.line, r.limit)
	}
	s := scanner{delim: r.delim}
	for pos := 0; pos < len(b); {
		f, err := s.field(b, pos)
		if err != nil && !errors.Is(err, errOpenQuote) {
			return inputErrorf("%s line %d: %v", r.file, r.line+int64(bytes.Count(b[:pos], []byte{'\n'})), err)
		}
		if err != nil {
			break
		}
		pos = f.next
	}
	return inputErrorf("%s line %d: the record is longer than %d bytes, or a quote is not closed", r.file, r.line, r.limit)
}
