package testenv

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
)

// seaweedSite is a namespace of SeaweedFS as processes reach it.
func seaweedSite(tb testing.TB) *site { return &site{AnyCatalog: SeaweedFS(tb)} }

// What a load asks of its catalog holds on a REST server that other people wrote.
func TestEngineSeaweedFSIsACatalog(t *testing.T) {
	t.Parallel()
	heavy(t)
	ExerciseCatalog(t, func(tb testing.TB) CatalogOnTrial {
		cat := SeaweedFS(tb)
		return CatalogOnTrial{
			Open:      func(tb testing.TB) lake.Catalog { return cat.Again(tb) },
			Namespace: cat.Namespace,
			Objects:   func() []string { return cat.S3.Objects(cat.Namespace + "/") },
			Lacks:     map[string]string{"Denied": "the server begins with one identity, which may do everything"},
		}
	})
}

// A first load, a window loaded again, an hour of a day whose other rows
// survive, an answer that is lost, and a table that DuckDB and PyIceberg read as
// calve wrote it.
func TestEngineSeaweedFSLoads(t *testing.T) {
	t.Parallel()
	s := seaweedSite(t)
	m := &Model{}
	check := Check(t, s, s.Ident("events"), m.Strings)
	replace := func(window string, events ...Event) {
		t.Helper()
		check.Loaded(s.replace(t, "events", window, events...))
		m.Replace(eventWindow(t, window), "", events...)
	}
	replace("2026-05-04/2026-05-06", NewEvent(1, "2026-05-04T09:00:00Z", "eu", 1), NewEvent(2, "2026-05-04T10:30:00Z", "", 2), NewEvent(3, "2026-05-05T11:00:00Z", "ü #?%", 3))
	replace("2026-05-05", NewEvent(4, "2026-05-05T12:00:00Z", "us", 4))
	replace("2026-05-04T10", NewEvent(5, "2026-05-04T10:45:00Z", "null", 5))

	g := NewGate(t)
	g.After = once(commits, func() bool { return false })
	lost := NewEvent(6, "2026-05-06T06:00:00Z", "eu", 6)
	end := s.newJob(t, "events", "2026-05-06", csvLines(lost)...).start(g).Wait()
	receipt, err := end.Receipt()
	if err != nil || end.Code != 0 {
		t.Fatalf("%v: %s\nrequests\n%s", err, end, list(g.Requests()))
	}
	check.Loaded(receipt)
	m.Append(lost)

	location := Load(t, s, s.Ident("events")).MetadataLocation()
	var duck []string
	for _, row := range DuckDB(t, location, s.S3, "SELECT id, event_time, region, value FROM {table}") {
		duck = append(duck, strings.Join(row, " "))
	}
	slices.Sort(duck)
	if diff := cmp.Diff(m.Strings(), duck); diff != "" {
		t.Errorf("DuckDB; -model +got:\n%s", diff)
	}
	if diff := cmp.Diff(m.Strings(), PyIceberg(t, location, s.S3, PyScan{Rows: true}).Rows); diff != "" {
		t.Errorf("PyIceberg; -model +got:\n%s", diff)
	}
}

// Eight processes on disjoint windows, and two on one, as on every other
// catalog.
func TestEngineSeaweedFSRaces(t *testing.T) {
	t.Parallel()
	heavy(t)
	Calve(t)
	for _, first := range []string{"a table", "no table"} {
		t.Run("eight windows, "+first, func(t *testing.T) {
			t.Parallel()
			eightWindows(t, seaweedSite(t), first == "a table")
		})
		for _, meet := range []string{"started together", "before they commit"} {
			t.Run("one window twice, "+meet+", "+first, func(t *testing.T) {
				t.Parallel()
				oneWindowTwice(t, seaweedSite(t), first == "a table", meet == "before they commit")
			})
		}
	}
}
