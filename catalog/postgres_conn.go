package catalog

import (
	"context"
	"database/sql/driver"
	"fmt"
	"net"
	"sync"
	"time"

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

// answering is a connection on which no answer is waited for longer than the
// patience allows. Much that iceberg-go asks the database while it opens a
// catalog is asked without a context, and would be waited for without end.
type answering struct {
	net.Conn
	patience time.Duration

	mu sync.Mutex
	// until is the driver's own deadline: one that has passed cancels what is
	// under way.
	until time.Time
}

// SetDeadline implements [net.Conn].
func (c *answering) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = t
	return c.Conn.SetDeadline(t)
}

// Read implements [net.Conn]. The driver reads only where it waits for an answer.
func (c *answering) Read(p []byte) (int, error) {
	if err := c.startClock(); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *answering) startClock() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := time.Now().Add(c.patience)
	if !c.until.IsZero() && c.until.Before(end) {
		end = c.until
	}
	return c.SetReadDeadline(end)
}
