package arrowio

import (
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
)

var (
	long      = arrow.PrimitiveTypes.Int64
	str       = arrow.BinaryTypes.String
	wallTime  = &arrow.TimestampType{Unit: arrow.Microsecond}
	instant   = arrow.FixedWidthTypes.Timestamp_us
	dec18x2   = &arrow.Decimal128Type{Precision: 18, Scale: 2}
	errorIsIn = func(t *testing.T, err error) {
		t.Helper()
		if !errors.Is(err, lake.ErrInput) {
			t.Errorf("error %v does not wrap ErrInput", err)
		}
	}
)

func TestCase36_TheLastFractionOfADayStaysInIt(t *testing.T) {
	text := "t\n2026-01-01 23:59:59.9999999\n2026-01-02 00:00:00.000000\n1969-12-31 23:59:59.9999999\n"
	got, err := rowsOf(t, one(text).input(t, 0, CSVOptions{}), fieldsOf("t", wallTime), 1)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, got, "2026-01-01 23:59:59.999999", "2026-01-02 00:00:00", "1969-12-31 23:59:59.999999")
}

func TestCase67_ATimeWithoutAZoneIsNotGuessed(t *testing.T) {
	in := one("t\n2026-01-01 10:00:00\n").input(t, 0, CSVOptions{})
	_, err := rowsOf(t, in, fieldsOf("t", instant), 1)
	wantError(t, err, `a.csv line 2, column "t": "2026-01-01 10:00:00" is not a timestamptz: it has no offset; declare the time zone it is in, or write one`)
	errorIsIn(t, err)

	in = one("t\n2026-01-01 10:00:00Z\n").input(t, 0, CSVOptions{})
	_, err = rowsOf(t, in, fieldsOf("t", wallTime), 1)
	wantError(t, err, `a.csv line 2, column "t": "2026-01-01 10:00:00Z" is not a timestamp: it has an offset, and the column has no time zone`)
}

func TestCase75_AByteOrderMarkIsNotPartOfTheName(t *testing.T) {
	in := one("\xef\xbb\xbfid,n\n1,a\n").input(t, 0, CSVOptions{})
	columns, err := in.Columns(t.Context())
	if err != nil || columns[0].Name != "id" {
		t.Errorf("Columns() = %v, %v", columns, err)
	}
	got, err := rowsOf(t, in, fieldsOf("id!", long, "n", str), 1)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, got, `1 | "a"`)
}

func TestCase77_LeadingZerosAreText(t *testing.T) {
	files := one("zip\n00501\n10001\n")
	wantInferred(t, files, CSVOptions{}, "zip", "utf8", `"00501" at a.csv line 2`)
	wantInferred(t, one("zip\n10001\n00501\n"), CSVOptions{}, "zip", "utf8", `"00501" at a.csv line 3`)
	wantInferred(t, one("n\n0\n0.25\n-0.5\n"), CSVOptions{}, "n", "decimal(18, 2)", `"0.25" at a.csv line 3`)

	got, err := rowsOf(t, files.input(t, 0, CSVOptions{}), fieldsOf("zip", long), 1)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, got, "501", "10001")
}

func TestCase78_ColumnsAreMatchedByNameInEachFile(t *testing.T) {
	files := memFiles{
		{"a.csv", "last,first\nLovelace,Ada\n"},
		{"b.csv", "first,born,last\nAlan,1912,Turing\n"},
		{"c.csv", "first\nGrace\n"},
		{"d.csv", "first,last\n"},
	}
	got, err := rowsOf(t, files.input(t, 0, CSVOptions{}), texts("first", "last"), 2)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, got, `"Ada" | "Lovelace"`, `"Alan" | "Turing"`, `"Grace" | NULL`)

	_, err = rowsOf(t, files.input(t, 0, CSVOptions{}), fieldsOf("first!", str, "last!", str), 1)
	wantError(t, err, `c.csv has no column "last", and the column is required`)
	errorIsIn(t, err)
}

func TestCase80_EmptyQuotedEmptyAndTheWordNULL(t *testing.T) {
	files := one("id,v\n1,\n2,\"\"\n3,NULL\n4,\"NULL\"\n5,NULLS\n")
	schema := fieldsOf("id", long, "v", str)
	got, err := rowsOf(t, files.input(t, 0, CSVOptions{Null: []string{"NULL"}}), schema, 1)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, got, `1 | NULL`, `2 | ""`, `3 | NULL`, `4 | "NULL"`, `5 | "NULLS"`)

	got, err = rowsOf(t, files.input(t, 0, CSVOptions{}), schema, 1)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, got, `1 | NULL`, `2 | ""`, `3 | "NULL"`, `4 | "NULL"`, `5 | "NULLS"`)

	// A word for NULL that is a value as well.
	got, err = rowsOf(t, one("a,b\n-999,x\n-9,\n7,-999\n").input(t, 0, CSVOptions{Null: []string{"-999"}}), fieldsOf("a", long, "b", str), 1)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, got, `(null) | "x"`, `-9 | NULL`, `7 | NULL`)
}

func TestCase81_ATypeIsNeverGuessedFromOneRow(t *testing.T) {
	wantInferred(t, one("v\n1\n2.5\n"), CSVOptions{}, "v", "decimal(18, 1)", `"2.5" at a.csv line 3`)
	wantInferred(t, one("v\n1\nx\n"), CSVOptions{}, "v", "utf8", `"x" at a.csv line 3`)
	_, err := rowsOf(t, one("v\n1\nx\n").input(t, 0, CSVOptions{}), fieldsOf("v", long), 1)
	wantError(t, err, `a.csv line 3, column "v": "x" is not a long`)
}

func TestCase87_ABadCellIsNeverYieldedAsNULL(t *testing.T) {
	for _, block := range []int{16, 0} {
		in := one("a\n1\nx\n3\n").input(t, block, CSVOptions{})
		got, err := rowsOf(t, in, fieldsOf("a", long), 1)
		wantError(t, err, `a.csv line 3, column "a": "x" is not a long`)
		errorIsIn(t, err)
		if len(got) != 0 {
			t.Errorf("rows before the error: %v", got)
		}
	}
}
