package testenv_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// reading is all that one reader finds in a table.
type reading struct {
	Count int64
	Nulls map[string]int64
	// Sums are those of the numeric columns, as text.
	Sums map[string]string
	// Rows are sorted.
	Rows []string
}

// agree checks that every engine finds what lake.Rows finds: DuckDB and
// PyIceberg, and where they have a catalog Spark and Trino.
func agree(t *testing.T, cat *testenv.LocalCatalog, load lake.Load) {
	t.Helper()
	tbl := testenv.Load(t, cat, load.Table)
	want, numbers := byCalve(t, cat, load)
	columns := make([]string, 0, len(want.Nulls))
	for name := range want.Nulls {
		columns = append(columns, name)
	}
	for _, e := range queryEngines(t, cat, load) {
		if diff := cmp.Diff(want, bySQL(t, columns, numbers, e.quote, e.ask)); diff != "" {
			t.Errorf("%s; -lake.Rows +got:\n%s", e.name, diff)
		}
	}
	py := testenv.PyIceberg(t, tbl.MetadataLocation(), cat.S3, testenv.PyScan{Rows: true, Sum: numbers})
	if diff := cmp.Diff(want, reading{py.Count, py.Nulls, py.Sums, py.Rows}); diff != "" {
		t.Errorf("PyIceberg; -lake.Rows +got:\n%s", diff)
	}
}

// byCalve is the reading of lake.Rows, and the names of the numeric columns.
func byCalve(t *testing.T, cat *testenv.LocalCatalog, load lake.Load) (reading, []string) {
	t.Helper()
	result, err := lake.Rows(t.Context(), testenv.Load(t, cat, load.Table), lake.RowsQuery{})
	if err != nil {
		t.Fatal(err)
	}
	r := reading{Nulls: map[string]int64{}, Sums: map[string]string{}}
	sums := map[string]*columnSum{}
	var numbers []string
	for _, f := range result.Schema.Fields() {
		r.Nulls[f.Name] = 0
		if arrow.IsInteger(f.Type.ID()) || arrow.IsFloating(f.Type.ID()) || arrow.IsDecimal(f.Type.ID()) {
			sums[f.Name] = &columnSum{}
			numbers = append(numbers, f.Name)
		}
	}
	for b, err := range result.Batches {
		if err != nil {
			t.Fatal(err)
		}
		r.Count += b.NumRows()
		r.Rows = append(r.Rows, testenv.Text(b)...)
		for i, c := range b.Columns() {
			r.Nulls[b.ColumnName(i)] += int64(c.NullN())
			if s := sums[b.ColumnName(i)]; s != nil {
				s.add(t, c)
			}
		}
		b.Release()
	}
	slices.Sort(r.Rows)
	for name, s := range sums {
		r.Sums[name] = s.String()
	}
	return r, numbers
}

// columnSum is the sum of a column, as text in the form of the engines.
type columnSum struct {
	n       int
	whole   big.Int
	scale   int32
	decimal bool
	float   float64
	floats  bool
}

func (s *columnSum) add(t *testing.T, c arrow.Array) {
	t.Helper()
	for i := range c.Len() {
		if c.IsNull(i) {
			continue
		}
		s.n++
		switch c := c.(type) {
		case *array.Int32:
			s.whole.Add(&s.whole, big.NewInt(int64(c.Value(i))))
		case *array.Int64:
			s.whole.Add(&s.whole, big.NewInt(c.Value(i)))
		case *array.Decimal128:
			s.decimal, s.scale = true, c.DataType().(*arrow.Decimal128Type).Scale
			s.whole.Add(&s.whole, c.Value(i).BigInt())
		case *array.Float32:
			s.floats = true
			s.float += float64(c.Value(i))
		case *array.Float64:
			s.floats = true
			s.float += c.Value(i)
		default:
			t.Fatalf("the sum of %s is not written", c.DataType())
		}
	}
}

func (s *columnSum) String() string {
	switch {
	case s.n == 0:
		return "NULL"
	case s.floats:
		return strconv.FormatFloat(s.float, 'g', -1, 64)
	case s.decimal:
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(s.scale)), nil)
		return new(big.Rat).SetFrac(&s.whole, unit).FloatString(int(s.scale))
	}
	return s.whole.String()
}

