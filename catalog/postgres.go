package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	icebergsql "github.com/apache/iceberg-go/catalog/sql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/calve-data/calve/lake"
)

// connectTimeout is how long a connection to the database may take at most where
// the URI does not say: without it a host that does not answer is waited for
// without end.
const connectTimeout = 15 * time.Second

// openPostgres opens the catalog in a PostgreSQL database. The URI says all,
// sslmode and connect_timeout included, as for every client of PostgreSQL.
func openPostgres(ctx context.Context, c Config, props iceberg.Properties) (*Catalog, error) {
	dsn, err := pgx.ParseConfig(c.URI)
	if err != nil {
		// What the driver says may hold a part of the password.
		return nil, fmt.Errorf("catalog.uri is not a PostgreSQL URL such as postgres://user:password@host:5432/database?sslmode=verify-full: %w", lake.ErrUsage)
	}
	patience := cmp.Or(c.S3.Timeout, stallTimeout)
	if dsn.ConnectTimeout == 0 {
		dsn.ConnectTimeout = min(connectTimeout, patience)
	}
	dial := dsn.DialFunc
	dsn.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &answering{Conn: conn, patience: patience}, nil
	}
	db := sql.OpenDB(postgresConnector{stdlib.GetConnector(*dsn)})
	cat, err := sqlCatalog(c, db, props, func() (*icebergsql.Catalog, error) {
		// Who may not create tables can still use those that are there.
		if there, err := tablesExist(ctx, db); err != nil {
			return nil, err
		} else if there {
			props["init_catalog_tables"] = "false"
		}
		cat, err := icebergsql.NewCatalog(c.name(), db, icebergsql.Postgres, props)
		if madeMeanwhile(err) {
			cat, err = icebergsql.NewCatalog(c.name(), db, icebergsql.Postgres, props)
		}
		return cat, err
	})
	if err != nil {
		where := net.JoinHostPort(dsn.Host, fmt.Sprint(dsn.Port))
		return nil, fmt.Errorf("opening the PostgreSQL catalog in %s at %s: %w", dsn.Database, where, connectError(err))
	}
	return cat, nil
}

// connectError names what catalog.uri has wrong, where a connection shows it.
func connectError(err error) error {
	switch {
	case sqlState(err) == "3D000": // invalid_catalog_name
		return fmt.Errorf("make the database, or mend its name in catalog.uri: %w: %w", err, lake.ErrNoCatalog)
	case strings.Contains(err.Error(), "server refused TLS connection"):
		return fmt.Errorf("the server speaks no TLS: end catalog.uri with ?sslmode=disable, if its wire is safe: %w: %w", err, lake.ErrUsage)
	}
	return err
}

// tablesExist reports whether the catalog's tables are there.
func tablesExist(ctx context.Context, db *sql.DB) (there bool, err error) {
	err = db.QueryRowContext(ctx, "SELECT to_regclass('iceberg_tables') IS NOT NULL AND to_regclass('iceberg_namespace_properties') IS NOT NULL").Scan(&there)
	return there, err
}

// madeMeanwhile reports whether another program made the catalog's tables in
// the same moment, which CREATE TABLE IF NOT EXISTS does not wait for.
func madeMeanwhile(err error) bool {
	state := sqlState(err)
	return state == "23505" || state == "42P07" // unique_violation, duplicate_table
}

// sqlState is PostgreSQL's code for an error; "" where it is not PostgreSQL's.
func sqlState(err error) string {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		return coded.SQLState()
	}
	return ""
}

// busy reports whether an error of PostgreSQL is about the server's state, not
// about what it was asked, by the class of its code: connection, rollback for
// another transaction's sake, resources, shutting down or starting.
func busy(err error) bool {
	state := sqlState(err)
	return slices.Contains([]string{"08", "40", "53", "57"}, state[:min(2, len(state))])
}
