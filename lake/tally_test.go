package lake

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	"github.com/zeebo/xxh3"
)

// A row that is there very often is one that differs by a number: it is counted,
// and kept as often as it can be shown.
func TestRowsThatAreThereOften(t *testing.T) {
	t.Parallel()
	sc := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "n", Type: iceberg.PrimitiveTypes.Int64})
	b := array.NewInt64Builder(allocator)
	defer b.Release()
	for i := range int64(30_000) {
		b.Append(i % 2)
	}
	n := b.NewArray()
	defer n.Release()
	rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil), []arrow.Array{n}, int64(n.Len()))
	defer rec.Release()
	d, err := NewDigester(sc)
	if err != nil {
		t.Fatal(err)
	}
	w := &wanted{}
	for i := range w.marked {
		w.marked[i] = true
	}
	l := newLookedInto(3)
	defer l.release()
	for range 2 {
		if err := l.take(t.Context(), rec, d, w); err != nil {
			t.Fatal(err)
		}
	}
	if kept := countRows(l.batches); kept != 6 || len(l.counts) != 2 {
		t.Errorf("%d rows are kept, of %d that are not the same; want 6 of 2", kept, len(l.counts))
	}
	left := map[xxh3.Uint128]int64{}
	for h := range l.counts {
		left[h] = l.counts[h] - 20_000
	}
	found, err := l.surplus(t.Context(), left, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer releaseAll(found.Rows)
	if shown := countRows(found.Rows); found.Count != 20_000 || shown != 3 {
		t.Errorf("%d rows are left over and %d shown, want 20000 and 3", found.Count, shown)
	}
}
