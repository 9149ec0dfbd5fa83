package lake

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/zeebo/xxh3"
)

// MergeCounts counts what became of the source's rows in mode merge. Together
// they are the rows read less those outside.
type MergeCounts struct {
	// Inserted rows have a key that the table did not have.
	Inserted int64 `json:"inserted"`
	// Updated rows are newer than the table's.
	Updated int64 `json:"updated"`
	// Corrected rows have the version of the table's row and other values.
	Corrected int64 `json:"corrected"`
	// Deleted rows are deletions newer than the table's row, or of a key that the
	// table did not have.
	Deleted int64 `json:"deleted"`
	// IgnoredOlder rows are older than the table's.
	IgnoredOlder int64 `json:"ignored_older"`
	// Identical rows are in the table as they are.
	Identical int64 `json:"identical"`
	// Kept rows would be corrected, but for on_equal: keep.
	Kept int64 `json:"kept"`
	// Duplicates are rows of which the source has a newer one, or the same again.
	Duplicates int64 `json:"duplicates"`
}

// verdict is what becomes of the source's rows and of the table's.
type verdict struct {
	counts MergeCounts
	// wins marks the rows of the source that are written.
	wins    []bool
	written int64
	// touched are the files that lose rows, removed the rows, in order.
	touched  []*probed
	removed  map[*probed][]int64
	replaced int64
}

func (v *verdict) empty() bool { return v.written == 0 && v.replaced == 0 }

// decide finds the verdict on a table of which found are the files in reach.
func (m *merging) decide(ctx context.Context, t *table.Table, found *survey) (*verdict, error) {
	v := &verdict{wins: make([]bool, m.rows.rows), removed: map[*probed][]int64{}}
	files := m.candidates(t, found)
	for pass := range m.passes {
		if err := m.keysOf(pass); err != nil {
			return nil, err
		}
		hit := m.mayHold(files)
		if err := m.probe(ctx, t, pass, hit); err != nil {
			return nil, err
		}
		if err := m.judge(v, pass, hit); err != nil {
			return nil, err
		}
	}
	for _, p := range files {
		if rows := v.removed[p]; len(rows) > 0 {
			slices.Sort(rows)
			v.touched = append(v.touched, p)
			v.replaced += int64(len(rows))
		}
	}
	return v, nil
}

// judge decides for every key of a pass.
func (m *merging) judge(v *verdict, pass int, files []*probed) error {
	type holder struct {
		file *probed
		match
	}
	holders := make([]holder, len(m.table.entries))
	for _, p := range files {
		for _, x := range p.matches[pass] {
			h := &holders[x.entry]
			if h.file != nil {
				return fmt.Errorf("the table has two rows of the key of %s, %s, in %s and %s: a merge needs one of each key: remove one of them: %w",
					m.rows.where(m.table.entries[x.entry].row), m.describe(m.table.entries[x.entry].row), h.file.entry.DataFile().FilePath(), p.entry.DataFile().FilePath(), ErrRefused)
			}
			*h = holder{p, x}
		}
	}
	v.counts.Duplicates += m.table.rows - int64(len(holders))
	for i, h := range holders {
		e := &m.table.entries[i]
		replaces, err := m.sentence(&v.counts, e, h.file, h.match)
		if err != nil {
			return err
		}
		if !replaces {
			continue
		}
		if h.file != nil {
			v.removed[h.file] = append(v.removed[h.file], h.row)
		}
		if !e.deleted || m.load.Deletes != HardDeletes {
			v.wins[e.row] = true
			v.written++
		}
	}
	return nil
}

// sentence counts what becomes of one row of the source, and says whether it
// takes the place of the table's row of its key, which is in file; nil where
// there is none.
func (m *merging) sentence(n *MergeCounts, e *keyEntry, file *probed, x match) (replaces bool, err error) {
	counted := func(n *int64) bool { *n++; return true }
	switch {
	case file == nil && e.deleted && m.load.Deletes == HardDeletes:
		n.Identical++ // it is not there already
		return false, nil
	case e.deleted && (file == nil || x.order > 0):
		return counted(&n.Deleted), nil
	case file == nil:
		return counted(&n.Inserted), nil
	case x.order > 0:
		return counted(&n.Updated), nil
	case x.order < 0:
		n.IgnoredOlder++
		return false, nil
	case x.same:
		n.Identical++
		return false, nil
	case m.load.OnEqual == KeepEqual:
		n.Kept++
		return false, nil
	case m.load.OnEqual == ErrorEqual:
		return false, fmt.Errorf("%s has the key and version of a row of the table, %s, and other values (the table's is in %s): %w",
			m.rows.where(e.row), m.describe(e.row), file.entry.DataFile().FilePath(), ErrTie)
	}
	return counted(&n.Corrected), nil
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

// write stages the rows that win, and with them what survives of the touched
// files. What was written for the same verdict before serves again.
func (m *merging) write(ctx context.Context, t *table.Table, v *verdict) ([]iceberg.DataFile, error) {
	if v.empty() {
		return nil, nil
	}
	of := v.fingerprint()
	if m.output.of == of {
		return m.output.files, nil
	}
	var rows int64
	files, err := m.stageInto(ctx, t, m.fit, m.outputRows(ctx, t, v, &rows), func(df iceberg.DataFile) {
		m.Trace.fileStaged(df.FilePath(), df.Count(), df.FileSizeBytes())
	})
	if err != nil {
		return nil, err
	}
	for _, df := range files {
		rows -= df.Count()
	}
	if rows != 0 {
		return nil, fmt.Errorf("%d rows are missing in the staged files: %w", rows, ErrBug)
	}
	m.output = output{of, files}
	return files, nil
}

// outputRows yields the rows to write and counts them.
func (m *merging) outputRows(ctx context.Context, t *table.Table, v *verdict, count *int64) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		pass := func(rec arrow.RecordBatch, err error) bool {
			if err == nil {
				*count += rec.NumRows()
			}
			return yield(rec, err)
		}
		for _, p := range v.touched {
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
func (m *merging) without(ctx context.Context, t *table.Table, file liveFile, removed []int64) iter.Seq2[arrow.RecordBatch, error] {
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
