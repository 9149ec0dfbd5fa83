package lake_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// The tests of this file are faults that people met in tools of this kind, each
// with the right value. The numbers are those of the project's list of cases.

// A predicate that is NULL is not true, so the row with a NULL time stays.
func TestCase1_NullInTheWindowColumnStays(t *testing.T) {
	t.Parallel()
	for _, by := range [][]string{{}, nil} {
		e := newEvents(t, "nulls")
		e.load.PartitionBy = by
		e.replace("2026-05-04", event(2, "2026-05-04T05:00:00Z", 2), event(3, "2026-05-04T15:00:00Z", 3))
		foreign := []testenv.Event{event(1, "", 1), event(4, "2026-05-04T12:00:00Z", 4)}
		testenv.AppendRows(t, e.cat, e.load.Table, testenv.EventRows(foreign...)...)
		e.model.Append(foreign...)
		e.load.PartitionBy = nil
		e.replace("2026-05-04T10/2026-05-04T20", event(5, "2026-05-04T16:00:00Z", 5))
		// Nor does the whole day take it.
		e.load.OnEmpty = lake.ClearEmpty
		e.replace("2026-05-04")
	}
}

// A row that was deleted earlier does not come back when its file is rewritten.
func TestCase4_DeletedRowsStayDeleted(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "revived")
	e.load.PartitionBy = []string{}
	e.replace("2026-05-04", event(1, "2026-05-04T01:00:00Z", 1), event(2, "2026-05-04T02:00:00Z", 2), event(3, "2026-05-04T03:00:00Z", 3))
	path := testenv.DataFiles(t, testenv.Load(t, e.cat, e.load.Table))[0]
	testenv.PositionDelete(t, e.cat, e.load.Table, map[string][]int64{path: {0}})
	e.model.Delete(func(x testenv.Event) bool { return x.ID == 1 })
	e.replace("2026-05-04T02", event(2, "2026-05-04T02:00:00Z", 22))
}

// The window is the contract, so a window that became empty is cleared, when
// the caller says that it may.
func TestCase6_AnEmptyWindowClearsItsPartition(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "cleared")
	e.replace("2024-03-01", event(1, "2024-03-01T01:00:00Z", 1), event(2, "2024-03-01T02:00:00Z", 2), event(3, "2024-03-01T03:00:00Z", 3))
	e.replace("2024-03-02", event(4, "2024-03-02T03:00:00Z", 4))
	e.load.OnEmpty = lake.ClearEmpty
	r := e.replace("2024-03-01")
	if r.Rows.Replaced != 3 || *r.Watermark != "2024-03-03T00:00:00Z" {
		t.Errorf("receipt: %+v", r)
	}
	head := testenv.Load(t, e.cat, e.load.Table).CurrentSnapshot()
	if head.Summary.Operation != table.OpDelete || head.Summary.Properties["calve.window"] != "2024-03-01T00:00:00Z/2024-03-02T00:00:00Z" {
		t.Errorf("snapshot: %+v", head.Summary)
	}
}

// A local day does not end with a UTC day partition: only the window's rows go.
func TestCase8_LocalDayAgainstUTCPartitions(t *testing.T) {
	t.Parallel()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	e := newEvents(t, "shanghai")
	e.replace("2024-01-01", event(1, "2024-01-01T03:00:00Z", 1), event(2, "2024-01-01T17:00:00Z", 2))
	day, err := lake.ParseWindow("2024-01-02", shanghai)
	if err != nil {
		t.Fatal(err)
	}
	e.load.Zone = shanghai
	row := event(3, "2024-01-01T16:00:00Z", 3)
	r, err := (&lake.Loader{Catalog: e.cat}).Load(t.Context(), e.load, source(t, row, event(4, "2024-01-02T16:00:00Z", 4)), day)
	if err != nil {
		t.Fatal(err)
	}
	e.check.Loaded(r)
	if r.Window.From != "2024-01-01T16:00:00Z" || r.Rows.Outside != 1 || r.Rows.Replaced != 1 {
		t.Errorf("receipt: %+v, window %+v", r, r.Window)
	}
	e.model.Replace(window(t, "2024-01-01T16:00Z/2024-01-02T16:00Z"), "", row)
}