// bySQL is the reading of an engine that answers queries; {table} in them is
// the table, and quote stands around names.
func bySQL(t *testing.T, columns, numbers []string, quote string, ask func(queries ...string) [][][]string) reading {
	t.Helper()
	query := "SELECT count(*)"
	for _, name := range columns {
		query += fmt.Sprintf(", count(CASE WHEN %s%s%[1]s IS NULL THEN 1 END)", quote, name)
	}
	for _, name := range numbers {
		query += fmt.Sprintf(", sum(%s%s%[1]s)", quote, name)
	}
	answers := ask("SELECT * FROM {table}", query+" FROM {table}")
	r := reading{Nulls: map[string]int64{}, Sums: map[string]string{}, Rows: joined(answers[0])}
	number := func(text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	cells := answers[1][0]
	r.Count = number(cells[0])
	for i, name := range columns {
		r.Nulls[name] = number(cells[1+i])
	}
	for i, name := range numbers {
		r.Sums[name] = cells[1+len(columns)+i]
	}
	return r
}

// joined are rows as [testenv.Text] has them.
func joined(rows [][]string) (texts []string) {
	for _, row := range rows {
		texts = append(texts, strings.Join(row, " "))
	}
	slices.Sort(texts)
	return texts
}

// filtered is a filter, in the words that DuckDB and PyIceberg share, and the
// ids of the rows that it leaves.
type filtered struct {
	filter string
	ids    []string
}

// agreeOn checks filtered reads of all engines.
func agreeOn(t *testing.T, cat *testenv.LocalCatalog, load lake.Load, filters ...filtered) {
	t.Helper()
	agreeOf(t, cat, load, true, true, filters...)
	for _, e := range queryEngines(t, cat, load)[1:] {
		e.agree(t, filters...)
	}
}

// agreeOf is agreeOn for DuckDB and PyIceberg, or one of them: where it is known
// to differ.
func agreeOf(t *testing.T, cat *testenv.LocalCatalog, load lake.Load, duckDB, pyIceberg bool, filters ...filtered) {
	t.Helper()
	metadata := testenv.Load(t, cat, load.Table).MetadataLocation()
	if duckDB {
		queryEngines(t, cat, load)[0].agree(t, filters...)
	}
	if pyIceberg {
		var scans []testenv.PyScan
		for _, f := range filters {
			scans = append(scans, testenv.PyScan{Filter: f.filter, Columns: []string{"id"}, Rows: true})
		}
		for i, r := range testenv.PyIcebergEach(t, metadata, cat.S3, scans...) {
			if diff := cmp.Diff(filters[i].ids, r.Rows); diff != "" {
				t.Errorf("PyIceberg, %s; -want +got:\n%s", filters[i].filter, diff)
			}
		}
	}
}

// shelf is a table with the rows that it should hold beside it.
type shelf struct {
	t      *testing.T
	cat    *testenv.LocalCatalog
	load   lake.Load
	schema *arrow.Schema
	check  *testenv.Checker
	rows   []testenv.Row
}

func newShelf(t *testing.T, cat *testenv.LocalCatalog, schema *arrow.Schema, by ...string) *shelf {
	t.Helper()
	s := &shelf{t: t, cat: cat, schema: schema, load: lake.Load{Table: testenv.Ident("shelf"), TimeColumn: "event_time", PartitionBy: by, TakeOver: true, CommitUnchanged: true}}
	s.check = testenv.Check(t, cat, s.load.Table, func() []string {
		return testenv.Text(testenv.Batch(t, nil, testenv.ArrowSchema(t, testenv.Load(t, cat, s.load.Table)), s.rows...))
	})
	return s
}

// replace loads rows, each of the window and the scope, and notes them.
func (s *shelf) replace(window string, rows ...testenv.Row) lake.Receipt {
	s.t.Helper()
	w := parse(s.t, window)
	r, err := (&lake.Loader{Catalog: s.cat}).Load(s.t.Context(), s.load, testenv.Rows(s.t, s.schema, rows...), w)
	if err != nil {
		s.t.Fatalf("load %s: %v", window, err)
	}
	s.check.Loaded(r)
	before := len(s.rows)
	s.rows = slices.DeleteFunc(s.rows, func(row testenv.Row) bool {
		for name, v := range s.load.Scope {
			if row[name] != v {
				return false
			}
		}
		at, ok := row["event_time"].(string)
		return ok && w.Contains(testenv.Instant(s.t, at))
	})
	if want := int64(before - len(s.rows)); r.Rows.Replaced != want || r.Rows.Written != int64(len(rows)) {
		s.t.Errorf("load %s: %+v, want %d written for %d", window, r.Rows, len(rows), want)
	}
	s.rows = append(s.rows, rows...)
	return r
}

func instants() arrow.DataType { return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"} }

func fields(nameTypes ...any) *arrow.Schema {
	var out []arrow.Field
	for i := 0; i < len(nameTypes); i += 2 {
		out = append(out, arrow.Field{Name: nameTypes[i].(string), Type: nameTypes[i+1].(arrow.DataType), Nullable: true})
	}
	return arrow.NewSchema(out, nil)
}

// After each kind of load the engines read what calve says is there.
func TestReaders(t *testing.T) {
	t.Parallel()
	onReaders(t, func(t *testing.T, cat *testenv.LocalCatalog) {
		schema := fields("id", arrow.PrimitiveTypes.Int64, "event_time", instants(), "region", arrow.BinaryTypes.String,
			"amount", &arrow.Decimal128Type{Precision: 12, Scale: 2}, "ratio", arrow.PrimitiveTypes.Float64)
		s := newShelf(t, cat, schema, "day(event_time)")
		row := func(id int, at, region, amount string, ratio float64) testenv.Row {
			return testenv.Row{"id": id, "event_time": at, "region": region, "amount": amount, "ratio": ratio}
		}
		s.replace("2026-05-04",
			row(1, "2026-05-04T00:00:00Z", "eu", "0.10", 0.5), row(2, "2026-05-04T09:29:59.999999Z", "us", "-12.50", 2),
			row(3, "2026-05-04T09:30:00Z", "", "9999999999.99", -4), row(4, "2026-05-04T10:30:00Z", "null", "0.01", 8))
		agree(t, cat, s.load)
		s.replace("2026-05-05", row(5, "2026-05-05T00:00:00Z", "eu", "5.00", 1))
		s.replace("2026-05-04",
			row(1, "2026-05-04T00:00:00Z", "eu", "0.20", 0.5), row(3, "2026-05-04T09:30:00Z", "x", "3.00", -4),
			row(4, "2026-05-04T10:30:00Z", "null", "0.01", 8),
			testenv.Row{"id": 6, "event_time": "2026-05-04T23:59:59.999999Z"})
		agree(t, cat, s.load)

		s.load.OnEmpty = lake.ClearEmpty
		s.replace("2026-05-05")
		agree(t, cat, s.load)
		s.load.OnEmpty = lake.RefuseEmpty

		r := s.replace("2026-05-04T09:30/2026-05-04T10:30", row(7, "2026-05-04T10:29:59.999999Z", "eu", "7.00", 7))
		if r.Files.Rewritten != 1 {
			t.Errorf("load of an hour: %+v, want one rewritten file", r.Files)
		}
		agree(t, cat, s.load)

		// The new column is null in the rows of the older files.
		s.load.Schema = lake.Evolve
		s.schema = arrow.NewSchema(append(s.schema.Fields(),
			arrow.Field{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true},
			arrow.Field{Name: "born", Type: arrow.FixedWidthTypes.Date32, Nullable: true}), nil)
		evolved := row(8, "2026-05-06T12:00:00Z", "eu", "8.00", 8)
		evolved["note"], evolved["born"] = "ü\n\"quoted\"", "1969-12-31"
		s.replace("2026-05-06", evolved)
		agree(t, cat, s.load)

		// Rows without a time are another writer's; a rewrite keeps them.
		timeless := testenv.Row{"id": 9, "region": "eu", "amount": "9.00"}
		testenv.AppendRows(t, cat, s.load.Table, timeless)
		s.rows = append(s.rows, timeless)
		s.load.OnEmpty = lake.ClearEmpty
		s.replace("2026-05-04T00/2026-05-04T01")
		agree(t, cat, s.load)
		agreeOn(t, cat, s.load,
			filtered{"region = 'eu'", []string{"7", "8", "9"}},
			filtered{"note is null", []string{"4", "6", "7", "9"}},
			filtered{"event_time < '2026-05-05T00:00:00+00:00'", []string{"4", "6", "7"}},
			filtered{"event_time is null", []string{"9"}},
			filtered{"amount > 7.50", []string{"8", "9"}})
	})
}

// Values of all kinds, before and after 1970, under partitions of all kinds.
func TestReadersOfPartitions(t *testing.T) {
	t.Parallel()
	schema := fields("id", arrow.PrimitiveTypes.Int64, "event_time", instants(), "born", arrow.FixedWidthTypes.Date32,
		"amount", &arrow.Decimal128Type{Precision: 9, Scale: 2}, "big", &arrow.Decimal128Type{Precision: 38, Scale: 10},
		"place", arrow.BinaryTypes.String, "n", arrow.PrimitiveTypes.Int32, "ok", arrow.FixedWidthTypes.Boolean,
		"seen", &arrow.TimestampType{Unit: arrow.Microsecond}, "raw", arrow.BinaryTypes.Binary)
	rows := map[string][]testenv.Row{
		"1600-02-29": {
			{"id": -21, "event_time": "1600-02-29T12:00:00Z", "born": "1582-10-04", "amount": "-0.05", "place": "Ünïcode"},
		},
		"1969-12-31": {
			{"id": -1, "event_time": "1969-12-31T00:00:00Z", "born": "1969-12-31", "amount": "-9999999.00", "place": "a/b c+é=%", "n": -2147483648, "ok": true},
			{"id": 0, "event_time": "1969-12-31T23:59:59.999999Z", "born": "1970-01-01", "amount": "0.00", "place": ".", "seen": "1969-12-31T23:59:59.999999"},
			{"id": 2, "event_time": "1969-12-31T23:00:00Z", "place": "", "big": "-1234567890123456789012345678.0123456789"},
		},
		"1970-01-01": {
			{"id": 3, "event_time": "1970-01-01T00:00:00Z", "born": "1900-03-01", "amount": "0.05", "place": "x#y", "n": 7, "ok": false, "raw": []byte{0, 255}},
			{"id": 10, "event_time": "1970-01-01T00:59:59Z", "amount": "100.00", "place": "100%25", "big": "0.0000000001"},
		},
		"9998-12-31": {
			{"id": 9, "event_time": "9998-12-31T23:59:59.999999Z", "born": "9998-12-31", "amount": "9999999.99", "place": "😀 q?z"},
		},
	}
	filters := []filtered{
		{"amount < 0", []string{"-1", "-21"}},
		{"amount is null", []string{"2"}},
		{"amount >= 100", []string{"10", "9"}},
		{"born < '1970-01-01'", []string{"-1", "-21", "3"}},
		{"born >= '1970-01-01'", []string{"0", "9"}},
		{"event_time < '1970-01-01T00:00:00+00:00'", []string{"-1", "-21", "0", "2"}},
		{"event_time >= '1970-01-01T00:00:00+00:00'", []string{"10", "3", "9"}},
		{"place = 'Ünïcode'", []string{"-21"}},
		{"place = '.'", []string{"0"}},
		{"place = ''", []string{"2"}},
		{"place > 'x'", []string{"-21", "3", "9"}},
		{"id = -1", []string{"-1"}},
		{"id < 0", []string{"-1", "-21"}},
	}
	// DuckDB 1.5.5 takes the day and the month of a time before 1970 towards
	// 1970, and so skips the last such partition; and it ends with an internal
	// error where it truncates a negative decimal. It does both to tables that
	// PyIceberg wrote, too.
	notDuckDB := []filtered{
		{"event_time >= '1969-12-31T23:00:00+00:00' and event_time < '1970-01-01T00:00:00+00:00'", []string{"0", "2"}},
		{"amount = -0.05", []string{"-21"}},
	}
	for name, by := range map[string][]string{
		"year and decimal": {"year(event_time)", "amount"},
		"month and date":   {"month(event_time)", "born"},
		"text":             {"day(event_time)", "place"},
		"hour and others":  {"hour(event_time)", "truncate(2, place)", "bucket(4, id)"},
		"truncated":        {"day(event_time)", "truncate(10, id)", "truncate(50, amount)", "month(born)"},
		"numbers":          {"n", "ok", "day(seen)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onReaders(t, func(t *testing.T, cat *testenv.LocalCatalog) {
				s := newShelf(t, cat, schema, by...)
				for _, window := range []string{"1970-01-01", "1600-02-29", "9998-12-31", "1969-12-31", "1600-02-29"} {
					s.replace(window, rows[window]...)
				}
				s.replace("1969-12-31T23", rows["1969-12-31"][1:]...)
				agree(t, cat, s.load)
				agreeOn(t, cat, s.load, filters...)
				agreeOf(t, cat, s.load, false, true, notDuckDB...)
			})
		})
	}
}

