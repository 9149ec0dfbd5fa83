package testenv

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"

	"github.com/calve-data/calve/lake"
)

var killEvery = flag.Int("kill-every", 0, "TestKillEverywhere strikes at every n-th request or effect; 0: in CI at every 2nd, else at every 3rd, with -short at every 5th")

// stride is from one strike to the next. Since each is before a request and
// after it, every second one leaves no state of the store out.
func stride() int {
	switch {
	case *killEvery > 0:
		return *killEvery
	case testing.Short():
		return 5
	case os.Getenv("CI") == "":
		return 3
	}
	return 2
}

// shape is a load to be killed.
type shape struct {
	name   string
	before []Event
	window string
	rows   []Event
	// extra is the value of a column that only the load brings; "": none.
	extra string
	// merges is true where the rows are merged by id, each newer than that of
	// before.
	merges bool
}

func shapes() []shape {
	before := []Event{
		NewEvent(1, "2026-05-03T23:00:00Z", "eu", 1), NewEvent(2, "2026-05-04T09:00:00Z", "us", 2),
		NewEvent(3, "2026-05-04T10:30:00Z", "eu", 3), NewEvent(4, "2026-05-05T00:00:00Z", "us", 4),
	}
	return []shape{
		{name: "replace aligned", before: before, window: "2026-05-04", rows: []Event{NewEvent(5, "2026-05-04T05:00:00Z", "eu", 5)}},
		{name: "replace with survivors", before: before, window: "2026-05-04T10", rows: []Event{NewEvent(5, "2026-05-04T10:45:00Z", "eu", 5)}},
		{name: "replace three days", before: before, window: "2026-05-03/2026-05-06", rows: []Event{
			NewEvent(5, "2026-05-03T05:00:00Z", "eu", 5), NewEvent(6, "2026-05-04T06:00:00Z", "us", 6), NewEvent(7, "2026-05-05T07:00:00Z", "us", 7),
		}},
		{name: "first load", window: "2026-05-04", rows: []Event{NewEvent(5, "2026-05-04T05:00:00Z", "eu", 5), NewEvent(6, "2026-05-04T06:00:00Z", "us", 6)}},
		{name: "evolve", before: before, window: "2026-05-04", rows: []Event{NewEvent(5, "2026-05-04T05:00:00Z", "eu", 5)}, extra: "seven"},
		// One row leaves its day, whose file is written again without it; of another
		// file two rows are hidden by a position delete.
		{name: "merge", before: append(slices.Clone(before),
			NewEvent(6, "2026-05-04T06:00:00Z", "eu", 6), NewEvent(7, "2026-05-04T07:00:00Z", "eu", 7), NewEvent(8, "2026-05-04T08:00:00Z", "eu", 8),
		), window: "2026-05-04", merges: true, rows: []Event{
			NewEvent(1, "2026-05-04T05:00:00Z", "eu", 7), NewEvent(2, "2026-05-04T09:00:00Z", "us", 3),
			NewEvent(3, "2026-05-04T11:00:00Z", "gone", 3), NewEvent(5, "2026-05-04T05:00:00Z", "eu", 5),
		}},
	}
}

// as is how the shape's rows, and those of before, are loaded.
func (s shape) as(id table.Identifier) lake.Load {
	load := lake.Load{Table: id, TimeColumn: "event_time"}
	if s.merges {
		load.Mode, load.Key, load.VersionBy, load.DeleteWhen = lake.Merge, []string{"id"}, []string{"event_time", "value"}, "region = 'gone'"
		load.Write = lake.MergeOnRead
	}
	return load
}

// want is what the table holds after one clean load.
func (s shape) want(tb testing.TB) []string {
	m := &Model{}
	m.Append(s.before...)
	if s.merges {
		m.Delete(func(old Event) bool { return slices.ContainsFunc(s.rows, func(e Event) bool { return e.ID == old.ID }) })
		m.Append(s.rows...)
	} else {
		m.Replace(eventWindow(tb, s.window), "", s.rows...)
	}
	rows := m.Strings()
	if s.extra == "" {
		return rows
	}
	for i, row := range rows {
		cell := " NULL"
		for _, e := range s.rows {
			if row == e.String() {
				cell = " " + strconv.Quote(s.extra)
			}
		}
		rows[i] += cell
	}
	return rows
}