// Files of an older partition spec are not skipped, and not taken whole.
func TestCase10_FilesOfAnOlderSpec(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "older_spec")
	e.replace("2024-01-01", event(1, "2024-01-01T01:00:00Z", 1), event(13, "2024-01-01T13:00:00Z", 13))
	hourly := iceberg.NewPartitionSpecID(1, iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1001, Name: "event_time_hour", Transform: iceberg.HourTransform{}})
	e.update(table.NewAddPartitionSpecUpdate(&hourly, false), table.NewSetDefaultSpecUpdate(-1))
	r := e.replace("2024-01-01T13", event(14, "2024-01-01T13:30:00Z", 14))
	if r.Files.Rewritten != 1 || r.Rows.Replaced != 1 {
		t.Errorf("receipt: %+v", r)
	}
}

// A load without a window replaces nothing, never everything.
func TestCase12_NoWindowIsRefused(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "no_window")
	e.replace("2026-05-04", event(1, "2026-05-04T01:00:00Z", 1))
	_, err := (&lake.Loader{Catalog: e.cat}).Load(t.Context(), e.load, source(t, event(2, "2026-05-04T01:00:00Z", 2)), lake.Window{})
	want(t, err, lake.ErrWindow)
}

// A row on the boundary is in exactly one window.
func TestCase36_TheRowOnTheBoundary(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "boundary")
	e.load.CommitUnchanged = true
	all := []testenv.Event{
		event(1, "2026-05-04T00:00:00Z", 1), event(2, "2026-05-04T23:59:59.999999Z", 2),
		event(3, "2026-05-05T00:00:00Z", 3), event(4, "2026-05-05T23:59:59.999999Z", 4), event(5, "2026-05-06T00:00:00Z", 5),
	}
	for range 2 {
		first, second := e.replace("2026-05-04", all...), e.replace("2026-05-05", all...)
		if first.Rows.Written != 2 || second.Rows.Written != 2 || first.Rows.Outside != 3 {
			t.Fatalf("rows: %+v and %+v", first.Rows, second.Rows)
		}
	}
}

// NULL and the text "null" are two partitions, whatever their paths look like.
func TestCase45_NullAndTheTextNull(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "null_text")
	e.load.PartitionBy = []string{"region"}
	e.replace("2026-05-04", testenv.NewEvent(1, "2026-05-04T01:00:00Z", "", 1), testenv.NewEvent(2, "2026-05-04T01:00:00Z", "null", 2))
	values := map[any]int64{}
	for _, entry := range testenv.Entries(t, testenv.Load(t, e.cat, e.load.Table), false) {
		values[entry.DataFile().Partition()[1000]] += entry.DataFile().Count()
	}
	if len(values) != 2 || values[nil] != 1 || values["null"] != 1 {
		t.Errorf("partitions: %v", values)
	}
	e.load.Scope, e.load.TakeOver = map[string]string{"region": "null"}, true
	e.replace("2026-05-04", testenv.NewEvent(3, "2026-05-04T01:00:00Z", "null", 3))
}

