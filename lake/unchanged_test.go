package lake_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

var (
	sameDay = []testenv.Event{event(1, "2026-05-04T10:00:00Z", 1), event(2, "2026-05-04T10:30:00Z", 2), event(3, "2026-05-04T11:00:00Z", 3)}
	nextDay = event(9, "2026-05-05T10:00:00Z", 9)
)

const theDay = "2026-05-04"

// TestUnchanged: a load of what the table holds already commits nothing, and
// only where it is certain that the table holds it.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	stands := map[string]func(e *events) (text string, rows []testenv.Event){
		"nothing came between": func(*events) (string, []testenv.Event) { return theDay, sameDay },
		"in another order": func(*events) (string, []testenv.Event) {
			return theDay, []testenv.Event{sameDay[2], sameDay[0], sameDay[1]}
		},
		"with rows outside": func(*events) (string, []testenv.Event) { return theDay, append(slices.Clone(sameDay), nextDay) },
		"an hour of a day": func(e *events) (string, []testenv.Event) {
			e.replace("2026-05-04T10", sameDay[:2]...)
			return "2026-05-04T10", sameDay[:2]
		},
		"no rows": func(e *events) (string, []testenv.Event) {
			e.replace("2026-05-07")
			return "2026-05-07", nil
		},
		"another day was loaded": func(e *events) (string, []testenv.Event) {
			e.replace("2026-05-05", nextDay)
			return theDay, sameDay
		},
		"others wrote, but not into the window": func(e *events) (string, []testenv.Event) {
			testenv.AppendRows(e.tb, e.cat, e.load.Table, nextDay.Row())
			testenv.EqualityDelete(e.tb, e.cat, e.load.Table, []string{"id"}, keys(e.tb, 9, "2026-05-05T10:00:00Z"))
			return theDay, sameDay
		},
		"only a volatile column": func(e *events) (string, []testenv.Event) {
			e.load.Volatile = []string{"value"}
			e.replace(theDay, event(1, "2026-05-04T10:00:00Z", 1))
			return theDay, []testenv.Event{event(1, "2026-05-04T10:00:00Z", 77)}
		},
		"on a branch of it": func(e *events) (string, []testenv.Event) {
			e.update(table.NewSetSnapshotRefUpdate("audit", e.table().CurrentSnapshot().SnapshotID, table.BranchRef, 0, 0, 0))
			e.load.Branch = "audit"
			return theDay, sameDay
		},
	}
	for name, between := range stands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := withoutModel(t, testenv.Catalog(t), "same")
			e.replace(theDay, sameDay...)
			text, rows := between(e)
			newest := e.newestOf(text)
			before := e.table().MetadataLocation()
			r := e.replace(text, rows...)
			if r.Outcome != lake.Unchanged || r.SnapshotID != newest || r.Rows.Written != int64(min(len(rows), 3)) || r.Files.Added != 0 || r.Digest == nil || r.Watermark == nil {
				t.Errorf("receipt %+v, want unchanged, and that %s stands", r, newest)
			}
			if after := e.table().MetadataLocation(); after != before || r.MetadataLocation != before {
				t.Errorf("metadata went from %s to %s; the receipt says %s", before, after, r.MetadataLocation)
			}
			if left := e.orphans(); len(left) > 0 {
				t.Errorf("the staged files stay: %q", left)
			}
			e.load.CommitUnchanged = true
			if r := e.replace(text, rows...); r.Outcome != lake.Landed {
				t.Errorf("commit unchanged: %s", r.Outcome)
			}
		})
	}
}

// newestOf is the newest snapshot that this load made of a window.
func (e *events) newestOf(text string) string {
	e.tb.Helper()
	w, err := window(e.tb, text).MarshalText()
	if err != nil {
		e.tb.Fatal(err)
	}
	history, err := lake.History(e.table(), "")
	if err != nil {
		e.tb.Fatal(err)
	}
	for _, h := range history {
		if h.Window == string(w) {
			return fmt.Sprint(h.SnapshotID)
		}
	}
	e.tb.Fatalf("no snapshot of %s", text)
	return ""
}

// keys is a row that deletes by id within its day.
func keys(tb testing.TB, id int64, at string) arrow.RecordBatch {
	tb.Helper()
	return testenv.Batch(tb, nil, arrow.NewSchema(testenv.EventArrow().Fields()[:2], nil), testenv.Row{"id": id, "event_time": at})
}

