package lake_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	arrowcsv "github.com/apache/arrow-go/v18/arrow/csv"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/arrowio"
	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// BenchmarkDigestOfACSVLoad: what the digest adds to the work of loading CSV
// files, in processor time, which is what it costs where all cores are busy.
// Aim: at most 15 percent of the load without it.
func BenchmarkDigestOfACSVLoad(b *testing.B) {
	const rows = 1_000_000
	batches := payments(rows)
	path := writeCSV(b, batches)
	var load, digest time.Duration
	for b.Loop() {
		load += loadCSV(b, path)
		digest += processorTime(b, func() { digestAll(b, batches) })
	}
	b.ReportMetric(100*digest.Seconds()/(load-digest).Seconds(), "percent-more")
	b.ReportMetric(float64(digest.Nanoseconds())/float64(b.N)/rows, "ns/row")
	b.ReportMetric(0, "ns/op")
}

func loadCSV(b *testing.B, path string) time.Duration {
	b.Helper()
	cat := testenv.Catalog(b)
	src, err := arrowio.New(arrowio.Config{Path: path, Types: map[string]arrow.DataType{
		"payment_id": arrow.BinaryTypes.String, "merchant_id": arrow.PrimitiveTypes.Int32, "amount_cents": arrow.PrimitiveTypes.Int64,
		"currency": arrow.BinaryTypes.String, "status": arrow.BinaryTypes.String, "country": arrow.BinaryTypes.String,
		"event_time": arrow.FixedWidthTypes.Timestamp_us, "created_at": arrow.FixedWidthTypes.Timestamp_us,
		"note": arrow.BinaryTypes.String, "fee": &arrow.Decimal128Type{Precision: 12, Scale: 4},
	}}, cat.Files())
	if err != nil {
		b.Fatal(err)
	}
	return processorTime(b, func() {
		load := lake.Load{Table: testenv.Ident("payments"), TimeColumn: "event_time"}
		r, err := (&lake.Loader{Catalog: cat}).Load(b.Context(), load, src, window(b, "2026-05-04"))
		if err != nil || r.Digest == nil {
			b.Fatalf("%v, %v", r, err)
		}
	})
}

func digestAll(b *testing.B, batches []arrow.RecordBatch) {
	b.Helper()
	sc, err := table.ArrowSchemaToIcebergWithFreshIDs(batches[0].Schema(), true)
	if err != nil {
		b.Fatal(err)
	}
	d, err := lake.NewDigester(sc)
	if err != nil {
		b.Fatal(err)
	}
	for _, rec := range batches {
		if err := d.Add(rec); err != nil {
			b.Fatal(err)
		}
	}
}

func writeCSV(b *testing.B, batches []arrow.RecordBatch) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "payments.csv")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := arrowcsv.NewWriter(f, batches[0].Schema(), arrowcsv.WithHeader(true), arrowcsv.WithNullWriter(""))
	for _, rec := range batches {
		if err := w.Write(rec); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

// processorTime is what the process used of its processors.
func processorTime(b *testing.B, work func()) time.Duration {
	b.Helper()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	work()
	return used() - before
}
