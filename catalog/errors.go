package catalog

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	icebergcat "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/calve-data/calve/lake"
)

// absence says in lake's words what does not exist. It reads as the catalog's
// own error and wraps both.
type absence struct{ what, cause error }

func (a *absence) Error() string   { return a.cause.Error() }
func (a *absence) Unwrap() []error { return []error{a.what, a.cause} }

// translate adds lake's name for what is missing or denied, and says what is
// worth another try: no answer, or a catalog that is busy.
func translate(err error) error {
	err = definite(err)
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, lake.ErrTemporary), errors.Is(err, lake.ErrDenied), errors.Is(err, lake.ErrUsage):
		return err
	case errors.As(err, &network), errors.Is(err, rest.ErrServerError), errors.Is(err, rest.ErrServiceUnavailable), errors.Is(err, errStranger),
		strings.Contains(err.Error(), "database is locked"), cutOff(err), busy(err), glueBusy(err):
		return fmt.Errorf("%w: %w", err, lake.ErrTemporary)
	}
	return err
}

// cutOff reports whether an answer, or the connection before it, came to an end
// that neither side chose; PostgreSQL's driver names these as no network error.
func cutOff(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, pgconn.ErrConnClosed)
}

// openError is translate for the first call of a catalog: there, an answer that
// is no catalog's is a wrong address, not a proxy's bad moment.
func openError(err error) error {
	if errors.Is(err, errStranger) {
		return fmt.Errorf("%w: %w", err, lake.ErrUsage)
	}
	return translate(err)
}

// definite is for commits too, of whose errors nothing more is said: whether a
// commit landed is read from the table, not from an error.
func definite(err error) error {
	switch {
	case errors.Is(err, lake.ErrDenied):
		return err
	case errors.Is(err, rest.ErrUnauthorized), errors.Is(err, rest.ErrAuthorizationExpired):
		return fmt.Errorf("the REST catalog wants another login than catalog.credential or catalog.token gives it: %w: %w", err, lake.ErrDenied)
	case errors.Is(err, rest.ErrForbidden):
		return fmt.Errorf("who catalog.credential or catalog.token names may not do this: %w: %w", err, lake.ErrDenied)
	case glueDenied(err):
		return fmt.Errorf("the credentials of catalog.s3, or of the AWS environment, may not do this in Glue: %w: %w", err, lake.ErrDenied)
	case slices.Contains([]string{"28000", "28P01", "42501"}, sqlState(err)): // invalid login, insufficient privilege
		return fmt.Errorf("the user that catalog.uri names may not do this: %w: %w", err, lake.ErrDenied)
	case errors.Is(err, icebergcat.ErrNoSuchTable):
		return &absence{what: lake.ErrNoTable, cause: err}
	case errors.Is(err, icebergcat.ErrNoSuchNamespace):
		return &absence{what: lake.ErrNoNamespace, cause: err}
	}
	return err
}
