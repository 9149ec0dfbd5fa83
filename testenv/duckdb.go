package testenv

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"
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

// DuckDBWrite runs statements by DuckDB on a REST catalog, as another writer
// would; {table} in them stands for the table.
func DuckDBWrite(tb testing.TB, cat *AnyCatalog, id table.Identifier, statements ...string) {
	tb.Helper()
	named := make([]string, len(statements))
	for i, s := range statements {
		named[i] = strings.ReplaceAll(s, "{table}", "lk."+strings.Join(id, "."))
	}
	var done int
	Python(tb).run(tb, "duckdb_write.py", map[string]any{"URI": cat.Config.URI, "S3": cat.S3, "Statements": named}, &done)
}
