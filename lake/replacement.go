package lake

import (
	"context"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// replacement is what a load commits: its staged files in place of its window's
// rows.
type replacement struct {
	*loading
	staged []iceberg.DataFile
	// made are the derived files so far, by what they were made from.
	made map[string]derived
}

func (r *replacement) draft() *table.Table {
	if r.creates {
		return r.planned
	}
	return nil
}

func (r *replacement) attemptOn(ctx context.Context, head *table.Table, first bool) (*attempt, error) {
	return r.loading.attemptOn(ctx, head, r.staged, r.made, first)
}

// shows reports whether the attempt's snapshot is in the table.
func (r *replacement) shows(t *table.Table, a *attempt) bool {
	return t.Metadata().SnapshotByID(a.id) != nil
}

// moved reports whether the branch's tip is another one, and the table shows
// every snapshot since. Where it does not, since the catalog shows the newest
// alone or others have expired, one of those that are not seen may be ours.
func (r *replacement) moved(was, is *table.Table) bool {
	a, b := r.headOf(was), r.headOf(is)
	moved := (was == r.draft()) != (is == r.draft())
	moved = moved || (a == nil) != (b == nil) || (a != nil && a.SnapshotID != b.SnapshotID)
	return moved && r.allSeen(was, is)
}

func (r *replacement) allSeen(was, is *table.Table) bool {
	if r.headOf(is) == nil || was.Metadata().TableUUID() != is.Metadata().TableUUID() {
		return true // a table without snapshots, or another table, in which none of ours can be
	}
	_, whole := r.since(was, is)
	return whole
}
