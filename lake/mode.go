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
	switch l.Mode {
	case Replace:
		if len(l.Key)+len(l.VersionBy) > 0 || l.DeleteWhen != "" || l.Deletes != "" || l.OnEqual != "" || l.NullKeys != "" {
			return fmt.Errorf("key, version, delete_when, deletes, on_equal and null_keys are of mode merge: %w", ErrUsage)
		}
		return nil
	case Merge:
	default:
		return fmt.Errorf("mode %q is not replace or merge: %w", l.Mode, ErrUsage)
	}
	return errors.Join(
		l.checkKey(),
		oneOf("deletes", l.Deletes, SoftDeletes, HardDeletes),
		oneOf("on_equal", l.OnEqual, SourceWins, KeepEqual, ErrorEqual),
		oneOf("null_keys", l.NullKeys, RefuseNullKeys, MatchNullKeys),
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
	case l.IfChanged:
		return fmt.Errorf("if_changed is of mode replace: what a merge did cannot be told from the window alone: %w", ErrUsage)
	}
	seen := map[string]bool{}
	for _, name := range slices.Concat(l.Key, l.VersionBy) {
		if seen[foldName(name)] {
			return fmt.Errorf("column %q is in key and version twice: %w", name, ErrUsage)
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
