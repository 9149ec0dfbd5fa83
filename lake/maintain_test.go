package lake_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// everything is maintenance without any grace, as only tests that know that no
// load runs can ask for.
func everything(id table.Identifier) lake.Maintenance {
	now := time.Duration(0)
	return lake.Maintenance{Table: id, Expire: &lake.Expiry{OlderThan: &now}, Orphans: true, Metadata: true, NoLoadRuns: true}
}

func expireAll(id table.Identifier) lake.Maintenance {
	m := everything(id)
	m.Orphans, m.Metadata = false, false
	return m
}

// maintain runs maintenance a moment after the last commit, and tells the final
// check of what expired.
func (e *events) maintain(m lake.Maintenance) (lake.MaintenanceReceipt, error) {
	e.tb.Helper()
	r, err := (&lake.Loader{Catalog: e.cat, Now: later}).Maintain(e.tb.Context(), m)
	e.check.Expired()
	return r, err
}

func (e *events) maintained(m lake.Maintenance) lake.MaintenanceReceipt {
	e.tb.Helper()
	r, err := e.maintain(m)
	if err != nil {
		e.tb.Fatalf("Maintain: %v", err)
	}
	return r
}

// later is a clock that is far enough ahead for everything to be old.
func later() time.Time { return time.Now().Add(time.Second) }

func (e *events) table() *table.Table { return testenv.Load(e.tb, e.cat, e.load.Table) }

// folder is the local folder of a table.
func folder(tb testing.TB, t *table.Table) string {
	tb.Helper()
	u, err := url.Parse(t.Location())
	if err != nil {
		tb.Fatal(err)
	}
	return u.Path
}

