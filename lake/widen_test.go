package lake_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

var (
	instant = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	int32s  = arrow.PrimitiveTypes.Int32
	int64s  = arrow.PrimitiveTypes.Int64
	floats  = arrow.PrimitiveTypes.Float32
	doubles = arrow.PrimitiveTypes.Float64
)

func decimals(precision, scale int32) arrow.DataType {
	return &arrow.Decimal128Type{Precision: precision, Scale: scale}
}

// numbered is a source of a time and a column n.
func numbered(tb testing.TB, n arrow.DataType, rows ...testenv.Row) *testenv.Source {
	tb.Helper()
	return testenv.Rows(tb, arrow.NewSchema([]arrow.Field{
		{Name: "at", Type: instant, Nullable: true}, {Name: "n", Type: n, Nullable: true},
	}, nil), rows...)
}

// TestSchemaModes is the table of what a load does to a column, by the table's
// type, the source's, the value and the mode.
func TestSchemaModes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		has, comes arrow.DataType
		value      any
		// strict and evolve are the column's type afterwards; "" where the load is
		// refused. With ignore it is as with strict.
		strict, evolve string
	}{
		{int32s, int64s, 5, "int", "long"},
		{int32s, int64s, 3_000_000_000, "", "long"},
		{int32s, int32s, 5, "int", "int"},
		{int64s, int32s, 5, "long", "long"},
		{int32s, decimals(20, 0), "5", "int", "long"},
		{int32s, decimals(20, 0), "9223372036854775808", "", ""},
		{int32s, doubles, 5.5, "", ""},
		{int64s, doubles, 5.5, "", ""},
		{int64s, arrow.BinaryTypes.String, "x", "", ""},
		{floats, doubles, 0.5, "float", "double"},
		{floats, doubles, 1e300, "float", "double"}, // strict: the test's source casts to infinity, arrowio refuses
		{doubles, floats, 0.5, "double", "double"},
		{decimals(5, 2), decimals(9, 2), "1.25", "decimal(5, 2)", "decimal(9, 2)"},
		{decimals(5, 2), decimals(9, 2), "1234567.25", "", "decimal(9, 2)"},
		{decimals(9, 2), decimals(5, 2), "1.25", "decimal(9, 2)", "decimal(9, 2)"},
		{decimals(5, 2), decimals(9, 4), "1.25", "decimal(5, 2)", "decimal(7, 2)"},
		{decimals(5, 2), decimals(9, 4), "1.255", "", ""},
		{decimals(5, 2), decimals(9, 0), "123456789", "", "decimal(11, 2)"},
		{decimals(5, 2), decimals(38, 2), "1", "decimal(5, 2)", "decimal(38, 2)"},
		{decimals(38, 2), decimals(38, 0), "1", "decimal(38, 2)", "decimal(38, 2)"},
	} {
		for mode, want := range map[lake.SchemaMode]string{lake.Strict: tc.strict, lake.Ignore: tc.strict, lake.Evolve: tc.evolve} {
			cat := testenv.Catalog(t)
			load := lake.Load{Table: testenv.Ident("modes"), TimeColumn: "at", Schema: mode}
			check := testenv.Check(t, cat, load.Table, nil)
			l := &lake.Loader{Catalog: cat}
			r, err := l.Load(t.Context(), load, numbered(t, tc.has, testenv.Row{"at": "2026-05-04T01:00:00Z"}), window(t, "2026-05-04"))
			if err != nil {
				t.Fatal(err)
			}
			check.Loaded(r)
			was := columnType(t, cat, load, "n")
			r, err = l.Load(t.Context(), load, numbered(t, tc.comes, testenv.Row{"at": "2026-05-05T01:00:00Z", "n": tc.value}), window(t, "2026-05-05"))
			check.Loaded(r)
			is := columnType(t, cat, load, "n")
			switch {
			case want == "" && (err == nil || is != was || !lake.Untouched(err)):
				t.Errorf("%s: %s with %s %v: the column is %s, %v; want an error and nothing changed", mode, was, tc.comes, tc.value, is, err)
			case want != "" && (err != nil || is != want):
				t.Errorf("%s: %s with %s %v: the column is %s, %v; want %s", mode, was, tc.comes, tc.value, is, err, want)
			case want != "" && r.Rows.Written != 1:
				t.Errorf("%s: %s with %s: rows %+v", mode, was, tc.comes, r.Rows)
			}
		}
	}
}

