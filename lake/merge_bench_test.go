package lake_test

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// BenchmarkMerge: what a merge of 4 percent of a table's rows, all over its files,
// costs against loading the table, by either way to write, in processor time. Aim:
// merge-on-read at most a third, copy-on-write at most as much again.
func BenchmarkMerge(b *testing.B) {
	const rows = 1_000_000
	batches := payments(rows)
	changed := changes(b, batches, 25)
	for _, write := range []lake.WriteMode{lake.MergeOnRead, lake.CopyOnWrite} {
		b.Run(string(write), func(b *testing.B) {
			var load, merge time.Duration
			for b.Loop() {
				l := &lake.Loader{Catalog: testenv.Catalog(b)}
				table := lake.Load{
					Table: testenv.Ident("payments"), TimeColumn: "event_time", PartitionBy: []string{"hour(event_time)"}, Write: write,
					Mode: lake.Merge, Key: []string{"payment_id"}, VersionBy: []string{"created_at"},
				}
				run := func(batches []arrow.RecordBatch) {
					src := &testenv.Source{Schema: batches[0].Schema(), Batches: batches}
					if _, err := l.Load(b.Context(), table, src, window(b, "2026-05-04/2026-05-06")); err != nil {
						b.Fatal(err)
					}
				}
				load += processorTime(b, func() { run(batches) })
				merge += processorTime(b, func() { run(changed) })
			}
			b.ReportMetric(merge.Seconds()/load.Seconds(), "times-the-load")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// changes are newer versions of every n-th row.
func changes(b *testing.B, batches []arrow.RecordBatch, n int) []arrow.RecordBatch {
	b.Helper()
	sc := batches[0].Schema()
	created := sc.FieldIndices("created_at")[0]
	var out []arrow.RecordBatch
	for _, rec := range batches {
		for i := 0; i < int(rec.NumRows()); i += 100 * n {
			part := rec.NewSlice(int64(i), min(int64(i+100), rec.NumRows()))
			columns := make([]arrow.Array, part.NumCols())
			for k, c := range part.Columns() {
				var err error
				if columns[k], err = array.Concatenate([]arrow.Array{c}, memory.DefaultAllocator); err != nil { // a copy
					b.Fatal(err)
				}
			}
			later := array.NewTimestampBuilder(memory.DefaultAllocator, sc.Field(created).Type.(*arrow.TimestampType))
			for _, at := range columns[created].(*array.Timestamp).TimestampValues() {
				later.Append(at + 3_600_000_000)
			}
			columns[created] = later.NewArray()
			out = append(out, array.NewRecordBatch(sc, columns, part.NumRows()))
		}
	}
	return out
}
