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
	"golang.org/x/sync/errgroup"
)

// KeyCounts counts what became of the source's rows in modes merge and append.
// Together they are the rows read less those outside.
type KeyCounts struct {
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
	// Conflicts are rows, in mode append, with the id of another one, of the source
	// or the table, and other values.
	Conflicts int64 `json:"conflicts"`
}

// verdict is what becomes of the source's rows and of the table's.
type verdict struct {
	counts KeyCounts
	// conflicts show the first of those that are counted.
	conflicts []string
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
	files, err := m.candidates(t, found)
	if err != nil {
		return nil, err
	}
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

// holder is a row of the table that has the key of an entry.
type holder struct {
	file *probed // nil: there is none
	match
}

// judge decides for every key of a pass.
func (m *merging) judge(v *verdict, pass int, files []*probed) error {
	holders, err := m.holders(pass, files)
	if err != nil {
		return err
	}
	t := m.table
	v.counts.Duplicates += t.rows - int64(len(t.entries)+len(t.conflicts))
	for _, c := range t.conflicts {
		if err := m.conflict(v, c.row, "with "+m.rows.where(t.entries[c.entry].row)); err != nil {
			return err
		}
	}
	for i, h := range holders {
		e := &t.entries[i]
		var replaces bool
		if m.load.Mode == Append {
			replaces, err = m.addition(v, e, h)
		} else {
			replaces, err = m.sentence(&v.counts, e, h.file, h.match)
		}
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

// holders are the table's rows by entry. In mode merge there is one at most; of
// several, in mode append, one is taken that is as the source's, if any is.
func (m *merging) holders(pass int, files []*probed) ([]holder, error) {
	out := make([]holder, len(m.table.entries))
	for _, p := range files {
		for _, x := range p.matches[pass] {
			h := &out[x.entry]
			switch {
			case h.file == nil || m.load.Mode == Append && x.same:
				*h = holder{p, x}
			case m.load.Mode == Merge:
				row := m.table.entries[x.entry].row
				return nil, fmt.Errorf("the table has two rows of the key of %s, %s, in %s and %s: a merge needs one of each key: remove one of them: %w",
					m.rows.where(row), m.describe(row), h.file.entry.DataFile().FilePath(), p.entry.DataFile().FilePath(), ErrRefused)
			}
		}
	}
	return out, nil
}

// addition counts a row of mode append, and says whether it is added.
func (m *merging) addition(v *verdict, e *keyEntry, h holder) (adds bool, err error) {
	switch {
	case h.file == nil:
		v.counts.Inserted++
		return true, nil
	case h.same:
		v.counts.Identical++
		return false, nil
	}
	return false, m.conflict(v, e.row, "with a row in "+h.file.entry.DataFile().FilePath())
}

// shownConflicts is how many conflicts are shown.
const shownConflicts = 5

// conflict counts a row that has the id of another one and other values.
func (m *merging) conflict(v *verdict, row int64, with string) error {
	text := ""
	if v.counts.Conflicts++; v.counts.Conflicts <= shownConflicts {
		text = fmt.Sprintf("%s, %s, %s", m.rows.where(row), m.describe(row), with)
		v.conflicts = append(v.conflicts, text)
	}
	if m.load.OnConflict != ErrorConflict {
		return nil
	}
	return fmt.Errorf("the same event with other values: %s: %w", text, ErrTie)
}

// sentence counts what becomes of one row of the source, and says whether it
// takes the place of the table's row of its key, which is in file; nil where
// there is none.
func (m *merging) sentence(n *KeyCounts, e *keyEntry, file *probed, x match) (replaces bool, err error) {
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

// write stages the rows that win, and what takes the old rows out of the touched
// files. What was written for the same verdict before serves again.
func (m *merging) write(ctx context.Context, t *table.Table, s *store, v *verdict) (output, error) {
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
func (m *merging) hide(ctx context.Context, t *table.Table, s *store, v *verdict, out *output) (rewritten []*probed, err error) {
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
func (m *merging) outputRows(ctx context.Context, t *table.Table, v *verdict, rewritten []*probed, count *int64) iter.Seq2[arrow.RecordBatch, error] {
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
