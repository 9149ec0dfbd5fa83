package arrowio

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
)

// ndjson returns the files as an input with blocks of the given size, or the
// usual one if it is 0.
func (m memFiles) ndjson(tb testing.TB, block int, opt NDJSONOptions) *ndjsonInput {
	tb.Helper()
	in, err := newNDJSON(m.files(), m.open, lake.Origin{Kind: "ndjson"}, opt)
	if err != nil {
		tb.Fatal(err)
	}
	if block > 0 {
		in.blockBytes = block
	}
	return in
}

// lines is a single file a.ndjson.
func lines(text ...string) memFiles {
	return memFiles{{"a.ndjson", strings.Join(text, "\n")}}
}

// wantJSON reads files with small and large blocks, on one core and on several,
// and compares the rows, which come with file and number.
func wantJSON(t *testing.T, files memFiles, schema *arrow.Schema, want ...string) {
	t.Helper()
	for _, c := range []struct{ block, procs int }{{16, 1}, {64, 3}, {0, 2}} {
		got, err := rowsOf(t, files.ndjson(t, c.block, NDJSONOptions{}), schema, c.procs)
		if err != nil {
			t.Errorf("block %d: %v", c.block, err)
			continue
		}
		if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
			t.Errorf("block %d: rows are\n%s\nwant\n%s", c.block, a, b)
		}
	}
}

// wantJSONError reads files in the same ways and wants an error.
func wantJSONError(t *testing.T, files memFiles, schema *arrow.Schema, want string) {
	t.Helper()
	for _, c := range []struct{ block, procs int }{{16, 1}, {64, 3}, {0, 2}} {
		_, err := rowsOf(t, files.ndjson(t, c.block, NDJSONOptions{}), schema, c.procs)
		wantError(t, err, want)
		if err != nil {
			errorIsIn(t, err)
		}
	}
}

// wantValues reads each value as one of type typ: alone, as one of several keys,
// and after a record of another order, so that the quick conversions and those
// by the book must agree. A want that begins with an exclamation mark is an
// error's end.
func wantValues(t *testing.T, typ arrow.DataType, opt NDJSONOptions, tests [][2]string) {
	t.Helper()
	for _, tt := range tests {
		for _, text := range []string{
			`{"v":` + tt[0] + "}", `{"v": ` + tt[0] + ` , "w": 1}` + "\r\n", `{"v":null,"w":1}` + "\n" + `{"v":` + tt[0] + `,"w":1}`,
			`{"w":1,"v":null}` + "\n" + `{"v":` + tt[0] + "\t}\n", `{"x":{"v":2},"v":` + tt[0] + `}`,
		} {
			got, err := rowsOf(t, lines(text).ndjson(t, 0, opt), fieldsOf("v", typ), 1)
			if reason, isErr := strings.CutPrefix(tt[1], "!"); isErr {
				line := "1"
				if strings.Contains(strings.TrimSpace(text), "\n") {
					line = "2"
				}
				wantError(t, err, `a.ndjson line `+line+`, column "v": `+reason)
				continue
			}
			if err != nil {
				t.Errorf("%s of %q: %v", typ, text, err)
				continue
			}
			wantRows(t, got[len(got)-1:], tt[1])
		}
	}
}
