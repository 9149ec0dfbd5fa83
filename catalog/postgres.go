package catalog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/apache/iceberg-go"
	icebergsql "github.com/apache/iceberg-go/catalog/sql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/calve-data/calve/lake"
)

// connectTimeout is how long a connection to the database may take where the
// URI does not say: without it a host that does not answer is waited for
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
	if dsn.ConnectTimeout == 0 {
		dsn.ConnectTimeout = connectTimeout
	}
	db := stdlib.OpenDB(*dsn)
	cat, err := sqlCatalog(c, db, props, func() (*icebergsql.Catalog, error) {
		// The catalog's own first query takes no context.
		if err := db.PingContext(ctx); err != nil {
			return nil, err
		}
		cat, err := icebergsql.NewCatalog(c.name(), db, icebergsql.Postgres, props)
		if madeMeanwhile(err) {
			cat, err = icebergsql.NewCatalog(c.name(), db, icebergsql.Postgres, props)
		}
		return cat, err
	})
	if err != nil {
		where := net.JoinHostPort(dsn.Host, fmt.Sprint(dsn.Port))
		return nil, fmt.Errorf("opening the PostgreSQL catalog in %s at %s: %w", dsn.Database, where, err)
	}
	return cat, nil
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
