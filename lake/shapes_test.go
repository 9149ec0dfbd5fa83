package lake_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// TestNestedColumns: structs, lists and maps pass through selection, several
// partitions, and the rewriting of a straddling file.
func TestNestedColumns(t *testing.T) {
	t.Parallel()
	cat := testenv.Catalog(t)
	sc := arrow.NewSchema([]arrow.Field{
		{Name: "event_time", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
		{Name: "who", Type: arrow.StructOf(
			arrow.Field{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
			arrow.Field{Name: "age", Type: arrow.PrimitiveTypes.Int32, Nullable: true}), Nullable: true},
		{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	}, nil)
	row := func(at, name string, tags ...any) testenv.Row {
		r := testenv.Row{"event_time": at, "who": map[string]any{"name": name, "age": 3}, "tags": tags}
		if name == "" {
			r["who"], r["tags"] = nil, nil
		}
		return r
	}
	var want []string
	load := lake.Load{Table: testenv.Ident("nested"), TimeColumn: "event_time", PartitionBy: []string{"hour(event_time)"}}
	check := testenv.Check(t, cat, load.Table, func() []string { return want })
	run := func(text string, rows ...testenv.Row) {
		t.Helper()
		r, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), load, testenv.Rows(t, sc, rows...), window(t, text))
		if err != nil {
			t.Fatal(err)
		}
		check.Loaded(r)
	}
	run("2026-05-04",
		row("2026-05-04T01:00:00Z", "a", "x", nil), row("2026-05-03T01:00:00Z", "outside"), row("2026-05-04T02:00:00Z", ""),
		row("2026-05-04T01:40:00Z", "b"), row("2026-05-04T02:30:00Z", "c", "y"))
	run("2026-05-04T01:30/2026-05-04T02:00", row("2026-05-04T01:45:00Z", "d", "z"))
	want = testenv.Text(testenv.Batch(t, nil, sc, row("2026-05-04T01:00:00Z", "a", "x", nil), row("2026-05-04T02:00:00Z", ""),
		row("2026-05-04T02:30:00Z", "c", "y"), row("2026-05-04T01:45:00Z", "d", "z")))
}

// TestAnotherBranch: a load on a branch leaves main as it is, and writes no
// property, since properties have no branch.
func TestAnotherBranch(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "branch")
	e.replace("2026-05-04", event(1, "2026-05-04T01:00:00Z", 1))
	before := testenv.Load(t, e.cat, e.load.Table)
	e.update(table.NewSetSnapshotRefUpdate("audit", before.CurrentSnapshot().SnapshotID, table.BranchRef, 0, 0, 0))
	e.load.Branch = "audit"
	r, err := e.run("2026-05-04", source(t, event(2, "2026-05-04T02:00:00Z", 2)))
	if err != nil {
		t.Fatal(err)
	}
	after := testenv.Load(t, e.cat, e.load.Table)
	if after.CurrentSnapshot().SnapshotID != before.CurrentSnapshot().SnapshotID {
		t.Error("main moved")
	}
	if got := fmt.Sprint(after.Metadata().SnapshotByName("audit").SnapshotID); got != r.SnapshotID {
		t.Errorf("audit is at %s, want %s", got, r.SnapshotID)
	}
	if a, b := before.Properties()["calve.load.branch.at"], after.Properties()["calve.load.branch.at"]; a != b {
		t.Errorf("the property went from %s to %s", a, b)
	}
	e.load.Branch = "nowhere"
	_, err = e.run("2026-05-04", source(t, event(2, "2026-05-04T02:00:00Z", 2)))
	want(t, err, lake.ErrUsage)
}

// TestRollsAtTheTargetSize: a file ends when its compressed size has reached
// the table's target, not before.
func TestRollsAtTheTargetSize(t *testing.T) {
	t.Parallel()
	const target = 4_000_000
	cat := testenv.Catalog(t)
	id := testenv.Ident("rolling")
	testenv.CreateTable(t, cat, id, testenv.EventSchema(), testenv.EventsByDay(), iceberg.Properties{table.WriteTargetFileSizeBytesKey: fmt.Sprint(target)})
	check := testenv.Check(t, cat, id, nil)
	src := &testenv.Source{Schema: testenv.EventArrow()}
	random := rand.New(rand.NewPCG(5, 6))
	from := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC).UnixMicro()
	for range 12 {
		b := array.NewRecordBuilder(memory.DefaultAllocator, src.Schema)
		for range 50_000 {
			b.Field(0).(*array.Int64Builder).Append(random.Int64())
			b.Field(1).(*array.TimestampBuilder).Append(arrow.Timestamp(from + random.Int64N(86_400_000_000)))
			b.Field(2).AppendNull()
			b.Field(3).(*array.Int64Builder).Append(random.Int64())
		}
		src.Batches = append(src.Batches, b.NewRecordBatch())
	}
	l := &lake.Loader{Catalog: cat, Memory: 64 << 20}
	r, err := l.Load(t.Context(), lake.Load{Table: id, TimeColumn: "event_time"}, src, window(t, "2026-05-04"))
	if err != nil {
		t.Fatal(err)
	}
	check.Loaded(r)
	small := 0
	for _, e := range testenv.Entries(t, testenv.Load(t, cat, id), false) {
		if e.DataFile().FileSizeBytes() < target {
			small++
		}
	}
	if r.Files.Added < 3 || small > 1 {
		t.Errorf("%d files, %d of them below the target; want several, only the last one smaller", r.Files.Added, small)
	}
}