// An empty text is a partition value like any other, and does not hide the
// other ones from readers.
func TestCase46_EmptyTextAsPartition(t *testing.T) {
	t.Parallel()
	e := withoutModel(t, testenv.Catalog(t), "empty_text")
	e.load.PartitionBy = []string{"region"}
	empty := event(1, "2026-05-04T01:00:00Z", 1)
	none := ""
	empty.Region = &none
	rows := []testenv.Event{empty, testenv.NewEvent(2, "2026-05-04T02:00:00Z", "x", 2), testenv.NewEvent(3, "2026-05-04T03:00:00Z", "y", 3)}
	e.replace("2026-05-04", rows...)
	for _, tc := range []struct{ region, want string }{{"", "1"}, {"x", "2"}} {
		if got := e.filtered("region", tc.region); !slices.Equal(got, []string{tc.want}) {
			t.Errorf("ids where region = %q: %v, want %s", tc.region, got, tc.want)
		}
	}
	e.load.Scope, e.load.TakeOver = map[string]string{"region": "x"}, true
	e.replace("2026-05-04", testenv.NewEvent(22, "2026-05-04T02:00:00Z", "x", 22))
	if got := e.filtered("region", "x"); !slices.Equal(got, []string{"22"}) {
		t.Errorf("ids where region = x after the replacement: %v", got)
	}
}

// filtered reads the ids of the rows that the library's own filter finds.
func (e *events) filtered(column, value string) (ids []string) {
	e.tb.Helper()
	t := testenv.Load(e.tb, e.cat, e.load.Table)
	_, batches, err := t.Scan(table.WithRowFilter(iceberg.EqualTo(iceberg.Reference(column), value))).ToArrowRecords(e.tb.Context())
	if err != nil {
		e.tb.Fatal(err)
	}
	for b, err := range batches {
		if err != nil {
			e.tb.Fatal(err)
		}
		for i := range int(b.NumRows()) {
			ids = append(ids, b.Column(0).ValueStr(i))
		}
		b.Release()
	}
	slices.Sort(ids)
	return ids
}

// The manifest holds raw values, whatever the path can.
func TestCase48_SpecialCharactersInPartitionValues(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "special")
	e.load.CommitUnchanged = true
	e.load.PartitionBy = []string{"region"}
	values := []string{"a/b c+é=%", "x#y", "q?z", "..", "100%25", "\\", "日本"}
	var rows []testenv.Event
	for i, v := range values {
		rows = append(rows, testenv.NewEvent(int64(i), "2026-05-04T01:00:00Z", v, 1))
	}
	e.replace("2026-05-04", rows...)
	var got []string
	for _, entry := range testenv.Entries(t, testenv.Load(t, e.cat, e.load.Table), false) {
		got = append(got, entry.DataFile().Partition()[1000].(string))
	}
	slices.Sort(got)
	slices.Sort(values)
	if !slices.Equal(got, values) {
		t.Errorf("partition values %q, want %q", got, values)
	}
	e.replace("2026-05-04", rows...)
}

