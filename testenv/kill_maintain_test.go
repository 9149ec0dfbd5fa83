package testenv

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"
)

// TestKillEverywhereInMaintenance kills `calve maintain`, while it expires
// snapshots and deletes their files, orphans and old metadata files, before and
// after every request that it makes, and when it has begun to say what it did.
// At that moment every object that the table needs is there, of its tag too. One
// plain run later nothing else is: what expired is gone, and so is all that the
// killed run left. A load then lands as ever.
func TestKillEverywhereInMaintenance(t *testing.T) {
	t.Parallel()
	ownProcesses(t)
	total := &toll{}
	t.Cleanup(func() {
		t.Logf("%d schedules of a killed maintenance, a re-run and a load, %d of them killed after snapshots had expired: %d rows lost, %d doubled, %d live files deleted, %d expired files or orphans left, %d manual steps",
			total.kills.Load(), total.landed.Load(), total.lost.Load(), total.doubled.Load(), total.gone.Load(), total.orphans.Load(), total.manual.Load())
	})
	onEachSite(t, func(t *testing.T, s *site) {
		clean := newUntidy(t, s, "untidy_clean")
		g := NewGate(t)
		if end := clean.maintain(g).Wait(); end.Code != 0 || !strings.Contains(end.Stdout, `"snapshots":{"expired":2,"kept":2}`) || !strings.Contains(end.Stdout, `"orphans":{"files":2,`) {
			t.Fatalf("the clean run: %s", end)
		}
		clean.isTidy(t, total)
		requests := len(g.Requests())
		if requests < 20 { // what is deleted alone is more
			t.Errorf("a run made %d requests: are they seen?", requests)
		}
		group := errgroup.Group{}
		group.SetLimit(2 * runtime.GOMAXPROCS(0))
		for i := 0; i*stride() < requests; i++ {
			for k, when := range []string{"before", "after"} {
				if *killEvery == 0 && i%2 != k { // in turn, where only samples are taken
					continue
				}
				n := i * stride()
				group.Go(func() error {
					newUntidy(t, s, fmt.Sprintf("untidy_%s_%d", when, n)).kill(t, n, when, total)
					return nil
				})
			}
		}
		group.Go(func() error { newUntidy(t, s, "untidy_told").kill(t, -1, "told", total); return nil })
		_ = group.Wait()
	})
}

// untidy is a table with something for each part of maintenance: two snapshots
// that expire, and one beside the head that a tag needs; two orphans; and the
// metadata file of a commit that was lost. Its job is a load to come.
type untidy struct {
	*job
	model *Model
}

func newUntidy(tb testing.TB, s *site, name string) *untidy {
	tb.Helper()
	next := NewEvent(9, "2026-05-05T05:00:00Z", "us", 9)
	u := &untidy{job: s.newJob(tb, name, "2026-05-05", csvLines(next)...), model: &Model{}}
	replace := func(window string, events ...Event) {
		s.replace(tb, name, window, events...)
		u.model.Replace(eventWindow(tb, window), "", events...)
	}
	replace("2026-05-04/2026-05-06", NewEvent(1, "2026-05-04T01:00:00Z", "eu", 1), NewEvent(2, "2026-05-05T02:00:00Z", "us", 2))
	replace("2026-05-04", NewEvent(3, "2026-05-04T03:00:00Z", "eu", 3), NewEvent(4, "2026-05-04T10:00:00Z", "eu", 4))
	ctx := context.WithoutCancel(tb.Context())
	tagged := Load(tb, s, u.table).CurrentSnapshot().SnapshotID
	tag := table.NewSetSnapshotRefUpdate("release", tagged, table.TagRef, 0, 0, 0)
	if _, _, err := s.CommitTable(ctx, u.table, nil, []table.Update{tag}); err != nil {
		tb.Fatalf("tag %s: %v", name, err)
	}
	replace("2026-05-04T10", NewEvent(5, "2026-05-04T10:30:00Z", "us", 5))
	replace("2026-05-05", NewEvent(6, "2026-05-05T06:00:00Z", "eu", 6))

	tbl := Load(tb, s, u.table)
	lost := "metadata/00099-0a0a0a0a-0b0b-0c0c-0d0d-0e0e0e0e0e0e.metadata.json"
	s.S3.Put(s.key(tbl.Location()+"/"+lost), s.S3.Get(s.key(tbl.MetadataLocation())))
	s.S3.Put(s.key(tbl.Location()+"/data/calve-"+name+"-00000000000000aa-1.parquet"), []byte("x"))
	s.S3.Put(s.key(tbl.Location()+"/metadata/snap-7-calve-"+name+"-00000000000000aa-2.avro"), []byte("x"))
	return u
}

