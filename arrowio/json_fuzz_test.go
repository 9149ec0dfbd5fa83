package arrowio

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/go-json-experiment/json/jsontext"
)

// fuzzSchema has a column of each way in which JSON becomes a value.
func fuzzSchema() *arrow.Schema {
	return fieldsOf("i", long, "s", str, "d", dec18x2, "b", arrow.FixedWidthTypes.Boolean, "l", arrow.ListOf(long))
}

// bookJSON reads text by jsontext and encoding/json, and returns a line per row
// in the form of rowsOf.
func bookJSON(text string) (rows []string, err error) {
	text = strings.TrimPrefix(text, "\xef\xbb\xbf")
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.Trim(line, " \t\r")
		if line == "" {
			continue
		}
		v := jsontext.Value(line)
		if !v.IsValid() || v.Kind() != '{' {
			return nil, fmt.Errorf("%q is no object", line)
		}
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		record := map[string]any{}
		if err := d.Decode(&record); err != nil {
			return nil, err
		}
		if _, ok := record[""]; ok {
			return nil, fmt.Errorf("%q has an empty key", line)
		}
		var cells []string
		for _, read := range []struct {
			key  string
			cell func(any) (string, bool)
		}{{"i", bookLong}, {"s", bookString}, {"d", bookDecimal}, {"b", bookBool}, {"l", bookList}} {
			null, cell, ok := "(null)", "", true
			if read.key == "s" || read.key == "d" {
				null = "NULL"
			}
			if value := record[read.key]; value == nil {
				cell = null
			} else if cell, ok = read.cell(value); !ok {
				return nil, fmt.Errorf("%q is no %s", value, read.key)
			}
			cells = append(cells, cell)
		}
		rows = append(rows, fmt.Sprintf("a.ndjson:%d %s", len(rows)+1, strings.Join(cells, " | ")))
	}
	return rows, nil
}

func bookLong(v any) (string, bool) {
	n, ok := v.(json.Number)
	i, err := strconv.ParseInt(n.String(), 10, 64)
	return strconv.FormatInt(i, 10), ok && err == nil
}

func bookString(v any) (string, bool) {
	s, ok := v.(string)
	return fmt.Sprintf("%q", s), ok
}

func bookBool(v any) (string, bool) {
	b, ok := v.(bool)
	return strconv.FormatBool(b), ok
}

func bookList(v any) (string, bool) {
	list, ok := v.([]any)
	var cells []string
	for _, v := range list {
		cell, isLong := "null", true
		if v != nil {
			cell, isLong = bookLong(v)
		}
		ok = ok && isLong
		cells = append(cells, cell)
	}
	return "[" + strings.Join(cells, ",") + "]", ok
}

func bookDecimal(v any) (string, bool) {
	text, ok := v.(string)
	if !ok {
		text = fmt.Sprint(v)
		if _, ok = v.(json.Number); !ok {
			return "", false
		}
	}
	if !regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`).MatchString(text) {
		return "", false
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return "", false
	}
	units := new(big.Rat).Mul(r, big.NewRat(100, 1))
	return r.FloatString(2), units.IsInt() && units.Num().CmpAbs(new(big.Int).Exp(big.NewInt(10), big.NewInt(18), nil)) < 0
}

func FuzzNDJSONAgainstTheBook(f *testing.F) {
	for _, s := range []string{
		`{"i":1,"s":"a","d":1.5,"b":true,"l":[1,null]}` + "\n" + `{"i":2,"s":"b","d":"2.5","b":false,"l":[]}` + "\n" + `{"i":3,"d":0,"s":"c"}`,
		`{"i":-0,"x":{"y":[1,{"z":"\ud83d\ude00"}]}}` + "\r\n\r\n" + `{"s":"\u0000\"\\"}`,
		`{"i":9223372036854775807}` + "\n" + `{"i":9223372036854775808}`, `{"i":1}{"i":2}`, `{"i":1} x`, `{"i":1,"i":2}`, `{"\u0069":1,"i":2}`,
		`{"s":"a` + "\xff" + `"}`, `{"s":"\ud800"}`, `{"s":"a` + "\t" + `"}`, "{\"s\":\"\xc3\xa9\"}", `{"i":01}`, `{"i":1.}`, `{"i":1.0}`, `{"d":1e2}`, `{"d":"-.5"}`, `{"d":1.005}`,
		`[{"i":1}]`, `{}`, "{}\n{ }\n", "\xef\xbb\xbf{}", `{"l":[1,2,]}`, `{"l":{"a":1}}`, `{"b":null,"s":null}`, `{"b":1}`, `{"i":"1"}`, `{"s":1}`, `{"i":NaN}`, `{"x":tru}`, `{"i" : 1 , "s" : "x" }` + "\n" + `{"i" : 2 , "s" : "y" }`,
		`{"abcdefghijklmnop":1,"i":2}` + "\n" + `{"abcdefghijklmnop":"","i":3}`, `{"x":-}`, `{"":1}`, "{\"i\":1}\x00", "\x00", `{"i":1,}`, "{\"i\":1\n}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// Of such exponents big.Rat computes for hours.
		if regexp.MustCompile(`[eE][+-]?\d{4}`).MatchString(text) || len(text) > 1000 {
			return
		}
		want, wantErr := bookJSON(text)
		for _, c := range []struct{ block, procs int }{{16, 1}, {19, 2}, {4096, 1}} {
			got, err := rowsOf(t, memFiles{{"a.ndjson", text}}.ndjson(t, c.block, NDJSONOptions{}), fuzzSchema(), c.procs)
			if (err != nil) != (wantErr != nil) {
				t.Fatalf("block %d: error %v, want %v", c.block, err, wantErr)
			}
			if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); err == nil && a != b {
				t.Fatalf("block %d: rows are\n%s\nwant\n%s", c.block, a, b)
			}
		}
		// The keys alone are read by another way, which takes any value.
		_, err := memFiles{{"a.ndjson", text}}.ndjson(t, 16, NDJSONOptions{}).Columns(t.Context())
		if wantErr == nil && err != nil {
			t.Fatalf("Columns: %v", err)
		}
	})
}
