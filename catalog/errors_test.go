package catalog

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/aws/smithy-go"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/calve-data/calve/lake"
)

// What servers say by their codes, on reading and on committing.
func TestErrorsByCode(t *testing.T) {
	t.Parallel()
	postgres := func(code string) error { return &pgconn.PgError{Code: code, Message: "so it is"} }
	aws := func(code string) error {
		return &smithy.OperationError{ServiceID: "Glue", Err: &smithy.GenericAPIError{Code: code, Message: "so it is"}}
	}
	for _, tt := range []struct {
		err  error
		is   error
		want string
	}{
		{postgres("28P01"), lake.ErrDenied, "catalog.uri"},
		{postgres("28000"), lake.ErrDenied, "catalog.uri"},
		{postgres("42501"), lake.ErrDenied, "catalog.uri"},
		{postgres("53300"), lake.ErrTemporary, ""}, // too many connections
		{postgres("57P03"), lake.ErrTemporary, ""}, // starting up
		{postgres("40001"), lake.ErrTemporary, ""}, // serialization
		{postgres("22001"), nil, ""},
		{io.ErrUnexpectedEOF, lake.ErrTemporary, ""},
		{driver.ErrBadConn, lake.ErrTemporary, ""},
		{pgconn.ErrConnClosed, lake.ErrTemporary, ""},
		{aws("AccessDeniedException"), lake.ErrDenied, "catalog.s3"},
		{aws("UnrecognizedClientException"), lake.ErrDenied, "AWS environment"},
		{aws("ThrottlingException"), lake.ErrTemporary, ""},
		{aws("InvalidInputException"), nil, ""},
	} {
		got := translate(fmt.Errorf("loading: %w", tt.err))
		for _, sentinel := range []error{lake.ErrDenied, lake.ErrTemporary} {
			if errors.Is(got, sentinel) != errors.Is(tt.is, sentinel) {
				t.Errorf("translate(%v) = %v, want %v", tt.err, got, tt.is)
			}
		}
		if !strings.Contains(got.Error(), tt.want) {
			t.Errorf("translate(%v) = %v, want it to name %s", tt.err, got, tt.want)
		}
		if errors.Is(definite(tt.err), lake.ErrTemporary) {
			t.Errorf("a commit answered %v is called temporary, which promises that it did not land", tt.err)
		}
	}
}
