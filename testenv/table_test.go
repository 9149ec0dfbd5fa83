package testenv

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
)

// cellTable holds one row of many types.
func cellTable(t *testing.T, cat *LocalCatalog) *table.Table {
	t.Helper()
	var fields []iceberg.NestedField
	for i, typ := range []iceberg.Type{
		iceberg.PrimitiveTypes.Bool, iceberg.PrimitiveTypes.Int32, iceberg.PrimitiveTypes.Float32, iceberg.PrimitiveTypes.Float64,
		iceberg.PrimitiveTypes.Int64, iceberg.DecimalTypeOf(9, 2), iceberg.PrimitiveTypes.Date, iceberg.PrimitiveTypes.Timestamp,
		iceberg.PrimitiveTypes.TimestampTz, iceberg.PrimitiveTypes.String, iceberg.PrimitiveTypes.Binary,
		&iceberg.ListType{ElementID: 20, Element: iceberg.PrimitiveTypes.Int64},
		&iceberg.StructType{FieldList: []iceberg.NestedField{
			{ID: 21, Name: "a", Type: iceberg.PrimitiveTypes.String}, {ID: 22, Name: "b", Type: iceberg.PrimitiveTypes.Int64},
		}},
	} {
		fields = append(fields, iceberg.NestedField{ID: i + 1, Name: string(rune('a' + i)), Type: typ})
	}
	CreateTable(t, cat, Ident("cells"), iceberg.NewSchema(0, fields...), nil, nil)
	return AppendRows(t, cat, Ident("cells"), Row{
		"a": true, "b": 7, "c": -1.5, "d": 1e21, "f": "12.50", "g": Instant(t, "2026-05-04T23:00:00Z"),
		"h": "2026-05-04T10:00:00", "i": "2026-05-04T10:00:00.000001Z", "j": "ü\n", "k": []byte{0, 255},
		"l": []any{1, nil}, "m": map[string]any{"a": "x"},
	})
}

func TestCatalogNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	cat := Catalog(t)
	if _, err := cat.LoadTable(t.Context(), Ident("none")); !errors.Is(err, lake.ErrNoTable) {
		t.Errorf("LoadTable of no table: %v, want ErrNoTable", err)
	}
	if _, err := cat.LoadTable(t.Context(), table.Identifier{"none", "x"}); !errors.Is(err, lake.ErrNoTable) && !errors.Is(err, lake.ErrNoNamespace) {
		t.Errorf("LoadTable in no namespace: %v, want ErrNoTable or ErrNoNamespace", err)
	}
	if _, err := cat.Draft(t.Context(), table.Identifier{"none", "x"}, EventSchema(), nil, nil); !errors.Is(err, lake.ErrNoNamespace) {
		t.Errorf("Draft in no namespace: %v, want ErrNoNamespace", err)
	}
	if Exists(t, cat, Ident("none")) {
		t.Error("Exists of no table is true")
	}
	if _, err := cat.Draft(t.Context(), Ident("none"), EventSchema(), EventsByDay(), nil); err != nil {
		t.Errorf("Draft: %v", err)
	}
	if Exists(t, cat, Ident("none")) {
		t.Error("a draft made a table")
	}
}

func TestWritersDelete(t *testing.T) {
	t.Parallel()
	id := Ident("events")
	keys := func(t *testing.T, rows ...Row) arrow.RecordBatch {
		return Batch(t, nil, arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil), rows...)
	}
	for name, c := range map[string]struct {
		spec *iceberg.PartitionSpec
		do   func(t *testing.T, cat *LocalCatalog)
		gone []int64
	}{
		"equality": {nil, func(t *testing.T, cat *LocalCatalog) {
			EqualityDelete(t, cat, id, []string{"id"}, keys(t, Row{"id": 2}))
		}, []int64{2}},
		"equality in a partition": {EventsByDay(), func(t *testing.T, cat *LocalCatalog) {
			schema := arrow.NewSchema(EventArrow().Fields()[:2], nil)
			at := Instant(t, "2026-05-04T00:00:00Z")
			EqualityDelete(t, cat, id, []string{"id"}, Batch(t, nil, schema, Row{"id": 2, "event_time": at}, Row{"id": 1, "event_time": at}))
		}, []int64{2}},
		"equality in all partitions": {EventsByDay(), func(t *testing.T, cat *LocalCatalog) {
			GlobalEqualityDelete(t, cat, id, keys(t, Row{"id": 1}, Row{"id": 4}, Row{"id": 5}))
		}, []int64{1, 4, 5}},
		"position in two files": {nil, func(t *testing.T, cat *LocalCatalog) {
			tbl := AppendRows(t, cat, id, EventRows(NewEvent(6, "", "", 0), NewEvent(7, "", "", 0))...)
			positions := map[string][]int64{}
			for _, path := range DataFiles(t, tbl) {
				positions[path] = []int64{1}
			}
			if len(positions) != 2 {
				t.Fatalf("%d data files, want 2", len(positions))
			}
			PositionDelete(t, cat, id, positions)
		}, []int64{2, 7}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cat := Catalog(t)
			m := eventModel(events()...)
			Check(t, cat, id, m.Strings)
			CreateTable(t, cat, id, EventSchema(), c.spec, nil)
			AppendRows(t, cat, id, EventRows(events()...)...)
			if slices.Contains(c.gone, 7) {
				m.Append(NewEvent(6, "", "", 0), NewEvent(7, "", "", 0))
			}
			c.do(t, cat)
			m.Delete(func(e Event) bool { return slices.Contains(c.gone, e.ID) })
			tbl := Load(t, cat, id)
			if got := len(Entries(t, tbl, true)); got != 1 {
				t.Errorf("%d delete files, want 1", got)
			}
			if got := tbl.Spec(); c.spec != nil && got.IsUnpartitioned() {
				t.Error("the table is no longer partitioned by default")
			}
		})
	}
}

