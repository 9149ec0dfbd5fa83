package lake_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// found are the findings on the events, by their IDs.
func (e *events) found(o lake.CheckOptions) map[string]lake.Finding {
	e.tb.Helper()
	before := e.location()
	checked, err := (&lake.Loader{Catalog: e.cat}).Check(e.tb.Context(), e.load, source(e.tb), o)
	if err != nil {
		e.tb.Fatal(err)
	}
	if after := e.location(); after != before {
		e.tb.Errorf("the check changed the table: %q, it was %q", after, before)
	}
	found := map[string]lake.Finding{}
	for _, f := range checked.Findings {
		found[f.ID] = f
	}
	return found
}

// location is the table's metadata file; "" where there is no table.
func (e *events) location() string {
	if !testenv.Exists(e.tb, e.cat, e.load.Table) {
		return ""
	}
	return testenv.Load(e.tb, e.cat, e.load.Table).MetadataLocation()
}

// TestCheckFindings: each rule on a table that it finds fault with, and on one
// that is sound.
func TestCheckFindings(t *testing.T) {
	t.Parallel()
	properties := func(p iceberg.Properties) func(e *events) {
		return func(e *events) { e.update(table.NewSetPropertiesUpdate(p)) }
	}
	setting := func(key, bad, good string) [2]func(*events) {
		return [2]func(*events){properties(iceberg.Properties{key: bad}), properties(iceberg.Properties{key: good})}
	}
	partitioned := func(by ...string) func(*events) {
		return func(e *events) { e.load.PartitionBy = append([]string{}, by...) }
	}
	nothing := func(*events) {}
	day := "2026-05-04"
	for name, tc := range map[string]struct {
		id       string
		severity lake.Severity
		// before makes the table another one, after changes it once it is loaded:
		// with fault, and sound.
		before, after [2]func(*events)
		window        string
		says          string
	}{
		"another's claim": {
			id: "claim", severity: lake.Unsafe, says: `load "other" wants all rows by event_time`,
			after: [2]func(*events){func(e *events) { e.load.Name = "other" }, nothing},
		},
		"its own claim": {
			id: "claim", severity: lake.Unsafe, says: "now wants rows with region=eu",
			after: [2]func(*events){func(e *events) { e.load.Scope = map[string]string{"region": "eu"} }, nothing},
		},
		"a straddling file": {
			id: "unreadable-files", severity: lake.Unsafe, says: "ORC file", window: day + "T01",
			after: [2]func(*events){func(e *events) { e.respell("orc", "") }, nothing},
		},
		"the newest window": {
			id: "unreadable-files", severity: lake.Unsafe, says: "ORC file",
			before: [2]func(*events){partitioned(), nothing},
			after: [2]func(*events){func(e *events) {
				e.replaceHour()
				e.respell("orc", "")
			}, (*events).replaceHour},
		},
		"single moments":     {id: "identity-time-partition", severity: lake.Warn, says: "each moment", before: [2]func(*events){partitioned("event_time"), partitioned("hour(event_time)")}},
		"no partitions":      {id: "no-time-partition", severity: lake.Note, says: "event_time", before: [2]func(*events){partitioned(), partitioned("year(event_time)")}},
		"buckets alone":      {id: "no-time-partition", severity: lake.Note, says: "event_time", before: [2]func(*events){partitioned("bucket(4, id)"), partitioned("bucket(4, id)", "day(event_time)")}},
		"an hour of history": {id: "early-expiry", severity: lake.Warn, says: "after 1h0m0s", after: setting(table.MaxSnapshotAgeMsKey, "3600000", "432000000")},
		"an hour, but many": {
			id: "early-expiry", severity: lake.Warn, says: "after 1h0m0s",
			after: [2]func(*events){
				properties(iceberg.Properties{table.MaxSnapshotAgeMsKey: "3600000", table.MinSnapshotsToKeepKey: "9"}),
				properties(iceberg.Properties{table.MaxSnapshotAgeMsKey: "3600000", table.MinSnapshotsToKeepKey: "10"}),
			},
		},
		"no age":       {id: "early-expiry", severity: lake.Warn, says: "not a number", after: setting(table.MaxSnapshotAgeMsKey, "5 days", "432000000")},
		"one old file": {id: "short-metadata-log", severity: lake.Warn, says: "=1:", after: setting(table.MetadataPreviousVersionsMaxKey, "1", "10")},
		"Nessie":       {id: "hidden-history", severity: lake.Warn, says: "Nessie", after: setting("nessie.commit.id", "abc", "")},
		"shared files": {id: "gc-disabled", severity: lake.Note, says: `"FALSE"`, after: setting("gc.enabled", "FALSE", "TRUE")},
	} {
		for i, with := range []bool{true, false} {
			t.Run(name+map[bool]string{true: "", false: ", sound"}[with], func(t *testing.T) {
				t.Parallel()
				if name == "Nessie" && !with {
					tc.after[i] = nothing
				}
				e := withoutModel(t, testenv.Catalog(t), "checked")
				if f := tc.before[i]; f != nil {
					f(e)
				}
				if _, err := e.run(day, source(t, event(1, day+"T00:10:00Z", 1), event(2, day+"T01:20:00Z", 2), event(3, day+"T02:30:00Z", 3))); err != nil {
					t.Fatal(err)
				}
				if f := tc.after[i]; f != nil {
					f(e)
				}
				o := lake.CheckOptions{}
				if tc.window != "" {
					o.Window = window(t, tc.window)
				}
				got := e.found(o)
				f, is := got[tc.id]
				if is != with {
					t.Fatalf("found %v", slices.Sorted(maps.Keys(got)))
				}
				if with && (f.Severity != tc.severity || !strings.Contains(f.Message, tc.says) || f.Advice == "") {
					t.Errorf("%+v does not say %q", f, tc.says)
				}
			})
		}
	}
}

