package catalog

import (
	"context"
	"fmt"

	"github.com/apache/iceberg-go"
	icebergcat "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

// Catalog is an open Iceberg catalog. It is safe for concurrent use. The caller
// closes it.
type Catalog struct {
	cat   icebergcat.Catalog
	props iceberg.Properties
	files *Files
	// place says where a new table goes whose namespace has no location.
	place func(namespace table.Identifier, name string) (string, error)
	// stage drafts a table by what the catalog says of it: a location that is ""
	// is for it to choose. Optional.
	stage func(ctx context.Context, id table.Identifier, schema *iceberg.Schema, spec *iceberg.PartitionSpec, location string, props iceberg.Properties) (*table.Table, error)
	// create rewrites the updates of a commit that creates a table, where the
	// catalog needs them in another form. Optional.
	create func([]table.Update) []table.Update
	// writesMetadata is true where a commit writes the metadata file from here.
	writesMetadata bool
	close          func() error
}

var _ lake.Catalog = (*Catalog)(nil)

// Open opens the catalog that c describes. Its error wraps [lake.ErrUsage]
// where c is wrong.
func Open(ctx context.Context, c Config) (*Catalog, error) {
	if c.Type != "rest" && !c.Access.isZero() {
		return nil, fmt.Errorf("catalog.credential, catalog.token, catalog.headers and what belongs to them are for catalog.type rest alone: %w", lake.ErrUsage)
	}
	props, err := c.properties()
	if err != nil {
		return nil, err
	}
	var cat *Catalog
	switch c.Type {
	case "", "sqlite":
		cat, err = openEmbedded(ctx, c, props)
	case "sql":
		cat, err = openSQL(ctx, c, props)
	case "rest":
		cat, err = openREST(ctx, c, props)
	case "hadoop":
		err = fmt.Errorf("catalog.type hadoop is refused: it has no atomic commit on object stores, so two loads could each lose the other's rows: %w", lake.ErrUsage)
	case "hive", "glue", "nessie":
		err = fmt.Errorf("catalog.type %s is not built: there are sqlite, sql and rest: %w", c.Type, lake.ErrUsage)
	case "postgres", "postgresql":
		err = fmt.Errorf("catalog.type %s: write type sql, and postgres://… as catalog.uri: %w", c.Type, lake.ErrUsage)
	default:
		err = fmt.Errorf("catalog.type %q is unknown: there are sqlite, sql and rest: %w", c.Type, lake.ErrUsage)
	}
	if err != nil {
		return nil, err
	}
	cat.files = &Files{props: props}
	return cat, nil
}

// Files are the files that sources read, with the catalog's S3 settings.
func (c *Catalog) Files() *Files { return c.files }

// WritesMetadata reports whether a commit writes the table's metadata file from
// here, as in SQL catalogs, and not by a server.
func (c *Catalog) WritesMetadata() bool { return c.writesMetadata }

// Close releases the catalog's connections.
func (c *Catalog) Close() error { return c.close() }