func TestSourceProjects(t *testing.T) {
	t.Parallel()
	read := 0
	src := Rows(t, EventArrow(), EventRows(events()...)...)
	src.BeforeRead = func() { read++ }
	in, err := src.Pin(t.Context(), lake.Window{})
	if err != nil {
		t.Fatal(err)
	}
	if o := in.Origin(); o.Files != 1 || o.Exact || o.Fingerprint == "" {
		t.Errorf("Origin() = %+v", o)
	}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "extra", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "value", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
	var got []string
	for b, err := range in.Read(t.Context(), lake.Request{Schema: schema, Procs: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		if !b.Schema().Equal(schema) || b.FirstRow != 1 {
			t.Errorf("batch of %v from row %d", b.Schema(), b.FirstRow)
		}
		got = append(got, Text(b.RecordBatch)...)
		b.Release()
	}
	if diff := cmp.Diff([]string{"NULL 10 1", "NULL 20 2", "NULL 30 3", "NULL 40 4", "NULL 50 5"}, got); diff != "" {
		t.Errorf("Read; -want +got:\n%s", diff)
	}
	if read != 1 {
		t.Errorf("BeforeRead was called %d times, want 1", read)
	}
}

func TestSourceFails(t *testing.T) {
	t.Parallel()
	required := arrow.NewSchema([]arrow.Field{{Name: "extra", Type: arrow.BinaryTypes.String}}, nil)
	narrow := arrow.NewSchema([]arrow.Field{{Name: "value", Type: arrow.PrimitiveTypes.Int8, Nullable: true}}, nil)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		schema *arrow.Schema
		err    error
		want   error
	}{
		"a required column is missing": {t.Context(), required, nil, lake.ErrInput},
		"a value does not fit":         {t.Context(), narrow, nil, lake.ErrInput},
		"cancelled":                    {cancelled, EventArrow(), nil, context.Canceled},
		"at the end":                   {t.Context(), EventArrow(), lake.ErrTemporary, lake.ErrTemporary},
	} {
		src := Rows(t, EventArrow(), Event{Value: 1000}.Row())
		src.Err = c.err
		in, err := src.Pin(c.ctx, lake.Window{})
		if err != nil {
			t.Fatal(err)
		}
		var got error
		for b, err := range in.Read(c.ctx, lake.Request{Schema: c.schema}) {
			if got = err; err == nil {
				b.Release()
			}
		}
		if !errors.Is(got, c.want) {
			t.Errorf("%s: Read gives %v, want %v", name, got, c.want)
		}
	}
}

func TestSourceWithoutFiles(t *testing.T) {
	t.Parallel()
	in, _ := (&Source{Schema: EventArrow(), Files: -1}).Pin(t.Context(), lake.Window{})
	if o := in.Origin(); o.Files != 0 || len(o.Names) > 0 {
		t.Errorf("Origin() = %+v, want no files", o)
	}
}

func TestBatchReleasesWhatItTook(t *testing.T) {
	t.Parallel()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	b := Batch(t, mem, EventArrow(), EventRows(events()...)...)
	if b.NumRows() != 5 {
		t.Errorf("Batch has %d rows, want 5", b.NumRows())
	}
	b.Release()
}

func TestModel(t *testing.T) {
	t.Parallel()
	m := eventModel(events()...)
	day := lake.Window{From: Instant(t, "2026-05-04T00:00:00Z"), To: Instant(t, "2026-05-05T00:00:00Z")}
	m.Replace(day, "eu", NewEvent(9, "2026-05-04T01:00:00Z", "eu", 1), NewEvent(10, "2026-05-04T01:00:00Z", "us", 1), NewEvent(11, "2026-05-05T00:00:00Z", "eu", 1))
	m.Delete(func(e Event) bool { return e.ID == 1 })
	want := []string{
		`2 2026-05-04T09:00:00.5Z "us" 20`,
		`4 NULL "a \"quoted\" word" 40`,
		`5 2026-05-05T00:00:00Z NULL 50`,
		`9 2026-05-04T01:00:00Z "eu" 1`,
	}
	if diff := cmp.Diff(want, m.Strings()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	m.Replace(day, "")
	if diff := cmp.Diff(want[1:3], m.Strings()); diff != "" {
		t.Errorf("after clearing the day; -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(m.Strings(), Text(Batch(t, nil, EventArrow(), EventRows(m.rows...)...))); diff != "" {
		t.Errorf("events and their rows differ as text:\n%s", diff)
	}
}

func floats(t *testing.T, values ...float64) arrow.RecordBatch {
	t.Helper()
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	b.AppendValues(values, nil)
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Float64, Nullable: true}}, nil)
	return array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, int64(len(values)))
}
