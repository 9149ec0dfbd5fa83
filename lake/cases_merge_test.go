package lake_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// The tests of this file are the cases of the project's list on MERGE, upsert and
// keys.

// What one version of one key says twice, and differently, is an error that names
// both rows, unless there is a newer one.
func TestCase103_KeysTwiceInTheSource(t *testing.T) {
	t.Parallel()
	eachWrite(t, keysTwiceInTheSource)
}

func keysTwiceInTheSource(t *testing.T, newOrders newOrdersFunc) {
	o := newOrders(t, "ties")
	o.merge("2026-05-01", lake.KeyCounts{Inserted: 1}, placed(1, "01", "01T10:00", 1, "new"))
	_, err := o.run("2026-05-02", placed(7, "01", "02T10:00", 2, "paid"), placed(8, "01", "02T10:00", 2, "x"), placed(7, "01", "02T10:00", 2, "shipped"))
	want(t, err, lake.ErrTie)
	want(t, err, lake.ErrInput)
	if text := err.Error(); !strings.Contains(text, "memory-0 row 1 and memory-0 row 3") || !strings.Contains(text, "order_id=7") {
		t.Errorf("%v does not name both rows and the key", err)
	}
	t.Run("below a newer version they do not matter, in either order", func(t *testing.T) {
		o.merge("2026-05-02", lake.KeyCounts{Inserted: 2, Duplicates: 4},
			placed(7, "01", "02T10:00", 2, "paid"), placed(7, "01", "02T10:00", 2, "shipped"), placed(7, "01", "02T10:00", 3, "shipped"),
			placed(8, "01", "02T10:00", 3, "shipped"), placed(8, "01", "02T10:00", 2, "paid"), placed(8, "01", "02T10:00", 2, "shipped"))
		o.note(placed(7, "01", "02T10:00", 3, "shipped"), placed(8, "01", "02T10:00", 3, "shipped"))
	})
	t.Run("on_equal: error", func(t *testing.T) {
		o.load.OnEqual = lake.ErrorEqual
		_, err := o.run("2026-05-02", placed(7, "02", "02T10:00", 3, "shipped"))
		want(t, err, lake.ErrTie)
	})
	t.Run("on_equal: keep", func(t *testing.T) {
		o.load.OnEqual = lake.KeepEqual
		r, err := o.run("2026-05-02", placed(7, "02", "02T10:00", 3, "shipped"))
		if err != nil || *r.ByKey != (lake.KeyCounts{Kept: 1}) {
			t.Errorf("%+v, %v", r.ByKey, err)
		}
	})
}

// A NULL in a key is refused, or matches itself; it is never a second copy.
func TestCase105_NULLInAKey(t *testing.T) {
	t.Parallel()
	eachWrite(t, nullInAKey)
}

func nullInAKey(t *testing.T, newOrders newOrdersFunc) {
	o := newOrders(t, "nulls")
	o.load.Key = []string{"order_id", "status"}
	o.load.DeleteWhen = ""
	row := func(seq int64) *testenv.Source {
		return testenv.Rows(t, orderSchema(), testenv.Row{"order_id": 1, "placed_on": "2026-05-01", "updated_at": "2026-05-01T10:00:00Z", "seq": seq})
	}
	load := func(seq int64) (lake.Receipt, error) {
		return o.loader.Load(t.Context(), o.load, row(seq), window(t, "2026-05-01"))
	}
	_, err := load(1)
	want(t, err, lake.ErrInput)
	if !strings.Contains(err.Error(), `memory-0 row 1: column "status"`) {
		t.Errorf("%v does not name row and column", err)
	}
	o.load.NullKeys = lake.MatchNullKeys
	for n, counts := range []lake.KeyCounts{{Inserted: 1}, {Updated: 1}, {Updated: 1}} {
		r, err := load(int64(n + 1))
		if err != nil || *r.ByKey != counts {
			t.Fatalf("%+v, %v", r.ByKey, err)
		}
		o.check.Loaded(r)
	}
	o.wild = []string{"1 2026-05-01 2026-05-01T10:00:00Z 3 NULL"}
}

