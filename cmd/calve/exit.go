package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/calve-data/calve/arrowio"
	"github.com/calve-data/calve/lake"
)

// ending is how a command can end otherwise than well: the exit code is part of
// the interface and never reused for something else. In a hint, TABLE stands
// for the table's name.
type ending struct {
	is      func(error) bool
	code    int
	kind    string
	outcome lake.Outcome
	hint    string
}

// endings is the only mapping from errors to exit codes, outcomes and hints.
// The first that fits counts: what may have changed the table comes first.
var endings = []ending{ //nolint:gochecknoglobals // a table that nobody changes
	{
		wraps(lake.ErrUnknown), 12, "unknown", lake.Unknown,
		"the table is old or new, never half: run the same command again, it is right in both cases",
	},
	{
		wraps(lake.ErrSuperseded), 11, "superseded", lake.Superseded,
		"calve history TABLE shows the other run; run again to replace its rows",
	},
	{wraps(lake.ErrSkipped), 99, "skipped", lake.Skipped, ""},
	{
		wraps(lake.ErrOutsideWindow), 14, "outside_window", lake.Refused,
		"--outside drop leaves such rows out and counts them",
	},
	{wraps(errDifferent), 13, "different", "different", "calve load of the window makes the table what the source is"},
	{wraps(errUnsafe), 13, "unsafe", "unsafe", "each finding has a page, with what to do"},
	{wraps(errNoOverwrite), 14, "refused", lake.Refused, "remove the file first, or work in another folder"},
	{wraps(errNoSnippet), 14, "refused", lake.Refused, "calve rows TABLE reads it wherever it is"},
	{
		wraps(lake.ErrClaim), 14, "claim", lake.Refused,
		"the table is as it was; calve history TABLE shows which loads it has",
	},
	{
		wraps(lake.ErrRefused), 14, "refused", lake.Refused,
		"the table is as it was",
	},
	{
		wraps(lake.ErrDenied), 1, "denied", lake.Failed,
		"mend the credentials in calve.yaml, or have the rights given; the table is as it was",
	},
	{
		wraps(lake.ErrNoCatalog), 10, "no_catalog", lake.Failed,
		"calve makes tables and namespaces in a catalog; the catalog itself is for you to make",
	},
	{
		wraps(lake.ErrNoNamespace), 10, "no_namespace", lake.Failed,
		"calve load --create-namespace creates it, if TABLE is spelt right; nothing else creates one on a catalog of yours",
	},
	{
		wraps(lake.ErrNoTable), 10, "no_table", lake.Failed,
		"the first calve load creates a table; --warehouse and calve.yaml say where tables are looked for",
	},
	{wraps(lake.ErrWindow), 2, "window", lake.Failed, "calve load --help shows every form of a window"},
	{isConfig, 2, "config", lake.Failed, "calve init writes a commented calve.yaml to compare with"},
	{isUsage, 2, "usage", lake.Failed, "calve --help, or calve COMMAND --help with examples"},
	{
		wraps(lake.ErrUsage), 2, "usage", lake.Failed,
		"calve COMMAND --help explains flags; calve init writes a commented calve.yaml to compare with",
	},
	{
		wraps(lake.ErrInput), 1, "input", lake.Failed,
		"--null TOKEN names text that means NULL; --column NAME=TYPE declares a type; calve plan shows why each type was chosen",
	},
	{
		wraps(lake.ErrSchema), 1, "schema", lake.Failed,
		"calve plan shows the columns; --schema evolve adds columns that the table lacks, --schema ignore leaves them out",
	},
	{wraps(lake.ErrBug), 1, "bug", lake.Failed, "the table is as it was"},
	{wraps(lake.ErrTemporary), 75, "temporary", lake.Failed, "the table is as it was: run the same command again"},
	{func(err error) bool { return err != nil }, 1, "error", lake.Failed, ""},
}

// failure is how a command ended, for people and for machines; the zero value
// is success.
type failure struct {
	code    int
	outcome lake.Outcome
	lake.ReceiptError
}

func wraps(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// explain finds the ending for err. A signal is the reason for everything that
// is not a definite answer of its own.
func (a *app) explain(ctx context.Context, err error) failure {
	for _, e := range endings {
		if !e.is(err) {
			continue
		}
		var by interrupted
		if errors.As(context.Cause(ctx), &by) && !errors.Is(err, lake.ErrBug) && (e.kind == "unknown" || e.kind == "temporary" || e.code == 1) {
			if !errors.Is(err, by) {
				err = fmt.Errorf("%w: %w", by, err)
			}
			return a.interruption(by, err)
		}
		name := a.table
		if name == "" {
			name = "TABLE"
		}
		hint := strings.ReplaceAll(e.hint, "TABLE", name)
		var missing *arrowio.NoColumnError
		if errors.As(err, &missing) {
			hint = meantColumn(missing)
		}
		hint = hintOfMany(err, hint)
		return failure{e.code, e.outcome, lake.ReceiptError{
			Code: e.code, Kind: e.kind,
			Message: a.hide(err.Error()),
			Hint:    hint,
		}}
	}
	return failure{}
}

// hintOfMany is the hint where several windows were to be loaded: what the table
// is after one load that failed it is not after many.
func hintOfMany(err error, hint string) string {
	const rest = "the windows that landed stay; run the same command with --only-gaps to load the rest"
	var many *lake.BackfillError
	switch {
	case !errors.As(err, &many) || errors.Is(err, lake.ErrSkipped):
		return hint
	case hint == "" || strings.Contains(hint, "the table is"):
		return rest
	}
	return hint + "; " + rest
}

// interruption is how a command ends by a signal.
func (a *app) interruption(by interrupted, err error) failure {
	code, hint := 128+int(by.signal), "the table is as it was: run the same command again"
	if a.sent.Load() || errors.Is(err, lake.ErrUnknown) {
		hint = "the table is old or new, never half: run the same command again"
	}
	return failure{code, lake.Interrupted, lake.ReceiptError{
		Code: code, Kind: "interrupted", Message: a.hide(err.Error()), Hint: hintOfMany(err, hint),
	}}
}

// exitCodes is the part of every command's help that lists its exit codes.
const exitCodes = `

Exit codes:

`

// codes lists the given exit codes for a help text.
func codes(list ...int) string {
	var b strings.Builder
	b.WriteString(exitCodes)
	for _, c := range list {
		b.WriteString(codeLines[c])
	}
	return b.String()
}

var codeLines = map[int]string{ //nolint:gochecknoglobals // a table that nobody changes
	0:   "    0         done\n",
	1:   "    1         error; the table is as it was\n",
	2:   "    2         wrong flags, window or calve.yaml; the table is as it was\n",
	10:  "    10        table, namespace or catalog missing\n",
	11:  "    11        superseded: another run loaded the window meanwhile; its rows stand\n",
	12:  "    12        outcome unknown: old or new, never half; run again\n",
	13:  "    13        a difference, or something unsafe, was found; the table is as it was\n",
	14:  "    14        refused by a guard; the table is as it was\n",
	75:  "    75        temporary: store or catalog not reachable; run again\n",
	99:  "    99        skipped, only where on_empty: skip asks for it\n",
	130: "    130, 143  interrupted (129: the terminal closed): old or new, never half; run again\n",
}