// TestUnchangedIsCertain: whatever may have changed the window's rows, or what
// the table says of them, since they were loaded, the load replaces them.
func TestUnchangedIsCertain(t *testing.T) {
	t.Parallel()
	changes := map[string]func(e *events) []testenv.Event{
		"another value": func(*events) []testenv.Event {
			return []testenv.Event{sameDay[0], sameDay[1], event(3, "2026-05-04T11:00:00Z", 4)}
		},
		"one row less":  func(*events) []testenv.Event { return sameDay[:2] },
		"one row twice": func(*events) []testenv.Event { return append(slices.Clone(sameDay), sameDay[0]) },
		"an append into the window": func(e *events) []testenv.Event {
			testenv.AppendRows(e.tb, e.cat, e.load.Table, event(4, "2026-05-04T12:00:00Z", 4).Row())
			return sameDay
		},
		"a position delete": func(e *events) []testenv.Event {
			testenv.PositionDelete(e.tb, e.cat, e.load.Table, map[string][]int64{testenv.DataFiles(e.tb, e.table())[0]: {0}})
			return sameDay
		},
		"an equality delete": func(e *events) []testenv.Event {
			testenv.EqualityDelete(e.tb, e.cat, e.load.Table, []string{"id"}, keys(e.tb, 2, "2026-05-04T10:30:00Z"))
			return sameDay
		},
		"a file removed, of several": func(e *events) []testenv.Event {
			e.load.Table, e.load.PartitionBy = testenv.Ident("hours"), []string{"hour(event_time)"}
			e.check = testenv.Check(e.tb, e.cat, e.load.Table, nil)
			e.replace(theDay, sameDay...)
			testenv.Change(e.tb, e.cat, e.load.Table, "remove an hour", func(tx *table.Transaction) error {
				return tx.Delete(e.tb.Context(), iceberg.EqualTo(iceberg.Reference("id"), int64(3)), nil)
			})
			if files := testenv.DataFiles(e.tb, e.table()); len(files) != 1 {
				e.tb.Fatalf("%d files are left, want that one of two is gone", len(files))
			}
			return sameDay
		},
		"compaction": func(e *events) []testenv.Event {
			testenv.AppendRows(e.tb, e.cat, e.load.Table, event(4, "2026-05-04T12:00:00Z", 4).Row())
			testenv.Compact(e.tb, e.cat, e.load.Table, false)
			return append(slices.Clone(sameDay), event(4, "2026-05-04T12:00:00Z", 4))
		},
		"another load of the same rows": func(e *events) []testenv.Event {
			e.load.Name = "other"
			e.replace(theDay, sameDay...)
			e.load.Name = ""
			return sameDay
		},
		"a longer window": func(e *events) []testenv.Event {
			e.replace("2026-05", append(slices.Clone(sameDay), nextDay)...)
			return sameDay
		},
		"a longer window of the same rows": func(e *events) []testenv.Event {
			e.replace("2026-05", sameDay...)
			return sameDay
		},
		"as many other rows": func(e *events) []testenv.Event {
			testenv.Change(e.tb, e.cat, e.load.Table, "remove all", func(tx *table.Transaction) error {
				return tx.Delete(e.tb.Context(), iceberg.GreaterThan(iceberg.Reference("id"), int64(0)), nil)
			})
			for i := range int64(3) {
				testenv.AppendRows(e.tb, e.cat, e.load.Table, event(10+i, "2026-05-04T12:00:00Z", i).Row())
			}
			return sameDay
		},
		"a part of the window": func(e *events) []testenv.Event {
			e.replace("2026-05-04T20") // no row, before and after
			return sameDay
		},
		"loaded within a scope": func(e *events) []testenv.Event {
			e.load.Scope = map[string]string{"region": "eu"}
			e.replace(theDay, sameDay...)
			e.load.Scope = nil
			return sameDay
		},
		"loaded without a scope": func(e *events) []testenv.Event {
			e.load.Scope = map[string]string{"region": "eu"}
			return sameDay
		},
		"another set of volatile columns": func(e *events) []testenv.Event {
			e.load.Volatile = []string{"value"}
			return sameDay
		},
		"a rollback": func(e *events) []testenv.Event {
			was := e.table().CurrentSnapshot().SnapshotID
			e.replace(theDay, sameDay[:1]...)
			e.update(table.NewSetSnapshotRefUpdate("main", was, table.BranchRef, 0, 0, 0))
			return sameDay // they are there again, but the properties are of what was rolled back
		},
		"the properties are not its own": func(e *events) []testenv.Event {
			e.set("calve.load.same.coverage", "2026-05-03/2026-05-05")
			return sameDay
		},
		"the receipt expired": func(e *events) []testenv.Event {
			e.replace("2026-05-05", nextDay)
			testenv.Expire(e.tb, e.cat, e.load.Table, 1)
			e.check.Expired()
			return sameDay
		},
		"a column was added": func(e *events) []testenv.Event {
			e.addColumn("note")
			return sameDay
		},
		"another partitioning": func(e *events) []testenv.Event {
			none := iceberg.NewPartitionSpecID(1)
			e.update(table.NewAddPartitionSpecUpdate(&none, false), table.NewSetDefaultSpecUpdate(-1))
			return sameDay
		},
		"loaded on a branch alone": func(e *events) []testenv.Event {
			e.update(table.NewSetSnapshotRefUpdate("audit", e.table().CurrentSnapshot().SnapshotID, table.BranchRef, 0, 0, 0))
			e.load.Branch = "audit"
			other := []testenv.Event{event(5, "2026-05-04T13:00:00Z", 5)}
			e.replace(theDay, other...)
			e.load.Branch = ""
			return other
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := withoutModel(t, testenv.Catalog(t), "same")
			e.replace(theDay, sameDay...)
			rows := change(e)
			r := e.replace(theDay, rows...)
			if r.Outcome != lake.Landed {
				t.Errorf("outcome %s, want landed", r.Outcome)
			}
			q := lake.RowsQuery{Window: window(t, theDay), TimeColumn: "event_time"}
			if e.load.Volatile == nil && digestOfTable(t, e.table(), q).String() != *r.Digest {
				t.Errorf("the table does not hold the rows of %s", *r.Digest)
			}
			if r := e.replace(theDay, rows...); r.Outcome != lake.Unchanged {
				t.Errorf("and again: outcome %s, want unchanged", r.Outcome)
			}
		})
	}
}

