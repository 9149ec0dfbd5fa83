package lake_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// deliveries is a table of events that are appended, each once.
func newDeliveries(tb testing.TB, name string) *events {
	tb.Helper()
	e := newEvents(tb, name)
	e.load.Mode, e.load.EventID = lake.Append, []string{"id"}
	return e
}

// appends loads rows and expects these counts; stored are those that are new.
func (e *events) appends(text string, want lake.KeyCounts, rows []testenv.Event, stored ...testenv.Event) lake.Receipt {
	e.tb.Helper()
	r, err := e.run(text, source(e.tb, rows...))
	if err != nil {
		e.tb.Fatalf("append %s: %v", text, err)
	}
	n := *r.ByKey
	if n != want {
		e.tb.Errorf("append %s: %+v, want %+v", text, n, want)
	}
	if sum := n.Inserted + n.Identical + n.Duplicates + n.Conflicts; sum != r.Rows.Read-r.Rows.Outside {
		e.tb.Errorf("append %s: %+v are %d rows of %+v", text, n, sum, r.Rows)
	}
	e.model.Append(stored...)
	return r
}

// TestAppendPayments is the scene that every data engineer knows: events of a
// producer that was not sure and delivered some again.
func TestAppendPayments(t *testing.T) {
	t.Parallel()
	e := newDeliveries(t, "payments")
	a, b, c := event(1, "2026-05-04T10:00:00Z", 10), event(2, "2026-05-04T11:00:00Z", 20), event(3, "2026-05-04T12:00:00Z", 30)
	e.appends("2026-05-04", lake.KeyCounts{Inserted: 2, Duplicates: 1}, []testenv.Event{a, b, a}, a, b)
	r := e.appends("2026-05-04", lake.KeyCounts{Inserted: 1, Identical: 2}, []testenv.Event{a, b, c}, c)
	if r.Files.Removed != 0 || r.Rows.Written != 1 || r.Mode != "append" {
		t.Errorf("receipt: %+v", r)
	}
	t.Run("the same once more", func(t *testing.T) {
		if r := e.appends("2026-05-04", lake.KeyCounts{Identical: 3}, []testenv.Event{a, b, c}); r.Outcome != lake.Unchanged {
			t.Errorf("outcome %s", r.Outcome)
		}
	})
	t.Run("the same id with other values", func(t *testing.T) {
		other := event(2, "2026-05-04T11:00:00Z", 21)
		r := e.appends("2026-05-04", lake.KeyCounts{Conflicts: 2, Identical: 1}, []testenv.Event{other, a, event(1, "2026-05-04T10:00:00Z", 99)})
		if len(r.Conflicts) != 2 || !slices.ContainsFunc(r.Conflicts, func(s string) bool { return strings.HasPrefix(s, "memory-0 row 1, id=2, with a row in ") }) ||
			!slices.Contains(r.Conflicts, "memory-0 row 3, id=1, with memory-0 row 2") {
			t.Errorf("conflicts: %q", r.Conflicts)
		}
		e.load.OnConflict = lake.ErrorConflict
		_, err := e.run("2026-05-04", source(t, other))
		want(t, err, lake.ErrTie)
		e.load.OnConflict = ""
	})
	t.Run("an id that is NULL", func(t *testing.T) {
		_, err := e.run("2026-05-04", testenv.Rows(t, testenv.EventArrow(), testenv.Row{"event_time": "2026-05-04T10:00:00Z", "value": 1}))
		want(t, err, lake.ErrInput)
	})
}

// TestAppendLooksBack: ids are looked for in the window, and around it as far as
// the load says; beyond it they are not seen.
func TestAppendLooksBack(t *testing.T) {
	t.Parallel()
	first := event(1, "2026-05-01T10:00:00Z", 10)
	again := event(1, "2026-05-04T10:00:00Z", 10) // the producer gave it the time of the delivery
	for _, tc := range []struct {
		back Step
		want lake.KeyCounts
	}{
		{Step{}, lake.KeyCounts{Inserted: 1}},
		{Step{Days: 2}, lake.KeyCounts{Inserted: 1}},
		{Step{Days: 3}, lake.KeyCounts{Conflicts: 1}}, // another time, so other values
		{Step{Days: 7}, lake.KeyCounts{Conflicts: 1}},
	} {
		e := newDeliveries(t, "back")
		e.load.LookBack = tc.back
		e.appends("2026-05-01", lake.KeyCounts{Inserted: 1}, []testenv.Event{first}, first)
		var stored []testenv.Event
		if tc.want.Inserted > 0 {
			stored = []testenv.Event{again}
		}
		e.appends("2026-05-04", tc.want, []testenv.Event{again}, stored...)
	}
	t.Run("forward too", func(t *testing.T) {
		e := newDeliveries(t, "forward")
		e.load.LookBack = Step{Days: 3}
		e.appends("2026-05-04", lake.KeyCounts{Inserted: 1}, []testenv.Event{again}, again)
		e.appends("2026-05-01", lake.KeyCounts{Conflicts: 1}, []testenv.Event{first})
	})
}