// filesOf are the files in a table's folder, sorted.
func filesOf(tb testing.TB, t *table.Table) (files []string) {
	tb.Helper()
	err := filepath.WalkDir(folder(tb, t), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

// unneeded are the files that iceberg-go, as a second opinion, finds orphaned.
func unneeded(tb testing.TB, t *table.Table) []string {
	tb.Helper()
	plan, err := t.PlanOrphanFiles(tb.Context(), table.WithFilesOlderThan(0))
	if err != nil {
		tb.Fatal(err)
	}
	return plan.Files()
}

// readable reads all snapshots of a table, to the last row.
func readable(tb testing.TB, t *table.Table) {
	tb.Helper()
	for _, s := range t.Metadata().Snapshots() {
		_, batches, err := t.Scan(table.WithSnapshotID(s.SnapshotID)).ToArrowRecords(tb.Context())
		if err != nil {
			tb.Fatalf("snapshot %d: %v", s.SnapshotID, err)
		}
		for b, err := range batches {
			if err != nil {
				tb.Fatalf("snapshot %d: %v", s.SnapshotID, err)
			}
			b.Release()
		}
	}
}

// plant writes a file into the table's folder, of an age.
func plant(tb testing.TB, t *table.Table, name, content string, age time.Duration) string {
	tb.Helper()
	path := filepath.Join(folder(tb, t), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		tb.Fatal(err)
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func mayDay(n int) string { return fmt.Sprintf("2026-05-%02d", n) }

func TestExpireDeletesWhatNobodyNeeds(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "expire")
	for n := 1; n <= 3; n++ {
		e.replace(mayDay(n), event(int64(n), mayDay(n)+"T01:00:00Z", 1))
	}
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 2))
	e.replace(mayDay(2)+"T01", event(9, mayDay(2)+"T01:30:00Z", 2))
	testenv.AppendRows(t, e.cat, e.load.Table, event(20, mayDay(2)+"T05:00:00Z", 2).Row())
	e.model.Append(event(20, mayDay(2)+"T05:00:00Z", 2))
	before := len(filesOf(t, e.table()))
	plan, err := (&lake.Loader{Catalog: e.cat, Now: later}).PlanMaintenance(t.Context(), expireAll(e.load.Table))
	if err != nil {
		t.Fatal(err)
	}
	if after := len(filesOf(t, e.table())); after != before || len(e.table().Metadata().Snapshots()) != 6 {
		t.Fatalf("planning changed something: %d files, %d before", after, before)
	}
	r := e.maintained(expireAll(e.load.Table))
	if r.Outcome != lake.Landed || r.Snapshots != (lake.SnapshotCounts{Expired: 5, Kept: 1}) || r.Expired.Left != 0 {
		t.Errorf("receipt: %+v", r)
	}
	if len(plan.Snapshots) != 5 || len(plan.Expired) != r.Expired.Files {
		t.Errorf("planned %d snapshots and %d files, the receipt says %+v", len(plan.Snapshots), len(plan.Expired), r)
	}
	if got := len(e.table().Metadata().Snapshots()); got != 1 {
		t.Errorf("%d snapshots are left, want the head alone", got)
	}
	if left := unneeded(t, e.table()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if again := e.maintained(expireAll(e.load.Table)); again.Outcome != lake.Unchanged || again.Expired.Files != 0 {
		t.Errorf("once more: %+v", again)
	}
	e.replace(mayDay(3), event(3, mayDay(3)+"T01:00:00Z", 3))
}

// TestExpireReadsCompressedMetadata: the log of such a table names compressed
// files, and strays of it are told to be its own.
func TestExpireReadsCompressedMetadata(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "gzip")
	e.load.Properties = map[string]string{"write.metadata.compression-codec": "gzip"}
	days(e, 3)
	stray := plant(t, e.table(), "metadata/00001-aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee.gz.metadata.json", readFile(t, e.table().MetadataLocation()), time.Hour)
	r := e.maintained(everything(e.load.Table))
	if !strings.HasSuffix(e.table().MetadataLocation(), ".gz.metadata.json") || r.Snapshots.Expired != 2 || r.Metadata.Files != 1 || exists(stray) {
		t.Errorf("%s: receipt %+v", e.table().MetadataLocation(), r)
	}
	if left := unneeded(t, e.table()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestExpireDefaults(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "defaults")
	for n := 1; n <= 4; n++ {
		e.replace(mayDay(n), event(int64(n), mayDay(n)+"T01:00:00Z", 1))
	}
	if r := e.maintained(lake.Maintenance{Table: e.load.Table, Expire: &lake.Expiry{}}); r.Outcome != lake.Unchanged {
		t.Errorf("snapshots of today: %+v", r)
	}
	in6days := func() time.Time { return time.Now().Add(6 * 24 * time.Hour) }
	for _, tc := range []struct {
		props map[string]string
		rule  lake.Expiry
		kept  int
	}{
		{nil, lake.Expiry{}, 1},
		{nil, lake.Expiry{Keep: 3}, 3},
		{map[string]string{"history.expire.min-snapshots-to-keep": "2"}, lake.Expiry{}, 2},
		{map[string]string{"history.expire.min-snapshots-to-keep": "2"}, lake.Expiry{Keep: 1}, 1},
		{map[string]string{"history.expire.max-snapshot-age-ms": "999999999"}, lake.Expiry{}, 4},
	} {
		if tc.props != nil {
			e.update(table.NewSetPropertiesUpdate(tc.props))
		}
		plan, err := (&lake.Loader{Catalog: e.cat, Now: in6days}).PlanMaintenance(t.Context(), lake.Maintenance{Table: e.load.Table, Expire: &tc.rule})
		if err != nil {
			t.Fatal(err)
		}
		if plan.Kept != tc.kept || len(plan.Snapshots) != 4-tc.kept {
			t.Errorf("%v %+v: %d kept, %d expire, want %d kept", tc.props, tc.rule, plan.Kept, len(plan.Snapshots), tc.kept)
		}
		if tc.props != nil {
			for key := range tc.props {
				e.update(table.NewRemovePropertiesUpdate([]string{key}))
			}
		}
	}
}

// TestExpireKeepsWhatRefsNeed: tips of branches and tags, and of branches what
// their own settings ask for; refs past their own age go.
func TestExpireKeepsWhatRefsNeed(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "refs")
	var ids []int64
	for n := 1; n <= 6; n++ {
		e.replace(mayDay(1), event(int64(n), mayDay(1)+"T01:00:00Z", 1))
		ids = append(ids, e.table().CurrentSnapshot().SnapshotID)
	}
	e.update(
		table.NewSetSnapshotRefUpdate("release", ids[0], table.TagRef, 0, 0, 0),
		table.NewSetSnapshotRefUpdate("dev", ids[3], table.BranchRef, 0, 0, 2),
		table.NewSetSnapshotRefUpdate("short", ids[1], table.TagRef, 1, 0, 0),
	)
	r := e.maintained(expireAll(e.load.Table))
	now := e.table()
	var kept []int64
	for _, s := range now.Metadata().Snapshots() {
		kept = append(kept, s.SnapshotID)
	}
	slices.Sort(kept)
	want := []int64{ids[0], ids[2], ids[3], ids[5]}
	slices.Sort(want)
	if !slices.Equal(kept, want) {
		t.Errorf("kept %v, want %v of %v", kept, want, ids)
	}
	if !slices.Equal(r.Refs, []string{"short"}) || len(r.LostRefs) != 0 {
		t.Errorf("receipt: %+v", r)
	}
	readable(t, now)
	if left := unneeded(t, now); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestExpireKeepsStates: three loads, of which only one has a snapshot left.
func TestExpireKeepsStates(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "states")
	run := func(name, region string, days ...int) {
		e.load.Name, e.load.Scope = name, map[string]string{"region": region}
		for _, n := range days {
			e.replace(mayDay(n), testenv.NewEvent(int64(n), mayDay(n)+"T01:00:00Z", region, 1))
		}
	}
	run("a", "eu", 1, 2)
	run("b", "us", 3, 5)
	run("c", "asia", 7)
	before := e.table().Properties()
	e.maintained(expireAll(e.load.Table))
	for key, value := range before {
		if e.table().Properties()[key] != value {
			t.Errorf("property %s = %q, was %q", key, e.table().Properties()[key], value)
		}
	}
	watermark := func(want string) {
		t.Helper()
		e.load.OnEmpty = lake.ClearEmpty
		if r := e.replace(mayDay(20)); r.Watermark == nil || *r.Watermark != want {
			t.Errorf("%s: watermark = %v, want %s", e.load.Name, r.Watermark, want)
		}
	}
	run("a", "eu", 3)
	watermark("2026-05-04T00:00:00Z")
	e.maintained(expireAll(e.load.Table))
	run("b", "us", 4)
	watermark("2026-05-06T00:00:00Z")
	e.maintained(expireAll(e.load.Table))
	run("c", "asia", 8)
	watermark("2026-05-09T00:00:00Z")
	if got := e.table().Properties()["calve.load.a.coverage"]; got != "2026-05-01/2026-05-04,2026-05-20/2026-05-21" {
		t.Errorf("coverage of a = %s", got)
	}
}

// TestExpireAfterARollback: the mirror is of a snapshot that was rolled back;
// when the one that holds the state goes, the mirror must say what it said.
func TestExpireAfterARollback(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "rollback")
	e.load.Name, e.load.Scope = "a", map[string]string{"region": "eu"}
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 1))
	first := e.table().CurrentSnapshot().SnapshotID
	e.replace(mayDay(2), event(2, mayDay(2)+"T01:00:00Z", 1))
	e.update(table.NewSetSnapshotRefUpdate("main", first, table.BranchRef, 0, 0, 0))
	e.model.Delete(func(x testenv.Event) bool { return x.ID == 2 })
	foreign := testenv.NewEvent(9, mayDay(9)+"T01:00:00Z", "us", 1)
	testenv.AppendRows(t, e.cat, e.load.Table, foreign.Row())
	e.model.Append(foreign)
	if r := e.maintained(expireAll(e.load.Table)); r.Snapshots.Expired != 2 {
		t.Errorf("receipt: %+v", r)
	}
	e.replace(mayDay(3), event(3, mayDay(3)+"T01:00:00Z", 1))
	if got := e.table().Properties()["calve.load.a.coverage"]; got != "2026-05-01/2026-05-02,2026-05-03/2026-05-04" {
		t.Errorf("coverage = %s: the day that was rolled back is claimed", got)
	}
}

