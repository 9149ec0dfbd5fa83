package lake_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// TestOthersActAtEveryStep lets another writer act before each effect of a load,
// one run each: the load lands, or says that it is temporary and lands when it
// is run again, and nothing of the other's is lost.
func TestOthersActAtEveryStep(t *testing.T) {
	t.Parallel()
	for i, a := range acts {
		if testing.Short() && i%3 > 0 || strings.Contains(a.name, "DuckDB") {
			continue
		}
		t.Run(strings.ReplaceAll(strings.ReplaceAll(a.name, " ", "_"), ",", ""), func(t *testing.T) {
			t.Parallel()
			steps := 0
			for at := 0; ; at++ {
				m := newRandomTable(t, testenv.Catalog(t), rand.New(rand.NewPCG(uint64(i), uint64(at))))
				m.load.Name = "all"
				m.before(t, a)
				rows := []testenv.Event{event(1001, "1969-12-31T10:30:00Z", 1), event(1002, "1969-12-31T10:45:00Z", 2)}
				w := window(t, "1969-12-31T10")
				fired := m.land("1969-12-31T10", rows, a, at, fmt.Sprintf("%s before effect %d", a.name, at), func() { m.model.Replace(w, "", rows...) })
				if got, want := m.read(), m.model.Strings(); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("%s before effect %d:\n got %s\nwant %s", a.name, at, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
				}
				for _, finding := range testenv.Audit(t.Context(), testenv.Load(t, m.cat, m.load.Table)) {
					t.Errorf("%s before effect %d: %v", a.name, at, finding)
				}
				if !fired {
					break
				}
				steps++
			}
			if steps < 10 {
				t.Errorf("%d steps, want more: are the effects seen?", steps)
			}
			t.Logf("%d steps", steps)
		})
	}
}

// before makes a table with two days, one of which a window of an hour would
// straddle, and a snapshot of another writer; and all that an act needs.
func (m *randomTable) before(t *testing.T, a act) {
	t.Helper()
	for _, day := range []string{"1969-12-30", "1969-12-31"} {
		rows := []testenv.Event{event(m.nextID+1, day+"T09:00:00Z", 1), event(m.nextID+2, day+"T10:10:00Z", 2), event(m.nextID+3, day+"T11:00:00Z", 3)}
		m.nextID += 3
		w := window(t, day)
		m.land(day, rows, act{}, 0, "load "+day, func() { m.model.Replace(w, "", rows...) })
	}
	m.perform(act{name: "append", do: (*randomTable).appendRows})
	if strings.HasPrefix(a.name, "column ") && a.may != nil && !a.may(m) {
		m.addExtra()
	}
}

// land loads, with another writer acting at effect number at of the load, and
// again where that made the load temporary. It reports whether there was such an
// effect.
func (m *randomTable) land(text string, rows []testenv.Event, during act, at int, what string, replace func()) bool {
	fired, err := m.loadDuring(text, rows, during, at, replace)
	if err != nil {
		temporary := m.breaks(during) && errors.Is(err, lake.ErrTemporary)
		renamed := during.renames && (errors.Is(err, lake.ErrSchema) || m.byKeys() && errors.Is(err, lake.ErrUsage)) // between the source and the plan
		repartitioned := during.breaks && errors.Is(err, lake.ErrUsage)                                              // before the plan: partition_by is the old one
		rolledBack := aheadOfTable(err) && m.done["branch rolled back"] > 0
		if !temporary && !renamed && !repartitioned && !rolledBack {
			m.tb.Fatalf("%s: %v", what, err)
		}
		m.done["temporary"]++
		m.plain(text, rows, what)
		replace()
	}
	m.remember()
	m.done["load"]++
	return fired
}

// loadDuring loads with another writer acting before effect number at of the
// load. replace is called once where the load landed.
func (m *randomTable) loadDuring(text string, rows []testenv.Event, during act, at int, replace func()) (acted bool, err error) {
	m.loads++
	run := fmt.Sprint(m.loads)
	m.nameVersion()
	loader := &lake.Loader{Catalog: m.cat, Run: run, Memory: m.memory, TempDir: m.tempDir}
	fired, resume := make(chan bool), make(chan bool)
	if during.do != nil {
		in := testenv.NewInjector(at, testenv.Pause)
		in.OnFire = func() { fired <- true; <-resume }
		loader.Catalog = in.Catalog(m.cat)
	}
	src, w := m.source(rows), window(m.tb, text)
	ended := make(chan error)
	go func() {
		r, err := loader.Load(m.tb.Context(), m.load, src, w)
		m.last = r.ByKey
		ended <- err
	}()
	counted := false
	for {
		select {
		case <-fired:
			if m.landed(run) {
				replace()
				m.remember()
				counted = true
			}
			m.perform(during)
			acted = true
			resume <- true
		case err := <-ended:
			switch {
			case err != nil && counted:
				m.tb.Fatalf("landed, and said %v", err)
			case err == nil && !counted:
				replace()
			}
			return acted, err
		}
	}
}

// landed reports whether the table has the snapshot of a run.
func (m *randomTable) landed(run string) bool {
	for _, s := range testenv.Load(m.tb, m.cat, m.load.Table).Metadata().Snapshots() {
		if s.Summary != nil && s.Summary.Properties["calve.run"] == run {
			return true
		}
	}
	return false
}

// plain runs a load again with nobody in between: it must land.
func (m *randomTable) plain(text string, rows []testenv.Event, what string) {
	m.nameVersion()
	loader := &lake.Loader{Catalog: m.cat, Memory: m.memory, TempDir: m.tempDir}
	_, err := loader.Load(m.tb.Context(), m.load, m.source(rows), window(m.tb, text))
	if aheadOfTable(err) {
		// What the error says to do: the branch was rolled back past all loads.
		m.unsetState()
		_, err = loader.Load(m.tb.Context(), m.load, m.source(rows), window(m.tb, text))
	}
	if err != nil {
		m.tb.Fatalf("%s; the plain run after it: %v", what, err)
	}
}

func aheadOfTable(err error) bool {
	return errors.Is(err, lake.ErrRefused) && strings.Contains(err.Error(), "ahead of the table")
}