// A column that was volatile and is NULL now gives the same digest, of other rows.
func TestUnchangedAfterAColumnWasVolatile(t *testing.T) {
	t.Parallel()
	e := withoutModel(t, testenv.Catalog(t), "was_volatile")
	e.load.Volatile = []string{"value"}
	first := e.replace(theDay, sameDay[0])
	e.load.Volatile = nil
	row := sameDay[0].Row()
	row["value"] = nil
	r, err := e.run(theDay, testenv.Rows(t, testenv.EventArrow(), row))
	if err != nil || *r.Digest != *first.Digest || r.Outcome != lake.Landed {
		t.Errorf("outcome %s, %v; digest %s, and %s before", r.Outcome, err, *r.Digest, *first.Digest)
	}
}

// Another run that loaded the same rows meanwhile supersedes this one all the
// same: which of them the table holds is not looked into.
func TestUnchangedBehindTheFence(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "fenced")
	e.replace(theDay, sameDay[:1]...)
	src := source(t, sameDay...)
	src.BeforeRead = func() { e.replace(theDay, sameDay...) }
	_, err := e.run(theDay, src)
	want(t, err, lake.ErrSuperseded)

	src = source(t, sameDay...)
	src.BeforeRead = func() { e.replace("2026-05-05", nextDay) }
	if r, err := e.run(theDay, src); err != nil || r.Outcome != lake.Unchanged {
		t.Errorf("beside a load of another day: %s, %v", r.Outcome, err)
	}
}

// TestIfChanged: the source is read where its files, how they are read, or the
// table are other than when they were loaded.
func TestIfChanged(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "if_changed")
	loader := &lake.Loader{Catalog: e.cat, Version: "1"}
	e.load.Settings = "commas"
	run := func(rows ...testenv.Event) (r lake.Receipt, read bool) {
		t.Helper()
		src := source(t, rows...)
		src.BeforeRead = func() { read = true }
		r, err := loader.Load(t.Context(), e.load, src, window(t, theDay))
		if err != nil {
			t.Fatal(err)
		}
		e.check.Loaded(r)
		return r, read
	}
	expect := func(what string, outcome lake.Outcome, reads bool, rows ...testenv.Event) {
		t.Helper()
		r, read := run(rows...)
		if r.Outcome != outcome || read != reads || r.Digest == nil || r.Rows.Written != int64(len(rows)) {
			t.Errorf("%s: %s, read: %v, receipt %+v", what, r.Outcome, read, r)
		}
	}
	e.load.IfChanged = true
	expect("first", lake.Landed, true, sameDay...)
	expect("again", lake.Unchanged, false, sameDay...)
	other := []testenv.Event{sameDay[1], sameDay[0], sameDay[2]}
	expect("other files of the same rows", lake.Unchanged, true, other...)
	e.load.Settings = "semicolons"
	expect("read in another way", lake.Unchanged, true, sameDay...)
	e.load.Settings, loader.Version = "commas", "2"
	expect("by another version", lake.Unchanged, true, sameDay...)
	loader.Version = "1"
	testenv.AppendRows(t, e.cat, e.load.Table, event(8, "2026-05-04T12:00:00Z", 8).Row())
	expect("after an append", lake.Landed, true, sameDay...)
	e.load.IfChanged = false
	expect("without being asked", lake.Unchanged, true, sameDay...)
	e.model.Replace(window(t, theDay), "", sameDay...)
	e.load.IfChanged, e.load.CommitUnchanged = true, true
	_, err := loader.Load(t.Context(), e.load, source(t, sameDay...), window(t, theDay))
	want(t, err, lake.ErrUsage)
}