// TestExpireRefusesToHideAState: a load's only snapshot was rolled back, so its
// state is an error; expiring the snapshot must not make it count.
func TestExpireRefusesToHideAState(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "hide")
	e.load.Name, e.load.Scope = "b", map[string]string{"region": "us"}
	e.replace(mayDay(9), testenv.NewEvent(9, mayDay(9)+"T01:00:00Z", "us", 1))
	b, first := e.load, e.table().CurrentSnapshot().SnapshotID
	e.load.Name, e.load.Scope = "a", map[string]string{"region": "eu"}
	e.replace(mayDay(2), event(2, mayDay(2)+"T01:00:00Z", 1))
	e.update(table.NewSetSnapshotRefUpdate("main", first, table.BranchRef, 0, 0, 0))
	e.model.Delete(func(x testenv.Event) bool { return x.ID == 2 })
	e.load = b
	e.replace(mayDay(10), testenv.NewEvent(10, mayDay(10)+"T01:00:00Z", "us", 1))
	e.replace(mayDay(11), testenv.NewEvent(11, mayDay(11)+"T01:00:00Z", "us", 1))
	before := filesOf(t, e.table())
	_, err := e.maintain(expireAll(e.load.Table))
	want(t, err, lake.ErrRefused)
	if !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("the error does not name the load: %v", err)
	}
	if !slices.Equal(before, filesOf(t, e.table())) {
		t.Error("files were changed")
	}
}

