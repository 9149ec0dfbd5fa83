package catalog

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/jackc/pgx/v5/stdlib"
)

// postgresConnector opens connections that read without a transaction. iceberg-go
// reads each table in one of its own, which is a round trip to begin it and one
// to end it around a single query, and which, where every statement sees what is
// committed when it begins, guards nothing.
type postgresConnector struct{ driver.Connector }

func (c postgresConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	postgres, ok := conn.(*stdlib.Conn)
	if !ok {
		return nil, fmt.Errorf("the PostgreSQL driver gave a %T", conn)
	}
	return &postgresConn{postgres}, nil
}

type postgresConn struct{ *stdlib.Conn }

// BeginTx implements [driver.ConnBeginTx].
func (c *postgresConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if opts.ReadOnly && opts.Isolation == 0 {
		return noTransaction{}, nil
	}
	return c.Conn.BeginTx(ctx, opts)
}

type noTransaction struct{}

func (noTransaction) Commit() error   { return nil }
func (noTransaction) Rollback() error { return nil }
