package lake_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/iceberg-go/table"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// TestModelOfStates runs random loads, of rows that come again, and undos, with
// other writers who roll back, expire and change the table between them, and
// compares with what the history says: the rows of each branch, what each load
// knows, and that verify finds what differs and nothing else.
func TestModelOfStates(t *testing.T) {
	t.Parallel()
	seed, ops := modelLength()
	t.Logf("seed %d, %d operations a table: run again with -seed %d -ops %d", seed, ops, seed, ops)
	for i, by := range [][]string{nil, {}, {"region"}} {
		t.Run(fmt.Sprint(by), func(t *testing.T) {
			t.Parallel()
			m := &states{
				events: withoutModel(t, testenv.Catalog(t), "states"), random: rand.New(rand.NewPCG(seed, uint64(i))),
				at: map[int64]*told{0: {loaded: map[string]map[int]bool{}}}, done: map[string]int{},
			}
			m.load.PartitionBy, m.load.OnEmpty, m.load.Schema = by, lake.ClearEmpty, lake.Evolve
			m.check.Expired() // some will, and others are undone
			for op := range ops {
				what := m.step()
				m.done[what]++
				if m.compare(what); t.Failed() {
					t.Fatalf("operation %d, %s (seed %d)", op, what, seed)
				}
			}
			t.Logf("done: %v", m.done)
		})
	}
}

type states struct {
	*events
	random *rand.Rand
	// at is what is true of each snapshot; 0 is that of no snapshot.
	at   map[int64]*told
	done map[string]int
}

// told is what is true of a snapshot: its rows, and the days that each load has
// loaded in its history.
type told struct {
	rows   []testenv.Event
	loaded map[string]map[int]bool
}

func (m *states) step() string {
	if !testenv.Exists(m.tb, m.cat, m.load.Table) {
		return m.loadDay(table.MainBranch)
	}
	switch m.random.IntN(14) {
	case 0, 1, 2, 3, 4:
		return m.loadDay(table.MainBranch)
	case 5, 6:
		return m.undoSome()
	case 7:
		return m.rollBack()
	case 8:
		return m.foreign("append", func(rows []testenv.Event) []testenv.Event {
			e := m.event("a", m.day(), 7)
			testenv.AppendRows(m.tb, m.cat, m.load.Table, e.Row())
			return append(rows, e)
		})
	case 9:
		return m.foreign("compaction", func(rows []testenv.Event) []testenv.Event {
			testenv.Compact(m.tb, m.cat, m.load.Table, false)
			return rows
		})
	case 10:
		testenv.Expire(m.tb, m.cat, m.load.Table, 1+m.random.IntN(3))
		return "expiry"
	case 11:
		if _, err := m.maintain(expireAll(m.load.Table)); err != nil && !errors.Is(err, lake.ErrRefused) {
			m.tb.Fatal(err)
		}
		return "maintenance"
	case 12:
		return m.onDev()
	}
	m.addColumn(fmt.Sprint("c", m.random.Int32()))
	return "column"
}

func (m *states) day() int { return 1 + m.random.IntN(4) }

// event is the n-th of a load's day.
func (m *states) event(load string, day, n int) testenv.Event {
	region := map[string]string{"a": "eu", "b": "us"}[load]
	return testenv.NewEvent(int64(100*day+n), fmt.Sprintf("%sT%02d:00:00Z", mayDay(day), 3*n), region, int64(n))
}

// rowsOf are the rows of one version of a load's day.
func (m *states) rowsOf(load string, day, version int) (rows []testenv.Event) {
	for n := range version {
		rows = append(rows, m.event(load, day, n))
	}
	return rows
}

func (m *states) headOf(branch string) int64 {
	if s := m.table().Metadata().SnapshotByName(branch); s != nil {
		return s.SnapshotID
	}
	return 0
}

// loadDay loads one of a few versions of a day.
func (m *states) loadDay(branch string) string {
	name := []string{"a", "b"}[m.random.IntN(2)]
	day := m.day()
	rows := m.rowsOf(name, day, m.random.IntN(3))
	m.load.Name, m.load.Branch, m.load.Scope = name, branch, map[string]string{"region": map[string]string{"a": "eu", "b": "us"}[name]}
	base := int64(0)
	if testenv.Exists(m.tb, m.cat, m.load.Table) {
		base = m.headOf(branch)
	}
	r, err := (&lake.Loader{Catalog: m.cat}).Load(m.tb.Context(), m.load, source(m.tb, rows...), window(m.tb, mayDay(day)))
	if errors.Is(err, lake.ErrRefused) && len(m.at[base].loaded[name]) == 0 {
		p := "calve.load." + name + "."
		m.unset(p+"coverage", p+"at", p+"watermark")
		return "load that is refused"
	}
	if err != nil {
		m.tb.Fatalf("load %s of day %d: %v", name, day, err)
	}
	next := &told{loaded: map[string]map[int]bool{}}
	for load, days := range m.at[base].loaded {
		next.loaded[load] = maps.Clone(days)
	}
	if next.loaded[name] == nil {
		next.loaded[name] = map[int]bool{}
	}
	next.loaded[name][day] = true
	model := &testenv.Model{}
	model.Append(m.at[base].rows...)
	model.Replace(window(m.tb, mayDay(day)), m.load.Scope["region"], rows...)
	next.rows = model.Rows()
	if r.Outcome == lake.Unchanged {
		if !sameRows(next.rows, m.at[base].rows) || !next.loaded[name][day] || m.headOf(branch) != base {
			m.tb.Errorf("load %s of day %d is unchanged, and the rows are others", name, day)
		}
		return "unchanged"
	}
	m.check.Loaded(r)
	m.at[m.headOf(branch)] = next
	return "load"
}

