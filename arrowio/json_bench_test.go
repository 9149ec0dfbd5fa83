package arrowio

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/calve-data/calve/lake"
)

// benchJSON is the same kind of rows as benchText, fewer, as arrow-go is slow.
const benchJSONRows = 200_000

func benchJSON() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	var b bytes.Buffer
	for i := range benchJSONRows {
		second := i * 86400 / benchJSONRows
		clock := fmt.Sprintf("%02d:%02d:%02d.%06d", second/3600, second/60%60, second%60, r.IntN(1_000_000))
		note := "null"
		if r.IntN(3) == 0 {
			note = `"` + pick("paid by card", "first order", "called twice", "left at door, wet") + `"`
		}
		fmt.Fprintf(&b, `{"id":"pay_%08x%08x","merchant":%d,"cents":%d,"currency":"%s","status":"%s","country":"%s",`+
			`"event_time":"2026-05-05T%sZ","created_at":"2026-05-06T%sZ","note":%s,"fee":%d.%04d}`+"\n",
			r.Uint32(), i, r.IntN(5000), r.IntN(10_000_000), pick("EUR", "USD", "GBP"), pick("captured", "refunded", "failed"),
			pick("DE", "FR", "NL", "US"), clock, clock, note, r.IntN(100), r.IntN(10000))
	}
	return b.Bytes()
}

// BenchmarkNDJSONAgainstArrowGo reads the same text by both readers in turn, on
// one core. Aim: at least 20 times as fast.
func BenchmarkNDJSONAgainstArrowGo(b *testing.B) {
	text := benchJSON()
	files := lines(string(text))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var ours, theirs time.Duration
	for b.Loop() {
		began := time.Now()
		for range 5 {
			readNDJSON(b, files)
		}
		ours += time.Since(began) / 5
		began = time.Now()
		readArrowGoJSON(b, text)
		theirs += time.Since(began)
	}
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "times-faster")
	b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N)/benchJSONRows, "ns/row")
	b.ReportMetric(0, "ns/op")
}

func readNDJSON(b *testing.B, files memFiles) {
	b.Helper()
	rows := int64(0)
	for batch, err := range files.ndjson(b, 0, NDJSONOptions{}).Read(b.Context(), lake.Request{Schema: benchSchema, Procs: 1}) {
		if err != nil {
			b.Fatal(err)
		}
		rows += batch.NumRows()
		batch.Release()
	}
	if rows != benchJSONRows {
		b.Fatalf("%d rows", rows)
	}
}

func readArrowGoJSON(b *testing.B, text []byte) {
	b.Helper()
	r := array.NewJSONReader(bytes.NewReader(text), benchSchema, array.WithChunk(batchRows))
	defer r.Release()
	rows := int64(0)
	for r.Next() {
		rows += r.RecordBatch().NumRows()
	}
	if r.Err() != nil || rows != benchJSONRows {
		b.Fatalf("%d rows, %v", rows, r.Err())
	}
}

// BenchmarkNDJSONColumns is what finding the keys of all records costs, and
// BenchmarkNDJSONInfer what their types do.
func BenchmarkNDJSONColumns(b *testing.B) {
	files := lines(string(benchJSON()))
	for b.Loop() {
		if _, err := files.ndjson(b, 0, NDJSONOptions{}).Columns(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	perJSONRow(b)
}

func BenchmarkNDJSONInfer(b *testing.B) {
	files := lines(string(benchJSON()))
	var names []string
	for _, f := range benchSchema.Fields() {
		names = append(names, f.Name)
	}
	for b.Loop() {
		if _, err := files.ndjson(b, 0, NDJSONOptions{}).Infer(b.Context(), names); err != nil {
			b.Fatal(err)
		}
	}
	perJSONRow(b)
}

func perJSONRow(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchJSONRows, "ns/row")
}
