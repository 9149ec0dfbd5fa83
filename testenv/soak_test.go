package testenv

import (
	"context"
	"flag"
	"maps"
	"math/rand/v2"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/calve-data/calve/lake"
)

var (
	soakFor  = flag.Duration("soak", 15*time.Second, "how long TestSoak runs")
	soakSeed = flag.Uint64("soak-seed", 0, "seed of TestSoak; 0: a new one")
	soakKind = flag.String("soak-kind", "rest", "the kind of catalog of TestSoak")
)

// TestSoak lets everything happen to one table for a long time, in random
// order: loads, loads by processes that are killed and run again, two loads at
// once, appends and deletes of other writers, expiry and the removal of orphans
// beside a running load. After each step the table must be what the model says,
// and at the end no object may be there that maintenance does not know. `make
// soak` runs it for half an hour.
func TestSoak(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d: run again with -soak %s -soak-seed %d -soak-kind %s", seed, *soakFor, seed, *soakKind)
	s := newSoak(t, seed)
	for began := time.Now(); time.Since(began) < *soakFor; {
		what := s.step()
		s.counts[what]++
		s.compare(what)
		s.measure(time.Since(began))
	}
	s.maintain(lake.Maintenance{Orphans: true, Metadata: true, Expire: &lake.Expiry{OlderThan: new(time.Duration)}, NoLoadRuns: true})
	s.nothingIsLeft()
	s.report()
}

// soak is a table that much happens to.
type soak struct {
	*site
	tb     *testing.T
	random *rand.Rand
	load   lake.Load
	model  Model
	nextID int64

	counts  map[string]int
	seconds []float64 // of the loads of this process, in order
	samples []sample
}

// sample is what was measured at a time.
type sample struct {
	at                            time.Duration
	heap                          uint64
	rows, snapshots, objects, ops int
}

func newSoak(t *testing.T, seed uint64) *soak {
	for _, kind := range Kinds() {
		if kind.Name == *soakKind {
			s := &soak{site: newSite(t, kind), tb: t, random: rand.New(rand.NewPCG(seed, 0)), counts: map[string]int{}}
			s.load = lake.Load{Table: s.Ident("soak"), TimeColumn: "event_time", OnEmpty: lake.ClearEmpty}
			s.loadHere()
			return s
		}
	}
	t.Fatalf("there is no kind of catalog %q", *soakKind)
	return nil
}

// step lets one thing happen and says what.
func (s *soak) step() string {
	switch n := s.random.IntN(100); {
	case n < 45:
		return s.loadHere()
	case n < 60:
		return s.killed()
	case n < 70:
		return s.together()
	case n < 85:
		rows := s.rows(1 + s.random.IntN(6))
		AppendRows(s.tb, s.Catalog, s.load.Table, EventRows(rows...)...)
		s.model.Append(rows...)
		return "foreign append"
	case n < 90:
		return s.foreignDelete()
	case n < 92:
		Compact(s.tb, s.Catalog, s.load.Table, s.random.IntN(2) == 0)
		return "foreign compaction"
	case n < 98:
		return s.maintained()
	default:
		return s.beside()
	}
}

// window is an hour or one to three days of a fortnight.
func (s *soak) window() lake.Window {
	from := time.Date(2026, 5, 1+s.random.IntN(14), 0, 0, 0, 0, time.UTC)
	if s.random.IntN(3) == 0 {
		from = from.Add(time.Duration(s.random.IntN(24)) * time.Hour)
		return lake.Window{From: from, To: from.Add(time.Hour)}
	}
	return lake.Window{From: from, To: from.AddDate(0, 0, 1+s.random.IntN(3))}
}

func (s *soak) rows(n int) []Event {
	rows := make([]Event, n)
	for i := range rows {
		s.nextID++
		at := time.Date(2026, 5, 1, s.random.IntN(24*15), s.random.IntN(60), 0, 0, time.UTC)
		rows[i] = NewEvent(s.nextID, at.Format(time.RFC3339), []string{"eu", "us"}[s.random.IntN(2)], s.random.Int64N(1000))
	}
	return rows
}

// within are rows of which some lie in the window, so that a source selects.
func (s *soak) within(w lake.Window) []Event {
	rows := s.rows(10)
	for i := range rows[:5] {
		at := w.From.Add(time.Duration(s.random.Int64N(int64(w.To.Sub(w.From))))).Truncate(time.Second)
		rows[i] = NewEvent(rows[i].ID, at.Format(time.RFC3339), "eu", 1)
	}
	return rows
}

func (s *soak) loadHere() string {
	w := s.window()
	s.loadWindow(w, s.within(w), nil)
	return "load"
}

// loadWindow loads a window from within this process; meanwhile happens after
// the plan was made and before the source is read.
func (s *soak) loadWindow(w lake.Window, rows []Event, meanwhile func()) {
	src := Rows(s.tb, EventArrow(), EventRows(rows...)...)
	src.BeforeRead = meanwhile
	r, err := (&lake.Loader{Catalog: s.Catalog}).Load(s.tb.Context(), s.load, src, w)
	if err != nil {
		s.tb.Fatalf("load %s: %v", w, err)
	}
	s.model.Replace(w, "", rows...)
	if meanwhile == nil {
		s.seconds = append(s.seconds, r.Seconds)
	}
}

// job is a load by the program.
func (s *soak) job(w lake.Window, rows []Event) *job {
	text, _ := w.MarshalText()
	j := s.newJob(s.tb, "soak", string(text), csvLines(rows...)...)
	j.flags = []string{"--allow-empty"}
	return j
}