func columnType(tb testing.TB, cat lake.Catalog, load lake.Load, name string) string {
	tb.Helper()
	f, ok := testenv.Load(tb, cat, load.Table).Schema().FindFieldByName(name)
	if !ok {
		tb.Fatalf("no column %s", name)
	}
	return f.Type.String()
}

// TestIgnoredColumns: what the table lacks is not read, and is named.
func TestIgnoredColumns(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "ignored")
	e.load.Schema = lake.Ignore
	first := event(1, "2026-05-04T01:00:00Z", 1)
	e.replace("2026-05-04", first)
	sc := arrow.NewSchema(append([]arrow.Field{{Name: "wind", Type: floats, Nullable: true}}, append(testenv.EventArrow().Fields(),
		arrow.Field{Name: "ID2", Type: int64s, Nullable: true})...), nil)
	second := event(2, "2026-05-04T02:00:00Z", 2)
	row := second.Row()
	row["wind"], row["ID2"] = 1.5, 7
	src := testenv.Rows(t, sc, row)
	plan, err := (&lake.Loader{Catalog: e.cat}).Plan(t.Context(), e.load, src, window(t, "2026-05-04"))
	if err != nil || strings.Join(plan.Ignored, " ") != "wind ID2" {
		t.Errorf("Plan ignores %q, %v", plan.Ignored, err)
	}
	r, err := e.run("2026-05-04", src)
	if err != nil || strings.Join(r.Ignored, " ") != "wind ID2" {
		t.Fatalf("Load ignores %q, %v", r.Ignored, err)
	}
	e.model.Replace(window(t, "2026-05-04"), "", second)
}

// TestWidenBesideOldFiles: a column is widened by a load of one hour. The rows
// outside it, in files of the narrow type, stay what they are, in their
// partitions, and so they do in later loads; also where the column is what the
// table is partitioned by, or part of what the load owns.
func TestWidenBesideOldFiles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		narrow, wide arrow.DataType
		values       []any // two that fit the narrow type, one that does not
		partitions   [][]string
		scope        string
	}{
		{int32s, int64s, []any{7, -5, 3_000_000_000}, [][]string{nil, {}, {"n"}, {"bucket(4, n)"}, {"truncate(10, n)", "day(at)"}}, "7"},
		{floats, doubles, []any{0.1, -5.5, 1e300}, [][]string{nil, {}, {"n"}}, ""},
		{decimals(5, 2), decimals(30, 2), []any{"1.25", "-5.50", "1234567890123.25"}, [][]string{nil, {"n"}, {"bucket(4, n)"}, {"truncate(10, n)"}}, "1.25"},
	} {
		for _, by := range tc.partitions {
			for _, scope := range []string{"", tc.scope} {
				t.Run(tc.narrow.String()+" "+strings.Join(by, ",")+" "+scope, func(t *testing.T) {
					t.Parallel()
					widenBesideOldFiles(t, tc.narrow, tc.wide, tc.values, by, scope)
				})
			}
		}
	}
}

