package testenv

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/calve-data/calve/lake"
)

// TestEightWindows: eight processes load disjoint windows of one table, started
// together; all land, each in one snapshot. The table is there, or one of them
// creates it.
func TestEightWindows(t *testing.T) {
	t.Parallel()
	ownProcesses(t)
	for _, first := range []string{"a table", "no table"} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			onEachSite(t, func(t *testing.T, s *site) { eightWindows(t, s, first == "a table") })
		})
	}
}

func eightWindows(t *testing.T, s *site, exists bool) {
	m := &Model{}
	Check(t, s, s.Ident("windows"), m.Strings)
	old := NewEvent(100, "2026-05-20T00:00:00Z", "eu", 0)
	made := 0
	if exists {
		s.replace(t, "windows", "2026-05-20", old)
		m.Append(old)
		made++
	}
	const processes = 8
	barrier := newBarrier(processes)
	ends := together(processes, func(i int) Ended {
		day := fmt.Sprintf("2026-05-%02d", i+1)
		e := NewEvent(int64(i), day+"T10:00:00Z", "eu", int64(i))
		m.Append(e)
		defer barrier.end()
		g := NewGate(t)
		g.Before = once(putsManifest, barrier.wait)
		j := s.newJob(t, "windows", day, csvLines(e)...)

		return j.start(g).Wait()
	})
	for i, end := range ends {
		if end.Code != 0 {
			t.Errorf("process %d: %s", i, end)
		}
	}
	if n := len(Load(t, s, s.Ident("windows")).Metadata().Snapshots()); n != processes+made {
		t.Errorf("%d snapshots, want %d", n, processes+made)
	}
}

// TestOneWindowTwice: two processes load one window, each from another source.
// One lands; the other says that it was superseded, or lands after. The table
// holds one run's rows, never the union.
func TestOneWindowTwice(t *testing.T) {
	t.Parallel()
	ownProcesses(t)
	for _, meet := range []string{"started together", "before they commit"} {
		for _, first := range []string{"a table", "no table"} {
			t.Run(meet+", "+first, func(t *testing.T) {
				t.Parallel()
				onEachSite(t, func(t *testing.T, s *site) {
					oneWindowTwice(t, s, first == "a table", meet == "before they commit")
				})
			})
		}
	}
}

func oneWindowTwice(t *testing.T, s *site, exists, meet bool) {
	Check(t, s, s.Ident("twice"), nil)
	if exists {
		s.replace(t, "twice", "2026-05-04", NewEvent(1, "2026-05-04T01:00:00Z", "eu", 1))
	}
	barrier := newBarrier(2)
	runs := []Event{NewEvent(10, "2026-05-04T10:00:00Z", "eu", 10), NewEvent(11, "2026-05-04T11:00:00Z", "us", 11)}
	ends := together(2, func(i int) Ended {
		defer barrier.end()
		g := NewGate(t)
		if meet {
			g.Before = once(putsManifest, barrier.wait)
		}
		j := s.newJob(t, "twice", "2026-05-04", csvLines(runs[i])...)
		j.flags = []string{"--run", fmt.Sprint(i)}

		return j.start(g).Wait()
	})
	codes := []int{ends[0].Code, ends[1].Code}
	slices.Sort(codes)
	if meet && codes[1] != 11 || codes[0] != 0 || codes[1] != 0 && codes[1] != 11 {
		t.Fatalf("exit codes %v:\n%s\n%s", codes, ends[0], ends[1])
	}
	tbl := Load(t, s, s.Ident("twice"))
	winner := tbl.CurrentSnapshot().Summary.Properties["calve.run"]
	for i, end := range ends {
		if won := fmt.Sprint(i) == winner; won && end.Code != 0 {
			t.Errorf("run %d is in the table and said %s", i, end)
		}
	}
	want := []string{runs[0].String()}
	if winner == "1" {
		want = []string{runs[1].String()}
	}
	if got := ReadAll(t, tbl); !slices.Equal(got, want) {
		t.Errorf("the table holds %q, want %q alone", got, want)
	}
}

// TestStoppedProcess: a process is stopped for a while, another one loads the
// window, and the first one goes on: it says that it was superseded, wherever it
// was stopped.
func TestStoppedProcess(t *testing.T) {
	t.Parallel()
	ownProcesses(t)
	for name, at := range map[string]func(Request) bool{
		"reading":           func(r Request) bool { return readsSource(r) && strings.HasPrefix(r.What, "GET ") },
		"writing":           func(r Request) bool { return puts(r, ".parquet") },
		"before its commit": putsManifest,
		"in its commit":     commits,
	} {
		for _, first := range []string{"a table", "no table"} {
			t.Run(name+", "+first, func(t *testing.T) {
				t.Parallel()
				onEachSite(t, func(t *testing.T, s *site) {
					m := &Model{}
					Check(t, s, s.Ident("stopped"), m.Strings)
					if first == "a table" {
						s.replace(t, "stopped", "2026-05-04/2026-05-06", NewEvent(1, "2026-05-04T01:00:00Z", "eu", 1), NewEvent(2, "2026-05-05T01:00:00Z", "eu", 2))
						m.Append(NewEvent(2, "2026-05-05T01:00:00Z", "eu", 2))
					}
					s.S3.Put("raw/events.csv", []byte("id,event_time,region,value\n3,2026-05-04T03:00:00Z,eu,3\n"))
					j := s.newJob(t, "stopped", "2026-05-04")
					j.source = s.S3.URL("raw/events.csv")
					other := NewEvent(4, "2026-05-04T04:00:00Z", "us", 4)
					m.Append(other)

					g := NewGate(t)
					g.Before = once(at, func() bool {
						g.Process().Signal(syscall.SIGSTOP)
						defer g.Process().Signal(syscall.SIGCONT)
						if end := s.newJob(t, "stopped", "2026-05-04", csvLines(other)...).run(); end.Code != 0 {
							t.Errorf("the other process: %s", end)
						}
						return true
					})
					end := j.start(g).Wait()
					if end.Code != 11 {
						t.Fatalf("%s\nrequests\n%s", end, list(g.Requests()))
					}
					j.answered(end, lake.Superseded)
				})
			})
		}
	}
}

// together runs n processes at once.
func together(n int, run func(i int) Ended) []Ended {
	ends := make([]Ended, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { ends[i] = run(i) })
	}
	wg.Wait()
	return ends
}

// barrier lets nobody pass before all are there, or one has ended without
// having come.
type barrier struct {
	mu      sync.Mutex
	missing int
	open    chan struct{}
}

func newBarrier(n int) *barrier { return &barrier{missing: n, open: make(chan struct{})} }

func (b *barrier) wait() bool {
	b.less(1)
	<-b.open
	return true
}

// end is called when a process has ended: nobody waits for it any more.
func (b *barrier) end() { b.less(math.MaxInt) }

func (b *barrier) less(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.missing > 0 {
		if b.missing -= n; b.missing <= 0 {
			close(b.open)
		}
	}
}
