package testenv

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// theGate is an address that differs from one run of the program to the next.
var theGate = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// TestSilentCatalog: a catalog that answers no more, from any request on, ends
// the commands that only read with "temporary", in the time that --timeout
// bounds. Where the answer of the command was there by then it is given.
func TestSilentCatalog(t *testing.T) {
	t.Parallel()
	ownProcesses(t)
	for _, kind := range []Kind{{"postgres", PostgresOn}, {"rest", RESTOn}} {
		for _, args := range [][]string{{"history"}, {"rows", "--json"}, {"connect", "--engine", "duckdb"}} {
			t.Run(kind.Name+"/"+args[0], func(t *testing.T) {
				t.Parallel()
				s := newSite(t, kind)
				s.replace(t, "events", "2026-05-04", NewEvent(1, "2026-05-04T01:00:00Z", "eu", 1))
				start := func(g *Gate) *Process {
					j := s.newJob(t, "events", "2026-05-04")
					return j.command(g, nil, slices.Concat(args[:1], []string{j.name(), "--timeout", time.Second.String()}, args[1:])...)
				}
				clean := NewGate(t)
				want := start(clean).Wait()
				if want.Code != 0 {
					t.Fatal(want)
				}
				group, silent := errgroup.Group{}, 0
				group.SetLimit(4)
				for n, r := range clean.Requests() {
					if r.Service != kind.Name {
						continue
					}
					silent++
					group.Go(func() error {
						g := NewGate(t)
						defer g.Close()
						g.Before = func(r Request) bool {
							if r.N >= n {
								<-g.Process().Done()
							}
							return r.N < n
						}
						if end := start(g).Wait(); end.Code != 75 && (end.Code != 0 || theGate.ReplaceAllString(end.Stdout, "") != theGate.ReplaceAllString(want.Stdout, "")) {
							t.Errorf("silent from request %d on: %s", n, end)
						}
						return nil
					})
				}
				if _ = group.Wait(); silent == 0 {
					t.Error("the command asked its catalog nothing")
				}
			})
		}
	}
}
