package testenv_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/arrowio"
	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// paymentsCSV writes a file of payments of a day.
func paymentsCSV(b *testing.B, rows int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "payments.csv")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriter(f)
	fmt.Fprintln(out, "payment_id,merchant_id,amount_cents,currency,event_time,note,fee")
	day := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
	for i := range rows {
		at := day.Add(time.Duration(i) * (24 * time.Hour / time.Duration(rows))).Format("2006-01-02T15:04:05.000000Z")
		fmt.Fprintf(out, "pay-%012d-%08x,%d,%d,%s,%s,note %d of the day,%d.%04d\n",
			i, uint32(i)*2654435761, i%4999, i*7919%1_000_000, [...]string{"EUR", "USD", "GBP"}[i%3], at, i%99_991, i%1000, i%9973)
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkVerifyAgainstRead: a verification against a plain reading of the same
// window, of the source and of the table. Aim: at most 1.5 times.
func BenchmarkVerifyAgainstRead(b *testing.B) {
	cat := testenv.Catalog(b)
	files, err := catalog.NewFiles(catalog.S3{})
	if err != nil {
		b.Fatal(err)
	}
	src, err := arrowio.New(arrowio.Config{Path: paymentsCSV(b, 1_000_000)}, files)
	if err != nil {
		b.Fatal(err)
	}
	w, err := lake.ParseWindow("2026-05-04", nil)
	if err != nil {
		b.Fatal(err)
	}
	l, load := &lake.Loader{Catalog: cat}, lake.Load{Table: testenv.Ident("payments"), TimeColumn: "event_time"}
	if _, err := l.Load(b.Context(), load, src, w); err != nil {
		b.Fatal(err)
	}
	var reading, verifying time.Duration
	for b.Loop() {
		began := time.Now()
		if n := readPlainly(b, src, testenv.Load(b, cat, load.Table)); n != 2_000_000 {
			b.Fatalf("%d rows", n)
		}
		reading += time.Since(began)
		began = time.Now()
		v, err := l.Verify(b.Context(), load, src, w, lake.VerifyOptions{})
		if err != nil || !v.Equal() {
			b.Fatal(v, err)
		}
		verifying += time.Since(began)
	}
	b.ReportMetric(verifying.Seconds()/reading.Seconds(), "verify/read")
}

// readPlainly reads all rows of a source and of a table, and counts them.
func readPlainly(b *testing.B, src lake.Source, t *table.Table) (rows int64) {
	b.Helper()
	in, err := src.Pin(b.Context(), lake.Window{})
	if err != nil {
		b.Fatal(err)
	}
	for batch, err := range in.Read(b.Context(), lake.Request{Schema: testenv.ArrowSchema(b, t), Procs: 2, Memory: 256 << 20}) {
		if err != nil {
			b.Fatal(err)
		}
		rows += batch.NumRows()
		batch.Release()
	}
	result, err := lake.Rows(b.Context(), t, lake.RowsQuery{})
	if err != nil {
		b.Fatal(err)
	}
	for rec, err := range result.Batches {
		if err != nil {
			b.Fatal(err)
		}
		rows += rec.NumRows()
		rec.Release()
	}
	return rows
}
