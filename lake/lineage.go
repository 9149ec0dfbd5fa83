package lake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"time"

	"github.com/apache/iceberg-go/table"
)

// parents finds the parent of a snapshot; nil where it has none, or none is known.
type parents func(child *table.Snapshot) *table.Snapshot

// parentsIn are those that a table's metadata has.
func parentsIn(meta table.Metadata) parents {
	return func(child *table.Snapshot) *table.Snapshot {
		if child.ParentSnapshotID == nil {
			return nil
		}
		return meta.SnapshotByID(*child.ParentSnapshotID)
	}
}

// ancestors are a snapshot and those before it, newest first, as far as the
// metadata has them.
func ancestors(meta table.Metadata, head *table.Snapshot) iter.Seq[*table.Snapshot] {
	return parentsIn(meta).of(head)
}

// of are a snapshot and those before it, newest first. It ends also where the
// metadata is wrong and they go round in a circle.
func (p parents) of(head *table.Snapshot) iter.Seq[*table.Snapshot] {
	return func(yield func(*table.Snapshot) bool) {
		seen := map[int64]bool{}
		for s := head; s != nil && !seen[s.SnapshotID] && yield(s); s = p(s) {
			seen[s.SnapshotID] = true
		}
	}
}

// expiredPast finds snapshots that have expired, in the metadata files that the table's
// log still names. It reads few of them: a parent is looked for in those of the
// time of its child's commit.
type expiredPast struct {
	store *store
	now   *table.Table
	known map[int64]*table.Snapshot
	read  map[string]bool
	// several are the snapshots that were seen beside others.
	several map[int64]bool
	// err is why a metadata file could not be read, so that what is not found may
	// be there.
	err error
}

func newExpiredPast(s *store, t *table.Table) *expiredPast {
	p := &expiredPast{store: s, now: t, known: map[int64]*table.Snapshot{}, read: map[string]bool{}, several: map[int64]bool{}}
	p.learn(t.Metadata())
	return p
}

func (p *expiredPast) learn(meta table.Metadata) {
	snapshots := meta.Snapshots()
	for i := range snapshots {
		s := &snapshots[i]
		p.known[s.SnapshotID] = s
		p.several[s.SnapshotID] = p.several[s.SnapshotID] || len(snapshots) > 1
	}
}

// parent is a [parents].
func (p *expiredPast) parent(child *table.Snapshot) *table.Snapshot {
	if child.ParentSnapshotID == nil {
		p.lookAround(child) // whether it is the first, or a catalog shows it alone
		return nil
	}
	if s := p.known[*child.ParentSnapshotID]; s != nil {
		return s
	}
	p.lookAround(child)
	return p.known[*child.ParentSnapshotID]
}

// lookAround reads the metadata files before and after the commit of a snapshot.
// One that is gone tells nothing.
func (p *expiredPast) lookAround(s *table.Snapshot) {
	log := slices.Collect(p.now.Metadata().PreviousFiles())
	i := slices.IndexFunc(log, func(e table.MetadataLogEntry) bool { return e.TimestampMs >= s.TimestampMs })
	if i < 0 {
		i = len(log)
	}
	for _, at := range []int{i, i - 1, i + 1} {
		if at < 0 || at >= len(log) || p.read[log[at].MetadataFile] {
			continue
		}
		p.read[log[at].MetadataFile] = true
		meta, err := metadataAt(p.store, p.now.Identifier(), log[at].MetadataFile)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			p.err = fmt.Errorf("look whether a load was rolled back: %w", err)
		case meta.TableUUID() == p.now.Metadata().TableUUID():
			p.learn(meta)
		}
	}
}

func metadataAt(s *store, id table.Identifier, location string) (table.Metadata, error) {
	t, err := table.NewFromLocation(s.ctx, id, location, s.itself, nil)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", location, err)
	}
	return t.Metadata(), nil
}

// stateAt is a load's state at the head of a branch. Where only the mirror is
// left, which may be of a snapshot that was rolled back before it expired, the
// table's old metadata files are asked; where these tell nothing either, the
// mirror counts. That one cannot be read is an error, unless it is gone.
func stateAt(ctx context.Context, t *table.Table, timeout time.Duration, branch string, head *table.Snapshot, load string) (state, error) {
	meta := t.Metadata()
	known, sure, err := findState(parentsIn(meta), nil, meta, branch, head, load)
	if sure {
		return known, err
	}
	s, e := openStore(ctx, t, timeout)
	if e != nil {
		return state{}, e
	}
	p := newExpiredPast(s, t)
	known, sure, err = findState(p.parent, p.several, meta, branch, head, load)
	if !sure && p.err != nil {
		err = p.err
	}
	if err = cmp.Or(context.Cause(ctx), err); err != nil {
		return state{}, err
	}
	return known, nil
}
