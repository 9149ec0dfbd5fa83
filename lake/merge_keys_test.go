package lake_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// keyed is a table of rows k, at, seq, note, merged by k (and note, where that is
// said) with the version seq.
type keyed struct {
	tb     testing.TB
	cat    lake.Catalog
	check  *testenv.Checker
	load   lake.Load
	loader lake.Loader
	schema *arrow.Schema
	// wrap makes another source of one; nil: the same.
	wrap func(*testenv.Source) lake.Source
	rows map[string]testenv.Row // by the text of the key
}

func newKeyed(tb testing.TB, name string, key arrow.DataType, by ...string) *keyed {
	tb.Helper()
	k := newUnchecked(tb, name, key, by...)
	k.check = testenv.Check(tb, k.cat, k.load.Table, func() []string {
		rows := []testenv.Row{}
		for _, r := range k.rows {
			rows = append(rows, r)
		}
		text := testenv.Text(testenv.Batch(tb, nil, testenv.ArrowSchema(tb, testenv.Load(tb, k.cat, k.load.Table)), rows...))
		slices.Sort(text)
		return text
	})
	return k
}

// newUnchecked is newKeyed of a table that the test alone looks at.
func newUnchecked(tb testing.TB, name string, key arrow.DataType, by ...string) *keyed {
	tb.Helper()
	k := &keyed{tb: tb, cat: testenv.Catalog(tb), check: &testenv.Checker{}, rows: map[string]testenv.Row{}, load: lake.Load{
		Table: testenv.Ident(name), TimeColumn: "at", PartitionBy: by, Mode: lake.Merge, Key: []string{"k"}, VersionBy: []string{"seq"},
	}}
	if by == nil {
		k.load.PartitionBy = []string{}
	}
	k.loader.Catalog = k.cat
	k.schema = keyedSchema(key)
	return k
}

func keyedSchema(key arrow.DataType) *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: key, Nullable: true},
		{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
		{Name: "seq", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
}

func (k *keyed) row(key any, seq any, note any) testenv.Row {
	r := testenv.Row{"k": key, "at": "2026-05-01T10:00:00Z", "seq": seq, "note": note}
	k.rows[k.keyText(r)] = r
	return r
}

func (k *keyed) keyText(r testenv.Row) string {
	text := fmt.Sprintf("%q", fmt.Sprint(r["k"]))
	if slices.Contains(k.load.Key, "note") {
		text += fmt.Sprintf("%q", fmt.Sprint(r["note"]))
	}
	return text
}

// merge merges rows and expects these counts.
func (k *keyed) merge(want lake.KeyCounts, rows ...testenv.Row) lake.Receipt {
	k.tb.Helper()
	src := testenv.Rows(k.tb, k.schema, rows...)
	var from lake.Source = src
	if k.wrap != nil {
		from = k.wrap(src)
	}
	r, err := k.loader.Load(k.tb.Context(), k.load, from, window(k.tb, "2026-05-01"))
	if err != nil {
		k.tb.Fatalf("merge: %v", err)
	}
	k.check.Loaded(r)
	if *r.ByKey != want {
		k.tb.Errorf("merged %+v, want %+v", *r.ByKey, want)
	}
	return r
}

// TestMergeKeysOfEveryType: rows of calve and of another writer are found by keys
// of each type, with values that are near each other.
func TestMergeKeysOfEveryType(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 40)
	for name, tc := range map[string]struct {
		typ  arrow.DataType
		keys []any // three
		wrap func(*testenv.Source) lake.Source
	}{
		"bool":        {typ: arrow.FixedWidthTypes.Boolean, keys: []any{false, true, nil}},
		"int":         {typ: arrow.PrimitiveTypes.Int32, keys: []any{-1, 0, 2147483647}},
		"long":        {typ: arrow.PrimitiveTypes.Int64, keys: []any{-9007199254740991, -1, 9007199254740991}},
		"date":        {typ: arrow.FixedWidthTypes.Date32, keys: []any{"1969-12-31", "1970-01-01", "9999-12-31"}},
		"time":        {typ: arrow.FixedWidthTypes.Time64us, keys: []any{"00:00:00.000000", "00:00:00.000001", "23:59:59.999999"}},
		"timestamp":   {typ: &arrow.TimestampType{Unit: arrow.Microsecond}, keys: []any{"1969-12-31T23:59:59.999999", "1970-01-01T00:00:00", "2026-05-01T00:00:00"}},
		"timestamptz": {typ: instantType(), keys: []any{"1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z", "2026-05-01T00:00:00Z"}},
		"decimal":     {typ: &arrow.Decimal128Type{Precision: 38, Scale: 2}, keys: []any{"-123456789012345678901234567890.12", "-0.01", "123456789012345678901234567890.12"}},
		"text":        {typ: arrow.BinaryTypes.String, keys: []any{"", "a\x00", "a"}},
		"long text":   {typ: arrow.BinaryTypes.String, keys: []any{long + "a", long + "b", long}},
		"high text":   {typ: arrow.BinaryTypes.String, keys: []any{strings.Repeat("\U0010ffff", 20), strings.Repeat("\U0010ffff", 21), "z"}},
		"words":       {typ: arrow.BinaryTypes.String, keys: []any{"eu", "us", "eu\x00"}, wrap: asWords},
		"binary":      {typ: arrow.BinaryTypes.Binary, keys: []any{[]byte{0}, []byte{0, 0}, []byte(strings.Repeat("\xff", 30))}},
		"fixed":       {typ: &arrow.FixedSizeBinaryType{ByteWidth: 3}, keys: []any{[]byte{0, 0, 0}, []byte{0, 0, 1}, []byte{255, 255, 255}}},
		"uuid":        {typ: extensions.NewUUIDType(), keys: []any{"00000000-0000-0000-0000-000000000001", "7fffffff-ffff-ffff-ffff-ffffffffffff", "80000000-0000-0000-0000-000000000000"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeyed(t, "keys", tc.typ)
			k.wrap, k.load.NullKeys = tc.wrap, lake.MatchNullKeys
			k.merge(lake.KeyCounts{Inserted: 1}, k.row(tc.keys[0], 1, "a"))
			k.merge(lake.KeyCounts{Inserted: 1}, k.row(tc.keys[1], 1, "b"))
			testenv.AppendRows(t, k.cat, k.load.Table, k.row(tc.keys[2], 1, "c"))
			for n, key := range tc.keys {
				k.merge(lake.KeyCounts{Updated: 1}, k.row(key, 2, fmt.Sprint("alone ", n)))
			}
			k.merge(lake.KeyCounts{Updated: 3}, k.row(tc.keys[0], 3, "all"), k.row(tc.keys[1], 3, "all"), k.row(tc.keys[2], 3, "all"))
			k.loader.Memory, k.loader.TempDir = 1, t.TempDir() // all rows are spilled
			k.merge(lake.KeyCounts{Identical: 1, Updated: 2}, k.row(tc.keys[0], 3, "all"), k.row(tc.keys[1], 4, "few"), k.row(tc.keys[2], 4, "few"))
		})
	}
}

