package lake

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// spill keeps rows of many partitions in one temporary file, each partition's
// in pieces that can be read back alone. The file has no name once it is open,
// so that nothing is left behind whatever happens to the process.
type spill struct {
	dir    string
	file   *os.File
	end    int64
	pieces map[*partition][]piece
}

type piece struct{ at, size int64 }

// add appends the rows of each partition, in the given order of partitions.
func (s *spill) add(order []*partition, rows map[*partition][]arrow.RecordBatch) error {
	var buf bytes.Buffer
	for _, p := range order {
		if len(rows[p]) == 0 {
			continue
		}
		pc, err := s.put(&buf, rows[p])
		if err != nil {
			return err
		}
		s.pieces[p] = append(s.pieces[p], pc)
	}
	return nil
}

// put appends rows as one piece; buf is memory to encode them in.
func (s *spill) put(buf *bytes.Buffer, rows []arrow.RecordBatch) (piece, error) {
	buf.Reset()
	if err := s.create(); err != nil {
		return piece{}, err
	}
	if err := encodeRows(buf, rows); err != nil {
		return piece{}, fmt.Errorf("spill rows to %s: %w", s.dir, err)
	}
	if _, err := s.file.WriteAt(buf.Bytes(), s.end); err != nil {
		return piece{}, fmt.Errorf("spill rows to %s (choose another folder with TMPDIR, or allow more memory): %w", s.dir, err)
	}
	pc := piece{s.end, int64(buf.Len())}
	s.end += pc.size
	return pc, nil
}

func (s *spill) create() (err error) {
	if s.file != nil {
		return nil
	}
	if s.file, err = os.CreateTemp(s.dir, "calve-spill-"); err != nil {
		return fmt.Errorf("open a file to spill rows to: %w", err)
	}
	s.pieces = map[*partition][]piece{}
	return os.Remove(s.file.Name())
}

// encodeRows writes batches; those with one schema share a stream. Texts are
// written out: a dictionary would be stored again for each partition.
func encodeRows(buf *bytes.Buffer, rows []arrow.RecordBatch) (err error) {
	var w *ipc.Writer
	var schema *arrow.Schema
	for _, r := range rows {
		plain := plainBatch(r, plainSchema(r.Schema()))
		if w == nil || !plain.Schema().Equal(schema) {
			if w != nil {
				err = w.Close()
			}
			schema = plain.Schema()
			w = ipc.NewWriter(buf, ipc.WithSchema(schema))
		}
		if err == nil {
			err = w.Write(plain)
		}
		plain.Release()
		if err != nil {
			return err
		}
	}
	return w.Close()
}

// read yields the rows of one partition in the order they were added, about
// limit bytes at a time. The caller releases them. Safe for concurrent use.
func (s *spill) read(p *partition, limit int64) iter.Seq2[[]arrow.RecordBatch, error] {
	return func(yield func([]arrow.RecordBatch, error) bool) {
		var rows []arrow.RecordBatch
		held := int64(0)
		for _, pc := range s.pieces[p] {
			more, err := s.decode(pc)
			if err != nil {
				releaseAll(rows)
				yield(nil, fmt.Errorf("read spilled rows back: %w", err))
				return
			}
			rows = append(rows, more...)
			if held += pc.size; held >= limit {
				if !yield(rows, nil) {
					return
				}
				rows, held = nil, 0
			}
		}
		if len(rows) > 0 {
			yield(rows, nil)
		}
	}
}

func (s *spill) decode(pc piece) (rows []arrow.RecordBatch, err error) {
	section := io.NewSectionReader(s.file, pc.at, pc.size)
	for {
		at, _ := section.Seek(0, io.SeekCurrent)
		if at == pc.size {
			return rows, nil
		}
		r, err := ipc.NewReader(section)
		if err != nil {
			releaseAll(rows)
			return nil, err
		}
		for r.Next() {
			rec := r.RecordBatch()
			rec.Retain()
			rows = append(rows, rec)
		}
		err = r.Err()
		r.Release()
		if err != nil {
			releaseAll(rows)
			return nil, err
		}
	}
}

func (s *spill) close() {
	if s.file != nil {
		_ = s.file.Close() // it has no name any more
	}
}
