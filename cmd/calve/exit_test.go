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
		{in(lake.ErrNoCatalog), 10, "no_catalog", lake.Failed},
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
		{fmt.Errorf("%w: %w", lake.ErrBug, lake.ErrUnknown), 12, "unknown", lake.Unknown},
		{in(lake.ErrBug), 1, "bug", lake.Failed},
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
		{syscall.SIGHUP, context.Canceled, 129},
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
		if tc.code > 128 && strings.Count(f.Message, "interrupted by "+map[syscall.Signal]string{syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGTERM: "SIGTERM"}[tc.signal]) != 1 {
			t.Errorf("explain(%v) after %v says %q", tc.err, tc.signal, f.Message)
		}
	}
}

// Before a commit is sent, a signal leaves the table as it was; after that only
// the table can say.
func TestHintAfterASignal(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted{syscall.SIGINT})
	for _, tc := range []struct {
		sent bool
		err  error
		want string
	}{
		{false, context.Canceled, "as it was"},
		{true, context.Canceled, "old or new"},
		{false, lake.ErrUnknown, "old or new"},
	} {
		a := &app{}
		a.sent.Store(tc.sent)
		if f := a.explain(ctx, tc.err); !strings.Contains(f.Hint, tc.want) {
			t.Errorf("explain(%v), sent %v: hint %q, want %q", tc.err, tc.sent, f.Hint, tc.want)
		}
	}
}

func TestFirstSignalEndsTheContext(t *testing.T) {
	heard, again := make(chan interrupted, 1), make(chan interrupted, 1)
	ctx, stop := withSignals(t.Context(), func(by interrupted) { heard <- by }, func(by interrupted) { again <- by })
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	var by interrupted
	if !errors.As(context.Cause(ctx), &by) || by.signal != syscall.SIGTERM {
		t.Errorf("cause = %v, want the signal", context.Cause(ctx))
	}
	if by := <-heard; by.signal != syscall.SIGTERM {
		t.Errorf("heard %v", by)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if by := <-again; by.signal != syscall.SIGINT {
		t.Errorf("heard %v again", by)
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

// panics is a writer that panics at the first text that holds a word.
type panics struct {
	bytes.Buffer
	at string
}

func (p *panics) Write(b []byte) (int, error) {
	if p.at != "" && bytes.Contains(b, []byte(p.at)) {
		p.at = ""
		panic("a broken invariant")
	}
	return p.Buffer.Write(b)
}

// A bug is answered like any other end: as an error while the table is
// certainly as it was, as an unknown outcome once a commit was sent.
func TestBugsAreAnswered(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("events.csv", []byte("at,id\n2026-05-04T10:00:00Z,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		stdout, stderr string // where it panics
		code           int
		kind           string
		outcome        lake.Outcome
	}{
		{stderr: "window", code: 1, kind: "bug", outcome: lake.Failed},
		{stdout: "landed", code: 12, kind: "unknown", outcome: lake.Unknown},
	} {
		stdout, stderr := &panics{at: tc.stdout}, &panics{at: tc.stderr}
		args := []string{"load", "--source", "events.csv", "--table", "demo.events", "--time-column", "at", "--window", "2026-05-04", "--result-file", "result.json"}
		if code := run(t.Context(), args, nil, stdout, stderr); code != tc.code {
			t.Errorf("%+v: exit code %d", tc, code)
		}
		line, err := os.ReadFile("result.json")
		if err != nil {
			t.Fatal(err)
		}
		var r lake.Receipt
		if err := json.Unmarshal(line, &r); err != nil || bytes.Count(line, []byte("\n")) != 1 {
			t.Errorf("%+v: %q, %v", tc, line, err)
		}
		if r.Outcome != tc.outcome || r.Error == nil || r.Error.Kind != tc.kind || r.Error.Code != tc.code || r.Table != "demo.events" {
			t.Errorf("%+v: %s", tc, line)
		}
		if !strings.Contains(stderr.String(), "a broken invariant") || !strings.Contains(stderr.String(), "exit_test.go") {
			t.Errorf("%+v: stderr %q", tc, stderr.String())
		}
	}
}

// blocked is a stdout that nobody reads.
type blocked struct{ begun chan struct{} }

func (b blocked) Write([]byte) (int, error) {
	close(b.begun)
	select {}
}

// A second signal while the answer is being given does not wait for stdout, and
// says with its exit code what the result file says.
func TestSecondSignalWhileStdoutIsBlocked(t *testing.T) {
	result := filepath.Join(t.TempDir(), "result.json")
	stdout := blocked{make(chan struct{})}
	a := newApp([]string{"load", "--json", "--result-file", result}, stdout, &bytes.Buffer{})
	a.answers(loadAnswer{lake.Receipt{Outcome: lake.Landed}})
	go a.finish(context.WithoutCancel(t.Context()), nil) // it never returns
	<-stdout.begun
	if code := a.quit(interrupted{syscall.SIGTERM}); code != 0 {
		t.Errorf("exit code %d, want that of the answer", code)
	}
	if line, err := os.ReadFile(result); err != nil || !strings.HasPrefix(string(line), `{"outcome":"landed"`) {
		t.Errorf("result file %q, %v", line, err)
	}

	a = newApp([]string{"load", "--result-file", result}, &bytes.Buffer{}, &bytes.Buffer{})
	if code := a.quit(interrupted{syscall.SIGINT}); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	if line, err := os.ReadFile(result); err != nil || !strings.HasPrefix(string(line), `{"outcome":"interrupted"`) {
		t.Errorf("result file %q, %v", line, err)
	}
}
