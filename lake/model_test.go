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
)

// TestModel runs random loads, re-loads, unaligned windows, scopes, late rows,
// foreign appends and deletes, before and during loads, and compares the table
// with what a map would hold, after every operation.
func TestModel(t *testing.T) {
	t.Parallel()
	seed := *modelSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	ops := *modelOps
	if ops == 0 {
		ops = 25
		if os.Getenv("CI") != "" && !testing.Short() {
			ops = 60
		}
	}
	t.Logf("seed %d, %d operations a table: run again with -seed %d -ops %d", seed, ops, seed, ops)
	for i, by := range [][]string{
		nil, {}, {"hour(event_time)"}, {"month(event_time)", "region"}, {"bucket(3, id)"}, {"region"}, {"truncate(1, region)", "day(event_time)"}, {"event_time"},
	} {
		t.Run(strings.Join(append([]string{"by"}, by...), " "), func(t *testing.T) {
			t.Parallel()
			m := &randomTable{events: newEvents(t, "model"), random: rand.New(rand.NewPCG(seed, uint64(i)))}
			m.load.PartitionBy = by
			m.load.OnEmpty = lake.ClearEmpty
			m.mergingFrom(3)
			m.loadOnce()
			for op := range ops {
				what := m.step()
				got := testenv.ReadAll(t, testenv.Load(t, m.cat, m.load.Table))
				if want := m.model.Strings(); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("after operation %d, %s (seed %d):\n got %s\nwant %s", op, what, seed, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
				}
			}
		})
	}
}

type randomTable struct {
	*events
	random *rand.Rand
	nextID int64
}

// step does one random operation and says which.
func (m *randomTable) step() string {
	switch n := m.random.IntN(10); {
	case n < 6:
		return m.loadOnce()
	case n < 8:
		rows := m.foreign(1 + m.random.IntN(4))
		testenv.AppendRows(m.tb, m.cat, m.load.Table, testenv.EventRows(rows...)...)
		m.model.Append(rows...)
		return "foreign append"
	default:
		return m.foreignDelete()
	}
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
	src := source(m.tb, rows...)
	what := "load " + string(text) + " scope " + region
	if m.random.IntN(4) == 0 && testenv.Exists(m.tb, m.cat, m.load.Table) {
		src.BeforeRead = func() {
			more := m.foreign(2)
			testenv.AppendRows(m.tb, m.cat, m.load.Table, testenv.EventRows(more...)...)
			m.model.Append(more...)
		}
		what += " with a foreign append in between"
	}
	if _, err := m.run(string(text), src); err != nil {
		m.tb.Fatalf("%s: %v", what, err)
	}
	m.model.Replace(w, region, rows...)
	return what
}

// foreignDelete deletes one id by an equality delete on id alone, which in a
// partitioned table must be global.
func (m *randomTable) foreignDelete() string {
	id := m.random.Int64N(m.nextID + 1)
	batch := testenv.Batch(m.tb, nil, idOnly(), testenv.Row{"id": id})
	testenv.GlobalEqualityDelete(m.tb, m.cat, m.load.Table, batch)
	m.model.Delete(func(e testenv.Event) bool { return e.ID == id })
	return fmt.Sprintf("foreign delete of id %d", id)
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
