package lake_test

import (
	"errors"
	"testing"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// events is a table of events in a catalog of its own, with a model beside it
// and the final check at the end of the test.
type events struct {
	tb    testing.TB
	cat   lake.Catalog
	model *testenv.Model
	check *testenv.Checker
	load  lake.Load
}

func newEvents(tb testing.TB, name string) *events {
	tb.Helper()
	return newEventsIn(tb, testenv.Catalog(tb), name)
}

func newEventsIn(tb testing.TB, cat lake.Catalog, name string) *events {
	tb.Helper()
	e := &events{tb: tb, cat: cat, model: &testenv.Model{}, load: lake.Load{Table: testenv.Ident(name), TimeColumn: "event_time"}}
	e.check = testenv.Check(tb, cat, e.load.Table, e.model.Strings)
	return e
}

func window(tb testing.TB, text string) lake.Window {
	tb.Helper()
	w, err := lake.ParseWindow(text, nil)
	if err != nil {
		tb.Fatal(err)
	}
	if w, err = w.On(lake.Instants, nil); err != nil {
		tb.Fatal(err)
	}
	return w
}

func source(tb testing.TB, rows ...testenv.Event) *testenv.Source {
	tb.Helper()
	return testenv.Rows(tb, testenv.EventArrow(), testenv.EventRows(rows...)...)
}

// replace loads rows, notes them in the model, and expects that it lands.
func (e *events) replace(text string, rows ...testenv.Event) lake.Receipt {
	e.tb.Helper()
	r, err := e.run(text, source(e.tb, rows...))
	if err != nil {
		e.tb.Fatalf("load %s: %v", text, err)
	}
	e.model.Replace(window(e.tb, text), e.load.Scope["region"], rows...)
	return r
}

// run loads a source and leaves the model to the caller.
func (e *events) run(text string, src lake.Source) (lake.Receipt, error) {
	e.tb.Helper()
	l := &lake.Loader{Catalog: e.cat}
	r, err := l.Load(e.tb.Context(), e.load, src, window(e.tb, text))
	if err == nil {
		e.check.Loaded(r)
	}
	return r, err
}

// tell tells the final check of snapshots that landed without a receipt, and
// returns how many there were.
func (e *events) tell() int {
	e.tb.Helper()
	if !testenv.Exists(e.tb, e.cat, e.load.Table) {
		return 0
	}
	ids := e.check.Untold(testenv.Load(e.tb, e.cat, e.load.Table))
	for _, id := range ids {
		e.check.Loaded(lake.Receipt{Outcome: lake.Landed, SnapshotID: id})
	}
	return len(ids)
}

func want(tb testing.TB, err, sentinel error) {
	tb.Helper()
	if !errors.Is(err, sentinel) {
		tb.Fatalf("Load = %v, want %v", err, sentinel)
	}
}

func event(id int64, at string, value int64) testenv.Event {
	return testenv.NewEvent(id, at, "eu", value)
}

func TestReplaceTheSameWindowAgain(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "again")
	e.load.CommitUnchanged = true
	for range 3 {
		r := e.replace("2026-05-04", event(1, "2026-05-04T00:00:00Z", 1), event(2, "2026-05-04T23:59:59.999999Z", 2))
		if r.Rows.Written != 2 || r.Files.Added != 1 {
			t.Fatalf("receipt: %+v", r)
		}
	}
	e.replace("2026-05-05", event(3, "2026-05-05T00:00:00Z", 3))
	r := e.replace("2026-05-04", event(1, "2026-05-04T12:00:00Z", 10))
	if r.Rows.Replaced != 2 || r.Rows.Foreign != 0 || r.Files.Removed != 1 || r.Files.Rewritten != 0 {
		t.Errorf("receipt of the corrected day: %+v", r)
	}
	if r.Watermark == nil || *r.Watermark != "2026-05-06T00:00:00Z" {
		t.Errorf("watermark = %v", r.Watermark)
	}
}