// key is the key of a location in the site's bucket.
func (s *site) key(location string) string { return strings.TrimPrefix(location, s.S3.URL("")) }

// maintain starts the maintenance of all, whatever its age.
func (u *untidy) maintain(g *Gate) *Process {
	u.tb.Helper()
	return u.command(g, nil, "maintain", u.name(), "--expire", "0s", "--orphans", "--metadata",
		"--older-than", "0s", "--no-load-runs", "--json", "--result-file", u.result())
}

// kill is one schedule.
func (u *untidy) kill(t *testing.T, n int, when string, total *toll) {
	g := NewGate(t)
	defer g.Close()
	end := killed(g, n, when, u.maintain)
	if end.Code == 0 && when != "told" {
		t.Logf("%s: no request %d this time", u.table, n)
		return
	}
	total.kills.Add(1)
	if len(Load(t, u, u.table).Metadata().Snapshots()) == 2 {
		total.landed.Add(1)
	}
	whole := u.isWhole(t, total)
	again := NewGate(t)
	defer again.Close()
	if end := u.maintain(again).Wait(); end.Code != 0 {
		total.manual.Add(1)
		t.Errorf("%s, killed %s request %d of\n%s\nre-run: %s", u.table, when, n, list(g.Requests()), end)
		return
	}
	whole = u.isTidy(t, total) && whole
	if end := u.run(); end.Code != 0 {
		total.manual.Add(1)
		t.Errorf("%s, a load after maintenance that was killed %s request %d: %s", u.table, when, n, end)
		return
	}
	u.model.Replace(eventWindow(t, u.window), "", NewEvent(9, "2026-05-05T05:00:00Z", "us", 9))
	if whole = u.isWhole(t, total) && whole; !whole {
		t.Errorf("%s was killed %s request %d of\n%s", u.table, when, n, list(g.Requests()))
	}
}

// isWhole demands the model's rows, and every object that a snapshot needs.
func (u *untidy) isWhole(t *testing.T, total *toll) bool {
	whole := u.compare(t, u.table, u.model.Strings(), total)
	there := u.folder(t)
	for object := range snapshotObjects(t, Load(t, u, u.table)) {
		if !there[object] {
			whole = false
			total.gone.Add(1)
			t.Errorf("%s names %s, which is gone", u.table, object)
		}
	}
	return whole
}

// isTidy demands that too, and that the tag and the head are all that is left,
// with the metadata log.
func (u *untidy) isTidy(t *testing.T, total *toll) bool {
	tidy := u.isWhole(t, total)
	tbl := Load(t, u, u.table)
	if n := len(tbl.Metadata().Snapshots()); n != 2 || tbl.SnapshotByName("release") == nil {
		tidy = false
		t.Errorf("%s has %d snapshots, want the head and that of the tag", u.table, n)
	}
	needed := snapshotObjects(t, tbl)
	for entry := range tbl.Metadata().PreviousFiles() {
		needed[entry.MetadataFile] = true
	}
	for object := range u.folder(t) {
		if !needed[object] {
			tidy = false
			total.orphans.Add(1)
			t.Errorf("%s: %s is left", u.table, path.Base(object))
		}
	}
	return tidy
}

// folder is all that is in the table's folder.
func (u *untidy) folder(t *testing.T) map[string]bool {
	there := map[string]bool{}
	for _, key := range u.S3.Objects(u.key(Load(t, u, u.table).Location()) + "/") {
		there[u.S3.URL(key)] = true
	}
	return there
}
