package lake

import (
	"context"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// replacement is what a load commits: its staged files in place of its window's
// rows.
type replacement struct {
	published
	staged []iceberg.DataFile
	// made are the derived files so far, by what they were made from.
	made map[string]derived
}

// attemptOn builds a snapshot on the head just read that replaces the window's
// rows by the staged files.
//
// An attempt without updates means that the table holds these rows already.
func (r *replacement) attemptOn(ctx context.Context, head *table.Table, first bool) (*attempt, error) {
	g, err := r.groundOn(ctx, head)
	if err != nil {
		return nil, err
	}
	defer g.leave()
	if first {
		if s := r.standing(head, g.found); s != nil && s.digest == *r.digest {
			return s.attempt(), nil
		}
	}
	for _, df := range r.staged {
		g.rows.Written += df.Count()
	}
	changes := &changes{added: slices.Clone(r.staged)}
	if err := r.collect(ctx, g, changes, r.made); err != nil {
		return nil, err
	}
	if err := r.allowEmpty(r.staged, g.attempt); err != nil {
		return nil, err
	}
	return r.publish(ctx, g, changes, first)
}

// published is what every load's commit has in common: it adds a snapshot to the
// load's branch.
type published struct{ *loading }

func (r published) draft() *table.Table {
	if r.creates {
		return r.planned
	}
	return nil
}

// shows reports whether the attempt's snapshot is in the table.
func (r published) shows(t *table.Table, a *attempt) bool {
	return t.Metadata().SnapshotByID(a.id) != nil
}

// moved reports whether the branch's tip is another one, and the table shows
// every snapshot since. Where it does not, since the catalog shows the newest
// alone or others have expired, one of those that are not seen may be ours.
func (r published) moved(was, is *table.Table) bool {
	a, b := r.headOf(was), r.headOf(is)
	moved := (was == r.draft()) != (is == r.draft())
	moved = moved || (a == nil) != (b == nil) || (a != nil && a.SnapshotID != b.SnapshotID)
	return moved && r.allSeen(was, is)
}

func (r published) allSeen(was, is *table.Table) bool {
	if r.headOf(is) == nil || was.Metadata().TableUUID() != is.Metadata().TableUUID() {
		return true // a table without snapshots, or another table, in which none of ours can be
	}
	_, whole := r.since(was, is)
	return whole
}