// job prepares a table and the load of it.
func (s shape) job(tb testing.TB, at *site, name string) *job {
	tb.Helper()
	if len(s.before) > 0 {
		at.run(tb, s.as(at.Ident(name)), "2026-05-03/2026-05-06", s.before...)
	}
	lines := csvLines(s.rows...)
	if s.extra == "" {
		j := at.newJob(tb, name, s.window, lines...)
		if s.merges {
			j.flags = []string{"--mode", "merge", "--key", "id", "--version-by", "event_time,value", "--delete-when", "region = 'gone'", "--write", "merge-on-read"}
		}
		return j
	}
	for i := range lines {
		lines[i] += "," + s.extra
	}
	j := at.newJob(tb, name, s.window)
	j.rewrite("id,event_time,region,value,extra", lines...)
	j.flags = []string{"--schema", "evolve"}
	return j
}

// TestKillEverywhere kills the built program with SIGKILL at every request that
// a load makes of its store and catalog: before the request is passed on, and
// after it was answered but before the process hears of it; and when the
// process has begun to say that it landed. One plain re-run later the table
// must equal the one of a single clean load, with every live file there.
func TestKillEverywhere(t *testing.T) {
	t.Parallel()
	Calve(t)
	total := &toll{}
	t.Cleanup(func() { t.Log(total) })
	onEachSite(t, func(t *testing.T, s *site) {
		for _, shape := range shapes() {
			t.Run(shape.name, func(t *testing.T) {
				shape.killEverywhere(t, s, total)
				shape.faultEverywhere(t, s, total, false)
			})
		}
		s.nothingIsGone(t, total)
	})
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		s := filesSite(t)
		for _, shape := range shapes() {
			t.Run(shape.name, func(t *testing.T) {
				shape.faultEverywhere(t, s, total, true, false)
				shape.faultTwice(t, s, total)
			})
		}
		s.nothingIsGone(t, total)
	})
}

// toll counts what became of the schedules.
type toll struct{ kills, faults, landed, lost, doubled, gone, orphans, manual atomic.Int64 }

func (k *toll) String() string {
	return fmt.Sprintf("%d schedules of a killed process and a re-run, %d of them killed after they had landed, and %d schedules of faults within the process: %d rows lost, %d doubled, %d live files deleted, %d manual steps; %d orphans, all named by calve",
		k.kills.Load(), k.landed.Load(), k.faults.Load(), k.lost.Load(), k.doubled.Load(), k.gone.Load(), k.manual.Load(), k.orphans.Load())
}

func (s shape) killEverywhere(t *testing.T, at *site, total *toll) {
	name := strings.ReplaceAll(s.name, " ", "_")
	clean := s.job(t, at, name+"_clean")
	g := NewGate(t)
	end := clean.start(g).Wait()
	if end.Code != 0 {
		t.Fatalf("the clean load: %s", end)
	}
	if r, err := end.Receipt(); err != nil || s.merges && (r.Files.Deletes == 0 || r.Files.Rewritten == 0) {
		t.Errorf("the clean load: %+v, %v, want a delete file and a file that was written again", r.Files, err)
	}
	s.compare(t, at, clean.table, total)
	requests := len(g.Requests())
	if requests < 4 { // a data file, a manifest, their list, the metadata
		t.Errorf("a load made %d requests: are they seen?", requests)
	}
	group := errgroup.Group{}
	group.SetLimit(2 * runtime.GOMAXPROCS(0))
	for n := 0; n < requests; n += stride() {
		for _, when := range []string{"before", "after"} {
			group.Go(func() error {
				s.kill(t, s.job(t, at, fmt.Sprintf("%s_%s_%d", name, when, n)), n, when, total)
				return nil
			})
		}
	}
	group.Go(func() error { s.kill(t, s.job(t, at, name+"_told"), -1, "told", total); return nil })
	_ = group.Wait()
}

// killed runs a process that is killed before its request n, after it, or told:
// once it has begun to print.
func killed(g *Gate, n int, when string, start func(*Gate) *Process) Ended {
	strike := func(at string) func(Request) bool {
		return func(r Request) bool {
			if r.N != n || at != when {
				return true
			}
			g.Process().Kill()
			return false
		}
	}
	g.Before, g.After = strike("before"), strike("after")
	p := start(g)
	if when == "told" {
		<-p.Told()
		p.Kill()
	}
	return p.Wait()
}

