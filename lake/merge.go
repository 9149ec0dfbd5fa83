package lake

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// A merge goes this way:
//
//	source rows, held → one row for each key (keyTable) → the table's rows of these keys (probe)
//	→ what becomes of each (verdict) → files written again without the old rows, with the new ones → commit
//
// What becomes of a row depends on the table, so it is decided on the head of
// each attempt. Files are never changed, so what one of them holds of the keys is
// looked up once, and what was written serves again where the verdict is the same.

// merging is a merge under way; it is the change that the commit makes.
type merging struct {
	published

	key, version *ordering
	deletion     *condition // nil: nothing is deleted
	rows         *heldRows
	// passes is in how many parts the keys are looked up, each as large as the
	// memory allows; table is the keys of part inTable.
	passes  int
	table   *keyTable
	inTable int
	// probed are the table's files that were looked into, by what they are.
	probed map[string]*probed
	output output
}

// output is what the last verdict was written as.
type output struct {
	of    string
	files []iceberg.DataFile
}

// newMerging reads the source's rows of the window.
func (j *loading) newMerging(ctx context.Context) (*merging, error) {
	m := &merging{published: published{j}, probed: map[string]*probed{}}
	var err error
	if m.key, err = newOrdering(j.fit.schema, "key", j.load.Key); err != nil {
		return nil, err
	}
	if m.version, err = newOrdering(j.fit.schema, "version", j.load.VersionBy); err != nil {
		return nil, err
	}
	needed := slices.Concat(m.key.fields, m.version.fields)
	if j.load.DeleteWhen != "" {
		if m.deletion, err = newCondition(j.fit.schema, j.load.DeleteWhen); err != nil {
			return nil, err
		}
		needed = append(needed, m.deletion.field)
	}
	for _, f := range needed {
		switch {
		case j.fit.sourceName(f.ID) == "":
			return nil, fmt.Errorf("the source has no column %q, which key, version or delete_when is on: %w", f.Name, ErrSchema)
		case slices.Contains(j.volatile, f.ID):
			return nil, fmt.Errorf("column %q must not be volatile: key, version or delete_when is on it: %w", f.Name, ErrUsage)
		}
	}
	m.rows = &heldRows{limit: j.Memory / 4, spill: &spill{dir: j.TempDir}}
	if err := m.hold(ctx); err != nil {
		m.rows.close()
		return nil, err
	}
	return m, nil
}

// hold reads the source, and works out its digest and how much memory its keys
// will take.
func (m *merging) hold(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	digester, err := NewDigester(m.fit.schema, m.volatile...)
	if err != nil {
		return err
	}
	size := int64(0)
	measure := func(rec arrow.RecordBatch) error {
		keys, versions := m.key.bind(m.fit.schema, rec), m.version.bind(m.fit.schema, rec)
		buf := make([]byte, 0, 256)
		for i := range int(rec.NumRows()) {
			buf = versions.append(keys.append(buf[:0], i), i)
			size += keyEntryBytes + int64(len(buf))
		}
		return digester.Add(rec)
	}
	var at place
	guarded := m.guarded(ctx, m.input, func(p place) { at = p })
	for rec, err := range beside(guarded, measure) {
		if err == nil {
			err = m.rows.add(rec, at)
		}
		if err != nil {
			return err
		}
	}
	digest := digester.Digest()
	m.digest = &digest
	m.passes = int(size/max(m.Memory/4, 1)) + 1
	m.inTable = -1
	return nil
}

// fence looks whether the head is a table that the rows fit. Other loads are no
// obstacle, not even of the same window: the merge is decided on the head.
func (m *merging) fence(head *table.Table) error {
	if err := m.tooLate(); err != nil {
		return err
	}
	if err := m.admit(head.Metadata()); err != nil {
		return err
	}
	if err := m.sameTable(head); err != nil {
		return err
	}
	if was, is := m.planned.Metadata().CurrentSchema().ID, head.Metadata().CurrentSchema().ID; head != m.planned && was != is {
		return fmt.Errorf("the table's columns changed under the load: %w", ErrTemporary)
	}
	return nil
}

// attemptOn decides on the head what becomes of each row, and builds a snapshot.
func (m *merging) attemptOn(ctx context.Context, head *table.Table, first bool) (*attempt, error) {
	g, err := m.groundOn(ctx, head)
	if err != nil {
		return nil, err
	}
	if err := m.forgetsNothing(g.before); err != nil {
		return nil, err
	}
	evolved, err := m.asEvolved(head)
	if err != nil {
		return nil, err
	}
	v, err := m.decide(ctx, evolved, g.found)
	if err != nil {
		return nil, err
	}
	g.merged = &v.counts
	if s := (&standing{}); v.empty() && first && m.stands(s, head) {
		return &attempt{id: g.snap.SnapshotID, state: s.state, merged: g.merged, unchanged: true}, nil
	}
	files, err := m.write(ctx, evolved, v)
	if err != nil {
		return nil, err
	}
	c := &changes{added: files}
	for _, p := range v.touched {
		c.removed = append(c.removed, p.entry)
	}
	g.files.Rewritten = len(v.touched)
	g.rows.Written, g.rows.Replaced = v.written, v.replaced
	return m.publish(ctx, g, c, first)
}

// stands reports whether a merge that changes no row has no state to commit
// either.
func (m *merging) stands(s *standing, head *table.Table) bool {
	return !m.load.CommitUnchanged && !m.creates && !m.fit.evolved && m.headOf(head) != nil && m.stateHolds(s, head)
}

// forgetsNothing refuses a window older than others that were loaded where the
// table does not remember what it has deleted.
func (m *merging) forgetsNothing(known state) error {
	if m.load.Deletes != HardDeletes {
		return nil
	}
	for _, w := range known.coverage.Windows {
		if w.To.After(m.owned.window.To) {
			return fmt.Errorf("%s was loaded already, and deletes: hard leaves no trace of what it deleted, so that this window could bring rows back: load the windows in order, or with deletes: soft: %w", w, ErrRefused)
		}
	}
	return nil
}
