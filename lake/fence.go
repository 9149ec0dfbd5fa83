package lake

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// fence looks at the snapshots that came between base and head. It stands
// before every attempt, the first too: a run that read for an hour would
// otherwise overwrite what another run loaded meanwhile, and its swap would
// succeed.
//
// A load of an overlapping window with an intersecting scope means that this
// one is superseded. Foreign appends, deletes and compactions are no obstacle:
// the attempt plans anew on the head. Where the walk from head does not arrive
// at base, history was changed under the load, and nothing can be said.
func (j *loading) fence(head *table.Table) error {
	if err := j.tooLate(); err != nil {
		return err
	}
	if err := j.admit(head.Metadata()); err != nil {
		return err
	}
	between, whole := j.since(j.planned, head)
	if !whole {
		return fmt.Errorf("%s: %w", j.brokenHistory(head), ErrTemporary)
	}
	for _, s := range between {
		other, window, ok := overlapping(summaryOf(&s), j.owned)
		if ok {
			return fmt.Errorf("load %q committed %s as snapshot %d since this one began: %w", other, window, s.SnapshotID, ErrSuperseded)
		}
	}
	return j.sameTable(head)
}

// expired reports whether a table's head as it was read is no longer a snapshot
// of the table: then its objects may have been removed while they were read.
func (j *loading) expired(ctx context.Context, t *table.Table) bool {
	tip := j.headOf(t)
	if tip == nil || ctx.Err() != nil {
		return false
	}
	now, err := j.loadTable(ctx, j.load.Table)
	return err == nil && now.Metadata().SnapshotByID(tip.SnapshotID) == nil
}

// since lists the snapshots that came after the tip of an earlier state of the
// table, up to head, and says whether it is sure that these are all.
func (j *loading) since(earlier, head *table.Table) (snapshots []table.Snapshot, whole bool) {
	was, tip := j.headOf(earlier), j.headOf(head)
	if tip == nil {
		return nil, was == nil
	}
	lookup := head.Metadata().SnapshotByID
	if was != nil {
		return table.AncestorsBetween(tip.SnapshotID, was.SnapshotID, lookup)
	}
	snapshots, whole = table.AncestorsOfChecked(tip.SnapshotID, lookup)
	// A catalog that shows the newest snapshot alone may show it as the first;
	// its number tells of those before it.
	return snapshots, whole && snapshots[len(snapshots)-1].SequenceNumber <= earlier.Metadata().LastSequenceNumber()+1
}

// brokenHistory says why the fence cannot see what it must.
func (j *loading) brokenHistory(head *table.Table) string {
	if len(head.Metadata().Snapshots()) == 1 {
		return fmt.Sprintf("the table shows one snapshot alone, not those between it and %s, on which the load began (expired, or a catalog that shows no more, such as Nessie): whether another run loaded the window meanwhile cannot be seen", j.baseName())
	}
	return fmt.Sprintf("the branch's history no longer holds snapshot %s, on which the load began (rolled back or expired)", j.baseName())
}

func (j *loading) baseName() string {
	if j.base == nil {
		return "(none)"
	}
	return fmt.Sprint(j.base.SnapshotID)
}

// overlapping reports whether a snapshot's summary is of a load whose rows
// meet those of o. A window that cannot be read is taken to overlap.
func overlapping(p iceberg.Properties, o *owned) (load string, window Window, yes bool) {
	load = p[keyLoad]
	if load == "" || p[keyWindow] == "" {
		return load, window, false
	}
	if scopesDisjoint(p[keyScope], o.scopeText()) {
		return load, window, false
	}
	if err := window.UnmarshalText([]byte(p[keyWindow])); err != nil {
		return load, window, true
	}
	return load, window, window.Overlaps(o.window)
}

// scopesDisjoint reports whether two scopes name one column with two values,
// so that no row is in both.
func scopesDisjoint(a, b string) bool {
	values := map[string]string{}
	for _, kv := range strings.Split(a, "&") {
		if k, v, ok := strings.Cut(kv, "="); ok {
			values[k] = v
		}
	}
	for _, kv := range strings.Split(b, "&") {
		k, v, ok := strings.Cut(kv, "=")
		if other, both := values[k]; ok && both && other != v {
			return true
		}
	}
	return false
}

// sameTable checks that the files staged for the planned table fit the table
// as it is now.
func (j *loading) sameTable(head *table.Table) error {
	if head == j.planned {
		return nil
	}
	was, is := j.planned.Metadata(), head.Metadata()
	if err := supported(is); err != nil {
		return err
	}
	if !j.creates && was.TableUUID() != is.TableUUID() {
		return fmt.Errorf("the table was dropped and made anew under the load: %w", ErrTemporary)
	}
	staged := j.planned.Spec()
	if spec := is.PartitionSpecByID(staged.ID()); spec == nil || !spec.Equals(staged) {
		return fmt.Errorf("the table is partitioned otherwise than when the load began: %w", ErrTemporary)
	}
	if j.fit.evolved && (was.CurrentSchema().ID != is.CurrentSchema().ID || was.LastColumnID() != is.LastColumnID()) {
		return fmt.Errorf("the table's columns changed while the load was adding some: %w", ErrTemporary)
	}
	if j.creates && !sameColumns(was.CurrentSchema(), is.CurrentSchema()) {
		return fmt.Errorf("another load created the table meanwhile, with other columns or in another order: %w", ErrTemporary)
	}
	if why := misfit(was.CurrentSchema(), is.CurrentSchema()); why != "" {
		return fmt.Errorf("the table's columns changed under the load: %s: %w", why, ErrTemporary)
	}
	return nil
}

// sameColumns reports whether two schemas that were drafted apart give the same
// ids to the same names.
func sameColumns(a, b *iceberg.Schema) bool {
	return slices.EqualFunc(a.Fields(), b.Fields(), func(x, y iceberg.NestedField) bool { return x.ID == y.ID && x.Name == y.Name })
}

// misfit says why files written for one schema are wrong for a later one; ""
// where they are right: columns may have been renamed, or optional ones added.
func misfit(was, is *iceberg.Schema) string {
	for _, f := range was.Fields() {
		now, ok := is.FindFieldByID(f.ID)
		switch {
		case !ok:
			return fmt.Sprintf("column %q was dropped", f.Name)
		case !now.Type.Equals(f.Type):
			return fmt.Sprintf("column %q was %s and is %s", f.Name, f.Type, now.Type)
		case now.Required && !f.Required:
			return fmt.Sprintf("column %q is required now", f.Name)
		}
	}
	for _, f := range is.Fields() {
		if _, ok := was.FindFieldByID(f.ID); !ok && f.Required {
			return fmt.Sprintf("the required column %q was added", f.Name)
		}
	}
	return ""
}