// A column whose name Avro does not take can still be partitioned by.
func TestCase50_PartitionFieldNames(t *testing.T) {
	t.Parallel()
	cat := testenv.Catalog(t)
	sc := arrow.NewSchema([]arrow.Field{
		{Name: "event time", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
		{Name: "日本", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "9col", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
	load := lake.Load{Table: testenv.Ident("names"), TimeColumn: "event time", PartitionBy: []string{"day(event time)", "日本", "bucket(4, 9col)"}}
	check := testenv.Check(t, cat, load.Table, func() []string { return []string{`2026-05-04T01:00:00Z "x" 7`} })
	for range 2 {
		src := testenv.Rows(t, sc, testenv.Row{"event time": "2026-05-04T01:00:00Z", "日本": "x", "9col": 7})
		r, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), load, src, window(t, "2026-05-04"))
		if err != nil {
			t.Fatal(err)
		}
		check.Loaded(r)
	}
	var names []string
	spec := testenv.Load(t, cat, load.Table).Spec()
	for _, f := range spec.Fields() {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "event_time_day __ _9col_bucket" {
		t.Errorf("partition fields: %s", got)
	}
}

// A NULL in a required column is an error before anything is written, at every
// depth.
func TestCase60_NullInARequiredColumn(t *testing.T) {
	t.Parallel()
	at := iceberg.NestedField{ID: 1, Name: "event_time", Type: iceberg.PrimitiveTypes.TimestampTz}
	x := iceberg.NestedField{ID: 3, Name: "x", Type: iceberg.PrimitiveTypes.Int64, Required: true}
	arrowX := arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	for name, tc := range map[string]struct {
		field iceberg.NestedField
		typ   arrow.DataType
		good  any
		bad   any
		path  string
	}{
		"top":  {iceberg.NestedField{ID: 2, Name: "k", Type: iceberg.PrimitiveTypes.Int64, Required: true}, arrow.PrimitiveTypes.Int64, 7, nil, "k"},
		"text": {iceberg.NestedField{ID: 2, Name: "k", Type: iceberg.PrimitiveTypes.String, Required: true}, arrow.BinaryTypes.String, "a", nil, "k"},
		"struct": {
			iceberg.NestedField{ID: 2, Name: "k", Type: &iceberg.StructType{FieldList: []iceberg.NestedField{x}}},
			arrow.StructOf(arrowX),
			map[string]any{"x": 1},
			map[string]any{"x": nil},
			"k.x",
		},
		"list": {
			iceberg.NestedField{ID: 2, Name: "k", Type: &iceberg.ListType{ElementID: 3, Element: iceberg.PrimitiveTypes.Int64, ElementRequired: true}},
			arrow.ListOf(arrow.PrimitiveTypes.Int64),
			[]any{1, 2},
			[]any{1, nil},
			"k.element",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cat := testenv.Catalog(t)
			load := lake.Load{Table: testenv.Ident("required"), TimeColumn: "event_time"}
			testenv.CreateTable(t, cat, load.Table, iceberg.NewSchema(0, at, tc.field), nil, nil)
			sc, err := table.SchemaToArrowSchema(testenv.Load(t, cat, load.Table).Schema(), nil, true, false)
			if err != nil {
				t.Fatal(err)
			}
			fields := slices.Clone(sc.Fields())
			fields[1].Nullable = true
			batch := testenv.Batch(t, nil, arrow.NewSchema(fields, nil),
				testenv.Row{"event_time": "2026-05-04T01:00:00Z", "k": tc.good}, testenv.Row{"event_time": "2026-05-04T02:00:00Z", "k": tc.bad})
			_, err = (&lake.Loader{Catalog: cat}).Load(t.Context(), load, &testenv.Source{Schema: batch.Schema(), Batches: []arrow.RecordBatch{batch}}, window(t, "2026-05-04"))
			want(t, err, lake.ErrInput)
			if !strings.Contains(err.Error(), tc.path) || !strings.Contains(err.Error(), "row 2") {
				t.Errorf("error does not name %s and row 2: %v", tc.path, err)
			}
			if testenv.Load(t, cat, load.Table).CurrentSnapshot() != nil {
				t.Error("something was committed")
			}
		})
	}
}

// Names that differ only by case make a table that other engines cannot open: it
// is not created, and no column is added, whatever the depth.
func TestCase73_NamesThatDifferByCase(t *testing.T) {
	t.Parallel()
	text := func(name string) arrow.Field {
		return arrow.Field{Name: name, Type: arrow.BinaryTypes.String, Nullable: true}
	}
	price := arrow.StructOf(text("currencyCode"), text("currencycode"))
	for name, tc := range map[string]struct {
		field arrow.Field
		names []string
	}{
		"top":    {text("Region"), []string{`"region"`, `"Region"`}},
		"struct": {arrow.Field{Name: "price", Type: price, Nullable: true}, []string{`"price.currencyCode"`, `"price.currencycode"`}},
		"list":   {arrow.Field{Name: "prices", Type: arrow.ListOf(price), Nullable: true}, []string{"currencyCode", "currencycode"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEvents(t, "twins")
			refused := func() {
				t.Helper()
				sc := arrow.NewSchema(append(testenv.EventArrow().Fields(), tc.field), nil)
				_, err := e.run("2026-05-04", testenv.Rows(t, sc, testenv.Row{"id": 1, "event_time": "2026-05-04T01:00:00Z"}))
				want(t, err, lake.ErrSchema)
				for _, n := range tc.names {
					if !strings.Contains(err.Error(), n) {
						t.Errorf("the error does not name %s: %v", n, err)
					}
				}
			}
			refused()
			if testenv.Exists(t, e.cat, e.load.Table) {
				t.Error("the table was created")
			}
			if name == "top" {
				return // a column of the same name, but for its case, is the table's own
			}
			e.replace("2026-05-04", event(1, "2026-05-04T01:00:00Z", 1))
			e.load.Schema = lake.Evolve
			refused()
		})
	}
}

// NaN values are counted, so that no engine takes the bounds for all values.
func TestCase102_NaNCounts(t *testing.T) {
	t.Parallel()
	cat := testenv.Catalog(t)
	sc := arrow.NewSchema([]arrow.Field{
		{Name: "event_time", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
		{Name: "d", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	load := lake.Load{Table: testenv.Ident("nan"), TimeColumn: "event_time"}
	check := testenv.Check(t, cat, load.Table, nil)
	src := testenv.Rows(t, sc, testenv.Row{"event_time": "2026-05-04T01:00:00Z", "d": 1.5}, testenv.Row{"event_time": "2026-05-04T02:00:00Z"})
	src.Batches = append(src.Batches, nanBatch(sc))
	r, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), load, src, window(t, "2026-05-04"))
	if err != nil {
		t.Fatal(err)
	}
	check.Loaded(r)
	df := testenv.Entries(t, testenv.Load(t, cat, load.Table), false)[0].DataFile()
	if df.NaNValueCounts()[2] != 1 || df.NullValueCounts()[2] != 1 {
		t.Errorf("NaN count %d, null count %d, want 1 and 1", df.NaNValueCounts()[2], df.NullValueCounts()[2])
	}
	for _, bound := range [][]byte{df.LowerBoundValues()[2], df.UpperBoundValues()[2]} {
		lit, err := iceberg.LiteralFromBytes(iceberg.PrimitiveTypes.Float64, bound)
		if err != nil || lit.Any() != 1.5 {
			t.Errorf("bound %v, %v, want 1.5", lit, err)
		}
	}
	// A row with NaN survives when its file is rewritten (pitfall L4).
	r, err = (&lake.Loader{Catalog: cat}).Load(t.Context(), load, testenv.Rows(t, sc, testenv.Row{"event_time": "2026-05-04T01:30:00Z", "d": 2}), window(t, "2026-05-04T01"))
	if err != nil {
		t.Fatal(err)
	}
	check.Loaded(r)
	if got := testenv.ReadAll(t, testenv.Load(t, cat, load.Table)); len(got) != 3 || !strings.Contains(strings.Join(got, "\n"), "NaN") {
		t.Errorf("rows: %q", got)
	}
}

// nanBatch is one row whose float is NaN, which literals cannot say.
func nanBatch(sc *arrow.Schema) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, sc)
	at := time.Date(2026, 5, 4, 3, 0, 0, 0, time.UTC)
	b.Field(0).(*array.TimestampBuilder).Append(arrow.Timestamp(at.UnixMicro()))
	b.Field(1).(*array.Float64Builder).Append(math.NaN())
	return b.NewRecordBatch()
}

// A watermark keeps every digit that the window's bound had.
func TestCase33_WatermarkKeepsItsDigits(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "digits")
	e.load.CommitUnchanged = true
	for range 2 {
		r := e.replace("2026-05-04T13:00:00Z/2026-05-04T13:28:27.031153Z", event(1, "2026-05-04T13:28:27.031152Z", 1), event(2, "2026-05-04T13:28:27.031153Z", 2))
		if *r.Watermark != "2026-05-04T13:28:27.031153Z" || r.Rows.Written != 1 {
			t.Fatalf("watermark %s, rows %+v", *r.Watermark, r.Rows)
		}
	}
}
