package testenv

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
)

// What a load asks of its services, for hooks.
func readsSource(r Request) bool { return strings.Contains(r.What, "/raw/") }

func puts(r Request, ending string) bool {
	path, _, _ := strings.Cut(r.What, "?")
	return strings.HasPrefix(r.What, "PUT ") && strings.HasSuffix(path, ending)
}
func putsManifest(r Request) bool { return puts(r, ".avro") }

// commits is the request that publishes, or the first that a commit call makes
// where the catalog's client writes the metadata.
func commits(r Request) bool {
	return puts(r, ".metadata.json") || r.Service == "rest" && strings.HasPrefix(r.What, "POST ") && strings.Contains(r.What, "/tables/")
}

// once calls do at the first request for which match holds.
func once(match func(Request) bool, do func() bool) func(Request) bool {
	first := make(chan struct{}, 1)
	first <- struct{}{}
	return func(r Request) bool {
		if !match(r) {
			return true
		}
		select {
		case <-first:
			return do()
		default:
			return true
		}
	}
}

// TestSignals: SIGTERM, SIGINT and SIGHUP let the load stop reading, abort its uploads
// and remove what it staged; past the commit call it finishes and reports.
func TestSignals(t *testing.T) {
	t.Parallel()
	ownProcesses(t)
	uploads := func(part string) func(Request) bool {
		return func(r Request) bool { return strings.Contains(r.What, "partNumber="+part) }
	}
	for _, tc := range []struct {
		name   string
		at     func(Request) bool
		after  bool // the answer, not before the request
		hold   bool // the request is never answered
		large  bool // a file of several parts
		signal syscall.Signal
		code   int
	}{
		{name: "opening", at: func(Request) bool { return true }, hold: true, signal: syscall.SIGTERM, code: 143},
		{name: "listing the source", at: readsSource, hold: true, signal: syscall.SIGINT, code: 130},
		{name: "reading a slow source", at: func(r Request) bool {
			return readsSource(r) && strings.HasPrefix(r.What, "GET ") && !strings.Contains(r.What, "list-type")
		}, hold: true, signal: syscall.SIGTERM, code: 143},
		{name: "beginning an upload", at: func(r Request) bool { return strings.HasSuffix(r.What, "uploads=") }, after: true, large: true, signal: syscall.SIGTERM, code: 143},
		{name: "uploading the first part", at: uploads("1"), hold: true, large: true, signal: syscall.SIGTERM, code: 143},
		{name: "uploading the second part", at: uploads("2"), after: true, large: true, signal: syscall.SIGINT, code: 130},
		{name: "completing an upload", at: func(r Request) bool {
			return strings.HasPrefix(r.What, "POST ") && strings.Contains(r.What, "uploadId=")
		}, after: true, large: true, signal: syscall.SIGTERM, code: 143},
		{name: "writing a data file", at: func(r Request) bool { return puts(r, ".parquet") }, signal: syscall.SIGTERM, code: 143},
		{name: "writing a data file, its terminal closed", at: func(r Request) bool { return puts(r, ".parquet") }, signal: syscall.SIGHUP, code: 129},
		{name: "before the commit", at: putsManifest, signal: syscall.SIGINT, code: 130},
		{name: "before the commit, the manifest written", at: putsManifest, after: true, signal: syscall.SIGTERM, code: 143},
		{name: "during the commit", at: commits, signal: syscall.SIGTERM, code: 0},
		{name: "during the commit, the answer on its way", at: commits, after: true, signal: syscall.SIGINT, code: 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			onEachSite(t, func(t *testing.T, s *site) {
				j := s.signalJob(t, tc.large)
				before := s.S3.Objects("")
				g := NewGate(t)
				strike := once(tc.at, func() bool {
					g.Process().Signal(tc.signal)
					if tc.hold {
						<-g.Process().Done()
					}
					return !tc.hold
				})
				if tc.after {
					g.After = strike
				} else {
					g.Before = strike
				}
				end := j.start(g).Wait()
				if end.Code != tc.code {
					t.Fatalf("%s\nrequests\n%s", end, list(g.Requests()))
				}
				want := lake.Landed
				if tc.code != 0 {
					want = lake.Interrupted
				}
				j.answered(end, want)
				s.noUploads(t, g)
				if tc.code == 0 {
					return
				}
				if diff := cmp.Diff(before, s.S3.Objects("")); diff != "" {
					t.Errorf("objects; -before +after:\n%s\nrequests\n%s", diff, list(g.Requests()))
				}
				if again := j.run(); again.Code != 0 {
					t.Errorf("run again: %s", again)
				}
			})
		})
	}
}

