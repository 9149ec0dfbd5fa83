package lake

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go/table"
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
func (m *keyed) decide(ctx context.Context, t *table.Table, found *survey) (*verdict, error) {
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
func (m *keyed) judge(v *verdict, pass int, files []*probed) error {
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
func (m *keyed) holders(pass int, files []*probed) ([]holder, error) {
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
func (m *keyed) addition(v *verdict, e *keyEntry, h holder) (adds bool, err error) {
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
func (m *keyed) conflict(v *verdict, row int64, with string) error {
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
func (m *keyed) sentence(n *KeyCounts, e *keyEntry, file *probed, x match) (replaces bool, err error) {
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
