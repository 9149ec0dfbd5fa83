package arrowio

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
)

func TestNDJSONInfers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ values, typ, why string }{
		{`1|-2|null`, "int64", "1 at a.ndjson line 1"},
		{`9223372036854775807|9223372036854775808`, "decimal(38, 0)", "9223372036854775808 at a.ndjson line 2"},
		{`1|2.5|10.25`, "decimal(18, 2)", "10.25 at a.ndjson line 3"},
		{`1|12345678901234567.25`, "decimal(38, 2)", "12345678901234567.25 at a.ndjson line 2"},
		{`1|2.5e3|0.1`, "float64", "2.5e3 at a.ndjson line 2"},
		{`true|null|false`, "bool", "true at a.ndjson line 1"},
		{`null|"x"`, "utf8", `"x" at a.ndjson line 2`},
		{`"12"|"3"`, "utf8", `"12" at a.ndjson line 1`},
		{`"true"`, "utf8", `"true" at a.ndjson line 1`},
		{`"NaN"`, "utf8", `"NaN" at a.ndjson line 1`},
		{`""|"2026-05-04"`, "utf8", `"" at a.ndjson line 1`},
		{`"2026-05-04"|"2026-05-05"`, "date32", `"2026-05-04" at a.ndjson line 1`},
		{`"2026-05-04"|"2026-05-05 10:00"`, "timestamp[us]", `"2026-05-05 10:00" at a.ndjson line 2`},
		{`"2026-05-04T10:00:00Z"|"\u0032026-05-04T10:00:00+01:00"`, "timestamp[us, tz=UTC]", `"2026-05-04T10:00:00Z" at a.ndjson line 1`},
		{`"2026-05-04T10:00:00Z"|"2026-05-04T10:00:00"`, "utf8", `"2026-05-04T10:00:00" at a.ndjson line 2`},
		{`"2026-05-04"|"soon"`, "utf8", `"soon" at a.ndjson line 2`},
		{`null|null`, "utf8", "no value in any file"},
		{`[]|null`, "list<item: utf8, nullable>", "[] at a.ndjson line 1"},
		{`[]|[1,null]|[2.5]`, "list<item: decimal(18, 1), nullable>", "[] at a.ndjson line 1"},
		{`{"x":1}|{"y":["2026-05-04"],"x":2.5}`, "struct<x: decimal(18, 1) nullable, y: list<item: date32, nullable> nullable>", `{"x":1} at a.ndjson line 1`},
		{`null|{"x":{"y":[{"z":true}]}}`, "struct<x: struct<y: list<item: struct<z: bool nullable>, nullable> nullable> nullable>", `{"x":{"y":[{"z":true}]}} at a.ndjson line 2`},
	} {
		var text []string
		for v := range strings.SplitSeq(tt.values, "|") {
			text = append(text, `{"v":`+v+"}")
		}
		for _, block := range []int{16, 0} {
			in := lines(text...).ndjson(t, block, NDJSONOptions{})
			got, err := in.Infer(t.Context(), []string{"v"})
			if err != nil {
				t.Errorf("%s: %v", tt.values, err)
				continue
			}
			if c := got[0]; c.Name != "v" || c.Type.String() != tt.typ || c.Why != tt.why {
				t.Errorf("%s: %v, want %s by %s", tt.values, c, tt.typ, tt.why)
			}
			// What was inferred must take every value.
			if _, err := rowsOf(t, in, fieldsOf("v", got[0].Type), 2); err != nil {
				t.Errorf("%s as %s: %v", tt.values, got[0].Type, err)
			}
		}
	}
}

func TestNDJSONInfersFromAllFiles(t *testing.T) {
	t.Parallel()
	files := memFiles{{"a.ndjson", `{"v":1,"w":1}` + "\n"}, {"b.ndjson", "\n\n" + `{"v":2.5,"o":{"k":1}}` + "\n"}, {"c.ndjson", `{"o":{"l":"x"}}`}}
	in := files.ndjson(t, 0, NDJSONOptions{Types: map[string]arrow.DataType{"w": str}})
	columns, err := in.Columns(t.Context())
	if want := "[{v <nil>  false []} {w utf8 declared false []} {o <nil>  false []}]"; err != nil || fmt.Sprint(columns) != want {
		t.Errorf("Columns() = %v, %v, want %s", columns, err, want)
	}
	columns, err = in.Infer(t.Context(), []string{"o", "w", "v"})
	want := `[{o struct<k: int64 nullable, l: utf8 nullable> {"k":1} at b.ndjson line 3 false []} {w utf8 declared false []} {v decimal(18, 1) 2.5 at b.ndjson line 3 false [{1 false false 1 at a.ndjson line 1} {1 false false 2.5 at b.ndjson line 3}]}]`
	if err != nil || fmt.Sprint(columns) != want {
		t.Errorf("Infer() = %v, %v, want %s", columns, err, want)
	}
	_, err = in.Infer(t.Context(), []string{"v", "x"})
	wantError(t, err, `no record has a key "x"`)
}

func TestNDJSONInferRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`[`, deepest+2) + strings.Repeat(`]`, deepest+2)
	for _, tt := range []struct{ values, want string }{
		{`1|true`, `column "v": 1 at a.ndjson line 1 is a number, and true at a.ndjson line 2 is a boolean: a column has one type, so write its values alike`},
		{`true|1`, `column "v": true at a.ndjson line 1 is a boolean, and 1 at a.ndjson line 2 is a number: a column has one type, so write its values alike`},
		{`[1]|{"x":1}`, `column "v": [1] at a.ndjson line 1 is a list, and {"x":1} at a.ndjson line 2 is an object: a column has one type, so write its values alike`},
		{`[1,"x"]`, `column "v.element": 1 at a.ndjson line 1 is a number, and "x" at a.ndjson line 1 is a string: a column has one type, so write its values alike`},
		{`{"x":1}|{"x":[]}`, `column "v.x": 1 at a.ndjson line 1 is a number, and [] at a.ndjson line 2 is a list: a column has one type, so write its values alike`},
		{`{}|{}`, `column "v": {} at a.ndjson line 1 and all others are empty, and a struct needs fields: leave the key out of the source`},
		{`1e999`, `column "v": with 1e999 at a.ndjson line 1 there is no type that holds all its numbers exactly: declare one, such as double`},
		{`1e3|9007199254740993`, `column "v": with 9007199254740993 at a.ndjson line 2 there is no type that holds all its numbers exactly: declare one, such as double`},
		{`{"":1}`, `a.ndjson line 1, column "v": an object has an empty key, and a column needs a name`},
		{deep, `a.ndjson line 1, column "v` + strings.Repeat(".element", deepest+1) + `": objects and lists stand in each other more than 64 deep`},
	} {
		var text []string
		for v := range strings.SplitSeq(tt.values, "|") {
			text = append(text, `{"v":`+v+"}")
		}
		for _, block := range []int{16, 0} {
			_, err := lines(text...).ndjson(t, block, NDJSONOptions{}).Infer(t.Context(), []string{"v"})
			wantError(t, err, tt.want)
			if err != nil {
				errorIsIn(t, err)
			}
		}
	}
}

func TestNDJSONTooManyKeys(t *testing.T) {
	t.Parallel()
	var text []string
	for i := range mostKeys + 2 {
		text = append(text, fmt.Sprintf(`{"k%d":1}`, i))
	}
	for _, block := range []int{1024, 0} {
		if _, err := lines(text...).ndjson(t, block, NDJSONOptions{}).Columns(t.Context()); err == nil || !strings.HasSuffix(err.Error(), tooManyKeys) {
			t.Errorf("Columns() = %v", err)
		}
	}
	if columns, err := lines(text[:mostKeys]...).ndjson(t, 1024, NDJSONOptions{}).Columns(t.Context()); err != nil || len(columns) != mostKeys {
		t.Errorf("%d columns, %v", len(columns), err)
	}
}

// Rows, their batches and their order depend on the files alone.
func TestNDJSONIsTheSameAtAnyNumberOfCores(t *testing.T) {
	t.Parallel()
	var text []string
	for i := range 3000 {
		text = append(text, fmt.Sprintf(`{"i":%d,"s":"%s","o":{"x":[%d]}}`, i, strings.Repeat("é", i%40), i))
	}
	files := append(lines(text...), struct{ name, text string }{"b.ndjson", strings.Join(text[:100], "\n")})
	schema := fieldsOf("i", long, "s", str, "o", arrow.StructOf(arrow.Field{Name: "x", Type: arrow.ListOf(long), Nullable: true}))
	batches := func(procs int) (sizes []string) {
		for b, err := range files.ndjson(t, 4096, NDJSONOptions{}).Read(t.Context(), lake.Request{Schema: schema, Procs: procs, Memory: 1 << 20}) {
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, fmt.Sprint(b.File, b.FirstRow, b.RecordBatch))
			b.Release()
		}
		return sizes
	}
	want := batches(1)
	if len(want) < 10 {
		t.Fatalf("%d batches", len(want))
	}
	for _, procs := range []int{2, 7} {
		if got := batches(procs); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d cores give other batches", procs)
		}
	}
}
