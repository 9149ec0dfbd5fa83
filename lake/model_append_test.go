package lake_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// TestAppendModel is TestModel for mode append: random windows of events that are
// new, that the table has, and that come more than once, races of two loads of the
// same events, little memory, and the other writers.
func TestAppendModel(t *testing.T) {
	t.Parallel()
	seed, ops := modelLength()
	t.Logf("seed %d, %d operations a table: run again with -seed %d -ops %d", seed, ops, seed, ops)
	for i, tc := range []struct {
		name string
		by   []string
		back lake.Step
	}{
		{"append_day", nil, lake.Step{}},
		{"append_none", []string{}, lake.Step{Days: 1}},
		{"append_bucket", []string{"bucket(3, id)"}, lake.Step{Time: time.Hour}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := &randomAppend{newRandomTable(t, testenv.Catalog(t), rand.New(rand.NewPCG(seed, uint64(300+i))))}
			m.load.PartitionBy, m.load.Name, m.load.LookBack = tc.by, "appended", tc.back
			m.load.Mode, m.load.EventID = lake.Append, []string{"id"}
			m.tempDir, m.once = t.TempDir(), m.appendOnce
			m.goOn(t, seed, ops)
		})
	}
}

// randomAppend is a random table of which each event, by its id, is there once.
type randomAppend struct{ *randomTable }

// appendOnce appends a random window, at times with another writer in between, or
// beside another load of some of the same events.
func (m *randomAppend) appendOnce() string {
	m.memory = []int64{0, 2 << 10, 16 << 10}[m.random.IntN(3)]
	w, rows := m.window(), m.deliveries()
	text, _ := w.MarshalText()
	what := fmt.Sprintf("append %s of %d rows, memory %d", text, len(rows), m.memory)
	if m.random.IntN(5) == 0 && testenv.Exists(m.tb, m.cat, m.load.Table) {
		return m.race(w, rows)
	}
	var during act
	if m.random.IntN(2) == 0 && testenv.Exists(m.tb, m.cat, m.load.Table) {
		during = m.pickAct()
		what += ", during it " + during.name
	}
	m.load.CommitUnchanged = during.do != nil
	m.land(string(text), rows, during, m.random.IntN(40), what, func() { m.apply(w, rows) })
	m.done["append"]++
	return what
}

// race appends rows of one window by two loads at the same time, each of which
// has most of them.
func (m *randomAppend) race(w lake.Window, rows []testenv.Event) string {
	m.load.CommitUnchanged = false
	errs := make(chan error)
	for n := range 2 {
		part := slices.DeleteFunc(slices.Clone(rows), func(e testenv.Event) bool { return e.ID%5 == int64(n) })
		src := m.source(part)
		go func() {
			_, err := (&lake.Loader{Catalog: m.cat, Memory: m.memory, TempDir: m.tempDir}).Load(m.tb.Context(), m.load, src, w)
			errs <- err
		}()
		m.apply(w, part)
	}
	for range 2 {
		err := <-errs
		if aheadOfTable(err) && m.done["branch rolled back"] > 0 {
			text, _ := w.MarshalText()
			m.plain(string(text), rows, "a race")
			m.apply(w, rows)
			continue
		}
		if err != nil {
			m.tb.Errorf("race: %v", err)
		}
	}
	m.remember()
	m.done["race"]++
	return "race of two appends"
}

// deliveries are new events, events that the table has, and some of both again.
func (m *randomAppend) deliveries() []testenv.Event {
	rows := m.rows(m.random.IntN(12))
	for _, e := range m.model.Rows() {
		if m.random.IntN(3) == 0 {
			rows = append(rows, e)
		}
	}
	for range m.random.IntN(4) {
		if len(rows) > 0 {
			rows = append(rows, rows[m.random.IntN(len(rows))])
		}
	}
	m.random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

// apply notes what an append leaves.
func (m *randomAppend) apply(w lake.Window, rows []testenv.Event) {
	for _, e := range rows {
		has := slices.ContainsFunc(m.model.Rows(), func(old testenv.Event) bool { return old.ID == e.ID })
		if !has && e.Owned(w, "") {
			m.model.Append(e)
		}
	}
}
