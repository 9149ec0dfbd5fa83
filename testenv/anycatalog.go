package testenv

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/catalog"
)

// AnyCatalog is an open Iceberg catalog of some kind, and what opens it again,
// in this process or another.
type AnyCatalog struct {
	*catalog.Catalog
	// Config opens the catalog.
	Config catalog.Config
	// Namespace exists. It is [Namespace] where the catalog is the test's own.
	Namespace string
	// S3 is the store of its tables.
	S3 *S3
}

// Kind is a kind of catalog that calve commits to.
type Kind struct {
	// Name is sqlite, postgres or rest.
	Name string
	// New returns a new catalog with its tables in the bucket.
	New func(testing.TB, *S3) *AnyCatalog
}

// Kinds are the kinds of catalogs that are tested on real servers.
func Kinds() []Kind {
	return []Kind{{"sqlite", SQLiteOn}, {"postgres", PostgresOn}, {"rest", RESTOn}}
}

// SQLiteOn returns a new catalog in a SQLite file with its tables in the bucket.
func SQLiteOn(tb testing.TB, s3 *S3) *AnyCatalog {
	tb.Helper()
	return openAny(tb, s3, Namespace, catalog.Config{Type: "sql", URI: fileURL(filepath.Join(tb.TempDir(), "catalog.db")), Warehouse: s3.URL("warehouse")})
}

// PostgresOn returns a new catalog in PostgreSQL with its tables in the bucket.
func PostgresOn(tb testing.TB, s3 *S3) *AnyCatalog {
	tb.Helper()
	return openAny(tb, s3, Namespace, catalog.Config{Type: "sql", URI: Postgres(tb).URI, Warehouse: s3.URL("warehouse")})
}

// RESTOn returns a new catalog of Iceberg's REST server with its tables in the
// bucket.
func RESTOn(tb testing.TB, s3 *S3) *AnyCatalog {
	tb.Helper()
	server := REST(tb, s3)
	namespace := Namespace
	if server.Shared {
		namespace = fmt.Sprintf("%s_%08x", Namespace, rand.Uint32())
	}
	return openAny(tb, s3, namespace, catalog.Config{Type: "rest", URI: server.URI})
}

func openAny(tb testing.TB, s3 *S3, namespace string, config catalog.Config) *AnyCatalog {
	tb.Helper()
	config.S3 = s3.Config()
	c := &AnyCatalog{Config: config, Namespace: namespace, S3: s3}
	c.Catalog = c.Again(tb)
	if err := c.CreateNamespace(tb.Context(), table.Identifier{namespace}); err != nil {
		tb.Fatalf("namespace %s: %v", namespace, err)
	}
	return c
}

// Ident is the identifier of a table in the catalog's namespace.
func (c *AnyCatalog) Ident(name string) table.Identifier { return table.Identifier{c.Namespace, name} }

// Again opens the catalog once more, as another process would. The test closes
// it at its end.
func (c *AnyCatalog) Again(tb testing.TB) *catalog.Catalog {
	tb.Helper()
	cat, err := catalog.Open(tb.Context(), c.Config)
	if err != nil {
		tb.Fatalf("open the %s catalog: %v", c.Config.Type, err)
	}
	tb.Cleanup(func() { _ = cat.Close() })
	return cat
}
