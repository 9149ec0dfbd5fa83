package lake_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// TestWarnings: plan and receipt name the engine that will not read a column,
// and say nothing of a table that all engines read.
func TestWarnings(t *testing.T) {
	t.Parallel()
	field := func(id int, name string, typ iceberg.Type) iceberg.NestedField {
		return iceberg.NestedField{ID: id, Name: name, Type: typ}
	}
	at := field(1, "event_time", iceberg.PrimitiveTypes.TimestampTz)
	text, clock := iceberg.PrimitiveTypes.String, iceberg.PrimitiveTypes.Time
	for _, tc := range []struct {
		name   string
		fields []iceberg.NestedField
		want   []string // the engines and the column
	}{
		{"what all engines read", []iceberg.NestedField{at, field(2, "k", text), field(3, "n", iceberg.DecimalTypeOf(38, 2))}, nil},
		{"a time", []iceberg.NestedField{at, field(2, "opens", clock)}, []string{`Spark: column "opens"`}},
		{"a time in a list in a struct", []iceberg.NestedField{at, field(2, "shop", &iceberg.StructType{FieldList: []iceberg.NestedField{
			field(3, "opens", &iceberg.ListType{ElementID: 4, Element: clock}),
		}})}, []string{`Spark: column "shop"`}},
		{"twins", []iceberg.NestedField{at, field(2, "body", text), field(3, "Body", text)}, []string{`Trino, Hive: column "body"`, `Trino, Hive: column "Body"`}},
		{"nested twins", []iceberg.NestedField{at, field(2, "price", &iceberg.StructType{FieldList: []iceberg.NestedField{
			field(3, "currencyCode", text), field(4, "currencycode", text),
		}})}, []string{`Trino, Hive: column "price"`}},
		{"a uuid", []iceberg.NestedField{at, field(2, "key", iceberg.PrimitiveTypes.UUID)}, []string{`PyIceberg: column "key"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := withoutModel(t, testenv.Catalog(t), "warned")
			testenv.CreateTable(t, e.cat, e.load.Table, iceberg.NewSchema(0, tc.fields...), nil, nil)
			sc := arrow.NewSchema([]arrow.Field{testenv.EventArrow().Field(1)}, nil)
			src := testenv.Rows(t, sc, testenv.Row{"event_time": "2026-05-04T01:00:00Z"})
			plan, err := (&lake.Loader{Catalog: e.cat}).Plan(t.Context(), e.load, src, window(t, "2026-05-04"))
			if err != nil {
				t.Fatal(err)
			}
			wantWarnings(t, plan.Warnings, tc.want)
			r, err := e.run("2026-05-04", src)
			if err != nil {
				t.Fatal(err)
			}
			wantWarnings(t, r.Warnings, tc.want)
		})
	}
}

func wantWarnings(t *testing.T, got []lake.Warning, want []string) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(w lake.Warning, begin string) bool { return strings.HasPrefix(w.String(), begin+": ") }) {
		t.Errorf("warnings %v, want %q", got, want)
	}
}

// TestWarningOfAnEmptyTextAsPartition: iceberg-go's own appends hide it from
// other engines; calve's do not, and what they rewrite does not either.
func TestWarningOfAnEmptyTextAsPartition(t *testing.T) {
	t.Parallel()
	// No audit at the end: it finds the manifest that iceberg-go left.
	e := &events{tb: t, cat: testenv.Catalog(t), check: &testenv.Checker{}, load: lake.Load{Table: testenv.Ident("empty_text"), TimeColumn: "event_time"}}
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{3}, FieldID: 1000, Name: "region", Transform: iceberg.IdentityTransform{}})
	testenv.CreateTable(t, e.cat, e.load.Table, testenv.EventSchema(), &spec, nil)
	empty := event(1, "2026-05-04T01:00:00Z", 1).Row()
	empty["region"] = ""
	if r, err := e.run("2026-05-03", testenv.Rows(t, testenv.EventArrow(), testenv.Row{"id": 9, "event_time": "2026-05-03T01:00:00Z", "region": ""})); err != nil || len(r.Warnings) > 0 {
		t.Fatalf("warnings %v, %v", r.Warnings, err)
	}
	plan := func() []lake.Warning {
		p, err := (&lake.Loader{Catalog: e.cat}).Plan(t.Context(), e.load, source(t, event(2, "2026-05-04T02:00:00Z", 2)), window(t, "2026-05-04"))
		if err != nil {
			t.Fatal(err)
		}
		return p.Warnings
	}
	wantWarnings(t, plan(), nil)
	testenv.AppendRows(t, e.cat, e.load.Table, empty, event(3, "2026-05-04T01:00:00Z", 3).Row())
	wantWarnings(t, plan(), []string{`Spark, Trino, PyIceberg: column "region"`})
}
