package lake

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
)

// The few errors that a caller may have to tell apart, each with the state of
// the table after it and who acts. Ask with [errors.Is].
var (
	// ErrWindow: the window is empty, inverted or of the wrong kind for the
	// time column. The table is untouched; the caller mends the argument.
	ErrWindow = errors.New("wrong window")
	// ErrUsage: the load's description contradicts itself or the table. The
	// table is untouched; the caller mends the description.
	ErrUsage = errors.New("wrong setting")
	// ErrInput: the source holds something that cannot be read as declared. The
	// table is untouched; the source or its declaration must change.
	ErrInput = errors.New("bad input")
	// ErrTie: two rows have one key and one version, and differ: nothing says which
	// of them is right; an [ErrInput]. The table is untouched; the source is wrong,
	// or a column that orders the rows is missing in the version.
	ErrTie = fmt.Errorf("tie: %w", ErrInput)
	// ErrSchema: source and table do not fit each other. The table is
	// untouched; the operator decides.
	ErrSchema = errors.New("schema does not fit")
	// ErrOutsideWindow: a source that claims to be exactly the window returned a
	// row outside it. The table is untouched; the source is wrong.
	ErrOutsideWindow = errors.New("row outside the window")
	// ErrRefused: a guard said no. The table is untouched; the operator decides.
	ErrRefused = errors.New("refused")
	// ErrClaim: the load claims what another load of the table has claimed, or
	// otherwise than it did before; an [ErrRefused]. The table is untouched; the
	// operator decides.
	ErrClaim = fmt.Errorf("claimed: %w", ErrRefused)
	// ErrSkipped: the load was asked to do nothing in this case. The table is
	// untouched.
	ErrSkipped = errors.New("skipped")
	// ErrSuperseded: another run loaded the window since this one began. The
	// table holds the other run's rows.
	ErrSuperseded = errors.New("superseded")
	// ErrUnknown: the commit was sent and the table could not be read
	// afterwards. The table is old or new, never half; run again.
	ErrUnknown = errors.New("outcome unknown")
	// ErrTemporary: store or catalog could not be reached, attempts are spent,
	// or history changed under the load. The table is untouched; run again.
	ErrTemporary = errors.New("temporary")
	// ErrDenied: the catalog does not know who asks, or does not let them. The
	// table is untouched; the operator mends the credentials or the rights.
	ErrDenied = errors.New("permission denied")
	// ErrBug: an invariant of this program, or of a library beneath it, is
	// broken: a panic of a goroutine that the caller could not recover. What else
	// the error wraps says how the table is.
	ErrBug = errors.New("this is a bug, please report it")
	// ErrNoCatalog: the database, folder or warehouse that the catalog is in does
	// not exist. Nothing here creates one; the operator does, or mends the name.
	ErrNoCatalog = errors.New("no such catalog")
	// ErrNoTable: the table does not exist.
	ErrNoTable = errors.New("no such table")
	// ErrNoNamespace: the table's namespace does not exist.
	ErrNoNamespace = errors.New("no such namespace")
)

// Error says what was being done to which table and window.
type Error struct {
	// Op is the stage of the load: plan, read, stage, commit; or maintain.
	Op     string
	Table  string
	Window Window
	Err    error
}

func (e *Error) Error() string {
	if e.Window.IsZero() {
		return fmt.Sprintf("%s %s: %v", e.Op, e.Table, e.Err)
	}
	return fmt.Sprintf("%s %s of %s: %v", e.Op, e.Window, e.Table, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Untouched reports whether the table is certainly as it was before the load
// that returned err.
func Untouched(err error) bool {
	return err != nil && !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrSuperseded)
}

// Caught turns a panic, where it is deferred, into an error that wraps [ErrBug].
// It is for goroutines, also those of sources: there a panic would end the
// process before the outcome of a commit could be read, and without a word of
// how the load ended.
func Caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v\n%s", ErrBug, p, debug.Stack())
	}
}

// unreachable reports whether an error is of the network, or of a server that
// could not do what it was asked just now, so that asking again later may succeed.
func unreachable(err error) bool {
	if errors.Is(err, ErrUnknown) || errors.Is(err, ErrTemporary) {
		return false
	}
	var op *net.OpError
	var dns *net.DNSError
	var answer interface{ HTTPStatusCode() int }
	return errors.As(err, &op) || errors.As(err, &dns) ||
		(errors.As(err, &answer) && (answer.HTTPStatusCode() >= 500 || answer.HTTPStatusCode() == http.StatusTooManyRequests))
}
