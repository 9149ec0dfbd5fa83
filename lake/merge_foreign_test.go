package lake_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// othersFile is a data file of another writer.
type othersFile struct {
	rows []testenv.Row
	// without is a column that the file does not have; "": it has all.
	without string
	tuple   map[int]any // partition values by field id
	// low and high are the bounds of the key; nil: none.
	low, high []byte
	nulls     map[int]int64
}

// add adds the file to the table.
func (f othersFile) add(tb testing.TB, cat lake.Catalog, id table.Identifier) {
	tb.Helper()
	t := testenv.Load(tb, cat, id)
	whole := testenv.Batch(tb, nil, testenv.ArrowSchema(tb, t), f.rows...)
	var fields []arrow.Field
	var columns []arrow.Array
	for i, field := range whole.Schema().Fields() {
		if field.Name != f.without {
			fields, columns = append(fields, field), append(columns, whole.Column(i))
		}
	}
	rec := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, whole.NumRows())
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(rec.Schema(), &buf, parquet.NewWriterProperties(), pqarrow.NewArrowWriterProperties())
	if err == nil {
		err = w.Write(rec)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
	fs, err := t.FS(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	path := fmt.Sprintf("%s/data/part-%016x.parquet", t.Location(), rand.Uint64())
	if err := fs.(iceio.WriteFileIO).WriteFile(path, buf.Bytes()); err != nil {
		tb.Fatal(err)
	}
	b, err := iceberg.NewDataFileBuilder(t.Spec(), iceberg.EntryContentData, path, iceberg.ParquetFile, f.tuple, nil, nil, int64(len(f.rows)), int64(buf.Len()))
	if err != nil {
		tb.Fatal(err)
	}
	if f.nulls != nil {
		b.NullValueCounts(f.nulls)
	}
	if f.low != nil {
		b.LowerBoundValues(map[int][]byte{1: f.low})
	}
	if f.high != nil {
		b.UpperBoundValues(map[int][]byte{1: f.high})
	}
	testenv.Change(tb, cat, id, "add a file", func(tx *table.Transaction) error {
		return tx.AddDataFiles(tb.Context(), []iceberg.DataFile{b.Build()}, nil)
	})
}

// TestMergeBoundsOfOthers: a file of another writer is left unread only where its
// bounds say for certain that a key is not in it.
func TestMergeBoundsOfOthers(t *testing.T) {
	t.Parallel()
	uuid := func(first byte) []byte { return append([]byte{first}, make([]byte, 15)...) }
	for name, tc := range map[string]struct {
		typ  arrow.DataType
		keys []any
		file othersFile
	}{
		"none":                       {arrow.BinaryTypes.String, []any{"a", "z"}, othersFile{}},
		"none above":                 {arrow.BinaryTypes.String, []any{"a", "z"}, othersFile{low: []byte("a"), nulls: map[int]int64{1: 0}}},
		"none below":                 {arrow.BinaryTypes.String, []any{"a", "z"}, othersFile{high: []byte("z")}},
		"cut":                        {arrow.BinaryTypes.String, []any{"aaaaaaaaaaaaaaaaaaaa", "zzzzzzzzzzzzzzzzzzzz"}, othersFile{low: []byte("aaaaaaaaaaaaaaaa"), high: []byte("zzzzzzzzzzzzzzz{")}},
		"an empty one, for none":     {arrow.BinaryTypes.String, []any{"a", "z"}, othersFile{low: []byte("a"), high: []byte{}}},
		"the wrong way round":        {arrow.PrimitiveTypes.Int64, []any{1, 9}, othersFile{low: []byte{9, 0, 0, 0, 0, 0, 0, 0}, high: []byte{1, 0, 0, 0, 0, 0, 0, 0}}},
		"of half a number":           {arrow.PrimitiveTypes.Int64, []any{1, 9}, othersFile{low: []byte{9, 0, 0, 0}, high: []byte{9, 0}}},
		"uuids as signed numbers":    {extensions.NewUUIDType(), []any{"00000000-0000-0000-0000-000000000000", "90000000-0000-0000-0000-000000000000"}, othersFile{low: uuid(0x80), high: uuid(0xff)}},
		"no NULLs counted where are": {arrow.PrimitiveTypes.Int64, []any{nil, 9}, othersFile{low: []byte{9, 0, 0, 0, 0, 0, 0, 0}, high: []byte{9, 0, 0, 0, 0, 0, 0, 0}}},
		"of nothing but NULL":        {arrow.PrimitiveTypes.Int64, []any{nil}, othersFile{nulls: map[int]int64{1: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newUnchecked(t, "others", tc.typ) // an audit would find the bounds
			k.load.NullKeys = lake.MatchNullKeys
			k.merge(lake.KeyCounts{})
			for _, key := range tc.keys {
				tc.file.rows = append(tc.file.rows, k.row(key, 1, "theirs"))
			}
			tc.file.add(t, k.cat, k.load.Table)
			for _, key := range tc.keys {
				k.merge(lake.KeyCounts{Updated: 1}, k.row(key, 2, "ours"))
			}
			if rows := testenv.ReadAll(t, testenv.Load(t, k.cat, k.load.Table)); len(rows) != len(tc.keys) {
				t.Errorf("the table has %v", rows)
			}
		})
	}
}

// TestColumnsThatOnlyThePartitionHas: files that were taken over from Hive lack the
// columns that they are partitioned by; by Iceberg's rules the partition says
// what is in them.
func TestColumnsThatOnlyThePartitionHas(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		typ   arrow.DataType
		value any
		tuple any
	}{
		"text":      {arrow.BinaryTypes.String, "eu", "eu"},
		"int":       {arrow.PrimitiveTypes.Int32, 7, int32(7)},
		"long":      {arrow.PrimitiveTypes.Int64, -7, int64(-7)},
		"bool":      {arrow.FixedWidthTypes.Boolean, true, true},
		"date":      {arrow.FixedWidthTypes.Date32, "1970-01-03", iceberg.Date(2)},
		"timestamp": {instantType(), "1970-01-01T00:00:01Z", iceberg.Timestamp(1_000_000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newUnchecked(t, "hive", tc.typ, "k") // the file is not as an audit wants it
			k.load.Key = []string{"k", "note"}
			k.merge(lake.KeyCounts{})
			othersFile{rows: []testenv.Row{k.row(tc.value, 1, "a"), k.row(tc.value, 1, "b")}, without: "k", tuple: map[int]any{1000: tc.tuple}}.add(t, k.cat, k.load.Table)
			k.merge(lake.KeyCounts{Updated: 1}, k.row(tc.value, 2, "a"))
			text := fmt.Sprint(testenv.ReadAll(t, testenv.Load(t, k.cat, k.load.Table)))
			if want := fmt.Sprintf("[%v 2026-05-01T10:00:00Z 1 \"b\" %[1]v 2026-05-01T10:00:00Z 2 \"a\"]", testenv.Text(testenv.Batch(t, nil, arrow.NewSchema(k.schema.Fields()[:1], nil), testenv.Row{"k": tc.value}))[0]); text != want {
				t.Errorf("the table has %s, want %s", text, want)
			}
		})
	}
}

// TestSurvivorsKeepWhatOnlyThePartitionHas: the same where a window straddles such
// a file.
func TestSurvivorsKeepWhatOnlyThePartitionHas(t *testing.T) {
	t.Parallel()
	k := newUnchecked(t, "survivors", arrow.BinaryTypes.String, "k")
	k.load.Mode, k.load.Key, k.load.VersionBy = lake.Replace, nil, nil
	load := func(text string, rows ...testenv.Row) {
		if _, err := k.loader.Load(t.Context(), k.load, testenv.Rows(t, k.schema, rows...), window(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	load("2026-05-01T10")
	stays := testenv.Row{"k": "eu", "at": "2026-05-01T11:00:00Z", "seq": 1, "note": "stays"}
	othersFile{rows: []testenv.Row{k.row("eu", 1, "goes"), stays}, without: "k", tuple: map[int]any{1000: "eu"}}.add(t, k.cat, k.load.Table)
	load("2026-05-01T10", k.row("us", 2, "new"))
	got := fmt.Sprint(testenv.ReadAll(t, testenv.Load(t, k.cat, k.load.Table)))
	if want := `["eu" 2026-05-01T11:00:00Z 1 "stays" "us" 2026-05-01T10:00:00Z 2 "new"]`; got != want {
		t.Errorf("the table has %s, want %s", got, want)
	}
}

// TestMergeMeetsDeletesUnderWay: another writer deletes rows of a file between
// match and commit, one of them of a key that is merged. The others of the file
// have other numbers then.
func TestMergeMeetsDeletesUnderWay(t *testing.T) {
	t.Parallel()
	for name, del := range map[string]func(o *orders){
		"by position": func(o *orders) {
			path := testenv.DataFiles(o.tb, testenv.Load(o.tb, o.cat, o.load.Table))[0]
			testenv.PositionDelete(o.tb, o.cat, o.load.Table, map[string][]int64{path: {0, 4}})
		},
		"by key": func(o *orders) {
			only, _ := orderSchema().FieldsByName("order_id")
			testenv.EqualityDelete(o.tb, o.cat, o.load.Table, []string{"order_id"},
				testenv.Batch(o.tb, nil, arrow.NewSchema(only, nil), testenv.Row{"order_id": 1}, testenv.Row{"order_id": 5}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWrite(t, func(t *testing.T, newOrders newOrdersFunc) {
				o := newOrders(t, "under_way")
				o.load.PartitionBy = []string{}
				var rows []order
				for id := range int64(10) {
					rows = append(rows, placed(id+1, "01", "01T10:00", 1, "new"))
				}
				o.merge("2026-05-01", lake.KeyCounts{Inserted: 10}, rows...)
				for round := range int64(3) { // the files of later rounds have deletes already
					once := round > 0
					o.loader.Trace = &lake.Trace{Sent: func() {
						if !once {
							once = true
							del(o)
							delete(o.newest, 1)
							delete(o.newest, 5)
						}
					}}
					want := lake.KeyCounts{Inserted: 1, Updated: 1}
					if round > 0 {
						want = lake.KeyCounts{Updated: 2}
					}
					at := fmt.Sprintf("02T1%d:00", round)
					r := o.merge("2026-05-02", want, placed(5, "01", at, 2, "paid"), placed(7, "01", at, 2, "paid"))
					if round == 0 && r.Attempts != 2 {
						t.Errorf("%d attempts, want 2", r.Attempts)
					}
				}
				o.merge("2026-05-02", lake.KeyCounts{Updated: 2}, placed(2, "01", "02T20:00", 2, "paid"), placed(10, "01", "02T20:00", 2, "paid"))
			})
		})
	}
}
