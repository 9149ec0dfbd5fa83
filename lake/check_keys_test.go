package lake_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// finding looks at a load, and returns the finding of an ID; the zero one where it
// was not found.
func finding(tb testing.TB, loader lake.Loader, load lake.Load, o lake.CheckOptions, id string) lake.Finding {
	tb.Helper()
	checked, err := loader.Check(tb.Context(), load, source(tb), o)
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range checked.Findings {
		if f.ID == id {
			return f
		}
	}
	return lake.Finding{}
}

// TestCheckIDsTwice: events that were delivered again after the look-back are found,
// with how far apart they are.
func TestCheckIDsTwice(t *testing.T) {
	t.Parallel()
	e := newDeliveries(t, "twice")
	e.load.LookBack = Step{Days: 3}
	all := lake.CheckOptions{Keys: true}
	inserts := func(text string, ev ...testenv.Event) {
		e.appends(text, lake.KeyCounts{Inserted: int64(len(ev))}, ev, ev...)
	}
	inserts("2026-05-01", event(1, "2026-05-01T10:00:00Z", 1), event(2, "2026-05-01T11:00:00Z", 1), event(3, "2026-05-01T12:00:00Z", 1))
	loader := lake.Loader{Catalog: e.cat}
	if f := finding(t, loader, e.load, all, "doubled-ids"); f.ID != "" {
		t.Errorf("found of ids that are there once: %+v", f)
	}
	inserts("2026-05-09", event(2, "2026-05-09T11:30:00Z", 1), event(4, "2026-05-09T12:00:00Z", 1))
	inserts("2026-05-06", event(1, "2026-05-06T10:00:00Z", 1))
	if f := finding(t, loader, e.load, lake.CheckOptions{}, "doubled-ids"); f.ID != "" {
		t.Errorf("looked for unasked: %+v", f)
	}
	f := finding(t, loader, e.load, all, "doubled-ids")
	if says := "events are in the table more than once, 2 of them in 4 rows, 2 with deliveries further apart than the look-back; " +
		"the furthest is id=2, at 2026-05-01T11:00:00Z and 2026-05-09T11:30:00Z (read: 6 rows of 3 files)"; f.Severity != lake.Unsafe || f.Message != says {
		t.Errorf("%s: %s", f.Severity, f.Message)
	}
	t.Run("a longer look-back", func(t *testing.T) {
		load := e.load
		load.LookBack = Step{Days: 7}
		if f := finding(t, loader, load, all, "doubled-ids"); !strings.Contains(f.Message, "in 4 rows, 1 with") {
			t.Error(f.Message)
		}
	})
	t.Run("rows of another scope", func(t *testing.T) {
		load := e.load
		load.Scope = map[string]string{"region": "us"}
		us := testenv.NewEvent(9, "2026-05-01T13:00:00Z", "us", 1)
		testenv.AppendRows(t, e.cat, load.Table, us.Row(), event(9, "2026-05-01T13:00:00Z", 1).Row()) // in one file
		e.model.Append(us, event(9, "2026-05-01T13:00:00Z", 1))
		if f := finding(t, loader, load, all, "doubled-ids"); f.ID != "" {
			t.Error(f.Message)
		}
		load.Scope = nil
		if f := finding(t, loader, load, all, "doubled-ids"); !strings.Contains(f.Message, "3 of them in 6 rows") {
			t.Error(f.Message)
		}
	})
	t.Run("a hash of other columns", func(t *testing.T) {
		load := e.load
		load.EventID, load.HashOf = nil, []string{"region", "value"}
		if f := finding(t, loader, load, all, "doubled-ids"); !strings.Contains(f.Message, "events are in the table more than once, 1 of them in 7 rows") || !strings.Contains(f.Message, "region=eu, value=1") {
			t.Error(f.Message)
		}
	})
	t.Run("of mode replace", func(t *testing.T) {
		load := e.load
		load.Mode, load.EventID, load.LookBack = "", nil, Step{}
		_, err := loader.Check(t.Context(), load, source(t), all)
		want(t, err, lake.ErrUsage)
	})
}

// TestCheckKeysTwice: keys that another writer doubled are found, those that only
// NULL tells apart, and deleted rows, are not.
func TestCheckKeysTwice(t *testing.T) {
	t.Parallel()
	eachWrite(t, func(t *testing.T, newOrders newOrdersFunc) {
		o := newOrders(t, "doubled")
		all := lake.CheckOptions{Keys: true}
		first := order{1, "2026-05-01", "2026-05-01T10:00:00Z", 1, "new"}
		o.merge("2026-05-01", lake.KeyCounts{Inserted: 4}, first, order{2, "2026-05-01", "2026-05-01T11:00:00Z", 2, "new"},
			order{3, "2026-05-01", "2026-05-01T11:00:00Z", 2, "new"}, order{4, "2026-05-01", "2026-05-01T11:00:00Z", 2, "new"})
		o.merge("2026-05-02", lake.KeyCounts{Updated: 1}, order{1, "2026-05-02", "2026-05-02T10:00:00Z", 3, "paid"})
		testenv.AppendRows(t, o.cat, o.load.Table, testenv.Row{"placed_on": "2026-05-01", "seq": 1}, testenv.Row{"placed_on": "2026-05-01", "seq": 1})
		o.wild = []string{"NULL 2026-05-01 NULL 1 NULL", "NULL 2026-05-01 NULL 1 NULL"}
		if f := finding(t, o.loader, o.load, all, "doubled-keys"); f.ID != "" {
			t.Errorf("found of keys that are there once: %+v", f)
		}
		load := o.load
		load.NullKeys = lake.MatchNullKeys
		if f := finding(t, o.loader, load, all, "doubled-keys"); !strings.HasPrefix(f.Message, "keys are in the table more than once, 1 of them in 2 rows, such as order_id=(null): ") {
			t.Errorf("NULL that matches: %q", f.Message)
		}
		testenv.AppendRows(t, o.cat, o.load.Table, first.row())
		o.wild = append(o.wild, `1 2026-05-01 2026-05-01T10:00:00Z 1 "new"`)
		f := finding(t, o.loader, o.load, all, "doubled-keys")
		if f.Severity != lake.Unsafe || !strings.HasPrefix(f.Message, "keys are in the table more than once, 1 of them in 2 rows, such as order_id=1: ") {
			t.Errorf("%+v", f)
		}
		_, err := o.run("2026-05-03", order{1, "2026-05-02", "2026-05-03T10:00:00Z", 4, "sent"})
		want(t, err, lake.ErrRefused) // as the finding says
	})
}