// Step is short for tables of tests.
type Step = lake.Step

// TestAppendHash: events without an id are the same if some of their columns are,
// by value: NULL is one, and neither the text of a value nor how columns are put
// together matters.
func TestAppendHash(t *testing.T) {
	t.Parallel()
	e := newDeliveries(t, "hash")
	e.load.EventID, e.load.HashOf = nil, []string{"region", "event_time"}
	e.load.LookBack = Step{Days: 1}
	null := testenv.NewEvent(1, "2026-05-04T10:00:00Z", "", 1)
	word := testenv.NewEvent(2, "2026-05-04T10:00:00Z", "NULL", 1)
	zero := testenv.NewEvent(3, "2026-05-04T10:00:00Z", "\x00", 1)
	eu := testenv.NewEvent(4, "2026-05-04T10:00:00Z", "eu", 1)
	all := []testenv.Event{null, word, zero, eu}
	e.appends("2026-05-04", lake.KeyCounts{Inserted: 4}, all, all...)
	e.appends("2026-05-04", lake.KeyCounts{Identical: 4}, all)
	e.appends("2026-05-04", lake.KeyCounts{Conflicts: 1}, []testenv.Event{testenv.NewEvent(5, "2026-05-04T10:00:00Z", "eu", 1)})
	e.load.HashOf, e.load.Volatile = []string{"region", "value"}, []string{"value"}
	e.load.TakeOver = true
	_, err := e.run("2026-05-04", source(t, eu))
	want(t, err, lake.ErrUsage)
}

// TestAppendRaces: of appends that bring the same event at the same time one
// stores it.
func TestAppendRaces(t *testing.T) {
	t.Parallel()
	for round := range 3 {
		e := newDeliveries(t, fmt.Sprint("race", round))
		same := event(1, "2026-05-04T10:00:00Z", 1)
		e.appends("2026-05-04", lake.KeyCounts{Inserted: 1}, []testenv.Event{event(0, "2026-05-04T01:00:00Z", 0)}, event(0, "2026-05-04T01:00:00Z", 0))
		type result struct {
			r   lake.Receipt
			err error
		}
		results := make(chan result)
		for n := range int64(6) {
			go func() {
				own := event(100+n, "2026-05-04T11:00:00Z", n)
				r, err := (&lake.Loader{Catalog: e.cat}).Load(t.Context(), e.load, source(t, same, own), window(t, "2026-05-04"))
				results <- result{r, err}
			}()
			e.model.Append(event(100+n, "2026-05-04T11:00:00Z", n))
		}
		inserted := int64(0)
		for range 6 {
			res := <-results
			if res.err != nil {
				t.Errorf("append: %v", res.err)
				continue
			}
			e.check.Loaded(res.r)
			inserted += res.r.ByKey.Inserted
		}
		e.model.Append(same)
		if inserted != 7 {
			t.Errorf("%d rows inserted, want 7", inserted)
		}
	}
}

// TestAppendEveryStepFails: whatever step goes wrong, running it again leaves each
// event once.
func TestAppendEveryStepFails(t *testing.T) {
	t.Parallel()
	before := event(1, "2026-05-04T10:00:00Z", 1)
	rows := []testenv.Event{before, event(2, "2026-05-04T11:00:00Z", 2), event(2, "2026-05-04T11:00:00Z", 2), event(3, "2026-05-04T12:00:00Z", 3)}
	steps := 0
	for at := 0; ; at++ {
		e := newDeliveries(t, "step")
		e.appends("2026-05-04", lake.KeyCounts{Inserted: 1}, []testenv.Event{before}, before)
		fired := e.faultAt(at, testenv.LostAnswer, "2026-05-04", rows)
		e.tell()
		if _, err := e.run("2026-05-04", source(t, rows...)); err != nil {
			t.Fatalf("re-run: %v", err)
		}
		e.model.Append(rows[1], rows[3])
		if !fired {
			break
		}
		steps++
	}
	if steps < 6 {
		t.Errorf("%d steps: are the effects seen?", steps)
	}
}

func TestAppendSettings(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*lake.Load){
		"no id":         func(l *lake.Load) { l.EventID = nil },
		"both":          func(l *lake.Load) { l.HashOf = []string{"value"} },
		"twice":         func(l *lake.Load) { l.EventID = []string{"id", "ID"} },
		"unknown":       func(l *lake.Load) { l.EventID = []string{"event_id"} },
		"a key":         func(l *lake.Load) { l.Key = []string{"id"} },
		"of replace":    func(l *lake.Load) { l.Mode = lake.Replace },
		"negative":      func(l *lake.Load) { l.LookBack.Days = -1 },
		"on_conflict":   func(l *lake.Load) { l.OnConflict = "source" },
		"if_changed":    func(l *lake.Load) { l.IfChanged = true },
		"a volatile id": func(l *lake.Load) { l.Volatile = []string{"id"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newDeliveries(t, "settings")
			change(&e.load)
			_, err := e.run("2026-05-04", source(t, event(1, "2026-05-04T10:00:00Z", 1)))
			want(t, err, lake.ErrUsage)
		})
	}
}
