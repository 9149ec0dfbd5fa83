package lake_test

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// BenchmarkVerifyTenMillion: one changed row of ten million is found, within 1 GiB.
func BenchmarkVerifyTenMillion(b *testing.B) {
	batches := payments(1 << 16)
	all := slices.Repeat(batches, 153)
	cat := testenv.Catalog(b)
	l := &lake.Loader{Catalog: cat}
	load := lake.Load{Table: testenv.Ident("payments"), TimeColumn: "event_time"}
	source := func(batches []arrow.RecordBatch) *testenv.Source {
		return &testenv.Source{Schema: batches[0].Schema(), Batches: batches}
	}
	day := window(b, "2026-05-04")
	if _, err := l.Load(b.Context(), load, source(all), day); err != nil {
		b.Fatal(err)
	}
	other := payments(1 << 16)[0]
	other.Column(1).Data().Buffers()[1].Bytes()[4*4711]++ // a merchant
	altered := slices.Clone(all)
	altered[77] = other
	b.Logf("after the load: %d MiB", peakMiB(b))
	for b.Loop() {
		v, err := l.Verify(b.Context(), load, source(altered), day, lake.VerifyOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if d := v.Difference; d == nil || d.OnlySource.Count != 1 || d.OnlyOther.Count != 1 || len(d.Columns) != 1 || d.Columns[0].Name != "merchant_id" {
			b.Fatalf("%+v", d)
		}
		v.Release()
	}
	peak := peakMiB(b)
	b.ReportMetric(float64(peak), "MiB_peak")
	if peak > 1024 {
		b.Errorf("peak memory %d MiB, want at most 1024", peak)
	}
}
