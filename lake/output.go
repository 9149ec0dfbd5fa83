package lake

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"
)

// output is what the last verdict was written as.
type output struct {
	of    string
	files []iceberg.DataFile
	// rewritten are the keys of the files that files stand for, deletes hide rows of
	// the other ones.
	rewritten []string
	deletes   []iceberg.DataFile
}

// fingerprint is the same for verdicts that are written as the same files.
func (v *verdict) fingerprint() string {
	h := xxh3.New()
	number := func(n int64) { _, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) }
	for _, p := range v.touched {
		_, _ = h.WriteString(p.key)
		number(int64(len(v.removed[p])))
		for _, row := range v.removed[p] {
			number(row)
		}
	}
	for i, wins := range v.wins {
		if wins {
			number(int64(i))
		}
	}
	sum := h.Sum128().Bytes()
	return string(sum[:])
}

// write stages the rows that win, and what takes the old rows out of the touched
// files. What was written for the same verdict before serves again.
func (m *keyed) write(ctx context.Context, t *table.Table, s *store, v *verdict) (output, error) {
	if v.empty() {
		return output{}, nil
	}
	of := v.fingerprint()
	if m.output.of == of {
		return m.output, nil
	}
	out := output{of: of}
	rewritten, err := m.hide(ctx, t, s, v, &out)
	if err != nil {
		return output{}, err
	}
	var rows int64
	out.files, err = m.stageInto(ctx, t, m.fit, m.outputRows(ctx, t, v, rewritten, &rows), m.noteStaged)
	if err != nil {
		return output{}, err
	}
	for _, df := range out.files {
		rows -= df.Count()
	}
	if rows != 0 {
		return output{}, fmt.Errorf("%d rows are missing in the staged files: %w", rows, ErrBug)
	}
	for _, p := range rewritten {
		out.rewritten = append(out.rewritten, p.key)
	}
	m.output = out
	return out, nil
}

// mostDeletes is how many delete files a data file may have before it is written
// again.
const mostDeletes = 8

// hide writes position deletes for the touched files, where that is the mode, and
// returns those that are to be written again.
func (m *keyed) hide(ctx context.Context, t *table.Table, s *store, v *verdict, out *output) (rewritten []*probed, err error) {
	var hidden []*probed
	for _, p := range v.touched {
		n := int64(len(v.removed[p]))
		if m.load.Write == MergeOnRead && len(p.equalities) == 0 && len(p.positions) < mostDeletes && 2*(p.live-n) > p.entry.DataFile().Count() {
			hidden = append(hidden, p)
		} else {
			rewritten = append(rewritten, p)
		}
	}
	out.deletes = make([]iceberg.DataFile, len(hidden))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(removers)
	for i, p := range hidden {
		group.Go(func() (err error) {
			defer Caught(&err)
			deleted, err := deletedPositions(ctx, s, p.liveFile)
			if err == nil {
				out.deletes[i], err = m.writePositions(ctx, t, s, p.entry.DataFile(), positionsOf(v.removed[p], deleted))
			}
			return err
		})
	}
	return rewritten, group.Wait()
}

// outputRows yields the rows to write and counts them.
func (m *keyed) outputRows(ctx context.Context, t *table.Table, v *verdict, rewritten []*probed, count *int64) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		pass := func(rec arrow.RecordBatch, err error) bool {
			if err == nil {
				*count += rec.NumRows()
			}
			return yield(rec, err)
		}
		for _, p := range rewritten {
			for rec, err := range m.without(ctx, t, p.liveFile, v.removed[p]) {
				if !pass(rec, err) || err != nil {
					return
				}
			}
		}
		for b, err := range m.rows.all() {
			if err != nil {
				yield(nil, err)
				return
			}
			rec, err := keepRows(ctx, b.memory, v.wins[b.first:b.first+b.rows])
			if !pass(rec, err) || err != nil {
				return
			}
		}
	}
}

// without yields the live rows of a file but for some, whose numbers are in order.
func (m *keyed) without(ctx context.Context, t *table.Table, file liveFile, removed []int64) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		first := int64(0)
		for rec, err := range m.liveRows(ctx, t, m.fit, file) {
			if err != nil {
				yield(nil, err)
				return
			}
			keep := allTrue(int(rec.NumRows()))
			for ; len(removed) > 0 && removed[0] < first+rec.NumRows(); removed = removed[1:] {
				keep[removed[0]-first] = false
			}
			first += rec.NumRows()
			kept, err := keepRows(ctx, rec, keep)
			rec.Release()
			if !yield(kept, err) || err != nil {
				return
			}
		}
		if len(removed) > 0 {
			yield(nil, fmt.Errorf("read %s: it had more rows when it was read before: %w", file.entry.DataFile().FilePath(), ErrBug))
		}
	}
}
