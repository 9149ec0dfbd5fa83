package arrowio

import (
	"errors"
	"testing"

	"github.com/calve-data/calve/lake"
)

func TestCSVWithoutAHeader(t *testing.T) {
	for _, block := range []int{16, 0} {
		files := memFiles{{"a.csv", "\xef\xbb\xbf\n1,x\r\n2,\"y\n,\"\n"}, {"b.csv", ""}, {"c.csv", "3,\n4,z"}}
		got, err := rowsOf(t, files.input(t, block, CSVOptions{NoHeader: true}), fieldsOf("c2", str, "c1!", long), 2)
		if err != nil {
			t.Fatal(err)
		}
		wantRows(t, got, `"x" | 1`, `"y\n," | 2`, `NULL | 3`, `"z" | 4`)

		got, err = rowsOf(t, files.input(t, block, CSVOptions{NoHeader: true, Header: []string{"id", "word"}}), fieldsOf("id", long, "word", str), 2)
		if err != nil {
			t.Fatal(err)
		}
		wantRows(t, got, `1 | "x"`, `2 | "y\n,"`, `3 | NULL`, `4 | "z"`)
	}
}

func TestCSVWithoutAHeaderRefuses(t *testing.T) {
	_, err := memFiles{{"a.csv", "1,2\n"}, {"b.csv", "1,2,3\n"}}.input(t, 0, CSVOptions{NoHeader: true}).Columns(t.Context())
	wantError(t, err, "a.csv has 2 columns and b.csv has 3, and no header line says which")
	errorIsIn(t, err)

	_, err = rowsOf(t, one("1,2\n3\n").input(t, 0, CSVOptions{NoHeader: true}), texts("c1"), 1)
	wantError(t, err, "a.csv line 2: the record ends after 1 of 2 fields")
	_, err = rowsOf(t, one("1,2\n").input(t, 0, CSVOptions{NoHeader: true, Header: []string{"a", "b", "c"}}), texts("a"), 1)
	wantError(t, err, "a.csv line 1: the record ends after 2 of 3 fields")
	_, err = rowsOf(t, one("1,2\r3,4\r").input(t, 0, CSVOptions{NoHeader: true}), texts("c1"), 1)
	wantError(t, err, `a.csv line 1: the first line holds a carriage return without a newline: if lines end so, convert them, as by tr '\r' '\n'`)

	for _, names := range [][]string{{"a", ""}, {"a", "a"}} {
		if _, err := newCSV(nil, nil, lake.Origin{}, CSVOptions{NoHeader: true, Header: names}); !errors.Is(err, lake.ErrUsage) {
			t.Errorf("newCSV with columns %q: %v", names, err)
		}
	}
}