// NaN and the infinities are values like others.
func TestReadersOfFloats(t *testing.T) {
	t.Parallel()
	onReaders(t, func(t *testing.T, cat *testenv.LocalCatalog) {
		load := lake.Load{Table: testenv.Ident("floats"), TimeColumn: "event_time"}
		check := testenv.Check(t, cat, load.Table, nil)
		nan, inf := math.NaN(), math.Inf(1)
		loadFloats(t, cat, check, load, "2026-05-04", 1, nan, 1.5, 2.5)
		loadFloats(t, cat, check, load, "2026-05-05", 4, nan, nan)
		loadFloats(t, cat, check, load, "2026-05-06", 6, -2, math.Copysign(0, -1), inf, -inf, nan)
		agree(t, cat, load)
		agreeOn(t, cat, load,
			filtered{"v < 5", []string{"2", "3", "6", "7", "9"}},
			filtered{"f < 5", []string{"2", "3", "6", "7", "9"}},
			filtered{"v <= -2", []string{"6", "9"}},
			filtered{"v = 1.5", []string{"2"}},
			filtered{"v is null", nil})
		// NaN is greater than all others to DuckDB, as to Spark, and not
		// comparable to PyIceberg.
		agreeOf(t, cat, load, true, false, filtered{"v > 0", []string{"1", "10", "2", "3", "4", "5", "8"}}, filtered{"isnan(v)", []string{"1", "10", "4", "5"}})
		agreeOf(t, cat, load, false, true, filtered{"v > 0", []string{"2", "3", "8"}}, filtered{"v is nan", []string{"1", "10", "4", "5"}})
	})
}