func widenBesideOldFiles(t *testing.T, narrow, wide arrow.DataType, values []any, by []string, scope string) {
	cat := testenv.Catalog(t)
	load := lake.Load{Table: testenv.Ident("widen"), TimeColumn: "at", PartitionBy: by}
	var want []string
	check := testenv.Check(t, cat, load.Table, func() []string { return want })
	run := func(text string, n arrow.DataType, rows ...testenv.Row) lake.Receipt {
		t.Helper()
		r, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), load, numbered(t, n, rows...), window(t, text))
		if err != nil {
			t.Fatal(err)
		}
		check.Loaded(r)
		return r
	}
	row := func(at string, n any) testenv.Row { return testenv.Row{"at": "2026-05-" + at + ":00Z", "n": n} }
	a, b, large := values[0], values[1], values[2]
	run("2026-05-03", narrow, row("03T01:00", a), row("03T02:00", b), row("03T03:00", nil))
	run("2026-05-04", narrow, row("04T01:00", a), row("04T02:00", a), row("04T02:30", b), row("04T03:00", nil))

	load.Schema = lake.Evolve
	kept := []testenv.Row{row("04T02:30", b)} // of other scopes
	if scope != "" {
		load.Scope = map[string]string{"n": scope}
		load.TakeOver = true // it owned all rows before
		large = a
	} else {
		kept = nil
	}
	r := run("2026-05-04T02", wide, row("04T02:15", large), row("04T02:20", a))
	if replaced := int64(2 - len(kept)); r.Rows.Replaced != replaced {
		t.Errorf("rows: %+v, want %d replaced", r.Rows, replaced)
	}
	load.Schema = lake.Strict
	r = run("2026-05-03T01", wide, row("03T01:30", a))
	if r.Rows.Replaced != 1 {
		t.Errorf("rows: %+v, want 1 replaced", r.Rows)
	}
	want = testenv.Text(numbered(t, wide, append(kept, row("03T01:30", a), row("03T02:00", b), row("03T03:00", nil),
		row("04T01:00", a), row("04T03:00", nil), row("04T02:15", large), row("04T02:20", a))...).Batches...)
	if narrow == floats {
		// 0.1 as a float stays that float.
		want = testenv.Text(numbered(t, wide, row("03T01:30", a), row("03T02:00", b), row("03T03:00", nil),
			row("04T01:00", float64(float32(0.1))), row("04T03:00", nil), row("04T02:15", large), row("04T02:20", a)).Batches...)
	}
}

// TestEveryStepOfAWideningFails is TestEveryStepFails for a load that adds a
// column and widens one beside survivors: type, column and rows change together
// or not at all.
func TestEveryStepOfAWideningFails(t *testing.T) {
	t.Parallel()
	added := arrow.NewSchema([]arrow.Field{
		{Name: "at", Type: instant, Nullable: true}, {Name: "n", Type: int64s, Nullable: true}, {Name: "fee", Type: int64s, Nullable: true},
	}, nil)
	before := []testenv.Row{{"at": "2026-05-04T01:00:00Z", "n": 1}, {"at": "2026-05-04T02:00:00Z", "n": 2}}
	after := testenv.Row{"at": "2026-05-04T02:30:00Z", "n": 3_000_000_000, "fee": 7}
	steps := 0
	for _, fault := range []testenv.Fault{testenv.LostAnswer, testenv.Fail, testenv.Hang} {
		for at := 0; ; at++ {
			e := withoutModel(t, testenv.Catalog(t), "widening")
			e.load.TimeColumn, e.load.Schema = "at", lake.Evolve
			if _, err := e.run("2026-05-04", numbered(t, int32s, before...)); err != nil {
				t.Fatal(err)
			}
			narrow := slices.Sorted(slices.Values(testenv.ReadAll(t, testenv.Load(t, e.cat, e.load.Table))))
			fired := e.widenWith(at, fault, testenv.Rows(t, added, after))
			is := testenv.Load(t, e.cat, e.load.Table)
			rows := testenv.ReadAll(t, is)
			switch n := columnType(t, e.cat, e.load, "n"); {
			case n == "int" && (columnNames(is) != "at n" || !slices.Equal(rows, narrow)),
				n == "long" && columnNames(is) != "at n fee":
				t.Errorf("effect %d, %s: n is %s, columns %s, rows %q", at, fault, n, columnNames(is), rows)
			}
			if fired {
				e.tell()
				steps++
				if _, err := e.run("2026-05-04T02", testenv.Rows(t, added, after)); err != nil {
					t.Fatal(err)
				}
			}
			want := []string{"2026-05-04T01:00:00Z 1 NULL", "2026-05-04T02:30:00Z 3000000000 7"}
			if rows := testenv.ReadAll(t, testenv.Load(t, e.cat, e.load.Table)); !slices.Equal(rows, want) {
				t.Errorf("effect %d, %s: rows %q, want %q", at, fault, rows, want)
			}
			if !fired {
				break
			}
		}
	}
	if steps < 20 {
		t.Errorf("%d steps, want more: are the effects seen?", steps)
	}
}

