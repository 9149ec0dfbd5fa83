package lake_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

var (
	modelSeed = flag.Uint64("seed", 0, "seed of TestModel; 0: a new one")
	modelOps  = flag.Int("ops", 0, "operations of each table of TestModel; 0: 25, in CI 60")
	modelTime = flag.Duration("for", 0, "how long each table of TestModel goes on, instead of -ops; 0: -ops decides")
)

// TestModel runs random loads, re-loads, unaligned windows, scopes, late rows
// and maintenance, with other writers at work before and during the loads, and
// compares the table with what a map would hold, after every operation. What
// the others do is in model_foreign_test.go.
func TestModel(t *testing.T) {
	t.Parallel()
	seed, ops := modelLength()
	t.Logf("seed %d, %d operations a table: run again with -seed %d -ops %d", seed, ops, seed, ops)
	for i, tc := range []struct {
		name string // plain, for it is in paths, which not every writer unescapes
		by   []string
	}{
		{"day", nil},
		{"none", []string{}},
		{"hour", []string{"hour(event_time)"}},
		{"month_region", []string{"month(event_time)", "region"}},
		{"bucket", []string{"bucket(3, id)"}},
		{"region", []string{"region"}},
		{"truncate_day", []string{"truncate(1, region)", "day(event_time)"}},
		{"time", []string{"event_time"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := newRandomTable(t, testenv.Catalog(t), rand.New(rand.NewPCG(seed, uint64(i))))
			m.load.PartitionBy = tc.by
			m.goOn(t, seed, ops)
		})
	}
}

// modelLength is what the flags, or CI, say of TestModel.
func modelLength() (seed uint64, ops int) {
	seed = *modelSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	ops = *modelOps
	if ops == 0 {
		ops = 25
		if os.Getenv("CI") != "" && !testing.Short() {
			ops = 60
		}
	}
	return seed, ops
}

// TestModelOnREST is the same on a REST catalog and an object store, where
// DuckDB is one of the other writers.
func TestModelOnREST(t *testing.T) {
	t.Parallel()
	seed, ops := modelLength()
	ops /= 2
	t.Logf("seed %d, %d operations a table: run again with -seed %d -ops %d", seed, ops, seed, 2*ops)
	cat := testenv.RESTOn(t, testenv.MinIO(t))
	for i, tc := range []struct {
		name string
		by   []string
	}{
		{"rest_day", nil},
		{"rest_none", []string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := newRandomTable(t, cat, rand.New(rand.NewPCG(seed, uint64(100+i))))
			m.load.Table = cat.Ident(tc.name)
			m.load.PartitionBy = tc.by
			m.goOn(t, seed, ops)
		})
	}
}

