package lake

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go/table"
)

// Loads by keys, merges and appends, go this way:
//
//	source rows, held → one row for each key (keyTable) → the table's rows of these keys (probe)
//	→ what becomes of each (verdict) → files written again without the old rows, with the new ones → commit
//
// What becomes of a row depends on the table, so it is decided on the head of
// each attempt. Files are never changed, so what one of them holds of the keys is
// looked up once, and what was written serves again where the verdict is the same.
//
// An append is a merge without versions, in which what is stored stays.

// keyed is a load by keys under way; it is the change that the commit makes.
type keyed struct {
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

// newKeyed reads the source's rows of the window.
func (j *loading) newKeyed(ctx context.Context) (*keyed, error) {
	m := &keyed{published: published{j}, probed: map[string]*probed{}}
	if err := m.bind(); err != nil {
		return nil, err
	}
	m.rows = &heldRows{limit: j.Memory / 4, spill: &spill{dir: j.TempDir}}
	if err := m.hold(ctx); err != nil {
		m.rows.close()
		return nil, err
	}
	return m, nil
}

// bind finds the columns of key, version and condition.
func (m *keyed) bind() (err error) {
	sc := m.fit.schema
	if m.load.Mode == Append {
		m.key, err = newOrdering(sc, "event_id", slices.Concat(m.load.EventID, m.load.HashOf), len(m.load.HashOf) > 0)
	} else {
		m.key, err = newOrdering(sc, "key", m.load.Key, false)
	}
	if err != nil {
		return err
	}
	if m.version, err = newOrdering(sc, "version", m.load.VersionBy, false); err != nil {
		return err
	}
	needed := slices.Concat(m.key.fields, m.version.fields)
	if m.load.DeleteWhen != "" {
		if m.deletion, err = newCondition(sc, m.load.DeleteWhen); err != nil {
			return err
		}
		needed = append(needed, m.deletion.field)
	}
	for _, f := range needed {
		switch {
		case m.fit.sourceName(f.ID) == "":
			return fmt.Errorf("the source has no column %q, which %s is on: %w", f.Name, m.load.settingsOfMode(), ErrSchema)
		case slices.Contains(m.volatile, f.ID):
			return fmt.Errorf("column %q must not be volatile: %s is on it: %w", f.Name, m.load.settingsOfMode(), ErrUsage)
		}
	}
	return nil
}

// settingsOfMode names the settings that columns may be of.
func (l Load) settingsOfMode() string {
	if l.Mode == Append {
		return "event_id"
	}
	return "key, version or delete_when"
}

// hold reads the source, and works out its digest and how much memory its keys
// will take.
func (m *keyed) hold(ctx context.Context) error {
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
func (m *keyed) fence(head *table.Table) error {
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
func (m *keyed) attemptOn(ctx context.Context, head *table.Table, first bool) (*attempt, error) {
	g, err := m.groundOn(ctx, head)
	if err != nil {
		return nil, err
	}
	defer g.leave()
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
	g.byKey, g.conflicts = &v.counts, v.conflicts
	if s := (&standing{}); v.empty() && first && m.stands(s, head) {
		return &attempt{id: g.snap.SnapshotID, state: s.state, byKey: g.byKey, conflicts: g.conflicts, unchanged: true}, nil
	}
	out, err := m.write(ctx, evolved, g.store, v)
	if err != nil {
		return nil, err
	}
	c := &changes{added: out.files, deletes: out.deletes}
	for _, p := range v.touched {
		if slices.Contains(out.rewritten, p.key) {
			c.removed = append(c.removed, p.entry)
		}
	}
	g.files.Rewritten = len(c.removed)
	g.rows.Written, g.rows.Replaced = v.written, v.replaced
	return m.publish(ctx, g, c, first)
}

// stands reports whether a merge that changes no row has no state to commit
// either.
func (m *keyed) stands(s *standing, head *table.Table) bool {
	return !m.load.CommitUnchanged && !m.creates && !m.fit.evolved && m.headOf(head) != nil && m.stateHolds(s, head)
}

// forgetsNothing refuses a window older than others that were loaded where the
// table does not remember what it has deleted.
func (m *keyed) forgetsNothing(known state) error {
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
