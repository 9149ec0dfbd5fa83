package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/iceberg-go"
	icebergsql "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

// openSQL opens the database that the URI names.
func openSQL(ctx context.Context, c Config, props iceberg.Properties) (*Catalog, error) {
	scheme, rest, _ := strings.Cut(c.URI, ":")
	// SQLAlchemy, and so PyIceberg, names its driver too: postgresql+psycopg2.
	scheme, _, _ = strings.Cut(scheme, "+")
	open := openPostgres
	switch scheme {
	case "postgres", "postgresql":
		c.URI = "postgres:" + rest
	case "file":
		open = openSQLite
	case "sqlite":
		// SQLAlchemy's form: three slashes and a relative path, four and an
		// absolute one.
		c.URI, open = "file:"+strings.TrimPrefix(rest, "///"), openSQLite
	default:
		return nil, fmt.Errorf("catalog.uri of an sql catalog must be postgres://user:password@host/database, or name an SQLite file, as in file:/path/catalog.db: %w", lake.ErrUsage)
	}
	if c.Warehouse == "" {
		return nil, fmt.Errorf("catalog.warehouse is required for an sql catalog: a folder or an s3:// location where new tables go: %w", lake.ErrUsage)
	}
	if !strings.Contains(c.Warehouse, "://") {
		dir, err := localFolder(c.Warehouse)
		if err != nil {
			return nil, err
		}
		c.Warehouse = fileURL(dir)
	}
	return open(ctx, c, props)
}

// sqlCatalog is the catalog in an open database, which it closes at its end,
// and here if it cannot be made.
func sqlCatalog(c Config, db *sql.DB, props iceberg.Properties, open func() (*icebergsql.Catalog, error)) (*Catalog, error) {
	props["warehouse"] = c.Warehouse
	cat, err := open()
	if err != nil {
		return nil, errors.Join(translate(err), db.Close())
	}
	return &Catalog{
		cat:   cat,
		props: props,
		place: func(namespace table.Identifier, table string) (string, error) {
			return joinLocation(c.Warehouse, strings.Join(namespace, ".")+".db", table), nil
		},
		create: func(updates []table.Update) []table.Update { return []table.Update{fromNothing(updates)} },
		close:  func() error { return errors.Join(cat.Close(), db.Close()) },

		writesMetadata: true,
	}, nil
}
