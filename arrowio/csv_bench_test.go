package arrowio

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	arrowcsv "github.com/apache/arrow-go/v18/arrow/csv"

	"github.com/calve-data/calve/lake"
)

// benchSchema has ten columns of the types that most tables are made of.
var benchSchema = fieldsOf(
	"id!", arrow.BinaryTypes.String,
	"merchant!", arrow.PrimitiveTypes.Int32,
	"cents!", arrow.PrimitiveTypes.Int64,
	"currency", arrow.BinaryTypes.String,
	"status", arrow.BinaryTypes.String,
	"country", arrow.BinaryTypes.String,
	"event_time!", arrow.FixedWidthTypes.Timestamp_us,
	"created_at", arrow.FixedWidthTypes.Timestamp_us,
	"note", arrow.BinaryTypes.String,
	"fee", &arrow.Decimal128Type{Precision: 12, Scale: 4},
)

const benchRows = 600_000

// benchText is benchRows rows of 140 bytes or so.
func benchText() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	b := bytes.NewBufferString("id,merchant,cents,currency,status,country,event_time,created_at,note,fee\n")
	for i := range benchRows {
		second := i * 86400 / benchRows
		clock := fmt.Sprintf("%02d:%02d:%02d.%06d", second/3600, second/60%60, second%60, r.IntN(1_000_000))
		note := ""
		if r.IntN(3) == 0 {
			note = pick("paid by card", "first order", "called twice", `"left at door, wet"`)
		}
		fmt.Fprintf(b, "pay_%08x%08x,%d,%d,%s,%s,%s,2026-05-05T%sZ,2026-05-06T%sZ,%s,%d.%04d\n",
			r.Uint32(), i, r.IntN(5000), r.IntN(10_000_000), pick("EUR", "USD", "GBP"), pick("captured", "refunded", "failed"),
			pick("DE", "FR", "NL", "US"), clock, clock, note, r.IntN(100), r.IntN(10000))
	}
	return b.Bytes()
}

// BenchmarkCSVAgainstArrowGo reads the same text by both readers in turn, on one
// core. Aim: at least 10 times as fast.
func BenchmarkCSVAgainstArrowGo(b *testing.B) {
	text := benchText()
	files := one(string(text))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var ours, theirs time.Duration
	for b.Loop() {
		began := time.Now()
		readOurs(b, files)
		ours += time.Since(began)
		began = time.Now()
		readArrowGo(b, text)
		theirs += time.Since(began)
	}
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "times-faster")
	b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N)/benchRows, "ns/row")
	b.ReportMetric(0, "ns/op")
}

func readOurs(b *testing.B, files memFiles) {
	b.Helper()
	rows := int64(0)
	for batch, err := range files.input(b, 0, CSVOptions{}).Read(b.Context(), lake.Request{Schema: benchSchema, Procs: 1}) {
		if err != nil {
			b.Fatal(err)
		}
		rows += batch.NumRows()
		batch.Release()
	}
	if rows != benchRows {
		b.Fatalf("%d rows", rows)
	}
}

func readArrowGo(b *testing.B, text []byte) {
	b.Helper()
	r := arrowcsv.NewReader(bytes.NewReader(text), benchSchema,
		arrowcsv.WithHeader(true), arrowcsv.WithChunk(batchRows), arrowcsv.WithNullReader(true, ""))
	defer r.Release()
	rows := int64(0)
	for r.Next() {
		rows += r.RecordBatch().NumRows()
	}
	if r.Err() != nil || rows != benchRows {
		b.Fatalf("%d rows, %v", rows, r.Err())
	}
}

func BenchmarkCSVInfer(b *testing.B) {
	text := benchText()
	files := one(string(text))
	b.SetBytes(int64(len(text)))
	var names []string
	for _, f := range benchSchema.Fields() {
		names = append(names, f.Name)
	}
	for b.Loop() {
		if _, err := files.input(b, 0, CSVOptions{}).Infer(b.Context(), names); err != nil {
			b.Fatal(err)
		}
	}
	perRow(b)
}

func perRow(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}
