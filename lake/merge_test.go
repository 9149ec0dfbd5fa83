package lake_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// order is a version of an order: which changed its status at some time, and is
// partitioned by the day that it was placed on.
type order struct {
	id      int64
	placed  string // 2026-05-01
	updated string // 2026-05-04T10:00:00Z
	seq     int64
	status  string // deleted: a deletion
}

func orderSchema() *arrow.Schema {
	instant := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	return arrow.NewSchema([]arrow.Field{
		{Name: "order_id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "placed_on", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		{Name: "updated_at", Type: instant, Nullable: true},
		{Name: "seq", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "status", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
}

func (o order) row() testenv.Row {
	return testenv.Row{"order_id": o.id, "placed_on": o.placed, "updated_at": o.updated, "seq": o.seq, "status": o.status}
}

func (o order) newer(than order) bool {
	return o.updated > than.updated || o.updated == than.updated && o.seq > than.seq
}

// orders is a table of orders with a model beside it: the newest version of each.
type orders struct {
	tb     testing.TB
	cat    lake.Catalog
	check  *testenv.Checker
	load   lake.Load
	loader lake.Loader
	newest map[int64]order
	hard   bool
	// wild rows are in the table beside what the model says.
	wild []string
}

func newOrders(tb testing.TB, name string) *orders {
	tb.Helper()
	return newOrdersIn(tb, testenv.Catalog(tb), name)
}

// newOrdersFunc makes a table whose merges write in one way.
type newOrdersFunc = func(tb testing.TB, name string) *orders

// eachWrite runs a test for both ways to write: what is merged is the same.
func eachWrite(t *testing.T, test func(t *testing.T, newOrders newOrdersFunc)) {
	t.Helper()
	for _, write := range []lake.WriteMode{lake.CopyOnWrite, lake.MergeOnRead} {
		t.Run(string(write), func(t *testing.T) {
			t.Parallel()
			test(t, func(tb testing.TB, name string) *orders {
				tb.Helper()
				o := newOrders(tb, name)
				o.load.Write = write
				return o
			})
		})
	}
}

func newOrdersIn(tb testing.TB, cat lake.Catalog, name string) *orders {
	tb.Helper()
	o := &orders{tb: tb, cat: cat, newest: map[int64]order{}, load: lake.Load{
		Table: testenv.Ident(name), TimeColumn: "updated_at", PartitionBy: []string{"placed_on"},
		Mode: lake.Merge, Key: []string{"order_id"}, VersionBy: []string{"updated_at", "seq"}, DeleteWhen: "status = 'deleted'",
	}}
	o.loader.Catalog = cat
	o.check = testenv.Check(tb, cat, o.load.Table, o.strings)
	return o
}

func (o *orders) strings() []string {
	rows := slices.Clone(o.wild)
	for _, x := range o.newest {
		if o.hard && x.status == "deleted" {
			continue
		}
		at, _ := time.Parse(time.RFC3339Nano, x.updated)
		rows = append(rows, fmt.Sprintf("%d %s %s %d %q", x.id, x.placed, at.UTC().Format("2006-01-02T15:04:05.999999Z"), x.seq, x.status))
	}
	slices.Sort(rows)
	return rows
}

// note tells the model of versions.
func (o *orders) note(rows ...order) {
	for _, r := range rows {
		if old, ok := o.newest[r.id]; !ok || r.newer(old) || !old.newer(r) {
			o.newest[r.id] = r
		}
	}
}

func orderSource(tb testing.TB, rows ...order) *testenv.Source {
	tb.Helper()
	var list []testenv.Row
	for _, r := range rows {
		list = append(list, r.row())
	}
	return testenv.Rows(tb, orderSchema(), list...)
}

func (o *orders) run(text string, rows ...order) (lake.Receipt, error) {
	o.tb.Helper()
	r, err := o.loader.Load(o.tb.Context(), o.load, orderSource(o.tb, rows...), window(o.tb, text))
	if err == nil {
		o.check.Loaded(r)
	}
	return r, err
}

// merge loads rows, notes them in the model, and expects these counts.
func (o *orders) merge(text string, want lake.KeyCounts, rows ...order) lake.Receipt {
	o.tb.Helper()
	r, err := o.run(text, rows...)
	if err != nil {
		o.tb.Fatalf("merge %s: %v", text, err)
	}
	n := *r.ByKey
	if n != want {
		o.tb.Errorf("merge %s: %+v, want %+v", text, n, want)
	}
	if sum := n.Inserted + n.Updated + n.Corrected + n.Deleted + n.IgnoredOlder + n.Identical + n.Kept + n.Duplicates; sum != r.Rows.Read-r.Rows.Outside {
		o.tb.Errorf("merge %s: %+v are %d rows of %+v", text, n, sum, r.Rows)
	}
	o.note(rows...)
	return r
}

func placed(id int64, day, updated string, seq int64, status string) order {
	return order{id, "2026-05-" + day, "2026-05-" + updated + ":00Z", seq, status}
}

// TestMergeOrders is the scene that every data engineer knows: orders that change
// their status, with a time of change and a sequence number.
func TestMergeOrders(t *testing.T) {
	t.Parallel()
	eachWrite(t, testMergeOrders)
}

func testMergeOrders(t *testing.T, newOrders newOrdersFunc) {
	o := newOrders(t, "orders")
	o.merge("2026-05-01", lake.KeyCounts{Inserted: 3},
		placed(1, "01", "01T10:00", 1, "new"), placed(2, "01", "01T11:00", 2, "new"), placed(3, "01", "01T12:00", 3, "new"))
	second := []order{
		placed(1, "01", "02T09:00", 4, "paid"), placed(1, "01", "02T09:00", 5, "shipped"), // two changes, the second counts
		placed(2, "01", "02T10:00", 6, "deleted"),
		placed(4, "02", "02T11:00", 7, "new"),
	}
	r := o.merge("2026-05-02", lake.KeyCounts{Inserted: 1, Updated: 1, Deleted: 1, Duplicates: 1}, second...)
	if r.Files.Rewritten+r.Files.Deletes != 1 || r.Rows.Replaced != 2 || r.Rows.Written != 3 || r.Mode != "merge" {
		t.Errorf("receipt: %+v", r)
	}
	t.Run("a replay writes nothing", func(t *testing.T) {
		r := o.merge("2026-05-02", lake.KeyCounts{Identical: 3, Duplicates: 1}, second...)
		if r.Outcome != lake.Unchanged || r.Files.Added+r.Files.Removed != 0 {
			t.Errorf("receipt: %+v", r)
		}
	})
	t.Run("an older window brings nothing back", func(t *testing.T) {
		o.merge("2026-05-01", lake.KeyCounts{Identical: 1, IgnoredOlder: 2},
			placed(1, "01", "01T10:00", 1, "new"), placed(2, "01", "01T11:00", 2, "new"), placed(3, "01", "01T12:00", 3, "new"))
	})
	t.Run("the same version with other values is corrected", func(t *testing.T) {
		o.merge("2026-05-02", lake.KeyCounts{Corrected: 1}, placed(4, "03", "02T11:00", 7, "new"))
	})
	t.Run("a newer row revives", func(t *testing.T) {
		r := o.merge("2026-05-03", lake.KeyCounts{Updated: 1}, placed(2, "01", "03T10:00", 9, "new"))
		if r.Watermark == nil || *r.Watermark != "2026-05-04T00:00:00Z" {
			t.Errorf("watermark %v", r.Watermark)
		}
	})
}

// TestMergeInAnyOrder loads the windows of some days in every order, each with
// replays in between: the newest versions decide.
func TestMergeInAnyOrder(t *testing.T) {
	t.Parallel()
	eachWrite(t, testMergeInAnyOrder)
}

func testMergeInAnyOrder(t *testing.T, newOrders newOrdersFunc) {
	days := map[string][]order{
		"2026-05-01": {placed(1, "01", "01T10:00", 1, "new"), placed(2, "01", "01T11:00", 2, "new"), placed(3, "01", "01T12:00", 3, "deleted")},
		"2026-05-02": {placed(1, "02", "02T10:00", 4, "paid"), placed(2, "01", "02T11:00", 5, "deleted"), placed(4, "02", "02T12:00", 6, "new")},
		"2026-05-03": {placed(1, "01", "03T10:00", 7, "shipped"), placed(3, "03", "03T11:00", 8, "new"), placed(4, "02", "03T12:00", 9, "paid"), placed(4, "02", "03T12:00", 9, "paid")},
		"2026-05-04": {placed(2, "04", "04T10:00", 10, "new"), placed(4, "02", "04T11:00", 11, "deleted")},
	}
	for i, windows := range permutations(slices.Sorted(maps.Keys(days))) {
		o := newOrders(t, fmt.Sprint("any", i))
		for n, w := range windows {
			for _, again := range windows[:n+1] { // the new window last, all before it replayed
				if _, err := o.run(again, days[again]...); err != nil {
					t.Fatalf("%v, at %s: %v", windows, again, err)
				}
			}
			o.note(days[w]...)
		}
		if got, want := testenv.ReadAll(t, testenv.Load(t, o.cat, o.load.Table)), o.strings(); !slices.Equal(got, want) {
			t.Fatalf("%v:\n got %s\nwant %s", windows, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
}

func permutations(items []string) (all [][]string) {
	if len(items) == 0 {
		return [][]string{nil}
	}
	for i := range items {
		rest := slices.Delete(slices.Clone(items), i, i+1)
		for _, p := range permutations(rest) {
			all = append(all, append([]string{items[i]}, p...))
		}
	}
	return all
}

func TestMergeHardDeletes(t *testing.T) {
	t.Parallel()
	eachWrite(t, testMergeHardDeletes)
}

func testMergeHardDeletes(t *testing.T, newOrders newOrdersFunc) {
	o := newOrders(t, "hard")
	o.load.Deletes, o.hard = lake.HardDeletes, true
	o.merge("2026-05-01", lake.KeyCounts{Inserted: 2}, placed(1, "01", "01T10:00", 1, "new"), placed(2, "01", "01T10:00", 1, "new"))
	o.merge("2026-05-02", lake.KeyCounts{Deleted: 1, Identical: 1}, placed(1, "01", "02T10:00", 2, "deleted"), placed(9, "01", "02T10:00", 2, "deleted"))
	t.Run("the last window again", func(t *testing.T) {
		r := o.merge("2026-05-02", lake.KeyCounts{Identical: 2}, placed(1, "01", "02T10:00", 2, "deleted"), placed(9, "01", "02T10:00", 2, "deleted"))
		if r.Outcome != lake.Unchanged {
			t.Errorf("outcome %s", r.Outcome)
		}
	})
	_, err := o.run("2026-05-01", placed(1, "01", "01T10:00", 1, "new"))
	want(t, err, lake.ErrRefused)
}

// TestMergeReadsWhatMayHold: files whose bounds rule the keys out are not read,
// and not written again.
func TestMergeReadsWhatMayHold(t *testing.T) {
	t.Parallel()
	eachWrite(t, testMergeReadsWhatMayHold)
}

func testMergeReadsWhatMayHold(t *testing.T, newOrders newOrdersFunc) {
	o := newOrders(t, "prune")
	for day := range int64(9) {
		text := fmt.Sprintf("%02d", day+1)
		var rows []order
		for n := range int64(10) {
			rows = append(rows, placed(10*day+n, text, text+"T10:00", 1, "new"))
		}
		o.merge("2026-05-"+text, lake.KeyCounts{Inserted: 10}, rows...)
	}
	in := testenv.NewInjector(-1, testenv.Fail)
	o.loader.Catalog = in.Catalog(o.cat)
	r := o.merge("2026-05-10", lake.KeyCounts{Updated: 2, Inserted: 1},
		placed(35, "04", "10T10:00", 2, "paid"), placed(85, "09", "10T10:00", 2, "paid"), placed(1000, "10", "10T10:00", 2, "new"))
	if r.Files.Rewritten+r.Files.Deletes != 2 {
		t.Errorf("receipt: %+v", r.Files)
	}
}

// TestMergeSpills gives a merge so little memory that rows and keys do not fit.
func TestMergeSpills(t *testing.T) {
	t.Parallel()
	eachWrite(t, testMergeSpills)
}

func testMergeSpills(t *testing.T, newOrders newOrdersFunc) {
	o := newOrders(t, "spills")
	o.loader.Memory, o.loader.TempDir = 1<<20, t.TempDir()
	build := func(from, to int64, seq int64) (rows []order) {
		for id := from; id < to; id++ {
			rows = append(rows, placed(id, strconv.FormatInt(10+id%3, 10), "20T10:00", seq, "new "+strings.Repeat("x", int(id%50))))
		}
		return rows
	}
	o.merge("2026-05-20", lake.KeyCounts{Inserted: 12_000}, build(0, 12_000, 1)...)
	o.merge("2026-05-20", lake.KeyCounts{Inserted: 4_000, Updated: 8_000}, build(4_000, 16_000, 2)...)
	r := o.merge("2026-05-20", lake.KeyCounts{IgnoredOlder: 8_000, Identical: 4_000}, build(0, 12_000, 1)...)
	if r.Outcome != lake.Unchanged {
		t.Errorf("outcome %s", r.Outcome)
	}
}

// TestMergeMeetsOthers: rows that another writer doubles, deletes or compacts,
// before and while a merge runs.
func TestMergeMeetsOthers(t *testing.T) {
	t.Parallel()
	eachWrite(t, testMergeMeetsOthers)
}

func testMergeMeetsOthers(t *testing.T, newOrders newOrdersFunc) {
	base := []order{placed(1, "01", "01T10:00", 1, "new"), placed(2, "01", "01T10:00", 1, "new"), placed(3, "02", "01T10:00", 1, "new")}
	t.Run("a key twice in the table", func(t *testing.T) {
		o := newOrders(t, "twice")
		o.merge("2026-05-01", lake.KeyCounts{Inserted: 3}, base...)
		testenv.AppendRows(t, o.cat, o.load.Table, base[1].row())
		_, err := o.run("2026-05-02", placed(2, "01", "02T10:00", 2, "paid"))
		want(t, err, lake.ErrRefused)
		if !strings.Contains(err.Error(), "order_id=2") {
			t.Errorf("%v does not name the key", err)
		}
		o.merge("2026-05-02", lake.KeyCounts{Updated: 1}, placed(1, "01", "02T10:00", 2, "paid")) // other keys are no matter
		o.wild = []string{`2 2026-05-01 2026-05-01T10:00:00Z 1 "new"`}
	})
	t.Run("compacted between match and commit", func(t *testing.T) {
		o := newOrders(t, "compacted")
		o.merge("2026-05-01", lake.KeyCounts{Inserted: 3}, base...)
		o.merge("2026-05-01", lake.KeyCounts{Inserted: 1}, placed(9, "01", "01T11:00", 1, "new"))
		during := 0
		o.loader.Trace = &lake.Trace{Sent: func() {
			if during++; during == 1 {
				testenv.Compact(t, o.cat, o.load.Table, true)
			}
		}}
		r := o.merge("2026-05-02", lake.KeyCounts{Updated: 2, Inserted: 1},
			placed(1, "01", "02T10:00", 2, "paid"), placed(3, "03", "02T10:00", 2, "paid"), placed(4, "03", "02T10:00", 2, "new"))
		if r.Attempts != 2 {
			t.Errorf("%d attempts", r.Attempts)
		}
	})
}

// TestMergeRaces: merges of intersecting keys at the same time leave what the
// newest versions say.
func TestMergeRaces(t *testing.T) {
	t.Parallel()
	eachWrite(t, testMergeRaces)
}

func testMergeRaces(t *testing.T, newOrders newOrdersFunc) {
	for round := range 3 {
		o := newOrders(t, fmt.Sprint("races", round))
		o.merge("2026-05-01", lake.KeyCounts{Inserted: 2}, placed(1, "01", "01T10:00", 1, "new"), placed(2, "02", "01T10:00", 1, "new"))
		errs := make(chan error)
		var all []order
		for n := range int64(6) {
			rows := []order{
				placed(1, "01", "02T10:00", 10+(n*7)%6, fmt.Sprint("by ", n)), placed(2+n%2, "02", fmt.Sprintf("02T1%d:00", n), n, "x"), placed(100+n, "03", "02T10:00", n, "new"),
			}
			all = append(all, rows...)
			go func() {
				r, err := o.loader.Load(t.Context(), o.load, orderSource(t, rows...), window(t, "2026-05-02"))
				if err == nil {
					o.check.Loaded(r)
				}
				errs <- err
			}()
		}
		for range 6 {
			if err := <-errs; err != nil {
				t.Errorf("merge: %v", err)
			}
		}
		o.note(all...)
	}
}

// TestMergeEveryStepFails: whatever step of a merge goes wrong, the table is as
// it was or as it should be, and running it again is right.
func TestMergeEveryStepFails(t *testing.T) {
	t.Parallel()
	eachWrite(t, testMergeEveryStepFails)
}

func testMergeEveryStepFails(t *testing.T, newOrders newOrdersFunc) {
	faults := []testenv.Fault{testenv.LostAnswer, testenv.Fail}
	if testing.Short() {
		faults = faults[:1]
	}
	steps := 0
	for _, fault := range faults {
		for at := 0; ; at++ {
			o := newOrders(t, "step")
			o.merge("2026-05-01", lake.KeyCounts{Inserted: 2}, placed(1, "01", "01T10:00", 1, "new"), placed(2, "02", "01T10:00", 1, "new"))
			change := []order{placed(1, "03", "02T10:00", 2, "paid"), placed(2, "02", "02T10:00", 2, "deleted"), placed(3, "03", "02T10:00", 2, "new")}
			in := testenv.NewInjector(at, fault)
			in.StopAfter = true
			in.Until(t.Context())
			r, err := (&lake.Loader{Catalog: in.Catalog(o.cat)}).Load(t.Context(), o.load, orderSource(t, change...), window(t, "2026-05-02"))
			if err == nil {
				o.check.Loaded(r)
			}
			for _, id := range o.check.Untold(testenv.Load(t, o.cat, o.load.Table)) {
				o.check.Loaded(lake.Receipt{Outcome: lake.Landed, SnapshotID: id})
			}
			if _, err := o.run("2026-05-02", change...); err != nil {
				t.Fatalf("re-run: %v", err)
			}
			o.note(change...)
			if !in.Fired() {
				break
			}
			steps++
		}
	}
	if steps < 6*len(faults) {
		t.Errorf("%d steps: are the effects seen?", steps)
	}
}

// TestMergeSettings: what contradicts itself is refused before anything is read.
func TestMergeSettings(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*lake.Load){
		"no key":               func(l *lake.Load) { l.Key = nil },
		"no version":           func(l *lake.Load) { l.VersionBy = nil },
		"key twice":            func(l *lake.Load) { l.Key = []string{"order_id", "ORDER_ID"} },
		"unknown key":          func(l *lake.Load) { l.Key = []string{"id"} },
		"unknown version":      func(l *lake.Load) { l.VersionBy = []string{"version"} },
		"no condition":         func(l *lake.Load) { l.DeleteWhen = "status" },
		"two values":           func(l *lake.Load) { l.DeleteWhen = "status = 'a', 'b'" },
		"a word for a value":   func(l *lake.Load) { l.DeleteWhen = "status = NULL" },
		"unknown column":       func(l *lake.Load) { l.DeleteWhen = "op = 'D'" },
		"a value of no number": func(l *lake.Load) { l.DeleteWhen = "seq = 'D'" },
		"deletes alone":        func(l *lake.Load) { l.Deletes, l.DeleteWhen = lake.HardDeletes, "" },
		"unknown deletes":      func(l *lake.Load) { l.Deletes = "weak" },
		"unknown on_equal":     func(l *lake.Load) { l.OnEqual = "x" },
		"unknown mode":         func(l *lake.Load) { l.Mode = "upsert" },
		"key without merge":    func(l *lake.Load) { l.Mode = lake.Replace },
		"a volatile version":   func(l *lake.Load) { l.Volatile = []string{"seq"} },
		"if_changed":           func(l *lake.Load) { l.IfChanged = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrders(t, "settings")
			change(&o.load)
			_, err := o.run("2026-05-01", placed(1, "01", "01T10:00", 1, "new"))
			want(t, err, lake.ErrUsage)
		})
	}
}

// TestMergeConditions: the forms of delete_when.
func TestMergeConditions(t *testing.T) {
	t.Parallel()
	for text, deleted := range map[string]int64{
		"status = 'gone'":                          1,
		"STATUS='gone'":                            1,
		`"status" IN ('gone', 'it''s')`:            2,
		"status is not null":                       3,
		"seq = 2":                                  1,
		"seq in (1, 2, 3)":                         3,
		"placed_on = '2026-05-01'":                 3,
		"updated_at = '2026-05-01T10:00:00+00:00'": 1,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			o := newOrders(t, "conditions")
			o.load.DeleteWhen = text
			o.merge("2026-05-01", lake.KeyCounts{Inserted: 3 - deleted, Deleted: deleted},
				placed(1, "01", "01T10:00", 1, "gone"), placed(2, "01", "01T11:00", 2, "it's"), placed(3, "01", "01T12:00", 3, "here"))
		})
	}
}

// TestMergeSeesDeletes: rows that another writer deleted by merge-on-read are not
// in the table, and stay deleted when their file is written again.
func TestMergeSeesDeletes(t *testing.T) {
	t.Parallel()
	eachWrite(t, testMergeSeesDeletes)
}

func testMergeSeesDeletes(t *testing.T, newOrders newOrdersFunc) {
	only := func(name string) *arrow.Schema {
		f, _ := orderSchema().FieldsByName(name)
		return arrow.NewSchema(f, nil)
	}
	for name, del := range map[string]func(o *orders){
		"position deletes": func(o *orders) {
			for _, path := range testenv.DataFiles(o.tb, testenv.Load(o.tb, o.cat, o.load.Table)) {
				testenv.PositionDelete(o.tb, o.cat, o.load.Table, map[string][]int64{path: {1, 3}})
			}
		},
		"equality deletes by the key": func(o *orders) {
			testenv.EqualityDelete(o.tb, o.cat, o.load.Table, []string{"order_id"},
				testenv.Batch(o.tb, nil, only("order_id"), testenv.Row{"order_id": 2}, testenv.Row{"order_id": 4}))
		},
		"equality deletes by a column that is not looked at": func(o *orders) {
			testenv.EqualityDelete(o.tb, o.cat, o.load.Table, []string{"status"}, testenv.Batch(o.tb, nil, only("status"), testenv.Row{"status": "lost"}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrders(t, "sees")
			o.load.PartitionBy = []string{}
			o.merge("2026-05-01", lake.KeyCounts{Inserted: 6},
				placed(1, "01", "01T10:00", 1, "new"), placed(2, "01", "01T10:00", 1, "lost"), placed(3, "01", "01T10:00", 1, "new"),
				placed(4, "01", "01T10:00", 1, "lost"), placed(5, "01", "01T10:00", 1, "new"), placed(6, "01", "01T10:00", 1, "new"))
			del(o)
			delete(o.newest, 2)
			delete(o.newest, 4)
			o.merge("2026-05-02", lake.KeyCounts{Updated: 1, Inserted: 1}, placed(3, "01", "02T10:00", 2, "paid"), placed(2, "01", "02T10:00", 2, "new"))
			o.merge("2026-05-01", lake.KeyCounts{Identical: 1, Inserted: 1}, placed(5, "01", "01T10:00", 1, "new"), placed(4, "01", "01T10:00", 1, "again"))
			o.merge("2026-05-02", lake.KeyCounts{Corrected: 1}, placed(2, "01", "02T10:00", 2, "corrected"))
		})
	}
}

// TestMergeEvolves: a merge adds columns in the commit of the data; rows of before
// have NULL there, which is no other content.
func TestMergeEvolves(t *testing.T) {
	t.Parallel()
	eachWrite(t, testMergeEvolves)
}

func testMergeEvolves(t *testing.T, newOrders newOrdersFunc) {
	o := newOrders(t, "evolves")
	o.merge("2026-05-01", lake.KeyCounts{Inserted: 2}, placed(1, "01", "01T10:00", 1, "new"), placed(2, "01", "01T10:00", 1, "new"))
	o.load.Schema = lake.Evolve
	wider := arrow.NewSchema(append(orderSchema().Fields(), arrow.Field{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true}), nil)
	row := placed(1, "01", "02T10:00", 2, "paid").row()
	row["note"] = "gift"
	same := placed(2, "01", "01T10:00", 1, "new").row()
	r, err := o.loader.Load(t.Context(), o.load, testenv.Rows(t, wider, row, same), window(t, "2026-05-01/2026-05-03"))
	if err != nil || *r.ByKey != (lake.KeyCounts{Updated: 1, Identical: 1}) {
		t.Fatalf("%+v, %v", r.ByKey, err)
	}
	o.check.Loaded(r)
	clear(o.newest)
	o.wild = []string{`1 2026-05-01 2026-05-02T10:00:00Z 2 "paid" "gift"`, `2 2026-05-01 2026-05-01T10:00:00Z 1 "new" NULL`}
}

// TestMergeOnRead: few rows of a large file are hidden by a position delete file,
// which names it; rows that are hidden already, by whomever, do not shift what it
// says; and a file with many of them, or of which little is left, is written again.
func TestMergeOnRead(t *testing.T) {
	t.Parallel()
	o := newOrders(t, "mor")
	o.load.Write, o.load.PartitionBy = lake.MergeOnRead, []string{"placed_on"}
	var rows []order
	for id := range int64(100) {
		rows = append(rows, placed(id, "01", "01T10:00", 1, "new"))
	}
	o.merge("2026-05-01", lake.KeyCounts{Inserted: 100}, rows...)
	path := testenv.DataFiles(t, testenv.Load(t, o.cat, o.load.Table))[0]
	testenv.PositionDelete(t, o.cat, o.load.Table, map[string][]int64{path: {0, 10, 11, 50}})
	for _, id := range []int64{0, 10, 11, 50} {
		delete(o.newest, id)
	}
	hidden := 0
	for n := range int64(12) {
		day := fmt.Sprintf("%02d", 2+n)
		r := o.merge("2026-05-"+day, lake.KeyCounts{Updated: 3},
			placed(12+n, "01", day+"T10:00", 2+n, "paid"), placed(30+n, "01", day+"T10:00", 2+n, "paid"), placed(60+n, "01", day+"T10:00", 2+n, "paid"))
		if r.Files.Deletes+r.Files.Rewritten == 0 {
			t.Errorf("receipt: %+v", r.Files)
		}
		hidden += r.Files.Deletes
		if n == 0 && (r.Files.Rewritten != 0 || r.Files.Deletes != 1 || r.Files.Added != 1) {
			t.Errorf("the first: %+v", r.Files)
		}
	}
	t.Logf("%d delete files", hidden)
	if hidden < 5 {
		t.Errorf("%d delete files", hidden)
	}
}

// TestMergeSearch: by partition fields on a key column files are left out that no
// key can be in; by others where the caller says that keys do not move.
func TestMergeSearch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		by, in []string
		read   int
	}{
		{[]string{"bucket(8, order_id)"}, nil, 1},
		{[]string{"placed_on"}, nil, 8},
		{[]string{"placed_on"}, []string{"placed_on"}, 1},
		{[]string{"placed_on", "bucket(2, order_id)"}, nil, 8},
		{[]string{"month(placed_on)", "status"}, []string{"month(placed_on)"}, 8},
	} {
		o := newOrders(t, "search")
		o.load.PartitionBy, o.load.SearchIn = tc.by, tc.in
		var rows []order
		for id := range int64(16) {
			rows = append(rows, placed(id, fmt.Sprintf("%02d", 1+id%8), "20T10:00", 1, fmt.Sprint("s", id%8)))
		}
		o.merge("2026-05-20", lake.KeyCounts{Inserted: 16}, rows...)
		searched := 0
		o.loader.Trace = &lake.Trace{Progress: func(p lake.Progress) { searched = p.FilesToSearch }}
		o.merge("2026-05-21", lake.KeyCounts{Updated: 1}, placed(8, "01", "21T10:00", 2, "s0"))
		if searched > tc.read {
			t.Errorf("%v, %v: %d files were searched, want %d at most", tc.by, tc.in, searched, tc.read)
		}
	}
	o := newOrders(t, "nowhere")
	o.load.SearchIn = []string{"day(updated_at)"}
	_, err := o.run("2026-05-01", placed(1, "01", "01T10:00", 1, "new"))
	want(t, err, lake.ErrUsage)
}
