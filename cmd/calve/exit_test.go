package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/calve-data/calve/lake"
)

func TestExitCodes(t *testing.T) {
	in := func(err error) error {
		return &lake.Error{Op: "commit", Table: "a.b", Err: fmt.Errorf("because: %w", err)}
	}
	for _, tc := range []struct {
		err     error
		code    int
		kind    string
		outcome lake.Outcome
	}{
		{nil, 0, "", ""},
		{errors.New("x"), 1, "error", lake.Failed},
		{in(lake.ErrInput), 1, "input", lake.Failed},
		{in(lake.ErrSchema), 1, "schema", lake.Failed},
		{in(lake.ErrDenied), 1, "denied", lake.Failed},
		{fmt.Errorf("%w: %w", lake.ErrTemporary, lake.ErrDenied), 1, "denied", lake.Failed},
		{in(lake.ErrWindow), 2, "window", lake.Failed},
		{in(lake.ErrUsage), 2, "usage", lake.Failed},
		{usage("x"), 2, "usage", lake.Failed},
		{configError{file: "calve.yaml", text: "x"}, 2, "config", lake.Failed},
		{in(lake.ErrNoTable), 10, "no_table", lake.Failed},
		{in(lake.ErrNoNamespace), 10, "no_namespace", lake.Failed},
		{in(lake.ErrSuperseded), 11, "superseded", lake.Superseded},
		{in(lake.ErrUnknown), 12, "unknown", lake.Unknown},
		{in(lake.ErrRefused), 14, "refused", lake.Refused},
		{in(lake.ErrOutsideWindow), 14, "outside_window", lake.Refused},
		{in(lake.ErrTemporary), 75, "temporary", lake.Failed},
		{in(lake.ErrSkipped), 99, "skipped", lake.Skipped},
		// What may have changed the table is never hidden by its cause.
		{fmt.Errorf("%w: %w", lake.ErrUnknown, lake.ErrTemporary), 12, "unknown", lake.Unknown},
		{fmt.Errorf("%w: %w", lake.ErrTemporary, lake.ErrUnknown), 12, "unknown", lake.Unknown},
	} {
		f := (&app{table: "a.b"}).explain(t.Context(), tc.err)
		if f.code != tc.code || f.Kind != tc.kind || f.outcome != tc.outcome {
			t.Errorf("explain(%v) = %d %q %q, want %d %q %q", tc.err, f.code, f.Kind, f.outcome, tc.code, tc.kind, tc.outcome)
		}
		if strings.Contains(f.Hint, "TABLE") || strings.Contains(f.Hint, "\n") {
			t.Errorf("explain(%v): hint %q", tc.err, f.Hint)
		}
	}
}

func TestExitCodesOfSignals(t *testing.T) {
	for _, tc := range []struct {
		signal syscall.Signal
		err    error
		code   int
	}{
		{syscall.SIGINT, context.Canceled, 130},
		{syscall.SIGTERM, fmt.Errorf("read: %w", context.Canceled), 143},
		{syscall.SIGTERM, interrupted{syscall.SIGTERM}, 143},
		{syscall.SIGTERM, lake.ErrTemporary, 143},
		{syscall.SIGTERM, lake.ErrUnknown, 143},
		{syscall.SIGINT, lake.ErrSuperseded, 11}, // a definite answer stands
		{syscall.SIGINT, lake.ErrRefused, 14},
		{syscall.SIGINT, nil, 0}, // it landed before the signal was heard
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(interrupted{tc.signal})
		f := (&app{}).explain(ctx, tc.err)
		if f.code != tc.code || tc.code > 128 && f.outcome != lake.Interrupted {
			t.Errorf("explain(%v) after %v = %d %q, want %d", tc.err, tc.signal, f.code, f.outcome, tc.code)
		}
		if tc.code > 128 && strings.Count(f.Message, "interrupted by "+map[syscall.Signal]string{syscall.SIGINT: "SIGINT", syscall.SIGTERM: "SIGTERM"}[tc.signal]) != 1 {
			t.Errorf("explain(%v) after %v says %q", tc.err, tc.signal, f.Message)
		}
	}
}

func TestFirstSignalEndsTheContext(t *testing.T) {
	ctx, stop := withSignals(t.Context())
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	var by interrupted
	if !errors.As(context.Cause(ctx), &by) || by.signal != syscall.SIGTERM {
		t.Errorf("cause = %v, want the signal", context.Cause(ctx))
	}
}

func TestUsageErrorsAreAnsweredInJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	result := filepath.Join(t.TempDir(), "result.json")
	for _, args := range [][]string{
		{"load", "--json", "--result-file", result},
		{"load", "--json", "--result-file=" + result, "--bogus"},
		{"load", "--bogus", "--json", "--result-file", result},
		{"load", "nope", "--window", "2026-01-01", "--json", "--result-file", result},
		{"load", "--source", "x", "--table", "a.b", "--time-column", "t", "--window", "nonsense", "--json", "--result-file", result},
	} {
		_ = os.Remove(result)
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, nil, &stdout, &stderr); code != 2 {
			t.Errorf("run(%q) = %d, want 2", args, code)
		}
		var r lake.Receipt
		if err := json.Unmarshal(stdout.Bytes(), &r); err != nil || strings.Count(stdout.String(), "\n") != 1 {
			t.Errorf("run(%q): stdout %q: %v", args, stdout.String(), err)
		}
		if r.Outcome != lake.Failed || r.Error == nil || r.Error.Code != 2 || r.Error.Message == "" {
			t.Errorf("run(%q): %+v", args, r)
		}
		if file, err := os.ReadFile(result); err != nil || !bytes.Equal(file, stdout.Bytes()) {
			t.Errorf("run(%q): result file %q, %v", args, file, err)
		}
		if !strings.HasPrefix(stderr.String(), "calve: ") {
			t.Errorf("run(%q): stderr %q", args, stderr.String())
		}
	}
	var stdout bytes.Buffer
	run(t.Context(), []string{"rows", "nodots", "--json"}, nil, &stdout, &bytes.Buffer{})
	if !strings.HasPrefix(stdout.String(), `{"error":{"code":2,"kind":"usage",`) {
		t.Errorf("rows --json with a mistake: %q", stdout.String())
	}
}

func TestHelpListsExitCodesAndExamples(t *testing.T) {
	for _, command := range []string{"load", "plan", "history", "rows", "maintain", "init", "version"} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{command, "--help"}, nil, &stdout, &stderr)
		out := stdout.String()
		if code != 0 || stderr.Len() > 0 || !strings.Contains(out, "Exit codes:") || !strings.Contains(out, "calve "+command) {
			t.Errorf("%s --help = %d, %q\n%s", command, code, stderr.String(), out)
		}
	}
}

func TestResultFileThatCannotBeWritten(t *testing.T) {
	var stdout, stderr bytes.Buffer
	args := []string{"load", "--window", "2026-01-01", "--result-file", filepath.Join(t.TempDir(), "no", "such", "folder")}
	if code := run(t.Context(), args, nil, &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), "--result-file") {
		t.Errorf("run = %d, %q", code, stderr.String())
	}
}
