package arrowio

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/calve-data/calve/lake"
)

func TestCase73_NamesThatDifferOnlyByCaseAreTwoColumns(t *testing.T) {
	t.Parallel()
	in := lines(`{"body":1,"Body":2}`, `{"o":{"currencyCode":"a","currencycode":"b"}}`).ndjson(t, 0, NDJSONOptions{})
	columns, err := in.Columns(t.Context())
	if err != nil || len(columns) != 3 || columns[0].Name != "body" || columns[1].Name != "Body" {
		t.Errorf("Columns() = %v, %v", columns, err)
	}
	// What refuses them for a table is lake, which must see both.
	inferred, err := in.Infer(t.Context(), []string{"o"})
	if err != nil || inferred[0].Type.String() != "struct<currencyCode: utf8 nullable, currencycode: utf8 nullable>" {
		t.Errorf("Infer() = %v, %v", inferred, err)
	}
}

func TestCase88_ACutOffLastRecordIsAnError(t *testing.T) {
	t.Parallel()
	schema := fieldsOf("a", long)
	whole := `{"a":1}` + "\n" + `{"a":2}`
	wantJSON(t, memFiles{{"a.ndjson", whole}}, schema, "a.ndjson:1 1", "a.ndjson:2 2")
	const want = "a.ndjson: incomplete record at line 2: each record must be whole, on one line; is the file cut off?"
	for cut := len(`{"a":1}` + "\n{"); cut < len(whole); cut++ {
		wantJSONError(t, memFiles{{"a.ndjson", whole[:cut]}}, schema, want)
		wantJSONError(t, memFiles{{"a.ndjson", whole[:cut] + "\r\n"}}, schema, want)
		_, err := memFiles{{"a.ndjson", whole[:cut]}}.ndjson(t, 0, NDJSONOptions{}).Infer(t.Context(), []string{"a"})
		wantError(t, err, want)
	}
}

func TestCase88_ACutOffCompressedFileIsAnError(t *testing.T) {
	t.Parallel()
	var gz, zst bytes.Buffer
	zw, err := zstd.NewWriter(&zst)
	if err != nil {
		t.Fatal(err)
	}
	gw := gzip.NewWriter(&gz)
	for _, w := range []io.WriteCloser{gw, zw} {
		for range 100 {
			if _, err := w.Write([]byte(`{"a":1}` + "\n")); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, b := range map[string][]byte{"a.ndjson.gz": gz.Bytes(), "a.ndjson.zst": zst.Bytes()} {
		got, err := rowsOf(t, memFiles{{name, string(b)}}.ndjson(t, 0, NDJSONOptions{}), fieldsOf("a", long), 1)
		if err != nil || len(got) != 100 {
			t.Errorf("%s: %d rows, %v", name, len(got), err)
		}
		for cut := 1; cut < len(b); cut++ {
			_, err := rowsOf(t, memFiles{{name, string(b[:cut])}}.ndjson(t, 0, NDJSONOptions{}), fieldsOf("a", long), 1)
			if !errors.Is(err, lake.ErrInput) {
				t.Fatalf("%s cut after %d of %d bytes: %v", name, cut, len(b), err)
			}
		}
	}
}

func TestCase91_ATypeThatChangesMidway(t *testing.T) {
	t.Parallel()
	files := lines(`{"a":1}`, `{"a":"007"}`, `{"a":{"x":1}}`)
	wantJSONError(t, files, fieldsOf("a", long), `a.ndjson line 2, column "a": "007" is a string, and the column takes a long, written without quotes`)
	wantJSONError(t, files, fieldsOf("a", str), `a.ndjson line 1, column "a": 1 is a number, and the column takes a string, written in quotes`)
	_, err := files.ndjson(t, 0, NDJSONOptions{}).Infer(t.Context(), []string{"a"})
	wantError(t, err, `column "a": 1 at a.ndjson line 1 is a number, and "007" at a.ndjson line 2 is a string: a column has one type, so write its values alike`)
	errorIsIn(t, err)
	wantJSONError(t, lines(`{"a":1}`, `{"a":"12"}`), fieldsOf("a", long), `a.ndjson line 2, column "a": "12" is a string, and the column takes a long, written without quotes`)
}
