package testenv

import "testing"

// PyArrow runs Python statements that write files, as other people's programs
// do: pa and pq are pyarrow and its Parquet module, folder is dir.
func PyArrow(tb testing.TB, dir, statements string) {
	tb.Helper()
	var done int
	Python(tb).run(tb, "pyarrow_run.py", map[string]any{"Dir": dir, "Statements": statements}, &done)
}