// kill is one schedule.
func (s shape) kill(t *testing.T, j *job, n int, when string, total *toll) {
	g := NewGate(t)
	defer g.Close()
	end := killed(g, n, when, j.start)
	if end.Code == 0 && when != "told" {
		t.Logf("%s: no request %d this time", j.table, n)
		return
	}
	total.kills.Add(1)
	if head, err := s.head(j); err != nil {
		t.Errorf("%s, killed %s request %d: %v", j.table, when, n, err)
	} else if head != nil && head.Summary.Properties["calve.window"] == s.windowText(t) {
		total.landed.Add(1)
	}
	again := j.run()
	if again.Code != 0 {
		total.manual.Add(1)
		t.Errorf("%s, killed %s request %d of\n%s\nre-run: %s", j.table, when, n, list(g.Requests()), again)
		return
	}
	if !s.compare(t, j.site, j.table, total) {
		t.Errorf("%s was killed %s request %d of\n%s", j.table, when, n, list(g.Requests()))
	}
}

func (s shape) windowText(tb testing.TB) string {
	text, err := eventWindow(tb, s.window).MarshalText()
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func (s shape) head(j *job) (*table.Snapshot, error) {
	t, err := j.LoadTable(context.WithoutCancel(j.tb.Context()), j.table)
	if errors.Is(err, lake.ErrNoTable) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return t.CurrentSnapshot(), nil
}

func (s shape) compare(t *testing.T, at *site, id table.Identifier, total *toll) bool {
	return at.compare(t, id, s.want(t), total)
}

// compare counts the rows that a table has too many or too few of.
func (s *site) compare(t *testing.T, id table.Identifier, want []string, total *toll) bool {
	ctx := context.WithoutCancel(t.Context())
	tbl, err := s.LoadTable(ctx, id)
	if err != nil {
		t.Errorf("%s: %v", id, err)
		return false
	}
	whole := true
	for _, finding := range Audit(ctx, tbl) {
		whole = false
		t.Errorf("%s: %v", id, finding)
	}
	got, err := readAll(ctx, tbl)
	if err != nil {
		t.Errorf("read %s: %v", id, err)
		return false
	}
	if slices.Equal(got, want) {
		return whole
	}
	lost, doubled := difference(want, got), difference(got, want)
	total.lost.Add(int64(len(lost)))
	total.doubled.Add(int64(len(doubled)))
	t.Errorf("%s: lost %q, too many %q", id, lost, doubled)
	return false
}

// difference is what is in a more often than in b.
func difference(a, b []string) (more []string) {
	count := map[string]int{}
	for _, row := range b {
		count[row]++
	}
	for _, row := range a {
		if count[row]--; count[row] < 0 {
			more = append(more, row)
		}
	}
	return more
}

func list(requests []Request) string {
	var b strings.Builder
	for _, r := range requests {
		fmt.Fprintf(&b, "  %d %s %s\n", r.N, r.Service, r.What)
	}
	return b.String()
}

// nothingIsGone looks for every object that any snapshot of any table names,
// and for what every other object is: an orphan must be named by calve.
func (s *site) nothingIsGone(t *testing.T, total *toll) {
	there := s.objects(t)
	named := map[string]bool{}
	for _, id := range s.tables {
		for object := range snapshotObjects(t, Load(t, s, id)) {
			named[object] = true
			if !there[object] {
				total.gone.Add(1)
				t.Errorf("%s names %s, which is gone", id, object)
			}
		}
	}
	for object := range there {
		file := path.Base(object)
		if named[object] || strings.HasSuffix(file, ".metadata.json") {
			continue
		}
		total.orphans.Add(1)
		if !strings.Contains(file, "calve-") {
			t.Errorf("%s is named by no snapshot, nor by calve", object)
		}
	}
}

// snapshotObjects are the objects that the snapshots of a table name.
func snapshotObjects(t *testing.T, tbl *table.Table) map[string]bool {
	objects := map[string]bool{tbl.MetadataLocation(): true}
	fs, err := tbl.FS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, snapshot := range tbl.Metadata().Snapshots() {
		if err := addObjects(objects, snapshot, fs); err != nil {
			t.Errorf("%v, snapshot %d: %v", tbl.Identifier(), snapshot.SnapshotID, err)
		}
	}
	return objects
}

func addObjects(objects map[string]bool, snapshot table.Snapshot, fs iceio.IO) error {
	objects[snapshot.ManifestList] = true
	manifests, err := snapshot.Manifests(fs)
	if err != nil {
		return err
	}
	for _, m := range manifests {
		objects[m.FilePath()] = true
		for e, err := range m.Entries(fs, true) {
			if err != nil {
				return err
			}
			objects[e.DataFile().FilePath()] = true
		}
	}
	return nil
}