// TestExpireKeepsTheStateOfABranch: it stands in the branch's snapshots alone.
func TestExpireKeepsTheStateOfABranch(t *testing.T) {
	t.Parallel()
	e := withoutModel(t, testenv.Catalog(t), "branch")
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 1))
	e.update(table.NewSetSnapshotRefUpdate("dev", e.table().CurrentSnapshot().SnapshotID, table.BranchRef, 0, 0, 0))
	main := e.load
	e.load.Branch = "dev"
	e.replace(mayDay(2), event(2, mayDay(2)+"T01:00:00Z", 1))
	e.load.Name = "other"
	e.load.Scope, e.load.TakeOver = map[string]string{"region": "us"}, true
	e.replace(mayDay(3), testenv.NewEvent(3, mayDay(3)+"T01:00:00Z", "us", 1))
	e.load = main
	e.replace(mayDay(4), event(4, mayDay(4)+"T01:00:00Z", 1))
	e.replace(mayDay(5), event(5, mayDay(5)+"T01:00:00Z", 1))
	e.maintained(expireAll(e.load.Table))
	readable(t, e.table())
	e.load.Branch = "dev"
	e.replace(mayDay(7), event(7, mayDay(7)+"T01:00:00Z", 1))
	if got := e.table().SnapshotByName("dev").Summary.Properties["calve.coverage"]; got != "2026-05-01/2026-05-03,2026-05-07/2026-05-08" {
		t.Errorf("coverage on dev = %s", got)
	}
}

func TestMaintenanceRefuses(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "refuses")
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 1))
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 2))
	before := filesOf(t, e.table())
	for name, tc := range map[string]struct {
		props map[string]string
		m     lake.Maintenance
		err   error
	}{
		"nothing asked":       {m: lake.Maintenance{}, err: lake.ErrUsage},
		"files too young":     {m: lake.Maintenance{Orphans: true, OlderThan: time.Hour}, err: lake.ErrUsage},
		"negative age":        {m: lake.Maintenance{Orphans: true, OlderThan: -time.Hour, NoLoadRuns: true}, err: lake.ErrUsage},
		"negative keep":       {m: lake.Maintenance{Expire: &lake.Expiry{Keep: -1}}, err: lake.ErrUsage},
		"gc.enabled is false": {props: map[string]string{"gc.enabled": "false"}, m: everything(nil), err: lake.ErrRefused},
		"Nessie":              {props: map[string]string{"nessie.commit.id": "abc"}, m: everything(nil), err: lake.ErrRefused},
		"data elsewhere":      {props: map[string]string{"write.data.path": "file:///elsewhere"}, m: lake.Maintenance{Orphans: true}, err: lake.ErrRefused},
		"a beginning alike":   {props: map[string]string{"write.data.path": e.table().Location() + "2/data"}, m: lake.Maintenance{Orphans: true}, err: lake.ErrRefused},
	} {
		for key, value := range tc.props {
			e.update(table.NewSetPropertiesUpdate(map[string]string{key: value}))
		}
		tc.m.Table = e.load.Table
		if _, err := e.maintain(tc.m); err == nil || !errors.Is(err, tc.err) {
			t.Errorf("%s: %v, want %v", name, err, tc.err)
		}
		for key := range tc.props {
			e.update(table.NewRemovePropertiesUpdate([]string{key}))
		}
	}
	for _, f := range before {
		if !exists(f) {
			t.Errorf("%s was deleted", f)
		}
	}
	_, err := (&lake.Loader{Catalog: e.cat}).Maintain(t.Context(), everything(testenv.Ident("none")))
	want(t, err, lake.ErrNoTable)
}