// TestCheckKeysInParts: what is found does not depend on the memory, also where
// hashes meet by chance, and the keys that do fit into it only in parts.
func TestCheckKeysInParts(t *testing.T) {
	t.Parallel()
	e := withoutModel(t, testenv.Catalog(t), "parts")
	e.load.Mode, e.load.EventID = lake.Append, []string{"id", "region"}
	testenv.CreateTable(t, e.cat, e.load.Table, testenv.EventSchema(), testenv.EventsByDay(), nil)
	random := rand.New(rand.NewPCG(6, 6))
	counts := map[string]int{}
	for day := range 3 {
		var rows []testenv.Row
		for range 2000 {
			id, region := random.Int64N(40_000), string(rune('a'+random.IntN(2)))
			counts[fmt.Sprint(id, region)]++
			at := time.Date(2026, 5, 1+day, 0, 0, random.IntN(86400), 0, time.UTC)
			rows = append(rows, testenv.Row{"id": id, "event_time": at.Format(time.RFC3339), "region": region, "value": 1})
		}
		testenv.AppendRows(t, e.cat, e.load.Table, rows...)
	}
	keys, in := 0, 0
	for _, n := range counts {
		if n > 1 {
			keys, in = keys+1, in+n
		}
	}
	says := fmt.Sprintf("events are in the table more than once, %d of them in %d rows", keys, in)
	whole := finding(t, lake.Loader{Catalog: e.cat}, e.load, lake.CheckOptions{Keys: true}, "doubled-ids").Message
	if !strings.HasPrefix(whole, says) {
		t.Errorf("%s, want %s", whole, says)
	}
	if parts := finding(t, lake.Loader{Catalog: e.cat, Memory: 16 << 10}, e.load, lake.CheckOptions{Keys: true}, "doubled-ids").Message; parts != whole {
		t.Errorf("in parts:\n%s\nwhole:\n%s", parts, whole)
	}
}

// TestCheckUnprunedKeys: keys in no order are in all files by their bounds.
func TestCheckUnprunedKeys(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		key   func(file, row int64) int64
		more  func(*lake.Load)
		found bool
	}{
		{name: "in order", key: func(file, row int64) int64 { return 10*file + row }},
		{name: "random", key: func(file, row int64) int64 { return 100*row + file }, found: true},
		{name: "random, but searched in partitions", key: func(file, row int64) int64 { return 100*row + file }, more: func(l *lake.Load) { l.SearchIn = []string{"placed_on"} }},
		{name: "random, but partitioned by", key: func(file, row int64) int64 { return 100*row + file }, more: func(l *lake.Load) { l.PartitionBy = []string{"bucket(2, order_id)", "placed_on"} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := newOrders(t, "unpruned")
			if tc.more != nil {
				tc.more(&o.load)
			}
			var rows []order
			for file := range int64(12) {
				for row := range int64(8) {
					rows = append(rows, order{tc.key(file, row), fmt.Sprintf("2026-04-%02d", 1+file), "2026-05-01T10:00:00Z", 1, "new"})
				}
			}
			o.merge("2026-05-01", lake.KeyCounts{Inserted: int64(len(rows))}, rows...)
			f := finding(t, o.loader, o.load, lake.CheckOptions{}, "unpruned-keys")
			if (f.ID != "") != tc.found || tc.found && !strings.Contains(f.Message, "in 12 of the table's 12 files, on average") {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestCheckPartitionOfMode: whether a partition on the time matters depends on the
// mode, and on what windows are on.
func TestCheckPartitionOfMode(t *testing.T) {
	t.Parallel()
	o := newOrders(t, "by_mode")
	o.merge("2026-05-01", lake.KeyCounts{Inserted: 1}, order{1, "2026-05-01", "2026-05-01T10:00:00Z", 1, "new"})
	if f := finding(t, o.loader, o.load, lake.CheckOptions{}, "no-time-partition"); f.ID != "" {
		t.Errorf("of a merge: %+v", f)
	}
	load := lake.Load{Table: o.load.Table, Name: o.load.Name, TimeColumn: "placed_on", Cursor: "updated_at", Mode: lake.Append, EventID: []string{"order_id"}}
	if f := finding(t, o.loader, load, lake.CheckOptions{}, "no-time-partition"); !strings.Contains(f.Message, "no partition is on updated_at") {
		t.Errorf("of an append by a cursor: %+v", f)
	}
	load.Cursor = ""
	if f := finding(t, o.loader, load, lake.CheckOptions{}, "no-time-partition"); f.ID != "" {
		t.Errorf("of an append by days: %+v", f)
	}
}
