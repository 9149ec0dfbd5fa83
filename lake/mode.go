package lake

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Mode says what a load makes of the window's rows of the source.
type Mode string

const (
	// Replace makes the window's rows the source's. The default.
	Replace Mode = "replace"
	// Merge finds the table's row of each row's key, wherever it is, and keeps the
	// one with the newer version. So windows can be loaded again in any order: the
	// table is what the newest versions say.
	Merge Mode = "merge"
	// Append adds the rows whose id the table does not have within the look-back,
	// each once. Of rows with one id the first that is stored stays.
	Append Mode = "append"
)

// OnConflict says what becomes, in mode append, of a row that has the id of
// another one and other values.
type OnConflict string

const (
	// KeepConflict leaves the row out, counts it and shows the first ones. The
	// default.
	KeepConflict OnConflict = "keep"
	// ErrorConflict fails with [ErrTie].
	ErrorConflict OnConflict = "error"
)

// Deletes says what becomes of a row whose newest version is a deletion; see
// [Load.DeleteWhen].
type Deletes string

const (
	// SoftDeletes keep the row, with its version and the column that says that it
	// is deleted: so an older window, loaded again, cannot bring it back. The
	// default.
	SoftDeletes Deletes = "soft"
	// HardDeletes remove the row. The table then no longer knows its version, so a
	// window that ends before another that was loaded is refused.
	HardDeletes Deletes = "hard"
)

// WriteMode says how a merge takes rows out of a file.
type WriteMode string

const (
	// CopyOnWrite writes the file again without them. Readers see plain files. The
	// default.
	CopyOnWrite WriteMode = "copy-on-write"
	// MergeOnRead writes a position delete file beside it, which readers apply: far
	// less is read and written where few rows of a file change. A file that has lost
	// half of its rows, or has many delete files, is written again all the same.
	MergeOnRead WriteMode = "merge-on-read"
)

// OnEqual says what becomes of a row that has the version of the table's row
// and other values.
type OnEqual string

const (
	// SourceWins takes the source's row, and counts it as corrected. The default.
	SourceWins OnEqual = "source"
	// KeepEqual keeps the table's row, and counts it as kept.
	KeepEqual OnEqual = "keep"
	// ErrorEqual fails with [ErrTie].
	ErrorEqual OnEqual = "error"
)

// NullKeys says what a NULL in a key column means.
type NullKeys string

const (
	// RefuseNullKeys fails with [ErrInput]. The default.
	RefuseNullKeys NullKeys = "error"
	// MatchNullKeys takes NULL for a value that equals itself.
	MatchNullKeys NullKeys = "match"
)

// checkMode refuses settings that are of another mode, or contradict each other.
func (l Load) checkMode() error {
	ofMerge := len(l.Key)+len(l.VersionBy) > 0 || l.DeleteWhen != "" || l.Deletes != "" || l.OnEqual != "" || l.NullKeys != "" || l.Write != "" || l.SearchIn != nil
	ofAppend := len(l.EventID)+len(l.HashOf) > 0 || !l.LookBack.IsZero() || l.OnConflict != ""
	switch {
	case !slices.Contains([]Mode{Replace, Merge, Append}, l.Mode):
		return fmt.Errorf("mode %q is not replace, merge or append: %w", l.Mode, ErrUsage)
	case ofMerge && l.Mode != Merge:
		return fmt.Errorf("key, version, delete_when, deletes, on_equal, null_keys, write and search are of mode merge: %w", ErrUsage)
	case ofAppend && l.Mode != Append:
		return fmt.Errorf("event_id, look_back and on_conflict are of mode append: %w", ErrUsage)
	case l.Mode == Replace && l.Cursor != "" && foldName(l.Cursor) != foldName(l.TimeColumn):
		return fmt.Errorf("the cursor %q is not the time column %q: a row that changes would leave its window, and mode replace would lose it there or keep both: use mode merge, with a key and a version: %w", l.Cursor, l.TimeColumn, ErrUsage)
	case l.Mode == Replace:
		return nil
	case l.IfChanged:
		return fmt.Errorf("if_changed is of mode replace: what a load of mode %s did cannot be told from the window alone: %w", l.Mode, ErrUsage)
	case l.Mode == Append:
		return errors.Join(l.checkEventID(), oneOf("on_conflict", l.OnConflict, KeepConflict, ErrorConflict))
	}
	return errors.Join(
		l.checkKey(),
		oneOf("deletes", l.Deletes, SoftDeletes, HardDeletes),
		oneOf("on_equal", l.OnEqual, SourceWins, KeepEqual, ErrorEqual),
		oneOf("null_keys", l.NullKeys, RefuseNullKeys, MatchNullKeys),
		oneOf("write", l.Write, CopyOnWrite, MergeOnRead),
	)
}

func (l Load) checkKey() error {
	switch {
	case len(l.Key) == 0:
		return fmt.Errorf("mode merge needs key: the columns that say which rows are versions of one: %w", ErrUsage)
	case len(l.VersionBy) == 0:
		return fmt.Errorf("mode merge needs version: the columns that say which of two rows is newer, such as updated_at and a sequence number: %w", ErrUsage)
	case l.Deletes != "" && l.DeleteWhen == "":
		return fmt.Errorf("deletes: %s needs delete_when, which says what a deletion is: %w", l.Deletes, ErrUsage)
	}
	return distinct("key and version", slices.Concat(l.Key, l.VersionBy))
}

func (l Load) checkEventID() error {
	switch {
	case len(l.EventID)+len(l.HashOf) == 0:
		return fmt.Errorf("mode append needs event_id: the column that is the same in each delivery of an event, or, where there is none, hash_of and the columns that are: %w", ErrUsage)
	case len(l.EventID) > 0 && len(l.HashOf) > 0:
		return fmt.Errorf("event_id is either columns or hash_of: %w", ErrUsage)
	case l.LookBack.Years < 0 || l.LookBack.Months < 0 || l.LookBack.Days < 0 || l.LookBack.Time < 0:
		return fmt.Errorf("look_back must not be negative: %w", ErrUsage)
	}
	return distinct("event_id", slices.Concat(l.EventID, l.HashOf))
}

// distinct refuses a column that is named twice.
func distinct(where string, names []string) error {
	seen := map[string]bool{}
	for _, name := range names {
		if seen[foldName(name)] {
			return fmt.Errorf("column %q is in %s twice: %w", name, where, ErrUsage)
		}
		seen[foldName(name)] = true
	}
	return nil
}

// oneOf refuses a setting that is not one of its values; "" is the default.
func oneOf[T ~string](name string, have T, values ...T) error {
	if have == "" || slices.Contains(values, have) {
		return nil
	}
	var words []string
	for _, v := range values {
		words = append(words, string(v))
	}
	return fmt.Errorf("%s %q is not %s: %w", name, have, strings.Join(words, " or "), ErrUsage)
}
