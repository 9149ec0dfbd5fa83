package arrowio

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
)

// declaredInput is a source of CSV files as New makes it.
func declaredInput(t *testing.T, files memFiles, cfg Config) (lake.Input, error) {
	t.Helper()
	cfg.Path = "*.csv"
	store := bytesFiles{}
	for _, f := range files {
		store[f.name] = []byte(f.text)
	}
	src, err := New(cfg, store)
	if err != nil {
		return nil, err
	}
	return src.Pin(t.Context(), lake.Window{})
}

func value(s string) *string { return &s }

// declaredRows reads all rows of an input, each as its cells.
func declaredRows(t *testing.T, in lake.Input, schema *arrow.Schema) (rows []string, failed error) {
	t.Helper()
	for b, err := range in.Read(t.Context(), lake.Request{Schema: schema, Procs: 2, Memory: 1 << 20}) {
		if err != nil {
			failed = err
			continue
		}
		if !b.Schema().Equal(schema) {
			t.Errorf("a batch has the schema\n%s\nwant\n%s", b.Schema(), schema)
		}
		for i := range int(b.NumRows()) {
			rows = append(rows, "a "+cells(b, i))
		}
		b.Release()
	}
	return rows, failed
}

func TestDefaultsFillNullsAndMissingColumns(t *testing.T) {
	files := memFiles{{"a.csv", "id,word,n,at\n1,,5,\n2,\"\",,2026-05-04 10:00:00\n"}, {"b.csv", "id\n3\n"}}
	berlin := mustZone(t, "Europe/Berlin")
	in, err := declaredInput(t, files, Config{
		Types: map[string]arrow.DataType{"new": arrow.FixedWidthTypes.Boolean},
		Columns: map[string]ColumnOptions{
			"word": {Default: value("none")}, "n": {Default: value("-1")}, "new": {Default: value("true")},
			"at": {Default: value("2026-07-01 00:00:00"), Zone: berlin},
		},
		Rename: map[string]string{"n": "number"},
	})
	if err != nil {
		t.Fatal(err)
	}
	columns, err := in.Columns(t.Context())
	if err != nil || len(columns) != 5 || columns[4].Name != "new" || columns[4].Type.ID() != arrow.BOOL || columns[2].Name != "number" {
		t.Fatalf("Columns() = %v, %v", columns, err)
	}
	schema := fieldsOf("id", long, "word!", str, "number!", long, "new!", arrow.FixedWidthTypes.Boolean, "at!", instant)
	got, err := declaredRows(t, in, schema)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, got,
		`1 | "none" | 5 | true | 2026-06-30 22:00:00Z`,
		`2 | "" | -1 | true | 2026-05-04 08:00:00Z`,
		`3 | "none" | -1 | true | 2026-06-30 22:00:00Z`)
}

