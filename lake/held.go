package lake

import (
	"bytes"
	"fmt"
	"iter"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
)

// heldRows are the rows of a source, numbered from 0 in its order, that can be
// read again and again: in memory up to a limit, the rest in a temporary file.
type heldRows struct {
	limit int64 // bytes in memory
	spill *spill

	batches []heldBatch
	inUse   int64 // bytes
	rows    int64
}

// heldBatch are neighbouring rows of one file of the source.
type heldBatch struct {
	place
	first  int64 // the number of the first row
	rows   int64
	memory arrow.RecordBatch // nil where the rows are spilled
	piece  piece
}

// place says where the rows of a batch are in the source.
type place struct {
	file string
	// first is the number in the file of the batch's first row before some were
	// left out, keep which were not; nil: all.
	first int64
	keep  []bool
}

// add takes a batch over.
func (h *heldRows) add(rec arrow.RecordBatch, at place) error {
	b := heldBatch{place: at, first: h.rows, rows: rec.NumRows()}
	if size := batchBytes(rec); h.inUse+size <= h.limit {
		h.inUse += size
		b.memory = rec
	} else {
		defer rec.Release()
		var err error
		if b.piece, err = h.spill.put(&bytes.Buffer{}, []arrow.RecordBatch{rec}); err != nil {
			return err
		}
	}
	h.batches = append(h.batches, b)
	h.rows += b.rows
	return nil
}

// all yields the batches with the number of their first row. A batch lives until
// the next one.
func (h *heldRows) all() iter.Seq2[heldBatch, error] {
	return func(yield func(heldBatch, error) bool) {
		for _, b := range h.batches {
			if b.memory != nil {
				if !yield(b, nil) {
					return
				}
				continue
			}
			read, err := h.spill.decode(b.piece)
			if err != nil {
				yield(b, fmt.Errorf("read spilled rows back: %w", err))
				return
			}
			b.memory = read[0] // put alone, so it comes back alone
			more := yield(b, nil)
			releaseAll(read)
			if !more {
				return
			}
		}
	}
}

// where names a row by its place in the source.
func (h *heldRows) where(row int64) string {
	i := sort.Search(len(h.batches), func(i int) bool { return h.batches[i].first > row }) - 1
	b := h.batches[i]
	return fmt.Sprintf("%s row %d", b.file, b.place.first+int64(nthKept(b.keep, int(row-b.first))))
}

func (h *heldRows) close() {
	for _, b := range h.batches {
		if b.memory != nil {
			b.memory.Release()
		}
	}
	h.batches = nil
	h.spill.close()
}
