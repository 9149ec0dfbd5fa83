package lake

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/apache/iceberg-go/table"
)

// expiry is the change that removes snapshots from a table's metadata. It moves
// no branch, so that it never stands in the way of a load, nor a load of it: a
// load that lands meanwhile only lets it plan anew.
type expiry struct {
	rule Expiry
	now  time.Time
}

// expiring is what an attempt expires.
type expiring struct {
	on        *table.Table
	snapshots []int64  // oldest first
	refs      []string // branches and tags that are past their own age
	kept      int
	updates   []table.Update
	requires  []table.Requirement
}

// planOn works out what would be expired on a table. It is pure.
func (e *expiry) planOn(t *table.Table) (*expiring, error) {
	meta := t.Metadata()
	r, err := e.rule.retain(meta, e.now)
	if err != nil {
		return nil, err
	}
	x := &expiring{on: t, refs: r.refs, kept: len(r.keep)}
	for _, s := range meta.Snapshots() {
		if !r.keep[s.SnapshotID] {
			x.snapshots = append(x.snapshots, s.SnapshotID)
		}
	}
	slices.SortFunc(x.snapshots, func(a, b int64) int {
		return int(meta.SnapshotByID(a).SequenceNumber - meta.SnapshotByID(b).SequenceNumber)
	})
	if len(x.snapshots)+len(x.refs) == 0 {
		return x, nil
	}
	mirror, err := mirrors(meta, r)
	if err != nil {
		return nil, err
	}
	for _, name := range x.refs {
		x.updates = append(x.updates, table.NewRemoveSnapshotRefUpdate(name))
	}
	if len(x.snapshots) > 0 {
		x.updates = append(x.updates, table.NewRemoveSnapshotsUpdate(x.snapshots, false))
	}
	if len(mirror) > 0 {
		x.updates = append(x.updates, table.NewSetPropertiesUpdate(mirror))
	}
	after, err := x.after()
	if err != nil {
		return nil, err
	}
	x.requires = sameRefsAs(meta)
	return x, sameStates(meta, after)
}

// after is the table's metadata as the expiry will leave it.
func (x *expiring) after() (table.Metadata, error) {
	if len(x.updates) == 0 {
		return x.on.Metadata(), nil
	}
	after, err := table.UpdateTableMetadata(x.on.Metadata(), x.updates, x.on.MetadataLocation())
	if err != nil {
		return nil, fmt.Errorf("expire snapshots: %w", err)
	}
	return after, nil
}

func (e *expiry) draft() *table.Table { return nil }

func (e *expiry) fence(head *table.Table) error { return maintainable(head.Metadata()) }

func (e *expiry) attemptOn(_ context.Context, head *table.Table, _ bool) (*attempt, error) {
	x, err := e.planOn(head)
	if err != nil {
		return nil, err
	}
	return &attempt{updates: x.updates, requires: x.requires, expires: x}, nil
}

// shows reports whether nothing is left of what an attempt expires. Whether
// this attempt or another program removed it makes no difference.
func (e *expiry) shows(t *table.Table, a *attempt) bool {
	there := func(id int64) bool { return t.Metadata().SnapshotByID(id) != nil }
	refs := refsOf(t.Metadata())
	return !slices.ContainsFunc(a.expires.snapshots, there) &&
		!slices.ContainsFunc(a.expires.refs, func(name string) bool { _, ok := refs[name]; return ok })
}

// moved reports whether the table, a branch or a tag is another one than was
// required.
func (e *expiry) moved(was, is *table.Table) bool {
	return was.Metadata().TableUUID() != is.Metadata().TableUUID() || !maps.Equal(refsOf(was.Metadata()), refsOf(is.Metadata()))
}

// expired is false: an attempt reads no object.
func (e *expiry) expired(context.Context, *table.Table) bool { return false }

// discard has nothing to do: an expiry writes no object.
func (e *expiry) discard(context.Context, map[string]bool) {}

// refsOf are the snapshots of branches and tags.
func refsOf(meta table.Metadata) map[string]int64 {
	refs := map[string]int64{}
	for name, ref := range meta.Refs() {
		refs[name] = ref.SnapshotID
	}
	return refs
}

// sameRefsAs requires that the table is the same, and each branch and tag too.
func sameRefsAs(meta table.Metadata) []table.Requirement {
	refs := refsOf(meta)
	out := []table.Requirement{noOtherRef{table.AssertTableUUID(meta.TableUUID()), refs}}
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		id := refs[name]
		out = append(out, table.AssertRefSnapshotID(name, &id))
	}
	return out
}

// noOtherRef requires, besides another requirement, that there is no branch or
// tag that the plan did not know: removing a snapshot removes those that name
// it. The specification has no such requirement, so a server that is asked over
// REST is asked for the other one alone; there a tag that was made in the same
// moment is found afterwards, and the files it needs are kept.
type noOtherRef struct {
	table.Requirement

	refs map[string]int64
}

// Validate is called by catalogs that check requirements in this process.
func (r noOtherRef) Validate(meta table.Metadata) error {
	if err := r.Requirement.Validate(meta); err != nil {
		return err
	}
	for name := range refsOf(meta) {
		if _, ok := r.refs[name]; !ok {
			return fmt.Errorf("requirement failed: branch or tag %q was made meanwhile", name)
		}
	}
	return nil
}

// MarshalJSON writes the requirement that servers know.
func (r noOtherRef) MarshalJSON() ([]byte, error) { return json.Marshal(r.Requirement) }
