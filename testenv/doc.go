// Package testenv is the laboratory of calve: services to test against (a real
// MinIO, versitygw, PostgreSQL and Iceberg REST catalog, DuckDB, PyIceberg,
// Spark, Trino, SeaweedFS), bad wires to them, faults at every step of a load, processes
// that are killed, other writers of the same table, a model of what a correct
// table holds, and the check that every test ends with. It is for tests only, of
// calve and of programs that import calve; nothing that ships imports it.
//
// A test begins by asking for what it needs and is skipped where that cannot be
// had, but fails if CI is set:
//
//	cat := testenv.Catalog(t)            // SQLite and files in t.TempDir
//	cat := testenv.CatalogOn(t, testenv.MinIO(t))
//	for _, kind := range testenv.Kinds() { // SQLite, PostgreSQL, REST
//		cat := kind.New(t, testenv.MinIO(t))
//	}
//	testenv.Check(t, cat, ident, model.Strings)
//
// Rows are compared as text, in one form whoever reads them: cells separated by
// a space, in the order of the columns, strings quoted as in Go, NULL for a
// null, instants as 2026-05-04T10:00:00Z, other timestamps without the Z.
package testenv
