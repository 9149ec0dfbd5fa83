package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/calve-data/calve/lake"
)

// TestBackfillAnswer: however a backfill ends, each window that was begun has one
// line, in order, and stdout has no line twice; a failure that is no window's has
// one of its own.
func TestBackfillAnswer(t *testing.T) {
	days, err := lake.ParseWindow("2026-05-01/2026-05-05", nil)
	if err != nil {
		t.Fatal(err)
	}
	windows, err := days.Grid(lake.Step{Days: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &app{table: "a.b"}
	by := interrupted{syscall.SIGTERM}
	refused := a.explain(t.Context(), &lake.BackfillError{Windows: 4, Failed: 1, Err: lake.ErrRefused})
	for name, tc := range map[string]struct {
		begun int
		over  map[int]lake.Receipt
		f     failure
		file  string // the lines of the result file
		left  string // those that are left to print
	}{
		"nothing to do":            {},
		"all landed":               {begun: 2, over: map[int]lake.Receipt{1: {Outcome: "landed"}, 0: {Outcome: "unchanged"}}, file: "unchanged 0, landed 0"},
		"it fails before any":      {f: refused, file: "14", left: "14"},
		"a window was refused":     {begun: 2, over: map[int]lake.Receipt{0: {Outcome: "refused", Error: &refused.ReceiptError}, 1: {Outcome: "landed"}}, f: refused, file: "refused 14, landed 0"},
		"a signal between windows": {begun: 1, over: map[int]lake.Receipt{0: {Outcome: "landed"}}, f: a.interruption(by, by), file: "landed 0, 143", left: "143"},
		"a second signal":          {begun: 3, over: map[int]lake.Receipt{1: {Outcome: "landed"}}, f: a.interruption(by, by), file: "interrupted 143, landed 0, interrupted 143", left: "interrupted 143, interrupted 143"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "receipts")
			var stdout, stderr bytes.Buffer
			a := newApp([]string{"backfill", "--json", "--result-file", path}, &stdout, &stderr)
			b := &backfillAnswer{}
			b.planned(&lake.BackfillPlan{Windows: windows, Load: "b", Table: "a.b"})
			for i := range tc.begun {
				b.began(i)
			}
			for i, r := range tc.over {
				r.Window = windows[i].JSON()
				b.ending(i, r)
			}
			a.answers(b)
			a.end(tc.f)
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := answerText(t, string(content)); got != tc.file {
				t.Errorf("result file: %s, want %s", got, tc.file)
			}
			if got := answerText(t, stdout.String()); got != tc.left {
				t.Errorf("stdout: %s, want %s", got, tc.left)
			}
		})
	}
}

// answerText is the outcome and the code of each line.
func answerText(t *testing.T, text string) string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(text) {
		var r lake.Receipt
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		code := 0
		if r.Error != nil {
			code = r.Error.Code
		}
		if r.Outcome != "" && r.Window == nil {
			t.Errorf("no window in %s", line)
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprint(r.Outcome, " ", code)))
	}
	return strings.Join(lines, ", ")
}

func TestBackfillHints(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{lake.ErrRefused, "the windows that landed stay"},
		{lake.ErrUnknown, "the windows that landed stay"},
		{lake.ErrInput, "--null TOKEN names text that means NULL"},
		{lake.ErrInput, "to load the rest"},
	} {
		f := (&app{table: "a.b"}).explain(t.Context(), &lake.BackfillError{Windows: 2, Failed: 1, Err: tc.err})
		if !strings.Contains(f.Hint, tc.want) || strings.Contains(f.Hint, "the table is") {
			t.Errorf("hint of %v: %q, want %q", tc.err, f.Hint, tc.want)
		}
	}
	if f := (&app{}).explain(t.Context(), &lake.BackfillError{Windows: 2, Err: lake.ErrSkipped}); f.code != 99 || f.Hint != "" {
		t.Errorf("all skipped: %+v", f)
	}
}

// TestBackfillProgress: rows of all windows are counted together, and what
// concerns all windows is said once.
func TestBackfillProgress(t *testing.T) {
	var stdout, stderr bytes.Buffer
	p := newBackfillProgress(&app{stdout: &stdout, stderr: &stderr}, false, "1d")
	p.planned(&lake.BackfillPlan{Windows: make([]lake.Window, 3), Table: "a.b", Parallel: 1})
	stderr.Reset()
	for range 2 {
		hooks := p.trace(nil)
		hooks.Planned(&lake.Plan{Origin: lake.Origin{Kind: "csv", Files: 2, Fingerprint: "x"}, Warnings: []lake.Warning{{Text: "careful"}}})
		hooks.Progress(lake.Progress{RowsRead: 2})
		p.last = time.Time{}
		hooks.Progress(lake.Progress{RowsRead: 5})
	}
	want := []string{"careful", "read   5 rows, 0 of 3 windows over", "the same 2 csv files", "read   10 rows, 0 of 3 windows over"}
	said := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	for i, text := range want {
		if len(said) != len(want) || !strings.Contains(said[i], text) {
			t.Fatalf("it says %q, want %q", said, want)
		}
	}
}
