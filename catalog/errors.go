package catalog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	icebergcat "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"

	"github.com/calve-data/calve/lake"
)

// absence says in lake's words what does not exist. It reads as the catalog's
// own error and wraps both.
type absence struct{ what, cause error }

func (a *absence) Error() string   { return a.cause.Error() }
func (a *absence) Unwrap() []error { return []error{a.what, a.cause} }

// translate adds lake's name for what is missing, and says what is worth
// another try: no answer, or a catalog that is busy.
func translate(err error) error {
	err = missing(err)
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, lake.ErrTemporary):
		return err
	case errors.As(err, &network), errors.Is(err, rest.ErrServiceUnavailable), strings.Contains(err.Error(), "database is locked"):
		return fmt.Errorf("%w: %w", err, lake.ErrTemporary)
	}
	return err
}

// missing is for commits, of whose errors nothing else is said: whether a
// commit landed is read from the table, not from an error.
func missing(err error) error {
	switch {
	case errors.Is(err, icebergcat.ErrNoSuchTable):
		return &absence{what: lake.ErrNoTable, cause: err}
	case errors.Is(err, icebergcat.ErrNoSuchNamespace):
		return &absence{what: lake.ErrNoNamespace, cause: err}
	}
	return err
}
