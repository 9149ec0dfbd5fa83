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
	store *store
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
	store, err := newStore(props, c.S3)
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
	case "glue":
		cat, err = openGlue(ctx, c, props)
	default:
		err = noSuchType(c.Type)
	}
	if err != nil {
		return nil, err
	}
	cat.store, cat.files = store, &Files{store: store}
	return cat, nil
}

// noSuchType says why a type is not opened.
func noSuchType(name string) error {
	why := "there are sqlite, sql, rest and glue"
	switch name {
	case "hadoop":
		why = "it is refused: its commit is a rename that object stores do not have, or a version hint that two writers overwrite, so two loads could each lose the other's rows. Use sql or rest"
	case "hive":
		why = "it is refused: its commit is held together by locks that run out while their holder is away, so a load that was stopped and went on could undo another's. Use sql, rest or glue"
	case "nessie":
		why = "Nessie is a rest catalog: write type rest, and its /iceberg URL as catalog.uri"
	case "postgres", "postgresql":
		why = "write type sql, and postgres://… as catalog.uri"
	}
	return fmt.Errorf("catalog.type %q: %s: %w", name, why, lake.ErrUsage)
}

// Files are the files that sources read, with the catalog's S3 settings.
func (c *Catalog) Files() *Files { return c.files }

// WritesMetadata reports whether a commit writes the table's metadata file from
// here, as in SQL catalogs, and not by a server.
func (c *Catalog) WritesMetadata() bool { return c.writesMetadata }

// Close releases the catalog's connections.
func (c *Catalog) Close() error { return c.close() }
