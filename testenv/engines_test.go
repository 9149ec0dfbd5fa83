package testenv

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// events are rows of three days, one without a time, one without a region.
func events() []Event {
	return []Event{
		NewEvent(1, "2026-05-03T10:00:00Z", "eu", 10),
		NewEvent(2, "2026-05-04T09:00:00.5Z", "us", 20),
		NewEvent(3, "2026-05-04T10:30:00Z", "eu", 30),
		NewEvent(4, "", `a "quoted" word`, 40),
		NewEvent(5, "2026-05-05T00:00:00Z", "", 50),
	}
}

func eventModel(events ...Event) *Model {
	m := &Model{}
	m.Append(events...)
	return m
}

// Every reader gives the same rows, as the same text, of a table that a writer
// other than calve made, in files and in a bucket.
func TestReadersAgree(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"files", "bucket"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			var s3 *S3
			cat := Catalog(t)
			if store == "bucket" {
				s3 = MinIO(t)
				cat = CatalogOn(t, s3)
			}
			m := eventModel(events()...)
			Check(t, cat, Ident("events"), m.Strings)
			CreateTable(t, cat, Ident("events"), EventSchema(), EventsByDay(), nil)
			tbl := AppendRows(t, cat, Ident("events"), EventRows(events()...)...)

			var duck []string
			for _, row := range DuckDB(t, tbl.MetadataLocation(), s3, "SELECT id, event_time, region, value FROM {table}") {
				duck = append(duck, strings.Join(row, " "))
			}
			slices.Sort(duck)
			if diff := cmp.Diff(m.Strings(), duck); diff != "" {
				t.Errorf("DuckDB; -model +got:\n%s", diff)
			}
			py := PyIceberg(t, tbl.MetadataLocation(), s3, PyScan{Rows: true, Sum: []string{"value"}, GroupBy: "day(event_time)"})
			want := PyResult{
				Count: 5, Rows: m.Strings(),
				Nulls: map[string]int64{"id": 0, "event_time": 1, "region": 1, "value": 0},
				Sums:  map[string]string{"value": "150"},
				Groups: map[string]PyGroup{
					"2026-05-03": {1, map[string]string{"value": "10"}},
					"2026-05-04": {2, map[string]string{"value": "50"}},
					"2026-05-05": {1, map[string]string{"value": "50"}},
					"NULL":       {1, map[string]string{"value": "40"}},
				},
			}
			if diff := cmp.Diff(want, py); diff != "" {
				t.Errorf("PyIceberg; -want +got:\n%s", diff)
			}
			py = PyIceberg(t, tbl.MetadataLocation(), s3, PyScan{Filter: "region = 'eu' and value > 10", Columns: []string{"id"}, Rows: true})
			if diff := cmp.Diff([]string{"3"}, py.Rows); diff != "" {
				t.Errorf("PyIceberg, filtered; -want +got:\n%s", diff)
			}
			if s3 != nil && len(s3.Objects("warehouse/")) == 0 {
				t.Error("the bucket holds nothing of the table")
			}
		})
	}
}

func TestPyIcebergAppends(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"files", "bucket"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			cat := Catalog(t)
			if store == "bucket" {
				cat = CatalogOn(t, MinIO(t))
			}
			m := eventModel(events()...)
			Check(t, cat, Ident("events"), m.Strings)
			CreateTable(t, cat, Ident("events"), EventSchema(), EventsByDay(), nil)
			PyIcebergAppend(t, cat, "test.events", EventRows(events()...)...)
			if got := len(DataFiles(t, Load(t, cat, Ident("events")))); got != 4 {
				t.Errorf("PyIceberg wrote %d data files, want 4, one a partition", got)
			}
		})
	}
}

// A cell looks the same whoever reads it.
func TestCellText(t *testing.T) {
	t.Parallel()
	cat := Catalog(t)
	tbl := cellTable(t, cat)
	const want = `true 7 -1.5 1e+21 NULL 12.50 2026-05-04 2026-05-04T10:00:00 2026-05-04T10:00:00.000001Z "ü\n" 00ff [1 NULL] {a:"x" b:NULL}`
	if diff := cmp.Diff([]string{want}, ReadAll(t, tbl)); diff != "" {
		t.Errorf("iceberg-go; -want +got:\n%s", diff)
	}
	if got := PyIceberg(t, tbl.MetadataLocation(), nil, PyScan{Rows: true}).Rows; !slices.Equal(got, []string{want}) {
		t.Errorf("PyIceberg: %s", cmp.Diff(want, fmt.Sprint(got)))
	}
	rows := DuckDB(t, tbl.MetadataLocation(), nil, "SELECT * FROM {table}")
	if got := strings.Join(rows[0], " "); got != want {
		t.Errorf("DuckDB: %s", cmp.Diff(want, got))
	}
}

// A question that goes wrong says how, and the next one is answered.
func TestInterpreterGoesOn(t *testing.T) {
	t.Parallel()
	p := Python(t)
	if err := p.ask("duckdb_query.py", map[string]any{"Metadata": "none", "S3": nil, "Queries": []string{"SELECT wrong"}}, nil); err == nil || !strings.Contains(err.Error(), "wrong") {
		t.Errorf("a wrong query: %v, want what DuckDB says", err)
	}
	if got := DuckDB(t, "none", nil, "SELECT 1, 'x', NULL"); !slices.Equal(got[0], []string{"1", `"x"`, "NULL"}) {
		t.Errorf("DuckDB = %v", got)
	}
}
