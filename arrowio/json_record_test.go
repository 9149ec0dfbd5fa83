package arrowio

import (
	"fmt"
	"strings"
	"testing"
)

// What a record may look like beside the ones before it.
func TestNDJSONOrdersOfKeys(t *testing.T) {
	t.Parallel()
	schema := fieldsOf("a", long, "b", str, "c", long)
	wantJSON(t, lines(
		`{"a":1,"b":"x","c":3}`,
		`{"a":2,"b":"y","c":4}`,
		`{"a":3,"c":5}`,
		`{"b":"z"}`,
		`{}`,
		`{"c":7,"b":"w","a":8}`,
		`{"c":9,"b":"v","a":10}`,
		`{"a":11,"new":[{}],"b":"u","c":12}`,
		`{"a":12,"new":null,"b":"t","c":13}`,
		`{"new":"a","a":13,"\u0062":"s"}`,
		`{ "a" : 14 , "b" : "r" , "c" : 15 }`,
		`{"a":16,"b":"q","c":17}`,
	), schema,
		`a.ndjson:1 1 | "x" | 3`, `a.ndjson:2 2 | "y" | 4`, `a.ndjson:3 3 | NULL | 5`, `a.ndjson:4 (null) | "z" | (null)`,
		`a.ndjson:5 (null) | NULL | (null)`, `a.ndjson:6 8 | "w" | 7`, `a.ndjson:7 10 | "v" | 9`, `a.ndjson:8 11 | "u" | 12`,
		`a.ndjson:9 12 | "t" | 13`, `a.ndjson:10 13 | "s" | (null)`, `a.ndjson:11 14 | "r" | 15`, `a.ndjson:12 16 | "q" | 17`)
	long := strings.Repeat("k", 100)
	wantJSON(t, lines(`{"a":1,"`+long+`":2,"b":"x"}`, `{"a":2,"`+long+`":2,"b":"y"}`, `{"a":3,"`+long[:99]+`":"a","b":"z"}`), schema,
		`a.ndjson:1 1 | "x" | (null)`, `a.ndjson:2 2 | "y" | (null)`, `a.ndjson:3 3 | "z" | (null)`)
	wantJSON(t, lines(`{"a":1}`), fieldsOf(), "a.ndjson:1 ")
}