// TestOrphans: what goes, and above all what stays.
func TestOrphans(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "orphans")
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 1))
	now := e.table()
	const old = 8 * 24 * time.Hour
	gone := []string{
		plant(t, now, "data/event_time_day=2026-05-01/calve-orphans-00000000000000aa-1.parquet", "x", old),
		plant(t, now, "metadata/calve-orphans-00000000000000aa-2.avro", "x", old),
		plant(t, now, "metadata/snap-123-calve-orphans-00000000000000aa-3.avro", "xyz", old),
	}
	stay := []string{
		plant(t, now, "data/calve-orphans-00000000000000ab-1.parquet", "young", 6*24*time.Hour),
		plant(t, now, "data/00000-0-4c1b0a5e.parquet", "another writer's", old),
		plant(t, now, "data/calve-other-00000000000000ab-1.parquet", "of a load that the table does not know", old),
		plant(t, now, "data/calve-orphans-zz-1.parquet", "not in our form", old),
		plant(t, now, "metadata/stats.puffin", "x", old),
		plant(t, now, "../orphans2/data/calve-orphans-00000000000000ab-1.parquet", "a neighbour's", old),
	}
	// The live files are as old, and stay because they are needed.
	for _, f := range filesOf(t, now) {
		if !slices.Contains(stay, f) && !strings.HasSuffix(f, ".metadata.json") {
			at := time.Now().Add(-old)
			if err := os.Chtimes(f, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	m := lake.Maintenance{Table: e.load.Table, Orphans: true}
	plan, err := (&lake.Loader{Catalog: e.cat}).PlanMaintenance(t.Context(), m)
	if err != nil || len(plan.Orphans) != 3 {
		t.Fatalf("plan: %+v, %v", plan, err)
	}
	// A clock that is ahead makes nothing older, for the store's times count.
	ahead := &lake.Loader{Catalog: e.cat, Now: func() time.Time { return time.Now().Add(24 * 365 * time.Hour) }}
	r, err := ahead.Maintain(t.Context(), m)
	if err != nil || r.Orphans.Files != 3 || r.Orphans.Bytes != 5 {
		t.Errorf("receipt: %+v, %v", r, err)
	}
	for _, f := range gone {
		if exists(f) {
			t.Errorf("%s is still there", f)
		}
	}
	for _, f := range stay {
		if !exists(f) {
			t.Errorf("%s was deleted", f)
		}
	}
}

// TestOrphansOfAnIdleTable: where nothing was written for a year, the newest
// object is the clock.
func TestOrphansOfAnIdleTable(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "idle")
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 1))
	orphan := plant(t, e.table(), "data/calve-idle-00000000000000aa-1.parquet", "x", 365*24*time.Hour)
	for _, f := range filesOf(t, e.table()) {
		at := time.Now().Add(-365 * 24 * time.Hour)
		if err := os.Chtimes(f, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if r := e.maintained(lake.Maintenance{Table: e.load.Table, Orphans: true}); r.Orphans.Files != 0 || !exists(orphan) {
		t.Errorf("receipt: %+v", r)
	}
}

// TestOrphansOfALoadUnderWay: what a running load has staged is young.
func TestOrphansOfALoadUnderWay(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "underway")
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 1))
	staged := 0
	l := &lake.Loader{Catalog: e.cat, Trace: &lake.Trace{Attempt: func(int, error) {
		staged++
		m := everything(e.load.Table)
		m.NoLoadRuns, m.OlderThan = false, 0
		if _, err := e.maintain(m); err != nil {
			t.Errorf("Maintain: %v", err)
		}
	}}}
	r, err := l.Load(t.Context(), e.load, source(t, event(2, mayDay(2)+"T01:00:00Z", 1)), window(t, mayDay(2)))
	if err != nil {
		t.Fatal(err)
	}
	e.check.Loaded(r)
	e.model.Append(event(2, mayDay(2)+"T01:00:00Z", 1))
	if staged == 0 {
		t.Error("no maintenance ran")
	}
}

// TestSlowLoad: a load that began so long ago that its files may have been
// taken for orphans does not commit them.
func TestSlowLoad(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "slow")
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 1))
	passed := time.Duration(0)
	src := source(t, event(2, mayDay(2)+"T01:00:00Z", 1))
	src.BeforeRead = func() { passed = lake.LongestLoad + time.Hour }
	l := &lake.Loader{Catalog: e.cat, Now: func() time.Time { return time.Now().Add(passed) }}
	before := len(filesOf(t, e.table()))
	_, err := l.Load(t.Context(), e.load, src, window(t, mayDay(2)))
	want(t, err, lake.ErrTemporary)
	if after := len(filesOf(t, e.table())); after != before {
		t.Errorf("%d files, %d before: what was staged is still there", after, before)
	}
	if lake.LongestLoad >= lake.OrphanAge {
		t.Error("a load may commit what is an orphan")
	}
}