func sameRows(a, b []testenv.Event) bool {
	text := func(rows []testenv.Event) (out []string) {
		for _, r := range rows {
			out = append(out, r.String())
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(text(a), text(b))
}

func (m *states) undoSome() string {
	u := lake.Undo{LoseLater: m.random.IntN(2) == 0, Load: []string{"", "a", "b"}[m.random.IntN(3)]}
	before := m.headOf(table.MainBranch)
	r, err := m.undo(u)
	switch {
	case err == nil:
		if r.To != fmt.Sprint(m.headOf(table.MainBranch)) {
			m.tb.Errorf("receipt %+v", r)
		}
		return "undo"
	case !errors.Is(err, lake.ErrRefused) && !errors.Is(err, lake.ErrUsage):
		m.tb.Fatalf("undo: %v", err)
	case m.headOf(table.MainBranch) != before:
		m.tb.Errorf("undone all the same: %v", err)
	}
	return "undo that is refused"
}

func (m *states) rollBack() string {
	var to []int64
	history, err := lake.History(m.table(), "")
	if err != nil {
		m.tb.Fatal(err)
	}
	for _, h := range history {
		to = append(to, h.SnapshotID)
	}
	if len(to) > 0 {
		m.rollTo(to[m.random.IntN(len(to))])
	}
	return "rollback"
}

// foreign is a commit of another writer to main.
func (m *states) foreign(name string, do func([]testenv.Event) []testenv.Event) string {
	was := m.headOf(table.MainBranch)
	if was == 0 {
		return "nothing"
	}
	rows := do(slices.Clone(m.at[was].rows))
	if is := m.headOf(table.MainBranch); is != was {
		m.at[is] = &told{rows, m.at[was].loaded}
	}
	return name
}

// onDev makes a branch at main's head, loads into it, lets main follow it, or
// drops it.
func (m *states) onDev() string {
	meta := m.table().Metadata()
	tip, head := meta.SnapshotByName("dev"), m.headOf(table.MainBranch)
	switch {
	case head == 0:
		return "nothing"
	case tip == nil:
		m.update(table.NewSetSnapshotRefUpdate("dev", head, table.BranchRef, 0, 0, 0))
		return "branch"
	case m.random.IntN(2) > 0:
		return m.loadDay("dev") + " on the branch"
	}
	follows := table.IsAncestorOf(tip.SnapshotID, head, meta.SnapshotByID)
	if follows {
		m.rollTo(tip.SnapshotID)
	}
	m.update(table.NewRemoveSnapshotRefUpdate("dev"))
	return fmt.Sprintf("branch dropped, main follows: %v", follows)
}

// compare compares the table with what is true of its branches' heads.
func (m *states) compare(what string) {
	for _, branch := range []string{table.MainBranch, "dev"} {
		tbl := m.table()
		if tbl.Metadata().SnapshotByName(branch) == nil {
			continue
		}
		truth := m.at[m.headOf(branch)]
		known, err := lake.LoadStates(m.tb.Context(), tbl, branch)
		if err != nil {
			m.tb.Fatal(err)
		}
		for _, s := range known {
			days := map[int]bool{}
			for d := 1; d <= 4; d++ {
				if s.Coverage.Holds(window(m.tb, mayDay(d))) {
					days[d] = true
				}
			}
			if s.Err != nil {
				if len(truth.loaded[s.Load]) > 0 {
					m.done["state unknown"]++
				}
				continue
			}
			if !maps.Equal(days, truth.loaded[s.Load]) && (len(days) > 0 || len(truth.loaded[s.Load]) > 0) {
				if len(days) == 0 && branch != table.MainBranch {
					m.done["state of the branch lost"]++
					continue
				}
				m.tb.Errorf("after %s: load %s on %s has loaded %v, and says %v", what, s.Load, branch, truth.loaded[s.Load], days)
			}
		}
		if branch == table.MainBranch {
			m.sameRows(truth)
		}
		m.verify(branch, truth)
	}
}

func (m *states) sameRows(truth *told) {
	var want []string
	for _, r := range truth.rows {
		want = append(want, r.String())
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, testenv.ReadFields(m.tb, m.table(), 1, 2, 3, 4)); diff != "" {
		m.tb.Errorf("rows (-want +got):\n%s", diff)
	}
}

// verify compares a day with the rows that are there, and with others.
func (m *states) verify(branch string, truth *told) {
	name := []string{"a", "b"}[m.random.IntN(2)]
	day := m.day()
	load := m.load
	load.Name, load.Branch, load.Scope, load.TakeOver = name, branch, map[string]string{"region": map[string]string{"a": "eu", "b": "us"}[name]}, true
	for _, stage := range []bool{false, true} {
		rows := slices.Clone(truth.rows)
		want := true
		if m.random.IntN(2) == 0 {
			rows, want = append(rows, m.event(name, day, 7), m.event(name, day, 5)), false
		}
		v, err := (&lake.Loader{Catalog: m.cat}).Verify(m.tb.Context(), load, source(m.tb, rows...), window(m.tb, mayDay(day)), lake.VerifyOptions{Stage: stage})
		if err != nil {
			m.tb.Fatalf("verify: %v", err)
		}
		if v.Equal() != want {
			m.tb.Errorf("verify load %s, day %d on %s: equal is %v, want %v: %v", name, day, branch, v.Equal(), want, v.Causes)
		}
		v.Release()
	}
}