func instantType() arrow.DataType {
	return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
}

// words is a source whose texts come as dictionaries, each batch with its own.
type words struct{ *testenv.Source }

func asWords(s *testenv.Source) lake.Source { return words{s} }

func (s words) Pin(ctx context.Context, w lake.Window) (lake.Input, error) {
	in, err := s.Source.Pin(ctx, w)
	return wordsInput{in}, err
}

type wordsInput struct{ lake.Input }

func (in wordsInput) Read(ctx context.Context, r lake.Request) iter.Seq2[lake.Batch, error] {
	return func(yield func(lake.Batch, error) bool) {
		for b, err := range in.Input.Read(ctx, r) {
			if err == nil {
				b.RecordBatch = encodeWords(b.RecordBatch)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

func encodeWords(rec arrow.RecordBatch) arrow.RecordBatch {
	defer rec.Release()
	fields, columns := slices.Clone(rec.Schema().Fields()), slices.Clone(rec.Columns())
	for i, c := range columns {
		text, ok := c.(*array.String)
		if !ok {
			continue
		}
		typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
		b := array.NewDictionaryBuilder(memory.DefaultAllocator, typ).(*array.BinaryDictionaryBuilder)
		_ = b.InsertStringDictValues(array.NewStringData(text.Data())) // words that no row has, and others
		for row := range text.Len() {
			if text.IsNull(row) {
				b.AppendNull()
			} else if err := b.AppendString(text.Value(row)); err != nil {
				panic(err)
			}
		}
		columns[i], fields[i].Type = b.NewArray(), typ
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, rec.NumRows())
}

// TestMergeWidensKeyAndVersion: key and version get wider types in the load that
// needs them, and the rows of before, with their bounds, are found.
func TestMergeWidensKeyAndVersion(t *testing.T) {
	t.Parallel()
	with := func(key, version arrow.DataType) *arrow.Schema {
		fields := keyedSchema(key).Fields()
		fields[2].Type = version
		return arrow.NewSchema(fields, nil)
	}
	for name, tc := range map[string]struct {
		key, wideKey         arrow.DataType
		version, wideVersion arrow.DataType
		one, more            any
	}{
		"int to long":     {arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, -7, 1 << 40},
		"of more digits":  {decimalOf(9), decimalOf(20), decimalOf(9), decimalOf(38), "-7.00", "123456789012345678.00"},
		"the key alone":   {arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64, -7, 1 << 40},
		"version, by key": {arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int32, decimalOf(9), decimalOf(20), 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeyed(t, "widens", tc.key, "bucket(2, k)")
			number := func(typ arrow.DataType, n int) any {
				if arrow.IsDecimal(typ.ID()) {
					return fmt.Sprintf("%d.00", n)
				}
				return n
			}
			k.schema = with(tc.key, tc.version)
			if arrow.IsDecimal(tc.key.ID()) {
				k.load.PartitionBy = []string{"truncate(10, k)"}
			}
			k.merge(lake.KeyCounts{Inserted: 1}, k.row(tc.one, number(tc.version, 5), "a"))
			k.schema, k.load.Schema = with(tc.wideKey, tc.wideVersion), lake.Evolve
			old := testenv.Row{"k": tc.one, "at": "2026-05-01T10:00:00Z", "seq": number(tc.version, 4), "note": "old"}
			k.merge(lake.KeyCounts{IgnoredOlder: 1, Inserted: 1}, old, k.row(tc.more, number(tc.version, 5), "b"))
			k.merge(lake.KeyCounts{Identical: 1, Updated: 1}, k.rows[fmt.Sprintf("%q", fmt.Sprint(tc.one))], k.row(tc.more, number(tc.version, 6), "c"))
			k.merge(lake.KeyCounts{Updated: 1}, k.row(tc.one, number(tc.version, 7), "d"))
		})
	}
}

func decimalOf(precision int32) arrow.DataType {
	return &arrow.Decimal128Type{Precision: precision, Scale: 2}
}

// TestMergeKeyOfSeveralColumns: a file is read only where all columns of a key may
// be in it, and NULL is a value of its own where it is to match.
func TestMergeKeyOfSeveralColumns(t *testing.T) {
	t.Parallel()
	k := newKeyed(t, "several", arrow.BinaryTypes.String)
	k.load.Key, k.load.NullKeys = []string{"k", "note"}, lake.MatchNullKeys
	k.merge(lake.KeyCounts{Inserted: 3}, k.row(nil, 1, "x"), k.row("a", 1, nil), k.row("a\x00", 1, "b"))
	testenv.AppendRows(t, k.cat, k.load.Table, k.row(nil, 1, nil), k.row(nil, nil, "y")) // k is NULL in all of the file
	testenv.AppendRows(t, k.cat, k.load.Table, k.row("a", nil, "\x00b"))
	k.merge(lake.KeyCounts{Updated: 5, Inserted: 1, Identical: 1},
		k.row(nil, 2, "x"), k.row("a", 2, nil), k.row("a\x00", 1, "b"), k.row(nil, 2, nil), k.row(nil, 2, "y"), k.row("a", 2, "\x00b"), k.row("", 2, nil))
	k.merge(lake.KeyCounts{Updated: 2, Identical: 1}, k.row(nil, 3, nil), k.row("", 3, nil), k.row(nil, 2, "y"))
}

// TestMergeOfNothing: a window without rows is loaded, and is no deletion.
func TestMergeOfNothing(t *testing.T) {
	t.Parallel()
	k := newKeyed(t, "nothing", arrow.PrimitiveTypes.Int64)
	if r := k.merge(lake.KeyCounts{}); r.Outcome != lake.Landed {
		t.Errorf("the first load: %+v", r)
	}
	k.merge(lake.KeyCounts{Inserted: 1}, k.row(1, 1, "a"))
	if r := k.merge(lake.KeyCounts{}); r.Outcome != lake.Unchanged || r.Rows.Replaced != 0 {
		t.Errorf("a window that is empty now: %+v", r)
	}
}

// TestFirstMergesRace: of merges that would each create the table one does, and
// the others merge into it.
func TestFirstMergesRace(t *testing.T) {
	t.Parallel()
	k := newKeyed(t, "first", arrow.PrimitiveTypes.Int64)
	errs := make(chan error)
	for n := range 5 {
		rows := []testenv.Row{k.row(0, 4, "by 4"), k.row(10+n, 1, "own")}
		rows[0] = testenv.Row{"k": 0, "at": "2026-05-01T10:00:00Z", "seq": n, "note": fmt.Sprint("by ", n)}
		go func() {
			r, err := k.loader.Load(t.Context(), k.load, testenv.Rows(t, k.schema, rows...), window(t, "2026-05-01"))
			if err == nil {
				k.check.Loaded(r)
			}
			errs <- err
		}()
	}
	for range 5 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestMergeOnABranch leaves main as it is, and finds what the branch has.
func TestMergeOnABranch(t *testing.T) {
	t.Parallel()
	k := newKeyed(t, "branch", arrow.PrimitiveTypes.Int64)
	k.merge(lake.KeyCounts{Inserted: 2}, k.row(1, 1, "a"), k.row(2, 1, "a"))
	main := testenv.Load(t, k.cat, k.load.Table)
	branch := table.NewSetSnapshotRefUpdate("audit", main.CurrentSnapshot().SnapshotID, table.BranchRef, 0, 0, 0)
	if _, _, err := k.cat.CommitTable(t.Context(), k.load.Table, nil, []table.Update{branch}); err != nil {
		t.Fatal(err)
	}
	k.load.Branch = "audit"
	row := func(seq int) testenv.Row {
		return testenv.Row{"k": 1, "at": "2026-05-01T10:00:00Z", "seq": seq, "note": "audited"}
	}
	k.merge(lake.KeyCounts{Updated: 1}, row(2))
	k.merge(lake.KeyCounts{Updated: 1}, row(3))
	k.merge(lake.KeyCounts{IgnoredOlder: 1}, row(2))
	if now := testenv.Load(t, k.cat, k.load.Table); now.CurrentSnapshot().SnapshotID != main.CurrentSnapshot().SnapshotID {
		t.Error("main has moved")
	}
}
