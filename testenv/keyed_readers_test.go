package testenv_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// The engines read what loads by keys leave: files written again, rows hidden by
// position deletes, more than once in one file, and rows that were appended, under
// partitions of many kinds.
func TestReadersOfKeys(t *testing.T) {
	t.Parallel()
	schema := fields("id", arrow.PrimitiveTypes.Int64, "event_time", instants(), "born", arrow.FixedWidthTypes.Date32,
		"place", arrow.BinaryTypes.String, "n", arrow.PrimitiveTypes.Int64)
	for name, by := range map[string][]string{
		"none": {}, "date": {"born"}, "day and bucket": {"day(event_time)", "bucket(2, id)"}, "text": {"place"},
	} {
		for _, write := range []lake.WriteMode{lake.CopyOnWrite, lake.MergeOnRead} {
			if write == lake.CopyOnWrite && name != "text" {
				continue // its files are those of any load
			}
			t.Run(name+" "+string(write), func(t *testing.T) {
				t.Parallel()
				onReaders(t, func(t *testing.T, cat *testenv.LocalCatalog) {
					s := newShelf(t, cat, schema, by...)
					s.load.Mode, s.load.Key, s.load.VersionBy, s.load.Write = lake.Merge, []string{"id"}, []string{"event_time"}, write
					s.load.DeleteWhen = "n = -1"
					row := func(id int, version int, n int) testenv.Row {
						r := testenv.Row{"id": id, "event_time": fmt.Sprintf("2026-05-04T%02d:00:00Z", version), "born": "1969-12-31", "place": []string{"Ünïcode", "", "a/b c+é=%"}[id%3], "n": n}
						if id%4 == 3 {
							r["born"], r["place"] = nil, nil
						}
						return r
					}
					deletes := 0
					merge := func(rows ...testenv.Row) {
						t.Helper()
						r, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), s.load, testenv.Rows(t, schema, rows...), parse(t, "2026-05-04"))
						if err != nil {
							t.Fatal(err)
						}
						s.check.Loaded(r)
						deletes += r.Files.Deletes
						s.rows = slices.DeleteFunc(s.rows, func(old testenv.Row) bool {
							return slices.ContainsFunc(rows, func(r testenv.Row) bool { return r["id"] == old["id"] })
						})
						s.rows = append(s.rows, rows...)
					}
					var first []testenv.Row
					for id := range 60 {
						first = append(first, row(id, 1, id))
					}
					merge(first...)
					merge(row(3, 2, 300), row(11, 2, 1100), row(24, 2, -1), row(70, 2, 7000))
					merge(row(4, 3, 400), row(11, 3, 1101), row(12, 3, 1200), row(70, 3, 7001))
					agree(t, cat, s.load)
					agreeOn(t, cat, s.load, filtered{"n >= 400", []string{"11", "12", "4", "70"}}, filtered{"id = 11", []string{"11"}}, filtered{"n = -1", []string{"24"}})
					if (deletes > 0) != (write == lake.MergeOnRead) {
						t.Errorf("%d delete files", deletes)
					}

					s.load = lake.Load{Table: s.load.Table, TimeColumn: "event_time", TakeOver: true, Mode: lake.Append, EventID: []string{"id"}}
					r, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), s.load, testenv.Rows(t, schema, row(70, 3, 7001), row(80, 4, 8000)), parse(t, "2026-05-04"))
					if err != nil {
						t.Fatal(err)
					}
					s.check.Loaded(r)
					s.rows = append(s.rows, row(80, 4, 8000))
					agree(t, cat, s.load)
				})
			})
		}
	}
}
