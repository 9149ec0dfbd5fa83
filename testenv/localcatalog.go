package testenv

import (
	"net/url"
	"path/filepath"
	"testing"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/catalog"
)

// Namespace exists in each catalog that the package makes.
const Namespace = "test"

// Ident is the identifier of a table in [Namespace].
func Ident(name string) table.Identifier { return table.Identifier{Namespace, name} }

// LocalCatalog is an Iceberg catalog in a SQLite file, as calve opens it.
type LocalCatalog struct {
	*catalog.Catalog
	// DB is the file, Name the catalog's name in it, and Warehouse the location
	// that tables are made under.
	DB, Name, Warehouse string
	// S3 is the store of the warehouse; nil where it is a folder.
	S3 *S3
	// Served is the catalog for engines that know only servers, Spark and Trino;
	// nil where there is none.
	Served *AnyCatalog
}

// Catalog returns a new catalog in SQLite with its tables in files, all in a
// folder of the test.
func Catalog(tb testing.TB) *LocalCatalog {
	tb.Helper()
	dir := tb.TempDir()
	return newCatalog(tb, &LocalCatalog{DB: filepath.Join(dir, "catalog.db"), Warehouse: fileURL(filepath.Join(dir, "warehouse"))})
}

// CatalogOn returns a new catalog in SQLite with its tables in the bucket.
func CatalogOn(tb testing.TB, s3 *S3) *LocalCatalog {
	tb.Helper()
	return newCatalog(tb, &LocalCatalog{DB: filepath.Join(tb.TempDir(), "catalog.db"), Warehouse: s3.URL("warehouse"), S3: s3})
}

// CatalogServed returns a new catalog of a REST server with its tables in the
// bucket. It is in no file: DB and Name are empty.
func CatalogServed(tb testing.TB, s3 *S3) *LocalCatalog {
	tb.Helper()
	served := RESTOn(tb, s3)
	return &LocalCatalog{Catalog: served.Catalog, Warehouse: s3.URL("warehouse"), S3: s3, Served: served}
}

// fileURL escapes a path: that of a test named twice has a #.
func fileURL(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

// CatalogWith returns a new catalog in SQLite with its tables in config's
// warehouse and store; its type, URI and name are given.
func CatalogWith(tb testing.TB, config catalog.Config) *LocalCatalog {
	tb.Helper()
	return openCatalog(tb, &LocalCatalog{DB: filepath.Join(tb.TempDir(), "catalog.db"), Warehouse: config.Warehouse}, config)
}

func newCatalog(tb testing.TB, c *LocalCatalog) *LocalCatalog {
	tb.Helper()
	config := catalog.Config{Warehouse: c.Warehouse}
	if c.S3 != nil {
		config.Properties = c.S3.Properties()
	}
	return openCatalog(tb, c, config)
}

// Again is the same catalog, opened once more with other settings of its store.
func (c *LocalCatalog) Again(tb testing.TB, s3 catalog.S3) *LocalCatalog {
	tb.Helper()
	return openCatalog(tb, &LocalCatalog{DB: c.DB, Warehouse: c.Warehouse}, catalog.Config{Warehouse: c.Warehouse, S3: s3})
}

func openCatalog(tb testing.TB, c *LocalCatalog, config catalog.Config) *LocalCatalog {
	tb.Helper()
	c.Name = "calve"
	config.Type, config.URI, config.Name = "sql", fileURL(c.DB), c.Name
	var err error
	if c.Catalog, err = catalog.Open(tb.Context(), config); err != nil {
		tb.Fatalf("catalog in %s: %v", c.DB, err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	if err := c.CreateNamespace(tb.Context(), table.Identifier{Namespace}); err != nil {
		tb.Fatalf("namespace %s: %v", Namespace, err)
	}
	return c
}