// widenWith runs a load whose effect number at goes wrong and says whether it
// had that many effects.
func (e *events) widenWith(at int, fault testenv.Fault, src *testenv.Source) bool {
	e.tb.Helper()
	ctx, stop := context.WithCancelCause(e.tb.Context())
	defer stop(nil)
	in := testenv.NewInjector(at, fault)
	in.StopAfter = true
	in.Until(ctx)
	if fault == testenv.Hang {
		in.OnFire = func() { stop(errors.New("killed")) }
	}
	r, err := (&lake.Loader{Catalog: in.Catalog(e.cat)}).Load(ctx, e.load, src, window(e.tb, "2026-05-04T02"))
	if err == nil {
		e.check.Loaded(r)
	} else if !in.Fired() {
		e.tb.Fatalf("without a fault: %v", err)
	}
	return in.Fired()
}

// TestWidenedUnderTheLoad: a column that another load widens meanwhile is no
// longer the one that was planned for. The load says so, and runs again.
func TestWidenedUnderTheLoad(t *testing.T) {
	t.Parallel()
	for _, mode := range []lake.SchemaMode{lake.Strict, lake.Evolve} {
		e := withoutModel(t, testenv.Catalog(t), "under")
		e.load.TimeColumn = "at"
		if _, err := e.run("2026-05-03", numbered(t, int32s, testenv.Row{"at": "2026-05-03T01:00:00Z", "n": 1})); err != nil {
			t.Fatal(err)
		}
		src := numbered(t, int64s, testenv.Row{"at": "2026-05-04T01:00:00Z", "n": 2})
		src.BeforeRead = func() {
			src.BeforeRead = nil
			e.load.Schema = lake.Evolve
			if _, err := e.run("2026-05-05", numbered(t, int64s, testenv.Row{"at": "2026-05-05T01:00:00Z", "n": 3_000_000_000})); err != nil {
				t.Fatal(err)
			}
		}
		e.load.Schema = mode
		_, err := e.run("2026-05-04", src)
		want(t, err, lake.ErrTemporary)
		if _, err := e.run("2026-05-04", src); err != nil {
			t.Fatal(err)
		}
		rows := testenv.ReadAll(t, testenv.Load(t, e.cat, e.load.Table))
		if got := strings.Join(rows, ", "); got != "2026-05-03T01:00:00Z 1, 2026-05-04T01:00:00Z 2, 2026-05-05T01:00:00Z 3000000000" {
			t.Errorf("%s: %s", mode, got)
		}
	}
}

// TestNestedColumnsAreNotWidened: a struct, a list or a map that comes with
// other types, or more fields, is no column to widen. The values decide.
func TestNestedColumnsAreNotWidened(t *testing.T) {
	t.Parallel()
	e := withoutModel(t, testenv.Catalog(t), "nested_wide")
	e.load.TimeColumn, e.load.Schema = "at", lake.Evolve
	if _, err := e.run("2026-05-03", numbered(t, arrow.ListOf(int32s), testenv.Row{"at": "2026-05-03T01:00:00Z", "n": []any{1}})); err != nil {
		t.Fatal(err)
	}
	_, err := e.run("2026-05-04", numbered(t, arrow.ListOf(int64s), testenv.Row{"at": "2026-05-04T01:00:00Z", "n": []any{3_000_000_000}}))
	if err == nil || !lake.Untouched(err) || columnType(t, e.cat, e.load, "n") != "list<int>" {
		t.Errorf("Load = %v, and the column is %s", err, columnType(t, e.cat, e.load, "n"))
	}
}