// loadFloats loads a row for each value, with ids from first on.
func loadFloats(t *testing.T, cat *testenv.LocalCatalog, check *testenv.Checker, load lake.Load, day string, first int64, values ...float64) {
	t.Helper()
	ids, times := array.NewInt64Builder(memory.DefaultAllocator), array.NewTimestampBuilder(memory.DefaultAllocator, instants().(*arrow.TimestampType))
	doubles, singles := array.NewFloat64Builder(memory.DefaultAllocator), array.NewFloat32Builder(memory.DefaultAllocator)
	for i, v := range values {
		ids.Append(first + int64(i))
		times.Append(arrow.Timestamp(testenv.Instant(t, day+"T12:00:00Z").UnixMicro()))
		doubles.Append(v)
		singles.Append(float32(v))
	}
	schema := fields("id", arrow.PrimitiveTypes.Int64, "event_time", instants(), "v", arrow.PrimitiveTypes.Float64, "f", arrow.PrimitiveTypes.Float32)
	batch := array.NewRecordBatch(schema, []arrow.Array{ids.NewArray(), times.NewArray(), doubles.NewArray(), singles.NewArray()}, int64(len(values)))
	src := &testenv.Source{Schema: schema, Batches: []arrow.RecordBatch{batch}}
	r, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), load, src, parse(t, day))
	if err != nil {
		t.Fatalf("load %s: %v", day, err)
	}
	check.Loaded(r)
}
