package arrowio

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
)

func wantInferred(tb testing.TB, files memFiles, opt CSVOptions, name, wantType, wantWhy string) {
	tb.Helper()
	for _, block := range []int{0, 16} {
		columns, err := files.input(tb, block, opt).Infer(tb.Context(), []string{name})
		if err != nil {
			tb.Errorf("Infer(%q): %v", name, err)
			return
		}
		if got := typeText(columns[0].Type); got != wantType {
			tb.Errorf("Infer(%q) of %.80q = %s, want %s", name, files[0].text, got, wantType)
		}
		if wantWhy != "" && columns[0].Why != wantWhy {
			tb.Errorf("Infer(%q) of %.80q because of %s, want %s", name, files[0].text, columns[0].Why, wantWhy)
		}
	}
}

func typeText(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.Decimal128Type:
		return fmt.Sprintf("decimal(%d, %d)", t.Precision, t.Scale)
	case *arrow.TimestampType:
		return strings.TrimPrefix(typeName(t), "a ")
	}
	return t.Name()
}

func TestInferTypes(t *testing.T) {
	nines := strings.Repeat("9", 38)
	tests := []struct {
		values    string // separated by spaces, _ is a space and ~ nothing
		want, why string
	}{
		{"~", "utf8", "no value in any file"},
		{"1 -2 9223372036854775807", "int64", `"1" at a.csv line 2`},
		{"1 9223372036854775808", "decimal(38, 0)", `"9223372036854775808" at a.csv line 3`},
		{"-9223372036854775808", "int64", ""},
		{nines, "decimal(38, 0)", ""},
		{"1 " + nines + "9", "utf8", ""},
		{"1.50 2", "decimal(18, 2)", `"1.50" at a.csv line 2`},
		{"2 1.5 1.255 1.1", "decimal(18, 3)", `"1.255" at a.csv line 4`},
		{"123456789012345678.5", "decimal(38, 1)", ""},
		{"12345678901234567 0.25", "decimal(38, 2)", `"0.25" at a.csv line 3`},
		{nines + " 0.5", "utf8", `"0.5" at a.csv line 3`},
		{".5 5.", "decimal(18, 1)", ""},
		{"1.5 1e3", "double", `"1e3" at a.csv line 3`},
		{"1 NaN -inf", "float64", `"NaN" at a.csv line 3`},
		{"12345678901234567 NaN", "utf8", `"NaN" at a.csv line 3`},
		{"1e999", "utf8", ""},
		{"2026-01-01", "date32", ""},
		{"2026-01-01 2026-01-01_10:00", "timestamp", `"2026-01-01 10:00" at a.csv line 3`},
		{"2026-01-01T10:00:00Z 2026-01-01_10:00:00.5+02:00", "timestamptz", `"2026-01-01T10:00:00Z" at a.csv line 2`},
		{"2026-01-01T10:00:00Z 2026-01-01T10:00:00", "utf8", `"2026-01-01T10:00:00" at a.csv line 3`},
		{"2026-01-01 2026-01-01T10:00:00Z", "utf8", ""},
		{"2026-02-30", "utf8", ""},
		{"true FALSE", "bool", ""},
		{"t f", "utf8", ""},
		{"true 1", "utf8", `"1" at a.csv line 3`},
		{"10:00:00", "utf8", ""},
		{"007", "utf8", ""},
		{"-007", "utf8", ""},
		{"+49301234", "utf8", ""},
		{"0 -0 0.0", "decimal(18, 1)", ""},
		{`"1" 2`, "int64", ""},
		{`1 ""`, "utf8", `"" at a.csv line 3`},
		{"1 ~ 2", "int64", ""},
		{"1_ 2", "utf8", `"1 " at a.csv line 2`},
		{"1,5", "utf8", ""},
	}
	for _, tt := range tests {
		lines := strings.NewReplacer(" ", ";\n", "_", " ", "~", "").Replace(tt.values) + ";\n"
		want := tt.want
		if want == "double" {
			want = "float64"
		}
		wantInferred(t, one("v;w\n"+lines), CSVOptions{Delimiter: ';'}, "v", want, tt.why)
	}
}

func TestInferOverFiles(t *testing.T) {
	files := memFiles{
		{"a.csv", "id,v\n1,\n2,NA\n"},
		{"b.csv", "v,id\n1,3\n2,4\n"},
		{"c.csv", "id,extra\n"},
		{"d.csv", "v\n\"two\nlines\"\nx\n"},
	}
	opt := CSVOptions{Null: []string{"NA"}, Types: map[string]arrow.DataType{"id": arrow.PrimitiveTypes.Int32}}
	wantInferred(t, files, opt, "v", "utf8", `"two\nlines" at d.csv line 2`)
	wantInferred(t, files[:3], opt, "v", "int64", `"1" at b.csv line 2`)
	wantInferred(t, files, opt, "id", "int32", "declared")
	wantInferred(t, files, opt, "extra", "utf8", "no value in any file")

	_, err := files.input(t, 0, opt).Infer(t.Context(), []string{"v", "nope"})
	wantError(t, err, `no file has a column "nope"`)
	columns, err := files.input(t, 0, opt).Columns(t.Context())
	if got := columnTexts(columns); err != nil || got != "id int32 declared; v <nil> ; extra <nil> ; " {
		t.Errorf("Columns() = %v, %v", got, err)
	}
}

// columnTexts is the name of each column, its type, and what decided it.
func columnTexts(columns []lake.Column) (text string) {
	for _, c := range columns {
		text += fmt.Sprintf("%s %v %s; ", c.Name, c.Type, c.Why)
	}
	return text
}

func TestInferRefusesWhatReadRefuses(t *testing.T) {
	_, err := one("a,b\n1,2\n1\n").input(t, 0, CSVOptions{}).Infer(t.Context(), []string{"a"})
	wantError(t, err, "a.csv line 3: the record ends after 1 of 2 fields")
}

// What an inferred column says of its numbers: the first value of each size.
func TestInferSightings(t *testing.T) {
	for values, want := range map[string]string{
		"~":                                  "",
		"x y":                                "",
		"7 12 -13 999999999":                 `"7" 1; "12" 2; "999999999" 9`,
		"2147483647 -2147483648":             `"2147483647" 10`,
		"5 2147483648 3000000000":            `"5" 1; "2147483648" 10 long`,
		"-2147483649":                        `"-2147483649" 10 long`,
		"007 3000000000":                     "", // text for good, from the first value on
		"0.125 12.5 1.0":                     `"0.125" 1; "12.5" 2`,
		"1e3 3.5e38 -1e39 NaN":               `"1e3" 0; "3.5e38" 0 double`,
		"1" + strings.Repeat("0", 39) + ".5": `"1` + strings.Repeat("0", 39) + `.5" 40 double`,
	} {
		files := one("v\n" + strings.ReplaceAll(values, " ", "\n") + "\n")
		if values == "~" {
			files = one("v\n\n")
		}
		columns, err := files.input(t, 16, CSVOptions{}).Infer(t.Context(), []string{"v"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range columns[0].Seen {
			text := fmt.Sprintf("%s %d", strings.Fields(s.At)[0], s.Digits)
			if s.Long {
				text += " long"
			}
			if s.Double {
				text += " double"
			}
			got = append(got, text)
		}
		if joined := strings.Join(got, "; "); joined != want || columns[0].Seen == nil {
			t.Errorf("Infer of %s saw %s, want %s", values, joined, want)
		}
	}
}