// signalJob is a table of two days and a load of the first one from the bucket.
func (s *site) signalJob(tb testing.TB, large bool) *job {
	s.replace(tb, "signals", "2026-05-04/2026-05-06", NewEvent(1, "2026-05-04T01:00:00Z", "eu", 1), NewEvent(2, "2026-05-05T01:00:00Z", "eu", 2))
	j := s.newJob(tb, "signals", "2026-05-04")
	j.source = s.S3.URL("raw/events.csv")
	rows := 10
	if large {
		rows = 220_000 // 96 random bytes each: an upload in parts begins at 16 MiB
	}
	random := rand.New(rand.NewPCG(1, 2))
	b := bytes.NewBufferString("id,event_time,region,value\n")
	for i := range rows {
		fmt.Fprintf(b, "%d,2026-05-04T10:00:00Z,", i)
		var noise []byte
		for range 12 {
			noise = binary.BigEndian.AppendUint64(noise, random.Uint64())
		}
		b.WriteString(base64.RawURLEncoding.EncodeToString(noise) + ",3\n")
	}
	s.S3.Put("raw/events.csv", b.Bytes())
	return j
}

// answered checks that stdout's last line is the receipt with the outcome, and
// that the result file holds the same line and nothing is beside it.
func (j *job) answered(end Ended, want lake.Outcome) {
	j.tb.Helper()
	r, err := end.Receipt()
	if err != nil {
		j.tb.Fatalf("%v: %s", err, end)
	}
	code := 0
	if r.Error != nil {
		code = r.Error.Code
	}
	if r.Outcome != want || code != end.Code {
		j.tb.Errorf("outcome %s with code %d, want %s: %s", r.Outcome, code, want, end)
	}
	j.wrote(end)
}

// wrote checks the result file.
func (j *job) wrote(end Ended) {
	j.tb.Helper()
	file, err := os.ReadFile(j.result())
	if err != nil || !strings.HasSuffix(end.Stdout, string(file)) || strings.Count(string(file), "\n") != 1 {
		j.tb.Errorf("result file %q, %v: %s", file, err, end)
	}
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		j.tb.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".calve-result") {
			j.tb.Errorf("%s was left behind", e.Name())
		}
	}
}

// noUploads checks that no upload of several parts was begun and left.
func (s *site) noUploads(t *testing.T, g *Gate) {
	t.Helper()
	for u := range s.S3.client.ListIncompleteUploads(context.WithoutCancel(t.Context()), s.S3.Bucket, "", true) {
		if u.Err != nil {
			t.Fatal(u.Err)
		}
		t.Errorf("an upload of %s was left, after requests\n%s", u.Key, list(g.Requests()))
	}
}

// TestSecondSignal: while a load cleans up, a second signal ends it at once, and
// it still says so.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	ownProcesses(t)
	onEachSite(t, func(t *testing.T, s *site) {
		j := s.signalJob(t, false)
		before := s.S3.Objects("")
		g := NewGate(t)
		g.Before = once(putsManifest, func() bool { g.Process().Signal(syscall.SIGTERM); return true })
		cleans := once(func(r Request) bool { return strings.HasPrefix(r.What, "DELETE ") }, func() bool {
			g.Process().Signal(syscall.SIGINT)
			<-g.Process().Done()
			return false
		})
		first := g.Before
		g.Before = func(r Request) bool { return first(r) && cleans(r) }
		end := j.start(g).Wait()
		if end.Code != 130 {
			t.Fatalf("%s\nrequests\n%s", end, list(g.Requests()))
		}
		j.answered(end, lake.Interrupted)
		if diff := cmp.Diff(before, s.S3.Objects("")); diff == "" {
			t.Error("nothing was left: was there anything to clean up?")
		}
		if again := j.run(); again.Code != 0 {
			t.Errorf("run again: %s", again)
		}
	})
}