func TestDefaultsMustFit(t *testing.T) {
	files := one("id,n\n1,2\n")
	for _, tt := range []struct {
		typ  arrow.DataType
		o    ColumnOptions
		want string
	}{
		{long, ColumnOptions{Default: value("x")}, `default of column "n": "x" is not a long`},
		{dec18x2, ColumnOptions{Default: value("1.555")}, `"1.555" is not a decimal(18, 2): it has more digits`},
		{instant, ColumnOptions{Default: value("2026-05-04 10:00:00")}, "it has no offset"},
		{arrow.BinaryTypes.Binary, ColumnOptions{Default: value("x")}, "no defaults of type binary"},
		{dec18x2, ColumnOptions{Default: value("1,5"), Format: "1234,56"}, `"1,5" is not a decimal(18, 2)`},
	} {
		in, err := declaredInput(t, files, Config{Types: map[string]arrow.DataType{"n": tt.typ}, Columns: map[string]ColumnOptions{"n": tt.o}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = in.Columns(t.Context()); !errors.Is(err, lake.ErrUsage) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("default %s of %s: %v, want %s", *tt.o.Default, tt.typ, err, tt.want)
		}
	}

	// Where the type is inferred, by what was inferred; where it is the table's, by that.
	in, err := declaredInput(t, files, Config{Columns: map[string]ColumnOptions{"n": {Default: value("x")}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Infer(t.Context(), []string{"n"}); err == nil || !strings.Contains(err.Error(), `"x" is not a long`) {
		t.Errorf("Infer: %v", err)
	}
	if _, err := declaredRows(t, in, fieldsOf("n", dec18x2)); err == nil || !strings.Contains(err.Error(), `"x" is not a decimal(18, 2)`) {
		t.Errorf("Read: %v", err)
	}
	rows, err := declaredRows(t, in, fieldsOf("n", str))
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, rows, `"2"`)
}

func TestADeclaredColumnMustBeThere(t *testing.T) {
	files := memFiles{{"a.csv", "id,amount\n"}, {"b.csv", "id,note\n"}}
	for _, cfg := range []Config{
		{Types: map[string]arrow.DataType{"amuont": long}},
		{Columns: map[string]ColumnOptions{"amuont": {}}},
		{Rename: map[string]string{"amuont": "x"}},
	} {
		in, err := declaredInput(t, files, cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, err = in.Columns(t.Context())
		var missing *NoColumnError
		if !errors.As(err, &missing) || !errors.Is(err, lake.ErrSchema) || missing.Name != "amuont" || strings.Join(missing.Have, " ") != "id amount note" {
			t.Errorf("Columns() with %v: %v", cfg, err)
		}
	}

	// With a default it need not, but then its type must be known.
	in, err := declaredInput(t, files, Config{Columns: map[string]ColumnOptions{"new": {Default: value("1")}}})
	if err != nil {
		t.Fatal(err)
	}
	columns, err := in.Columns(t.Context())
	if err != nil || columns[3].Name != "new" || columns[3].Type != nil {
		t.Errorf("Columns() = %v, %v", columns, err)
	}
	if _, err := in.Infer(t.Context(), []string{"new"}); !errors.Is(err, lake.ErrUsage) || !strings.Contains(err.Error(), "declare it") {
		t.Errorf("Infer: %v", err)
	}
}

func TestOnlyListedColumns(t *testing.T) {
	in, err := declaredInput(t, one("id,secret,n,word\n1,2,3,4\n"), Config{
		OnlyListed: true, Types: map[string]arrow.DataType{"n": long}, Columns: map[string]ColumnOptions{"id": {}}, Rename: map[string]string{"word": "w"},
	})
	if err != nil {
		t.Fatal(err)
	}
	columns, err := in.Columns(t.Context())
	if err != nil || len(columns) != 3 || columns[0].Name != "id" || columns[1].Name != "n" || columns[2].Name != "w" {
		t.Errorf("Columns() = %v, %v", columns, err)
	}
}

// A column that is left out because its name is spelled otherwise than the list
// has it would be NULL, or its default, without a word.
func TestOnlyListedColumnsOfAnotherCase(t *testing.T) {
	for name, options := range map[string]ColumnOptions{"listed": {}, "with a default": {Default: value("9")}} {
		files := memFiles{{"a.csv", "id,n\n1,2\n"}, {"b.csv", "id,N\n1,5\n"}}
		in, err := declaredInput(t, files, Config{
			OnlyListed: true, Types: map[string]arrow.DataType{"n": long}, Columns: map[string]ColumnOptions{"id": {}, "n": options},
		})
		if err != nil {
			t.Fatal(err)
		}
		if columns, err := in.Columns(t.Context()); !errors.Is(err, lake.ErrSchema) || !strings.Contains(err.Error(), `"N"`) {
			t.Errorf("%s: Columns() = %v, %v", name, columns, err)
		}
	}
}

func TestTheWindowsTimeHasNoDefault(t *testing.T) {
	in, err := declaredInput(t, one("at\n\n"), Config{Columns: map[string]ColumnOptions{"at": {Default: value("2026-05-04")}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range in.Read(t.Context(), lake.Request{Schema: fieldsOf("at", wallTime), Time: "at", Procs: 1}) {
		if !errors.Is(err, lake.ErrUsage) {
			t.Errorf("Read: %v", err)
		}
	}
}

func TestDefaultsOfParquet(t *testing.T) {
	schema := fieldsSchema(nullable("word", str), nullable("n", long), nullable("at", timestamp(arrow.Nanosecond, "")))
	files := bytesFiles{
		"a.parquet": parquetBytes(t, schema, 2, `[{"word":"x","n":1,"at":"2026-05-04T10:00:00"},{"word":"x"},{"word":null,"n":3},{"word":""}]`),
		"b.parquet": parquetBytes(t, fieldsSchema(nullable("n", long)), 2, `[{"n":5}]`),
	}
	in := pinParquet(t, files, Config{Zone: mustZone(t, "Asia/Tokyo"), Rename: map[string]string{"n": "number"}, Columns: map[string]ColumnOptions{
		"word": {Default: value("none")}, "n": {Default: value("-1")}, "at": {Default: value("2026-05-04 00:00:00")},
	}})
	want := fieldsSchema(arrow.Field{Name: "number", Type: long}, arrow.Field{Name: "word", Type: str}, arrow.Field{Name: "at", Type: timestamptzType})
	got, err := readText(t, in, readRequest(want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"at":"2026-05-04T01:00:00Z","number":1,"word":"x"}
{"at":"2026-05-03T15:00:00Z","number":-1,"word":"x"}
{"at":"2026-05-03T15:00:00Z","number":3,"word":"none"}
{"at":"2026-05-03T15:00:00Z","number":-1,"word":""}
{"at":"2026-05-03T15:00:00Z","number":5,"word":"none"}
`, got); diff != "" {
		t.Errorf("Read (-want +got):\n%s", diff)
	}
	for _, cfg := range []Config{
		{Numbers: "1234,56"}, {NoHeader: true}, {MaxLine: 1 << 20}, {Columns: map[string]ColumnOptions{"at": {Format: "%F"}}},
	} {
		cfg.Path = "x.parquet"
		if err := cfg.Validate(); !errors.Is(err, lake.ErrUsage) {
			t.Errorf("Validate(%+v): %v", cfg, err)
		}
	}
}

func TestOptionsThatDoNotFitTheTable(t *testing.T) {
	in, err := declaredInput(t, one("at\n04.05.2026\n"), Config{Columns: map[string]ColumnOptions{"at": {Format: "%d.%m.%Y", Zone: mustZone(t, "Asia/Tokyo")}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = declaredRows(t, in, fieldsOf("at", wallTime))
	if !errors.Is(err, lake.ErrSchema) || !strings.Contains(err.Error(), `column "at": a time zone makes instants, and the type is timestamp`) {
		t.Errorf("Read into a timestamp: %v", err)
	}
	in, err = declaredInput(t, one("n\n1,5\nx\n"), Config{Delimiter: ";", Columns: map[string]ColumnOptions{"n": {Format: "1234,56"}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = in.Infer(t.Context(), []string{"n"})
	if err == nil || !strings.Contains(err.Error(), `column "n": the format 1234,56 is for numbers, and the type is string ("x" at a.csv line 3): declare its type`) {
		t.Errorf("Infer: %v", err)
	}
}

func TestFillNulls(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	for _, tt := range []struct {
		typ               arrow.DataType
		json, value, want string
	}{
		{str, `["a",null,""]`, `["z"]`, `["a" "z" ""]`},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: str}, `["a",null,"a"]`, `["z"]`, `["a" "z" "a"]`},
		{long, `[1,null,3]`, `[7]`, `[1 7 3]`},
		{arrow.PrimitiveTypes.Int32, `[null,2,null]`, `[7]`, `[7 2 7]`},
		{arrow.FixedWidthTypes.Boolean, `[null,false,true]`, `[true]`, `[true false true]`},
		{dec18x2, `["1.50",null,"0.25"]`, `["7.75"]`, `[1.5 7.75 0.25]`},
		{
			extensions.NewUUIDType(), `[null,"00000000-0000-0000-0000-000000000001",null]`, `["00000000-0000-0000-0000-000000000002"]`,
			`["00000000-0000-0000-0000-000000000002" "00000000-0000-0000-0000-000000000001" "00000000-0000-0000-0000-000000000002"]`,
		},
	} {
		valueType := tt.typ
		if d, ok := tt.typ.(*arrow.DictionaryType); ok {
			valueType = d.ValueType
		}
		arr, _, err := array.FromJSON(mem, tt.typ, strings.NewReader(tt.json))
		if err != nil {
			t.Fatal(err)
		}
		value, _, err := array.FromJSON(mem, valueType, strings.NewReader(tt.value))
		if err != nil {
			t.Fatal(err)
		}
		got := fillNulls(arr, value, mem)
		if got.String() != tt.want || got.NullN() != 0 {
			t.Errorf("%s of %s is %s, want %s", tt.json, tt.typ, got, tt.want)
		}
		// A part of an array has its values further on in the memory.
		slice := array.NewSlice(arr, 1, 3)
		part := fillNulls(slice, value, mem)
		if part.Len() != 2 || part.ValueStr(1) != got.ValueStr(2) || part.ValueStr(0) != got.ValueStr(1) {
			t.Errorf("from the second on %s of %s is %s", tt.json, tt.typ, part)
		}
		for _, a := range []arrow.Array{arr, value, got, slice, part} {
			a.Release()
		}
	}
}
