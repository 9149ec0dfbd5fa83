package lake_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// The benchmarks of this file print ratios of two things measured side by side
// in one run, since machines differ: see `make bench`.

// payments are rows of the kind that batch loads have: ids, codes, amounts,
// times, a decimal, a text that is mostly NULL.
func payments(rows int) []arrow.RecordBatch {
	sc := arrow.NewSchema([]arrow.Field{
		{Name: "payment_id", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "merchant_id", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "amount_cents", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "currency", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "status", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "country", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "event_time", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
		{Name: "created_at", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
		{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "fee", Type: &arrow.Decimal128Type{Precision: 12, Scale: 4}, Nullable: true},
	}, nil)
	random := rand.New(rand.NewPCG(1, 1))
	day := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC).UnixMicro()
	var out []arrow.RecordBatch
	const size = 1 << 16
	for n := 0; n < rows; n += size {
		b := array.NewRecordBuilder(memory.DefaultAllocator, sc)
		for i := n; i < min(n+size, rows); i++ {
			at := day + int64(i)*(86_400_000_000/int64(rows)) + random.Int64N(1000)
			b.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("pay-%012d-%08x", i, i*2654435761))
			b.Field(1).(*array.Int32Builder).Append(int32(random.IntN(5000)))
			b.Field(2).(*array.Int64Builder).Append(random.Int64N(1_000_000))
			b.Field(3).(*array.StringBuilder).Append([]string{"EUR", "USD", "GBP", "CHF"}[random.IntN(4)])
			b.Field(4).(*array.StringBuilder).Append([]string{"settled", "pending", "failed"}[random.IntN(3)])
			b.Field(5).(*array.StringBuilder).Append([]string{"DE", "US", "FR", "CH", "GB"}[random.IntN(5)])
			b.Field(6).(*array.TimestampBuilder).Append(arrow.Timestamp(at))
			b.Field(7).(*array.TimestampBuilder).Append(arrow.Timestamp(at + random.Int64N(60_000_000)))
			if random.IntN(10) < 6 {
				b.Field(8).AppendNull()
			} else {
				b.Field(8).(*array.StringBuilder).Append(fmt.Sprintf("note %d of the day", random.IntN(100_000)))
			}
			b.Field(9).(*array.Decimal128Builder).Append(decimal128.FromI64(random.Int64N(10_000_000)))
		}
		out = append(out, b.NewRecordBatch())
	}
	return out
}

// loadPayments loads one partition into a new table on local files.
func loadPayments(b *testing.B, batches []arrow.RecordBatch, procs int) time.Duration {
	b.Helper()
	cat := testenv.Catalog(b)
	l := &lake.Loader{Catalog: cat, Procs: procs}
	load := lake.Load{Table: testenv.Ident("payments"), TimeColumn: "event_time"}
	began := time.Now()
	if _, err := l.Load(b.Context(), load, &testenv.Source{Schema: batches[0].Schema(), Batches: batches}, window(b, "2026-05-04")); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}

// BenchmarkStageOnTwoCores: one partition on two cores against one. Aim: at
// least 1.4 times as fast.
func BenchmarkStageOnTwoCores(b *testing.B) {
	batches := payments(1_000_000)
	var one, two time.Duration
	for b.Loop() {
		one += loadPayments(b, batches, 1)
		two += loadPayments(b, batches, 2)
	}
	b.ReportMetric(one.Seconds()/two.Seconds(), "times-faster")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkStageAgainstWriteRecords: the stage on all cores against what
// iceberg-go itself would write.
func BenchmarkStageAgainstWriteRecords(b *testing.B) {
	batches := payments(1_000_000)
	var ours, theirs time.Duration
	for b.Loop() {
		ours += loadPayments(b, batches, 0)
		theirs += writeRecords(b, batches)
	}
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "times-faster")
	b.ReportMetric(0, "ns/op")
}

func writeRecords(b *testing.B, batches []arrow.RecordBatch) time.Duration {
	b.Helper()
	cat := testenv.Catalog(b)
	load := lake.Load{Table: testenv.Ident("payments"), TimeColumn: "event_time"}
	src := &testenv.Source{Schema: batches[0].Schema(), Batches: []arrow.RecordBatch{batches[0].NewSlice(0, 1)}}
	if _, err := (&lake.Loader{Catalog: cat}).Load(b.Context(), load, src, window(b, "2026-05-04")); err != nil {
		b.Fatal(err)
	}
	t := testenv.Load(b, cat, load.Table)
	began := time.Now()
	records := func(yield func(arrow.RecordBatch, error) bool) {
		for _, r := range batches {
			r.Retain()
			if !yield(r, nil) {
				return
			}
		}
	}
	for _, err := range table.WriteRecords(b.Context(), t, batches[0].Schema(), records) {
		if err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
}

// BenchmarkCommitAfterThousandSnapshots: a small replacement in a table of
// 1,000 snapshots against one of 10. Aim: at most twice, but for the metadata
// file, which Iceberg reads and writes whole: its size is reported, and the
// ratio without the time that reading it three times (plan, commit, and the
// catalog's own) and writing it once takes.
func BenchmarkCommitAfterThousandSnapshots(b *testing.B) {
	short, long := newHistory(b, 10), newHistory(b, 1000)
	var few, many, fewFile, manyFile time.Duration
	for b.Loop() {
		few += short.again()
		many += long.again()
		fewFile += short.metadataTime()
		manyFile += long.metadataTime()
	}
	b.ReportMetric(many.Seconds()/few.Seconds(), "times-slower")
	b.ReportMetric((many-manyFile).Seconds()/(few-fewFile).Seconds(), "times-slower-but-for-the-file")
	b.ReportMetric(float64(long.metadataBytes()), "metadata-bytes")
	b.ReportMetric(0, "ns/op")
}

type history struct {
	*events
	n int
}

// newHistory is a table of n days, loaded one by one.
func newHistory(b *testing.B, n int) *history {
	b.Helper()
	cat := testenv.Catalog(b)
	h := &history{&events{tb: b, cat: cat, model: &testenv.Model{}, check: testenv.Check(b, cat, testenv.Ident("history"), nil), load: lake.Load{Table: testenv.Ident("history"), TimeColumn: "event_time", CommitUnchanged: true}}, n}
	for day := range n {
		h.day(day)
	}
	return h
}

func (h *history) day(day int) time.Duration {
	at := time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, day)
	began := time.Now()
	if _, err := h.run(at.Format("2006-01-02"), source(h.tb, event(int64(day), at.Format(time.RFC3339), 1))); err != nil {
		h.tb.Fatal(err)
	}
	return time.Since(began)
}

func (h *history) again() time.Duration { return h.day(h.n / 2) }

// metadataTime is what a load spends on the metadata file.
func (h *history) metadataTime() time.Duration {
	began := time.Now()
	for range 2 {
		testenv.Load(h.tb, h.cat, h.load.Table)
	}
	meta := testenv.Load(h.tb, h.cat, h.load.Table).Metadata()
	again, err := table.MetadataBuilderFromBase(meta, "")
	if err != nil {
		h.tb.Fatal(err)
	}
	built, err := again.Build()
	if err != nil {
		h.tb.Fatal(err)
	}
	if _, err := json.Marshal(built); err != nil {
		h.tb.Fatal(err)
	}
	return time.Since(began)
}

func (h *history) metadataBytes() int64 {
	t := testenv.Load(h.tb, h.cat, h.load.Table)
	info, err := os.Stat(t.MetadataLocation()[len("file://"):])
	if err != nil {
		h.tb.Fatal(err)
	}
	return info.Size()
}
