package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	icebergsql "github.com/apache/iceberg-go/catalog/sql"
	_ "modernc.org/sqlite" // the driver "sqlite", in Go

	"github.com/calve-data/calve/lake"
)

// openEmbedded opens catalog.db in the warehouse folder, which it makes.
func openEmbedded(ctx context.Context, c Config, props iceberg.Properties) (*Catalog, error) {
	if c.URI != "" {
		return nil, fmt.Errorf("catalog.uri %q has no meaning for the embedded catalog: use catalog.type sql, or catalog.warehouse for its folder: %w", c.URI, lake.ErrUsage)
	}
	dir, err := localFolder(firstOf(c.Warehouse, "lakehouse"))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the lakehouse folder %s: %w", dir, err)
	}
	c.URI, c.Warehouse = fileURL(filepath.Join(dir, "catalog.db")), fileURL(dir)
	return openSQLite(ctx, c, props)
}

// openSQLite opens the file that the URI, a file URL, names.
func openSQLite(ctx context.Context, c Config, props iceberg.Properties) (*Catalog, error) {
	db, err := sql.Open("sqlite", withPragmas(c.URI))
	if err != nil {
		return nil, fmt.Errorf("opening the SQLite catalog %s: %w", c.URI, err)
	}
	cat, err := sqlCatalog(c, db, props, func() (*icebergsql.Catalog, error) { return newSQLite(ctx, c.name(), db, props) })
	if err != nil {
		if _, path, e := databaseOf(c.URI); e == nil {
			if _, e := os.Stat(filepath.Dir(path)); errors.Is(e, fs.ErrNotExist) {
				err = fmt.Errorf("its folder does not exist: make it, or mend catalog.uri: %w: %w", err, lake.ErrNoCatalog)
			}
		}
		return nil, fmt.Errorf("opening the SQLite catalog %s: %w", c.URI, err)
	}
	return cat, nil
}

// withPragmas adds what several programs need to share one file: a log that
// lets readers go on while one writes, a wait instead of an error when another
// writes, and write transactions that take the lock when they begin, for one
// that reads first and writes later cannot wait.
func withPragmas(dsn string) string {
	sep := "?"
	if strings.Contains(dsn, "?") {
		sep = "&"
	}
	return dsn + sep + "_txlock=immediate&_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)"
}

// newSQLite opens the catalog and makes its tables. Programs that do so at
// once on a new file can meet a lock that no busy timeout waits for: turning
// the log on needs the file for oneself.
func newSQLite(ctx context.Context, name string, db *sql.DB, props iceberg.Properties) (*icebergsql.Catalog, error) {
	for deadline := time.Now().Add(30 * time.Second); ; {
		cat, err := icebergsql.NewCatalog(name, db, icebergsql.SQLite, props)
		if err == nil || !strings.Contains(err.Error(), "database is locked") || time.Now().After(deadline) {
			return cat, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// localFolder is the absolute path of a folder, which may be a file:// URL.
func localFolder(path string) (string, error) {
	if strings.HasPrefix(path, "file:") {
		u, err := url.Parse(path)
		if err != nil || u.Path == "" {
			return "", fmt.Errorf("catalog.warehouse %q is not a local folder: %w", path, lake.ErrUsage)
		}
		path = u.Path
	} else if strings.Contains(path, "://") {
		return "", fmt.Errorf("catalog.warehouse %q must be a local folder for the embedded catalog: for a store use catalog.type sql or rest: %w", path, lake.ErrUsage)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding the folder %s: %w", path, err)
	}
	return abs, nil
}

func fileURL(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}
