package testenv

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	sqlcat "github.com/apache/iceberg-go/catalog/sql"
	iceio "github.com/apache/iceberg-go/io"
	_ "github.com/apache/iceberg-go/io/gocloud/s3" // file systems of s3:// locations
	"github.com/apache/iceberg-go/table"
	_ "modernc.org/sqlite" // the SQLite driver

	"github.com/calve-data/calve/lake"
)

// Namespace exists in each catalog that the package makes.
const Namespace = "test"

// Ident is the identifier of a table in [Namespace].
func Ident(name string) table.Identifier { return table.Identifier{Namespace, name} }

// LocalCatalog is an Iceberg catalog in a SQLite file.
type LocalCatalog struct {
	// DB is the file, Name the catalog's name in it, and Warehouse the location
	// that tables are made under.
	DB, Name, Warehouse string
	// S3 is the store of the warehouse; nil where it is a folder.
	S3 *S3

	sql   *sqlcat.Catalog
	props iceberg.Properties
}

var _ lake.Catalog = (*LocalCatalog)(nil)

// Catalog returns a new catalog in SQLite with its tables in files, all in a
// folder of the test.
func Catalog(tb testing.TB) *LocalCatalog {
	tb.Helper()
	dir := tb.TempDir()
	return newCatalog(tb, &LocalCatalog{DB: filepath.Join(dir, "catalog.db"), Warehouse: "file://" + filepath.Join(dir, "warehouse")})
}

// CatalogOn returns a new catalog in SQLite with its tables in the bucket.
func CatalogOn(tb testing.TB, s3 *S3) *LocalCatalog {
	tb.Helper()
	return newCatalog(tb, &LocalCatalog{DB: filepath.Join(tb.TempDir(), "catalog.db"), Warehouse: s3.URL("warehouse"), S3: s3})
}

func newCatalog(tb testing.TB, c *LocalCatalog) *LocalCatalog {
	tb.Helper()
	c.Name = "calve"
	c.props = iceberg.Properties{"warehouse": c.Warehouse}
	if c.S3 != nil {
		maps.Copy(c.props, c.S3.Properties())
	}
	db, err := sql.Open("sqlite", "file:"+c.DB+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_txlock=immediate")
	if err != nil {
		tb.Fatalf("open %s: %v", c.DB, err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	if c.sql, err = sqlcat.NewCatalog(c.Name, db, sqlcat.SQLite, c.props); err != nil {
		tb.Fatalf("catalog in %s: %v", c.DB, err)
	}
	if err := c.sql.CreateNamespace(tb.Context(), table.Identifier{Namespace}, nil); err != nil {
		tb.Fatalf("namespace %s: %v", Namespace, err)
	}
	return c
}

// LoadTable is that of [lake.Catalog].
func (c *LocalCatalog) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	t, err := c.sql.LoadTable(ctx, id)
	return t, translated(err)
}

// CommitTable is that of [lake.Catalog].
func (c *LocalCatalog) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	meta, location, err := c.sql.CommitTable(ctx, id, reqs, updates)
	return meta, location, translated(err)
}

// Draft is that of [lake.Catalog].
func (c *LocalCatalog) Draft(ctx context.Context, id table.Identifier, schema *iceberg.Schema, spec *iceberg.PartitionSpec, properties iceberg.Properties) (*table.Table, error) {
	exists, err := c.sql.CheckNamespaceExists(ctx, catalog.NamespaceFromIdent(id))
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, fmt.Errorf("draft %v: %w", id, lake.ErrNoNamespace)
	}
	location := fmt.Sprintf("%s/%s.db/%s-%08x", c.Warehouse, catalog.NamespaceFromIdent(id)[0], catalog.TableNameFromIdent(id), rand.Uint32())
	meta, err := table.NewMetadata(schema, spec, table.UnsortedSortOrder, location, properties)
	if err != nil {
		return nil, fmt.Errorf("draft %v: %w", id, err)
	}
	return table.New(id, meta, "", iceio.LoadFSFunc(c.props, location), c), nil
}

// translated gives the catalog's errors the names that lake asks for.
func translated(err error) error {
	switch {
	case errors.Is(err, catalog.ErrNoSuchTable):
		return fmt.Errorf("%w: %w", lake.ErrNoTable, err)
	case errors.Is(err, catalog.ErrNoSuchNamespace):
		return fmt.Errorf("%w: %w", lake.ErrNoNamespace, err)
	}
	return err
}
