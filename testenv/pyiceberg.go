package testenv

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// PyScan says what PyIceberg is to read. The zero value counts all rows.
type PyScan struct {
	// Filter is a row filter in PyIceberg's language: region = 'eu' and id > 3.
	Filter string
	// Columns are the selected columns; nil: all.
	Columns []string
	// Sum are the columns to sum, over all rows and over each group, or
	// null(column) for the number of its nulls.
	Sum []string
	// GroupBy is a column, or day(column), to count by.
	GroupBy string
	// Rows asks for the rows themselves.
	Rows bool
	// SnapshotID reads an older snapshot; 0: the current one.
	SnapshotID int64
}

// PyResult is what PyIceberg read.
type PyResult struct {
	Count int64
	// Nulls counts the nulls of each selected column.
	Nulls map[string]int64
	// Sums are in the text form of the package.
	Sums map[string]string
	// Groups is keyed by the group's value in that form.
	Groups map[string]PyGroup
	// Rows are sorted.
	Rows []string
}

// PyGroup is one group of a [PyScan].
type PyGroup struct {
	Count int64
	Sums  map[string]string
}

// PyIceberg reads a table from its metadata file. s3 is nil for a table in files.
func PyIceberg(tb testing.TB, metadataLocation string, s3 *S3, scan PyScan) PyResult {
	tb.Helper()
	return PyIcebergEach(tb, metadataLocation, s3, scan)[0]
}

// PyIcebergEach is [PyIceberg] for several scans, in one process.
func PyIcebergEach(tb testing.TB, metadataLocation string, s3 *S3, scans ...PyScan) []PyResult {
	tb.Helper()
	var answers []pyAnswer
	Python(tb).run(tb, scanScript, map[string]any{"Metadata": metadataLocation, "S3": s3, "Scans": scans}, &answers)
	results := make([]PyResult, len(answers))
	for i, a := range answers {
		results[i] = a.result(tb)
	}
	return results
}

const scanScript = "pyiceberg_scan.py"

// pyAnswer is what the script answers to one scan.
type pyAnswer struct {
	Count  int64
	Nulls  map[string]int64
	Sums   map[string]json.RawMessage
	Groups []struct {
		Key   json.RawMessage
		Count int64
		Sums  map[string]json.RawMessage
	}
	Rows [][]json.RawMessage
}

func (a pyAnswer) result(tb testing.TB) PyResult {
	tb.Helper()
	sums := func(raw map[string]json.RawMessage) map[string]string {
		texts := make(map[string]string, len(raw))
		for name, v := range raw {
			texts[name] = rawText(tb, scanScript, v)
		}
		return texts
	}
	r := PyResult{Count: a.Count, Nulls: a.Nulls, Sums: sums(a.Sums), Groups: map[string]PyGroup{}}
	for _, g := range a.Groups {
		r.Groups[rawText(tb, scanScript, g.Key)] = PyGroup{Count: g.Count, Sums: sums(g.Sums)}
	}
	for _, row := range rowsText(tb, scanScript, a.Rows) {
		r.Rows = append(r.Rows, strings.Join(row, " "))
	}
	slices.Sort(r.Rows)
	return r
}

// PyIcebergAppend appends rows as another writer would, through the same
// catalog file: to table, such as test.events. A nil cell is a null; times may
// be time.Time or text.
func PyIcebergAppend(tb testing.TB, cat *LocalCatalog, table string, rows ...Row) {
	tb.Helper()
	var snapshot string
	Python(tb).run(tb, "pyiceberg_append.py", map[string]any{
		"DB": cat.DB, "Name": cat.Name, "Warehouse": cat.Warehouse, "S3": cat.S3, "Table": table, "Rows": rows,
	}, &snapshot)
}
