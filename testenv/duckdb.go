package testenv

import (
	"encoding/json"
	"testing"
)

// DuckDB answers a query on a table; {table} in it stands for the table as of
// its metadata file. s3 is nil for a table in files. Cells are in the text form
// of the package; rows come in the order of the query.
func DuckDB(tb testing.TB, metadataLocation string, s3 *S3, query string) [][]string {
	tb.Helper()
	return DuckDBEach(tb, metadataLocation, s3, query)[0]
}

// DuckDBEach is [DuckDB] for several queries, in one process.
func DuckDBEach(tb testing.TB, metadataLocation string, s3 *S3, queries ...string) [][][]string {
	tb.Helper()
	const script = "duckdb_query.py"
	var answers [][][]json.RawMessage
	Python(tb).run(tb, script, map[string]any{"Metadata": metadataLocation, "S3": s3, "Queries": queries}, &answers)
	texts := make([][][]string, len(answers))
	for i, rows := range answers {
		texts[i] = rowsText(tb, script, rows)
	}
	return texts
}