// replaceHour loads one hour of the day, so that the files of others straddle it.
func (e *events) replaceHour() {
	e.tb.Helper()
	if _, err := e.run("2026-05-04T01", source(e.tb, event(2, "2026-05-04T01:20:00Z", 4))); err != nil {
		e.tb.Fatal(err)
	}
}

// TestCheckUnsupported: of a table that is not written nothing else is said.
func TestCheckUnsupported(t *testing.T) {
	t.Parallel()
	e := withoutModel(t, testenv.Catalog(t), "v3")
	testenv.CreateTable(t, e.cat, e.load.Table, testenv.EventSchema(), testenv.EventsByDay(), nil)
	if got := e.found(lake.CheckOptions{}); len(got) > 0 {
		t.Errorf("found %v of a table without fault", got)
	}
	e.update(table.NewUpgradeFormatVersionUpdate(3))
	got := e.found(lake.CheckOptions{})
	if f := got["table-unsupported"]; len(got) != 1 || f.Severity != lake.Unsafe || !strings.Contains(f.Message, "format version 3") {
		t.Errorf("found %v", got)
	}
}

// pinnedAs is a source, and an input of it, that is only looked at.
type pinnedAs struct {
	lake.Input
	origin lake.Origin
}

func (p pinnedAs) Pin(context.Context, lake.Window) (lake.Input, error) { return p, nil }
func (p pinnedAs) Origin() lake.Origin                                  { return p.origin }

// TestCheckSource: files of a window are looked for where one is given.
func TestCheckSource(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "source")
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 1))
	for _, tc := range []struct {
		name   string
		origin lake.Origin
		empty  lake.OnEmpty
		found  bool
	}{
		{"files", lake.Origin{Files: 1}, "", false},
		{"no file", lake.Origin{}, "", true},
		{"no file, to be cleared", lake.Origin{}, lake.ClearEmpty, true},
		{"a part missing", lake.Origin{Files: 1, Missing: []string{"in/b"}}, "", true},
		{"a part missing, to be cleared", lake.Origin{Files: 1, Missing: []string{"in/b"}}, lake.ClearEmpty, false},
	} {
		load := e.load
		load.OnEmpty = tc.empty
		checked, err := (&lake.Loader{Catalog: e.cat}).Check(t.Context(), load, pinnedAs{origin: tc.origin}, lake.CheckOptions{Window: window(t, mayDay(1))})
		if err != nil {
			t.Fatal(err)
		}
		if found := len(checked.Findings) == 1 && checked.Findings[0].ID == "source-missing"; found != tc.found {
			t.Errorf("%s: %v", tc.name, checked.Findings)
		}
	}
}

// TestCheckMistakes: what no load could be run with is no finding.
func TestCheckMistakes(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "mistakes")
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 1))
	for name, change := range map[string]func(*lake.Load){
		"no time column":    func(l *lake.Load) { l.TimeColumn = "nine" },
		"other partitions":  func(l *lake.Load) { l.PartitionBy = []string{"hour(event_time)"} },
		"no such branch":    func(l *lake.Load) { l.Branch = "dev" },
		"no mode of schema": func(l *lake.Load) { l.Schema = "loose" },
	} {
		load := e.load
		change(&load)
		_, err := (&lake.Loader{Catalog: e.cat}).Check(t.Context(), load, source(t), lake.CheckOptions{})
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		want(t, err, lake.ErrUsage)
	}
}