// TestFolderOfTwoTables: a table that was made where a renamed one still is
// must not take the other's files for orphans.
func TestFolderOfTwoTables(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "shared")
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 1))
	other := strings.ReplaceAll(readFile(t, e.table().MetadataLocation()), e.table().Metadata().TableUUID().String(), "11111111-2222-4333-8444-555555555555")
	foreign := plant(t, e.table(), "metadata/00007-aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee.metadata.json", other, 30*24*time.Hour)
	theirs := plant(t, e.table(), "data/calve-shared-00000000000000aa-1.parquet", "theirs", 30*24*time.Hour)
	_, err := e.maintain(lake.Maintenance{Table: e.load.Table, Orphans: true, Metadata: true})
	want(t, err, lake.ErrRefused)
	if !strings.Contains(err.Error(), "00007-aaaaaaaa") {
		t.Errorf("the error does not name the file: %v", err)
	}
	if r := e.maintained(lake.Maintenance{Table: e.load.Table, Metadata: true}); r.Metadata.Files != 0 {
		t.Errorf("receipt: %+v", r)
	}
	if !exists(foreign) || !exists(theirs) {
		t.Error("a file of the other table was deleted")
	}
}

// TestOrphansAfterALostCreation: of two programs that created the table at
// once, or one that was killed in the midst of it, the first metadata file is
// left, with another UUID. It is no other table, and what it names stays.
func TestOrphansAfterALostCreation(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "created")
	const old = 30 * 24 * time.Hour
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 1))
	lost := strings.ReplaceAll(readFile(t, e.table().MetadataLocation()), e.table().Metadata().TableUUID().String(), "11111111-2222-4333-8444-555555555555")
	stay := filesOf(t, e.table())
	kept := map[string]string{}
	for _, f := range stay {
		if data, err := os.ReadFile(f); err == nil {
			kept[f] = string(data)
		}
	}
	e.replace(mayDay(1), event(2, mayDay(1)+"T01:00:00Z", 2))
	e.maintained(expireAll(e.load.Table)) // the table itself needs the first files no more
	for f, content := range kept {
		if !strings.HasSuffix(f, ".metadata.json") {
			plant(t, e.table(), strings.TrimPrefix(f, folder(t, e.table())+"/"), content, old)
		}
	}
	stay = append(stay, plant(t, e.table(), "metadata/00000-aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee.metadata.json", lost, old))
	orphan := plant(t, e.table(), "data/calve-created-00000000000000aa-1.parquet", "x", old)
	r := e.maintained(lake.Maintenance{Table: e.load.Table, Orphans: true, Metadata: true})
	if r.Orphans.Files != 1 || exists(orphan) {
		t.Errorf("receipt: %+v", r)
	}
	for _, f := range stay {
		if !exists(f) {
			t.Errorf("%s was deleted", f)
		}
	}
}

func readFile(tb testing.TB, location string) string {
	tb.Helper()
	u, err := url.Parse(location)
	if err != nil {
		tb.Fatal(err)
	}
	data, err := os.ReadFile(u.Path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

func TestOldMetadataFiles(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "metadata")
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 1))
	e.replace(mayDay(2), event(2, mayDay(2)+"T01:00:00Z", 1))
	mine := readFile(t, e.table().MetadataLocation())
	const old = 30 * 24 * time.Hour
	gone := plant(t, e.table(), "metadata/00001-aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee.metadata.json", mine, old)
	stay := []string{
		plant(t, e.table(), "metadata/00002-aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee.metadata.json", mine, time.Hour),
		plant(t, e.table(), "metadata/v3.metadata.json", mine, old),
		plant(t, e.table(), "metadata/00004-aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee.metadata.json", mine[:100], old),
		plant(t, e.table(), "elsewhere/00005-aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee.metadata.json", mine, old),
	}
	for _, f := range filesOf(t, e.table()) {
		if f != stay[0] && strings.HasSuffix(f, ".metadata.json") && "file://"+f != e.table().MetadataLocation() {
			at := time.Now().Add(-old)
			if err := os.Chtimes(f, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := len(filesOf(t, e.table()))
	r := e.maintained(lake.Maintenance{Table: e.load.Table, Metadata: true, Orphans: true})
	if r.Metadata.Files != 1 || exists(gone) || len(filesOf(t, e.table())) != before-1 {
		t.Errorf("receipt: %+v", r)
	}
	for _, f := range stay {
		if !exists(f) {
			t.Errorf("%s was deleted", f)
		}
	}
}
