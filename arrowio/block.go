package arrowio

import "bytes"

// A file of text is read in blocks, so that one file keeps many cores busy. A
// block holds whole records only, and where it ends depends on the file's
// bytes alone: hence the same batches at any number of cores.

const (
	// blockBytes is the size of a block: large enough that a batch of ordinary
	// rows fills it, small enough that several per core fit into memory.
	blockBytes = 8 << 20
	// blockSlack is the number of readable bytes after a block's records, so
	// that converters may load 8 or 16 bytes at once without looking for the end.
	blockSlack = 64
)

// block is a run of whole records of one file.
type block struct {
	// buf holds the records, the start of the next one, and the slack.
	buf []byte
	// n is the length of the records in buf. The last of them ends in a newline.
	n int
	// header is that of the file; it is the same value in all its blocks.
	header *header
	// line is the physical line that the block begins with, from 1.
	line int64
	// lines is the number of newlines in the records, which bounds their number.
	lines int
}

// resize makes room for size bytes of records, one newline more, and the slack,
// and keeps the first keep bytes. It gives up memory that a long record needed.
func (b *block) resize(size, keep int) {
	need := size + 1 + blockSlack
	if cap(b.buf) >= need && cap(b.buf) <= 2*need {
		b.buf = b.buf[:need]
		return
	}
	buf := make([]byte, need)
	copy(buf, b.buf[:keep])
	b.buf = buf
}

// lineAt returns the physical line of the byte at pos.
func (b *block) lineAt(pos int) int64 {
	return b.line + int64(bytes.Count(b.buf[:pos], []byte{'\n'}))
}

// recordsEnd returns the end of the last whole record in b, whose first byte
// begins a record, or 0 if no record ends in b.
//
// A newline ends a record when the number of quotes before it is even. That
// holds for every file without a quote inside an unquoted field; there the
// ends are wrong only after the record with that quote, which the parser
// refuses before it sees them.
func recordsEnd(b []byte) int {
	odd := bytes.Count(b, []byte{'"'})&1 == 1
	for end := len(b); ; {
		i := bytes.LastIndexByte(b[:end], '\n')
		if i < 0 {
			return 0
		}
		if bytes.Count(b[i:end], []byte{'"'})&1 == 1 {
			odd = !odd
		}
		if !odd {
			return i + 1
		}
		end = i
	}
}

// firstRecordEnd returns the end of the first record in b that is not a blank
// line, or 0 if it does not end in b.
func firstRecordEnd(b []byte) int {
	odd, blank := false, true
	for pos := 0; ; {
		i := bytes.IndexByte(b[pos:], '\n')
		if i < 0 {
			return 0
		}
		line := b[pos : pos+i]
		pos += i + 1
		if bytes.Count(line, []byte{'"'})&1 == 1 {
			odd = !odd
		}
		blank = blank && len(bytes.TrimSuffix(line, []byte{'\r'})) == 0
		if !odd && !blank {
			return pos
		}
	}
}