func TestReplaceAnHourOfADay(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "hour")
	e.replace("2026-05-04", event(1, "2026-05-04T09:00:00Z", 1), event(2, "2026-05-04T10:30:00Z", 2), event(3, "2026-05-04T11:00:00Z", 3))
	r := e.replace("2026-05-04T10", event(4, "2026-05-04T10:00:00Z", 4))
	if r.Files.Rewritten != 1 || r.Rows.Replaced != 1 || r.Files.Added != 2 {
		t.Errorf("receipt: %+v", r)
	}
}

func TestEmptyWindow(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "empty")
	e.replace("2026-05-03", event(0, "2026-05-03T12:00:00Z", 0))
	e.replace("2026-05-04", event(1, "2026-05-04T12:00:00Z", 1))
	_, err := e.run("2026-05-04", source(t))
	want(t, err, lake.ErrRefused)
	missing := &testenv.Source{Schema: testenv.EventArrow(), Files: -1}
	e.load.OnEmpty = lake.ClearEmpty
	_, err = e.run("2026-05-04", missing)
	want(t, err, lake.ErrRefused)
	e.load.OnEmpty = lake.SkipEmpty
	_, err = e.run("2026-05-04", source(t))
	want(t, err, lake.ErrSkipped)
	e.load.OnEmpty = lake.ClearEmpty
	r := e.replace("2026-05-04")
	if r.Rows.Replaced != 1 || r.Files.Added != 0 || r.Files.Removed != 1 {
		t.Errorf("receipt: %+v", r)
	}
}

func TestFirstLoadOfAnEmptyWindow(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "first_empty")
	e.replace("2026-05-04")
	e.replace("2026-05-04", event(1, "2026-05-04T12:00:00Z", 1))
}

func TestScopesShareATable(t *testing.T) {
	t.Parallel()
	for _, by := range [][]string{{"day(event_time)", "region"}, {"day(event_time)"}, {"bucket(3, region)"}, {}} {
		e := newEvents(t, "scopes")
		e.load.PartitionBy = by
		eu := func(id int64, at string) testenv.Event { return testenv.NewEvent(id, at, "eu", id) }
		us := func(id int64, at string) testenv.Event { return testenv.NewEvent(id, at, "us", id) }
		e.load.Scope = map[string]string{"region": "eu"}
		e.replace("2026-05-04", eu(1, "2026-05-04T01:00:00Z"), us(9, "2026-05-04T01:00:00Z"), eu(2, "2026-05-04T02:00:00Z"))
		e.load.Scope = map[string]string{"region": "us"}
		e.load.Name = "american"
		e.replace("2026-05-04", us(3, "2026-05-04T01:00:00Z"), testenv.NewEvent(4, "2026-05-04T01:00:00Z", "", 4))
		e.load.Scope = map[string]string{"region": "eu"}
		e.load.Name = ""
		e.replace("2026-05-04", eu(5, "2026-05-04T03:00:00Z"))
	}
}

func TestPartitionings(t *testing.T) {
	t.Parallel()
	for _, by := range [][]string{
		{},
		{"year(event_time)"},
		{"month(event_time)"},
		{"hour(event_time)"},
		{"event_time"},
		{"region"},
		{"bucket(4, id)"},
		{"truncate(1, region)", "day(event_time)"},
		{"truncate(10, id)"},
		{"bucket(2, event_time)"},
	} {
		e := newEvents(t, "parts")
		e.load.PartitionBy = by
		var all []testenv.Event
		for i := range int64(60) {
			all = append(all, testenv.NewEvent(i, "1969-12-31T"+[]string{"00", "10", "23"}[i%3]+":59:59.999999Z", []string{"", "null", "x/y z", "ü"}[i%4], i))
		}
		e.replace("1969-12-31", all...)
		e.replace("1970-01-01", testenv.NewEvent(100, "1970-01-01T00:00:00Z", "x", 1))
		e.replace("1969-12-31T10/1969-12-31T11", testenv.NewEvent(101, "1969-12-31T10:00:00Z", "null", 1))
		e.replace("1969-12-31", all[:30]...)
	}
}
