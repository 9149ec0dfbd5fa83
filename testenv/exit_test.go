package testenv

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/calve-data/calve/lake"
)

// TestEveryWayOut plays a scene for each exit code of a load and for each kind
// of error that has the code. Whatever happens, the last line of stdout says
// how it ended, and the result file holds the same line, whole.
func TestEveryWayOut(t *testing.T) {
	t.Parallel()
	ownProcesses(t)
	day := NewEvent(1, "2026-05-04T01:00:00Z", "eu", 1)
	for _, tc := range []struct {
		name    string
		lines   []string
		window  string
		flags   []string
		prepare func(j *job)
		gate    func(j *job, g *Gate)
		code    int
		outcome lake.Outcome
		kind    string
	}{
		{name: "landed", code: 0, outcome: lake.Landed},
		{name: "a bad cell", lines: []string{"2,2026-05-04T02:00:00Z,eu,many"}, code: 1, outcome: lake.Failed, kind: "input"},
		{name: "a column too many", prepare: func(j *job) { j.rewrite("id,event_time,region,value,more", "2,2026-05-04T02:00:00Z,eu,2,3") }, code: 1, outcome: lake.Failed, kind: "schema"},
		{name: "a window that is none", window: "soon", code: 2, outcome: lake.Failed, kind: "window"},
		{name: "a flag that is none", flags: []string{"--nope"}, code: 2, outcome: lake.Failed, kind: "usage"},
		{name: "a configuration with a mistake", flags: []string{"--config", "wrong.yaml"}, prepare: func(j *job) { j.write("wrong.yaml", "catalogue: {}\n") }, code: 2, outcome: lake.Failed, kind: "config"},
		{name: "no configuration", flags: []string{"--config", "none.yaml"}, code: 2, outcome: lake.Failed, kind: "config"},
		{name: "no namespace", prepare: func(j *job) { j.table = []string{"nowhere", "exits"} }, code: 10, outcome: lake.Failed, kind: "no_namespace"},
		{name: "superseded", gate: func(j *job, g *Gate) {
			g.Before = once(putsManifest, func() bool {
				j.replace(j.tb, "exits", "2026-05-04", NewEvent(3, "2026-05-04T03:00:00Z", "eu", 3))
				return true
			})
		}, code: 11, outcome: lake.Superseded, kind: "superseded"},
		{name: "unknown", gate: func(_ *job, g *Gate) {
			var cut atomic.Bool
			g.Before = func(r Request) bool {
				if commits(r) {
					cut.Store(true)
				}
				return !cut.Load()
			}
		}, code: 12, outcome: lake.Unknown, kind: "unknown"},
		{name: "an empty source", prepare: func(j *job) { j.rewrite("id,event_time,region,value") }, code: 14, outcome: lake.Refused, kind: "refused"},
		{name: "no file", prepare: func(j *job) { j.source = "none-*.csv" }, code: 14, outcome: lake.Refused, kind: "refused"},
		{name: "a row outside", lines: []string{"2,2026-05-05T02:00:00Z,eu,2"}, flags: []string{"--outside", "error"}, code: 14, outcome: lake.Refused, kind: "outside_window"},
		{name: "no answer", gate: func(_ *job, g *Gate) { g.Before = func(Request) bool { return false } }, code: 75, outcome: lake.Failed, kind: "temporary"},
		{name: "skipped", prepare: func(j *job) { j.rewrite("id,event_time,region,value") }, flags: []string{"--on-empty", "skip"}, code: 99, outcome: lake.Skipped, kind: "skipped"},
		{name: "SIGINT", gate: signalled(syscall.SIGINT), code: 130, outcome: lake.Interrupted, kind: "interrupted"},
		{name: "SIGTERM", gate: signalled(syscall.SIGTERM), code: 143, outcome: lake.Interrupted, kind: "interrupted"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, Kinds()[0])
			s.replace(t, "exits", "2026-05-04", day)
			lines := tc.lines
			if lines == nil {
				lines = csvLines(NewEvent(2, "2026-05-04T02:00:00Z", "eu", 2))
			}
			j := s.newJob(t, "exits", "2026-05-04", lines...)
			if tc.window != "" {
				j.window = tc.window
			}
			j.flags = tc.flags
			if tc.prepare != nil {
				tc.prepare(j)
			}
			g := NewGate(t)
			if tc.gate != nil {
				tc.gate(j, g)
			}
			end := j.start(g).Wait()
			if end.Code != tc.code {
				t.Fatalf("want exit code %d: %s", tc.code, end)
			}
			j.answered(end, tc.outcome)
			r, _ := end.Receipt()
			kind := ""
			if r.Error != nil {
				kind = r.Error.Kind
			}
			if kind != tc.kind {
				t.Errorf("kind %q, want %q: %s", kind, tc.kind, end)
			}
		})
	}
}

// signalled sends a signal at the first request.
func signalled(s syscall.Signal) func(*job, *Gate) {
	return func(_ *job, g *Gate) {
		g.Before = once(func(Request) bool { return true }, func() bool { g.Process().Signal(s); return true })
	}
}

// write writes a file into the job's folder.
func (j *job) write(name, content string) {
	j.tb.Helper()
	if err := os.WriteFile(filepath.Join(j.dir, name), []byte(content), 0o600); err != nil {
		j.tb.Fatal(err)
	}
}

// TestStdoutIsGone: whoever read stdout and stderr may have gone before the load
// ends; the result file says how it ended nevertheless.
func TestStdoutIsGone(t *testing.T) {
	t.Parallel()
	ownProcesses(t)
	s := newSite(t, Kinds()[0])
	j := s.newJob(t, "gone", "2026-05-04", csvLines(NewEvent(2, "2026-05-04T02:00:00Z", "eu", 2))...)
	g := NewGate(t)
	p := j.startInto(g, brokenPipe(t))
	if end := p.Wait(); end.Code != 0 {
		t.Errorf("%s", end)
	}
	file, err := os.ReadFile(j.result())
	if err != nil {
		t.Fatal(err)
	}
	r, err := Ended{Stdout: string(file)}.Receipt()
	if err != nil || r.Outcome != lake.Landed {
		t.Errorf("result file %q, %v", file, err)
	}
}

// brokenPipe is the end of a pipe that nobody reads.
func brokenPipe(tb testing.TB) *os.File {
	tb.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = w.Close() })
	if err := r.Close(); err != nil {
		tb.Fatal(err)
	}
	return w
}