// killed kills the program at a random request of a load. Then the load is run
// again, at times from a source that was corrected meanwhile.
func (s *soak) killed() string {
	w := s.window()
	rows := s.within(w)
	g := NewGate(s.tb)
	defer g.Close()
	n, before := s.random.IntN(30), s.random.IntN(2) == 0
	strike := func(now bool) func(Request) bool {
		return func(r Request) bool {
			if r.N == n && now == before {
				g.Process().Kill()
			}
			return r.N != n || now != before
		}
	}
	g.Before, g.After = strike(true), strike(false)
	end := s.job(w, rows).start(g).Wait()
	what := "load by a process"
	if end.Code != 0 {
		what = "killed and run again"
		if s.random.IntN(2) == 0 {
			rows = s.within(w)
		}
		if again := s.job(w, rows).run(); again.Code != 0 {
			s.tb.Fatalf("killed at request %d, run again: %s", n, again)
		}
	}
	s.model.Replace(w, "", rows...)
	return what
}

// together runs the program for two disjoint windows at the same time.
func (s *soak) together() string {
	a, b := s.window(), s.window()
	for a.Overlaps(b) {
		b = s.window()
	}
	var group sync.WaitGroup
	for _, w := range []lake.Window{a, b} {
		rows := s.within(w)
		j := s.job(w, rows)
		group.Go(func() {
			if end := j.run(); end.Code != 0 {
				s.tb.Errorf("two at once, %s: %s", w, end)
			}
		})
		s.model.Replace(w, "", rows...)
	}
	group.Wait()
	return "two at once"
}

// foreignDelete deletes a row by an equality delete in its partition.
func (s *soak) foreignDelete() string {
	rows := s.model.Rows()
	if len(rows) == 0 {
		return "nothing"
	}
	gone := rows[s.random.IntN(len(rows))]
	EqualityDelete(s.tb, s.Catalog, s.load.Table, []string{"id"}, Batch(s.tb, nil, EventArrow(), gone.Row()))
	s.model.Delete(func(e Event) bool { return e.ID == gone.ID })
	return "foreign delete"
}

// maintain fails the test where maintenance fails.
func (s *soak) maintain(m lake.Maintenance) {
	m.Table = s.load.Table
	if _, err := (&lake.Loader{Catalog: s.Catalog}).Maintain(context.WithoutCancel(s.tb.Context()), m); err != nil {
		s.tb.Fatalf("maintain: %v", err)
	}
}

// maintained expires all but a few snapshots, and removes what nobody needs
// while no load runs.
func (s *soak) maintained() string {
	s.maintain(lake.Maintenance{Expire: &lake.Expiry{OlderThan: new(time.Duration), Keep: 1 + s.random.IntN(5)}, Orphans: true, NoLoadRuns: true})
	return "maintenance"
}

// beside expires snapshots and looks for orphans between a load's plan and its
// commit, as a nightly job might. The load's base must stay.
func (s *soak) beside() string {
	w := s.window()
	s.loadWindow(w, s.within(w), func() {
		s.maintain(lake.Maintenance{Expire: &lake.Expiry{OlderThan: new(time.Duration), Keep: 2}, Orphans: true})
	})
	return "maintenance beside a load"
}

// compare looks whether the table is what the model says, and whole.
func (s *soak) compare(what string) {
	s.tb.Helper()
	t := Load(s.tb, s.Catalog, s.load.Table)
	if got, want := ReadAll(s.tb, t), s.model.Strings(); !slices.Equal(got, want) {
		s.tb.Fatalf("after %s: lost %q, too many %q", what, difference(want, got), difference(got, want))
	}
	for _, finding := range Audit(s.tb.Context(), t) {
		s.tb.Fatalf("after %s: %v", what, finding)
	}
}

// measure takes a sample now and then.
func (s *soak) measure(at time.Duration) {
	if n := len(s.samples); n > 0 && at < *soakFor*time.Duration(n)/10 {
		return
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	ops := 0
	for _, n := range s.counts {
		ops += n
	}
	t := Load(s.tb, s.Catalog, s.load.Table)
	s.samples = append(s.samples, sample{
		at: at.Round(time.Second), heap: memory.HeapAlloc >> 20, ops: ops,
		rows: len(s.model.Strings()), snapshots: len(t.Metadata().Snapshots()), objects: len(s.objects(s.tb)),
	})
}

// nothingIsLeft looks for objects of calve that no snapshot names after all
// loads are over and maintenance has run.
func (s *soak) nothingIsLeft() {
	named := Named(s.tb, Load(s.tb, s.Catalog, s.load.Table))
	for object := range s.objects(s.tb) {
		if !named[object] && strings.Contains(path.Base(object), "calve-") {
			s.tb.Errorf("%s is named by no snapshot, and maintenance left it", object)
		}
	}
}

// report prints what happened, and whether memory and times stay as they are.
func (s *soak) report() {
	for _, what := range slices.Sorted(maps.Keys(s.counts)) {
		s.tb.Logf("%6d %s", s.counts[what], what)
	}
	for _, m := range s.samples {
		s.tb.Logf("after %s and %d steps: heap %d MiB, %d rows, %d snapshots, %d objects", m.at, m.ops, m.heap, m.rows, m.snapshots, m.objects)
	}
	quarter := len(s.seconds) / 4
	if quarter > 0 {
		s.tb.Logf("a load took %.3f s in the first quarter and %.3f s in the last (medians)", median(s.seconds[:quarter]), median(s.seconds[len(s.seconds)-quarter:]))
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