// A key that moves to another partition leaves no copy behind.
func TestCase107_AKeyMovesPartition(t *testing.T) {
	t.Parallel()
	eachWrite(t, keyMovesPartition)
}

func keyMovesPartition(t *testing.T, newOrders newOrdersFunc) {
	o := newOrders(t, "moves")
	o.merge("2026-05-01", lake.KeyCounts{Inserted: 2}, placed(5, "01", "01T10:00", 1, "new"), placed(6, "01", "01T10:00", 1, "new"))
	for n, day := range []string{"02", "03", "01"} {
		r := o.merge("2026-05-02", lake.KeyCounts{Updated: 1}, placed(5, day, fmt.Sprintf("02T1%d:00", n), 2, "moved"))
		if r.Rows.Replaced != 1 {
			t.Errorf("receipt: %+v", r)
		}
	}
}

// A million keys are joined by hash: files that their bounds rule out stay shut,
// the others are opened a few times, however many keys they may hold; and the
// memory is bounded.
func TestCase108_AMillionKeys(t *testing.T) {
	t.Parallel()
	const files = 100
	keys := int64(1_000_000)
	if testing.Short() { // under the race detector
		keys /= 10
	}
	k := newUnchecked(t, "million", arrow.PrimitiveTypes.Int64, fmt.Sprintf("truncate(%d, k)", keys/files))
	k.loader.Memory, k.loader.TempDir = 256<<20, t.TempDir()
	merge := func(want lake.KeyCounts, first, seq int64) (lake.Receipt, map[string]int) {
		t.Helper()
		in := testenv.NewInjector(-1, testenv.Fail)
		l := k.loader
		l.Catalog = in.Catalog(k.cat)
		r, err := l.Load(t.Context(), k.load, millionKeys(k.schema, first, keys, seq), window(t, "2026-05-01"))
		if err != nil {
			t.Fatal(err)
		}
		if *r.ByKey != want {
			t.Errorf("merged %+v, want %+v", *r.ByKey, want)
		}
		opened := map[string]int{}
		for _, path := range slices.Concat(in.Paths("open data file"), in.Paths("read data file")) {
			opened[path]++
		}
		return r, opened
	}
	if r, _ := merge(lake.KeyCounts{Inserted: keys}, 0, 1); r.Files.Added != files {
		t.Fatalf("%d files, want %d", r.Files.Added, files)
	}
	const touched = 5
	r, opened := merge(lake.KeyCounts{Updated: keys * touched / files, Inserted: keys - keys*touched/files}, keys-keys*touched/files, 2)
	if len(opened) != touched || r.Files.Rewritten != touched {
		t.Errorf("%d files were read and %d written again, want %d", len(opened), r.Files.Rewritten, touched)
	}
	r, opened = merge(lake.KeyCounts{Identical: keys - keys*touched/files, IgnoredOlder: keys * touched / files}, 0, 1)
	if r.Outcome != lake.Unchanged || len(opened) != files {
		t.Errorf("the replay: %s, %d files read, want %d", r.Outcome, len(opened), files)
	}
	for path, n := range opened {
		if n > 10 {
			t.Errorf("%s was opened %d times", path, n)
		}
	}
}

// millionKeys is a source of n keys from first on, in batches, with the keys of each
// batch far apart.
func millionKeys(sc *arrow.Schema, first, n, seq int64) *testenv.Source {
	src := &testenv.Source{Schema: sc}
	const batches = 20
	for b := range int64(batches) {
		build := array.NewRecordBuilder(memory.DefaultAllocator, sc)
		for k := first + b; k < first+n; k += batches {
			build.Field(0).(*array.Int64Builder).Append(k)
			build.Field(1).(*array.TimestampBuilder).Append(1_777_629_600_000_000) // 2026-05-01T10:00:00Z
			build.Field(2).(*array.Int64Builder).Append(seq)
			build.Field(3).(*array.StringBuilder).Append("note")
		}
		src.Batches = append(src.Batches, build.NewRecordBatch())
		build.Release()
	}
	return src
}
