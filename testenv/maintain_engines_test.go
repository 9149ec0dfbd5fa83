package testenv_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// After maintenance, on files and on a bucket, other engines read the same rows,
// and the store holds what the table needs and nothing else. PyIceberg wrote a
// part of it.
func TestMaintenanceReadBack(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, cat *testenv.LocalCatalog) {
		load := lake.Load{Table: testenv.Ident("kept"), TimeColumn: "event_time", PartitionBy: []string{"day(event_time)", "region"}}
		model := &testenv.Model{}
		check := testenv.Check(t, cat, load.Table, model.Strings)
		replace := func(window string, rows ...testenv.Event) {
			t.Helper()
			src := testenv.Rows(t, testenv.EventArrow(), testenv.EventRows(rows...)...)
			r, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), load, src, parse(t, window))
			if err != nil {
				t.Fatal(err)
			}
			check.Loaded(r)
			model.Replace(parse(t, window), "", rows...)
		}
		for i := range int64(3) {
			replace("2026-05-04",
				testenv.NewEvent(1, "2026-05-04T01:00:00Z", "a b%2F/ü #?", i), testenv.NewEvent(2, "2026-05-04T02:00:00Z", "null", i),
				testenv.NewEvent(3, "2026-05-04T10:00:00Z", "", i))
		}
		replace("2026-05-04T02", testenv.NewEvent(4, "2026-05-04T02:30:00Z", "null", 7))
		foreign := testenv.NewEvent(9, "2026-05-05T02:00:00Z", "eu", 9)
		testenv.PyIcebergAppend(t, cat, "test.kept", testenv.EventRows(foreign)...)
		model.Append(foreign)
		replace("2026-05-06", testenv.NewEvent(5, "2026-05-06T02:00:00Z", "eu", 9))

		if cat.S3 != nil {
			cat.S3.Put("warehouse/test.db/kept/data/calve-kept-00000000000000aa-1.parquet", []byte("x"))
			cat.S3.Put("warehouse/test.db/kept2/data/calve-kept-00000000000000aa-1.parquet", []byte("x"))
		}
		now := time.Duration(0)
		l := &lake.Loader{Catalog: cat, Now: func() time.Time { return time.Now().Add(time.Second) }}
		r, err := l.Maintain(t.Context(), lake.Maintenance{
			Table: load.Table, Expire: &lake.Expiry{OlderThan: &now}, Orphans: true, Metadata: true, NoLoadRuns: true,
		})
		check.Expired()
		if err != nil {
			t.Fatal(err)
		}
		if r.Snapshots.Expired != 5 || r.Expired.Files == 0 || r.Expired.Left+r.Expired.Outside+r.Orphans.Left > 0 {
			t.Errorf("receipt: %+v", r)
		}
		tbl := testenv.Load(t, cat, load.Table)
		if cat.S3 != nil {
			if r.Orphans.Files != 1 {
				t.Errorf("orphans: %+v", r.Orphans)
			}
			if got := cat.S3.Objects("warehouse/test.db/kept2/"); len(got) != 1 {
				t.Errorf("the neighbour's objects are %v", got)
			}
		}
		plan, err := tbl.PlanOrphanFiles(t.Context(), table.WithFilesOlderThan(0))
		if err != nil {
			t.Fatal(err)
		}
		if left := plan.Files(); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		var duck []string
		for _, row := range testenv.DuckDB(t, tbl.MetadataLocation(), cat.S3, "SELECT id, event_time, region, value FROM {table}") {
			duck = append(duck, strings.Join(row, " "))
		}
		slices.Sort(duck)
		if diff := cmp.Diff(model.Strings(), duck); diff != "" {
			t.Errorf("DuckDB; -model +got:\n%s", diff)
		}
		py := testenv.PyIceberg(t, tbl.MetadataLocation(), cat.S3, testenv.PyScan{Rows: true})
		if diff := cmp.Diff(model.Strings(), py.Rows); diff != "" {
			t.Errorf("PyIceberg; -model +got:\n%s", diff)
		}
	})
}

// One object has several names: a table whose location was written s3:// and is
// s3a:// now, as Hadoop's tools have it, needs the files of both.
func TestMaintenanceOfTwoSpellings(t *testing.T) {
	t.Parallel()
	cat := testenv.CatalogOn(t, testenv.MinIO(t))
	load := lake.Load{Table: testenv.Ident("spelt"), TimeColumn: "event_time"}
	model := &testenv.Model{}
	check := testenv.Check(t, cat, load.Table, model.Strings)
	for i, day := range []string{"2026-05-04", "2026-05-05", "2026-05-04", "2026-05-06"} {
		row := testenv.NewEvent(int64(i), day+"T01:00:00Z", "eu", 1)
		r, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), load, testenv.Rows(t, testenv.EventArrow(), row.Row()), parse(t, day))
		if err != nil {
			t.Fatal(err)
		}
		check.Loaded(r)
		model.Replace(parse(t, day), "", row)
		if i == 1 {
			location := "s3a" + strings.TrimPrefix(testenv.Load(t, cat, load.Table).Location(), "s3")
			if _, _, err := cat.CommitTable(t.Context(), load.Table, nil, []table.Update{table.NewSetLocationUpdate(location)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	now := time.Duration(0)
	l := &lake.Loader{Catalog: cat, Now: func() time.Time { return time.Now().Add(time.Second) }}
	r, err := l.Maintain(t.Context(), lake.Maintenance{
		Table: load.Table, Expire: &lake.Expiry{OlderThan: &now}, Orphans: true, Metadata: true, NoLoadRuns: true,
	})
	check.Expired()
	if err != nil || r.Snapshots.Expired != 3 || r.Expired.Outside != 0 || r.Orphans.Files != 0 {
		t.Errorf("receipt: %+v, %v", r, err)
	}
	data := 0
	for _, key := range cat.S3.Objects("warehouse/test.db/spelt/") {
		if strings.HasSuffix(key, ".parquet") {
			data++
		}
	}
	if data != 3 {
		t.Errorf("%d data files are left, want 3", data)
	}
}
