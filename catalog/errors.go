package catalog

import (
	"errors"

	icebergcat "github.com/apache/iceberg-go/catalog"

	"github.com/calve-data/calve/lake"
)

// absence says in lake's words what does not exist. It reads as the catalog's
// own error and wraps both.
type absence struct{ what, cause error }

func (a *absence) Error() string   { return a.cause.Error() }
func (a *absence) Unwrap() []error { return []error{a.what, a.cause} }

// translate adds lake's name for what is missing. Everything else stays as it
// is: whether a commit landed is read from the table, not from an error.
func translate(err error) error {
	switch {
	case errors.Is(err, icebergcat.ErrNoSuchTable):
		return &absence{what: lake.ErrNoTable, cause: err}
	case errors.Is(err, icebergcat.ErrNoSuchNamespace):
		return &absence{what: lake.ErrNoNamespace, cause: err}
	}
	return err
}