func TestNDJSONRefusesRecords(t *testing.T) {
	t.Parallel()
	schema := fieldsOf("a", long, "b!", long)
	const incomplete = "a.ndjson: incomplete record at line 2: each record must be whole, on one line; is the file cut off?"
	for _, tt := range []struct{ line, want string }{
		{`{"a":1,"b":2,"a":3}`, `a.ndjson line 2: the key "a" occurs twice in the record`},
		{`{"b":1,"x":1,"\u0078":2}`, `a.ndjson line 2: the key "x" occurs twice in the record`},
		{`{"b":1,"x":[{"y":1,"y":2}]}`, `a.ndjson line 2, column "x": the key "y" occurs twice in an object`},
		{`{"a":1}`, `a.ndjson line 2: the record has no key "b", and the column is required`},
		{`{"a":1,"b":null}`, `a.ndjson line 2, column "b": is null, but the column is required`},
		{`{"a":1,"b":2} x`, `a.ndjson line 2: one object a line is expected, and after it there is x`},
		{`{"a":1,"b":2}{"a":1,"b":2}`, `a.ndjson line 2: one object a line is expected, and after it there is {"a":1,"b":2}`},
		{`{"a":1,"b":2},`, `a.ndjson line 2: one object a line is expected, and after it there is ,`},
		{`{"a":1,"b":2,}`, `a.ndjson line 2: a key in double quotes is expected, and there is }`},
		{`{"a":1 "b":2}`, `a.ndjson line 2: a comma or the closing brace is expected, and there is "b"`},
		{`{"a":1,b:2}`, `a.ndjson line 2: a key in double quotes is expected, and there is b:2`},
		{`{"a":1,"b" 2}`, `a.ndjson line 2: a colon is expected after the key "b", and there is 2`},
		{`{"a":1,"":2}`, `a.ndjson line 2: a key is empty, and a column needs a name`},
		{`{"a":1,"\ud800":2}`, `a.ndjson line 2: the key "\ud800": it has an escape that JSON does not know, or half of a surrogate pair`},
		{"{\"a\":1,\"\xff\":2,\"b\":1}", "a.ndjson line 2: the key \"\\xff\": it is not UTF-8"},
		{"{\"a\":1,\"b\":1}\xff", "a.ndjson line 2: one object a line is expected, and after it there is \\xff"},
		{"{\"b\":1,\"x\":\"\xff\"}", "a.ndjson line 2, column \"x\": \"\\xff\": it is not UTF-8"},
		{"{\"b\":1,\"x\":[\"\xff\"]}", "a.ndjson line 2, column \"x\": [\"\\xff\"]: this is no JSON: invalid UTF-8"},
		{`5`, `a.ndjson line 2: one object a line is expected, and there is 5`},
		{`"a"`, `a.ndjson line 2: one object a line is expected, and there is "a"`},
		{`null`, `a.ndjson line 2: one object a line is expected, and there is null`},
		{`[{"a":1,"b":2}]`, `a.ndjson line 2: a list begins here, and one object a line is expected; where the file is one list, turn it into lines, as by: jq -c '.[]'`},
		{`{`, incomplete},
		{`{"`, incomplete},
		{`{"b\`, incomplete},
		{`{"b"`, incomplete},
		{`{"b":`, incomplete},
		{`{"b":2`, incomplete},
		{`{"b":2,`, incomplete},
		{`{"b":2,"a"`, incomplete},
		{`{"b":2,"x":"y`, incomplete},
		{`{"b":2,"x":"y\`, incomplete},
		{`{"b":2,"x":[`, incomplete},
		{`{"b":2,"x":[1`, incomplete},
		{`{"b":2,"x":{"y":"z`, incomplete},
		{`{"b":2,"x":[1]`, incomplete},
		{`{"b":2,"x":[1,]}`, `a.ndjson line 2, column "x": [1,]: this is no JSON: invalid character ',' at start of value`},
	} {
		first := `{"a":1,"b":2}`
		wantJSONError(t, lines(first, tt.line), schema, tt.want)
		wantJSONError(t, lines(first, tt.line, first, `{"b":"x"}`, ""), schema, tt.want)
		if _, err := lines(first, tt.line).ndjson(t, 16, NDJSONOptions{}).Columns(t.Context()); !strings.Contains(tt.want, "column \"b\"") && !strings.Contains(tt.want, "required") {
			wantError(t, err, tt.want)
		}
	}
}

func TestNDJSONFilesThatAreNone(t *testing.T) {
	t.Parallel()
	schema := fieldsOf("a", long)
	for _, wide := range []string{"\xff\xfe{\x00", "\xfe\xff\x00{", "{\x00\"\x00", "\x00{\x00\"", "\xff\xfe\x00\x00"} {
		wantJSONError(t, lines(wide), schema, "a.ndjson is not UTF-8: it looks like UTF-16 or UTF-32; convert it, as by: iconv -f UTF-16 -t UTF-8")
	}
	wantJSONError(t, lines("[", `{"a":1},`, "]"), schema,
		"a.ndjson line 1: a list begins here, and one object a line is expected; where the file is one list, turn it into lines, as by: jq -c '.[]'")
	wantJSONError(t, lines("{", `  "a": 1`, "}"), schema,
		"a.ndjson: incomplete record at line 1: each record must be whole, on one line; is the file cut off?")
	wantJSONError(t, lines("a,b", "1,2"), schema, "a.ndjson line 1: one object a line is expected, and there is a")
}

func TestNDJSONLongLines(t *testing.T) {
	t.Parallel()
	text := fmt.Sprintf(`{"a":1,"b":%q}`, strings.Repeat("x", 5000))
	files := lines(`{"a":0}`, text, `{"a":2}`)
	got, err := rowsOf(t, files.ndjson(t, 64, NDJSONOptions{}), fieldsOf("a", long), 2)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, got, "0", "1", "2")
	_, err = rowsOf(t, files.ndjson(t, 64, NDJSONOptions{MaxRecord: 2048}), fieldsOf("a", long), 2)
	wantError(t, err, "a.ndjson line 2: the line is longer than 2048 bytes; a record is one line")
	if _, err := newNDJSON(nil, nil, files.ndjson(t, 0, NDJSONOptions{}).origin, NDJSONOptions{MaxRecord: 5}); err == nil {
		t.Error("a limit of 5 bytes is taken")
	}
}