// goOn does random operations and compares the table with the model after each.
func (m *randomTable) goOn(t *testing.T, seed uint64, ops int) {
	t.Helper()
	m.mergingFrom(3)
	m.once()
	began := time.Now()
	more := func(op int) bool { return op < ops }
	if *modelTime > 0 {
		more = func(int) bool { return time.Since(began) < *modelTime }
	}
	for op := 0; more(op); op++ {
		what := m.step()
		if got, want := m.read(), m.model.Strings(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("after operation %d, %s (seed %d):\n got %s\nwant %s", op, what, seed, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
	t.Logf("done: %v", m.done)
	for _, finding := range testenv.Audit(t.Context(), testenv.Load(t, m.cat, m.load.Table)) {
		// DuckDB leaves a total out, and iceberg-go then goes on from 0.
		if m.rest == nil || !strings.Contains(finding.Error(), "summary: total-") {
			t.Errorf("seed %d: %v", seed, finding)
		}
	}
}

type randomTable struct {
	*events
	local  *testenv.LocalCatalog // nil on another catalog
	rest   *testenv.AnyCatalog   // nil on another catalog
	random *rand.Rand
	nextID int64
	loads  int
	// once does one random load.
	once func() string
	// memory and tempDir are the loader's; 0 and "": its default.
	memory  int64
	tempDir string
	// last is what the last load merged.
	last *lake.KeyCounts
	// past holds the rows that the table had at each snapshot.
	past map[int64][]testenv.Event
	// done counts what was done.
	done map[string]int
}

func newRandomTable(t *testing.T, cat lake.Catalog, random *rand.Rand) *randomTable {
	t.Helper()
	m := &randomTable{
		events: &events{tb: t, cat: cat, model: &testenv.Model{}, load: lake.Load{Table: testenv.Ident("model"), TimeColumn: "event_time", OnEmpty: lake.ClearEmpty, TakeOver: true}},
		random: random, past: map[int64][]testenv.Event{}, done: map[string]int{},
	}
	m.local, _ = cat.(*testenv.LocalCatalog)
	m.rest, _ = cat.(*testenv.AnyCatalog)
	m.once = m.loadOnce
	return m
}

// step does one random operation and says which.
func (m *randomTable) step() string {
	switch n := m.random.IntN(11); {
	case n < 5:
		return m.once()
	case n == 10:
		return m.maintainOnce()
	}
	act := m.pickAct()
	m.perform(act)
	return act.name
}

// maintainOnce expires all but the newest snapshots and deletes whatever is not
// needed, at once. It may be refused where another writer rolled a load back.
func (m *randomTable) maintainOnce() string {
	maintenance := everything(m.load.Table)
	maintenance.Expire.Keep = 1 + m.random.IntN(3)
	if _, err := (&lake.Loader{Catalog: m.cat, Now: later}).Maintain(m.tb.Context(), maintenance); err != nil && !errors.Is(err, lake.ErrRefused) {
		m.tb.Fatalf("Maintain: %v", err)
	}
	return fmt.Sprintf("maintenance that keeps %d snapshots", maintenance.Expire.Keep)
}

// loadOnce loads a random window, at times with another writer in between.
func (m *randomTable) loadOnce() string {
	w := m.window()
	text, _ := w.MarshalText()
	region := ""
	m.load.Scope, m.load.Name = nil, "all"
	if m.random.IntN(3) == 0 {
		region = m.region()
	}
	if region != "" {
		m.load.Scope, m.load.Name = map[string]string{"region": region}, "scoped"
	}
	rows := m.rows(m.random.IntN(12))
	what := "load " + string(text) + " scope " + region
	replace := func() { m.model.Replace(w, region, rows...) }
	var during act
	if m.random.IntN(2) == 0 && testenv.Exists(m.tb, m.cat, m.load.Table) {
		during = m.pickAct()
		what += ", during it " + during.name
	}
	m.land(string(text), rows, during, m.random.IntN(30), what, replace)
	return what
}

// window is aligned with days in half of the cases.
func (m *randomTable) window() lake.Window {
	from := time.Date(1969, 12, 30, 0, 0, 0, 0, time.UTC).AddDate(0, 0, m.random.IntN(4))
	to := from.AddDate(0, 0, 1+m.random.IntN(2))
	if m.random.IntN(2) == 0 {
		from = from.Add(time.Duration(m.random.IntN(24)) * time.Hour)
		to = from.Add(time.Duration(1+m.random.IntN(600)) * time.Minute)
	}
	return lake.Window{From: from, To: to}
}

func (m *randomTable) region() string { return []string{"eu", "us", "null", ""}[m.random.IntN(4)] }

// rows are spread over more days than windows, with times on the bounds of
// hours and days, one microsecond before, and NULL.
func (m *randomTable) rows(n int) []testenv.Event {
	var rows []testenv.Event
	for range n {
		m.nextID++
		at := time.Date(1969, 12, 29, m.random.IntN(24*6), 0, 0, 0, time.UTC)
		switch m.random.IntN(4) {
		case 0:
			at = at.Add(-time.Microsecond)
		case 1:
			at = at.Add(time.Duration(m.random.IntN(3600)) * time.Second)
		}
		text := at.Format(time.RFC3339Nano)
		if m.random.IntN(10) == 0 {
			text = ""
		}
		rows = append(rows, testenv.NewEvent(m.nextID, text, m.region(), m.random.Int64N(1000)))
	}
	return rows
}

// foreign are rows that iceberg-go itself can write: in one append it puts NULL
// and the text "null" into one partition (pitfall L7).
func (m *randomTable) foreign(n int) []testenv.Event {
	rows := m.rows(n)
	for i := range rows {
		if rows[i].Region == nil {
			eu := "eu"
			rows[i].Region = &eu
		}
	}
	return rows
}

// TestTwoRunsOfOneWindow: of runs that race for one window one lands and the
// rest are superseded, or they land one after the other; never the union.
func TestTwoRunsOfOneWindow(t *testing.T) {
	t.Parallel()
	for round := range 5 {
		e := newEvents(t, fmt.Sprint("race", round))
		type result struct {
			r   lake.Receipt
			err error
			row testenv.Event
		}
		results := make(chan result)
		for n := range int64(4) {
			go func() {
				row := event(n, "2026-05-04T01:00:00Z", n)
				src := testenv.Rows(t, testenv.EventArrow(), row.Row())
				r, err := (&lake.Loader{Catalog: e.cat}).Load(t.Context(), e.load, src, window(t, "2026-05-04"))
				results <- result{r, err, row}
			}()
		}
		landed := map[string]testenv.Event{}
		for range 4 {
			res := <-results
			switch {
			case res.err == nil:
				e.check.Loaded(res.r)
				landed[res.r.SnapshotID] = res.row
			case !errors.Is(res.err, lake.ErrSuperseded):
				t.Errorf("Load = %v, want landed or superseded", res.err)
			}
		}
		head := testenv.Load(t, e.cat, e.load.Table).CurrentSnapshot()
		last, ok := landed[fmt.Sprint(head.SnapshotID)]
		if !ok {
			t.Fatal("the head is no load's that landed")
		}
		e.model.Append(last)
	}
}

// TestEightWindows: disjoint windows never fail each other (case 22).
func TestEightWindows(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "eight")
	errs := make(chan error)
	for n := range int64(8) {
		go func() {
			day := fmt.Sprintf("2026-05-%02d", n+1)
			row := event(n, day+"T01:00:00Z", n)
			r, err := (&lake.Loader{Catalog: e.cat}).Load(t.Context(), e.load, testenv.Rows(t, testenv.EventArrow(), row.Row()), window(t, day))
			if err == nil {
				e.check.Loaded(r)
				e.model.Append(row)
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Errorf("Load = %v", err)
		}
	}
}
