package lake_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// The tests of this file are tables whose schema or partitioning was changed by
// someone else between loads.

// TestScopeOnAWidenedColumn: bounds of files that were written before a scope
// column was widened are still its values.
func TestScopeOnAWidenedColumn(t *testing.T) {
	t.Parallel()
	for _, by := range [][]string{{}, {"tenant"}} {
		cat := testenv.Catalog(t)
		load := lake.Load{Table: testenv.Ident("widened"), TimeColumn: "at", PartitionBy: by, Scope: map[string]string{"tenant": "5"}}
		sc := func(tenant arrow.DataType) *arrow.Schema {
			return arrow.NewSchema([]arrow.Field{
				{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
				{Name: "tenant", Type: tenant, Nullable: true},
			}, nil)
		}
		check := testenv.Check(t, cat, load.Table, func() []string { return []string{"2026-05-04T01:00:00Z 5"} })
		run := func(tenant arrow.DataType) lake.Receipt {
			src := testenv.Rows(t, sc(tenant), testenv.Row{"at": "2026-05-04T01:00:00Z", "tenant": 5})
			r, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), load, src, window(t, "2026-05-04"))
			if err != nil {
				t.Fatal(err)
			}
			check.Loaded(r)
			return r
		}
		run(arrow.PrimitiveTypes.Int32)
		e := &events{tb: t, cat: cat, load: load}
		fields := append([]iceberg.NestedField{}, testenv.Load(t, cat, load.Table).Schema().Fields()...)
		fields[1].Type = iceberg.PrimitiveTypes.Int64
		e.update(table.NewAddSchemaUpdate(iceberg.NewSchema(1, fields...)), table.NewSetCurrentSchemaUpdate(-1))
		if r := run(arrow.PrimitiveTypes.Int64); r.Rows.Replaced != 1 {
			t.Errorf("partitioned by %v: %+v, want 1 replaced", by, r.Rows)
		}
	}
}

// TestDroppedPartitionColumn: the tuples of files keep their values and their
// meaning when the column that they came from is dropped.
func TestDroppedPartitionColumn(t *testing.T) {
	t.Parallel()
	cat := testenv.Catalog(t)
	e := withoutModel(t, cat, "dropped_partition")
	e.load.PartitionBy = []string{"region"}
	eu := func(id int64, at string) testenv.Event { return testenv.NewEvent(id, at, "eu", id) }
	us := func(id int64, at string) testenv.Event { return testenv.NewEvent(id, at, "us", id) }
	e.replace("2026-05-04", eu(5, "2026-05-04T09:00:00Z"), us(5, "2026-05-04T09:00:00Z"), us(6, "2026-05-04T10:30:00Z"))
	testenv.EqualityDelete(t, cat, e.load.Table, []string{"id"}, testenv.Batch(t, nil,
		arrow.NewSchema([]arrow.Field{testenv.EventArrow().Field(0), testenv.EventArrow().Field(2)}, nil), testenv.Row{"id": 5, "region": "eu"}))
	sc := testenv.Load(t, cat, e.load.Table).Schema()
	none := iceberg.NewPartitionSpecID(1)
	e.update(table.NewAddPartitionSpecUpdate(&none, false), table.NewSetDefaultSpecUpdate(-1))
	fields := append(append([]iceberg.NestedField{}, sc.Fields()[:2]...), sc.Fields()[3])
	e.update(table.NewAddSchemaUpdate(iceberg.NewSchema(1, fields...)), table.NewSetCurrentSchemaUpdate(-1))
	e.load.PartitionBy = nil
	narrow := arrow.NewSchema([]arrow.Field{testenv.EventArrow().Field(0), testenv.EventArrow().Field(1), testenv.EventArrow().Field(3)}, nil)
	r, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), e.load, testenv.Rows(t, narrow, testenv.Row{"id": 7, "event_time": "2026-05-04T10:45:00Z", "value": 7}), window(t, "2026-05-04T10"))
	if err != nil {
		t.Fatal(err)
	}
	e.check.Loaded(r)
	got := strings.Join(testenv.ReadAll(t, testenv.Load(t, cat, e.load.Table)), "\n")
	if want := "5 2026-05-04T09:00:00Z 5\n7 2026-05-04T10:45:00Z 7"; got != want {
		t.Errorf("rows:\n%s\nwant:\n%s", got, want)
	}
}

// TestLongTexts: a text that is too long for a bound must not hide other ones.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	e := withoutModel(t, testenv.Catalog(t), "long_texts")
	long := strings.Repeat("z", 5000)
	e.replace("2026-05-04",
		testenv.NewEvent(1, "2026-05-04T01:00:00Z", "b", 1), testenv.NewEvent(2, "2026-05-04T02:00:00Z", long, 2))
	for _, region := range []string{"b", long} {
		if got := e.filtered("region", region); len(got) != 1 {
			t.Errorf("%d rows where region is %.5s…, want 1", len(got), region)
		}
	}
	e.load.Scope, e.load.TakeOver = map[string]string{"region": "b"}, true
	if r := e.replace("2026-05-04", testenv.NewEvent(3, "2026-05-04T01:00:00Z", "b", 3)); r.Rows.Replaced != 1 {
		t.Errorf("rows: %+v, want 1 replaced", r.Rows)
	}
}

// TestBranchBesideMain: what a load has done on main says nothing of a branch
// that left main before.
func TestBranchBesideMain(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "beside")
	foreign := event(1, "2026-05-03T01:00:00Z", 1)
	testenv.CreateTable(t, e.cat, e.load.Table, testenv.EventSchema(), testenv.EventsByDay(), nil)
	testenv.AppendRows(t, e.cat, e.load.Table, foreign.Row())
	e.model.Append(foreign)
	e.update(table.NewSetSnapshotRefUpdate("audit", testenv.Load(t, e.cat, e.load.Table).CurrentSnapshot().SnapshotID, table.BranchRef, 0, 0, 0))
	e.replace("2026-05-04", event(2, "2026-05-04T01:00:00Z", 2))
	e.load.Branch = "audit"
	if _, err := e.run("2026-05-05", source(t, event(3, "2026-05-05T01:00:00Z", 3))); err != nil {
		t.Fatal(err)
	}
}

// TestFoldersStayInTheTable: a partition value leads nowhere.
func TestFoldersStayInTheTable(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "folders")
	e.load.PartitionBy = []string{"region"}
	e.replace("2026-05-04",
		testenv.NewEvent(1, "2026-05-04T01:00:00Z", "a", 1), testenv.NewEvent(2, "2026-05-04T01:00:00Z", "a/../../../../../escaped", 2),
		testenv.NewEvent(3, "2026-05-04T01:00:00Z", "..", 3), testenv.NewEvent(4, "2026-05-04T01:00:00Z", strings.Repeat("é", 300), 4))
	for _, path := range testenv.DataFiles(t, testenv.Load(t, e.cat, e.load.Table)) {
		if strings.Contains(path, "..") || strings.Contains(path, "%") || !strings.Contains(path, "/folders/data/region=") {
			t.Errorf("data file %s", path)
		}
	}
}
