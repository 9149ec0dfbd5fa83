package lake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// TestMaintenanceEveryStepFails makes every effect of maintenance go wrong, one
// run each, and stops it there. The table must be whole, all its snapshots
// readable; and after one plain re-run nothing is left that nobody needs. Some
// files are another writer's, so that only the expiry itself can find them.
func TestMaintenanceEveryStepFails(t *testing.T) {
	t.Parallel()
	faults := []testenv.Fault{testenv.LostAnswer, testenv.Fail, testenv.Hang}
	if testing.Short() {
		faults = faults[:1]
	}
	for name, what := range map[string]func(table.Identifier) lake.Maintenance{"expire": expireAll, "everything": everything} {
		for _, fault := range faults {
			t.Run(fmt.Sprint(name, ", ", fault), func(t *testing.T) {
				t.Parallel()
				for at := 0; ; at++ {
					e := newEvents(t, "step")
					e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 1))
					testenv.AppendRows(t, e.cat, e.load.Table, event(2, mayDay(1)+"T02:00:00Z", 2).Row())
					e.replace(mayDay(1), event(3, mayDay(1)+"T01:00:00Z", 3))
					plant(t, e.table(), "data/calve-step-00000000000000aa-1.parquet", "x", time.Hour)
					plant(t, e.table(), "metadata/00001-aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee.metadata.json", readFile(t, e.table().MetadataLocation()), time.Hour)
					fired := e.maintenanceFaultAt(at, fault, what(e.load.Table))
					readable(t, e.table())
					e.maintained(what(e.load.Table))
					left := unneeded(t, e.table())
					if name == "expire" {
						// The planted orphan, and metadata files of lost commits: those are the others' work.
						left = slices.DeleteFunc(left, func(f string) bool {
							return strings.HasSuffix(f, "aa-1.parquet") || strings.HasSuffix(f, ".metadata.json")
						})
					}
					if len(left) > 0 {
						t.Errorf("effect %d: after a re-run is left: %v", at, left)
					}
					readable(t, e.table())
					if !fired {
						t.Logf("%d steps", at)
						if at < 20 {
							t.Errorf("%d steps, want more: are the effects seen?", at)
						}
						return
					}
				}
			})
		}
	}
}

func (e *events) maintenanceFaultAt(at int, fault testenv.Fault, m lake.Maintenance) bool {
	e.tb.Helper()
	ctx, stop := context.WithCancelCause(e.tb.Context())
	defer stop(nil)
	in := testenv.NewInjector(at, fault)
	in.StopAfter = true
	in.Until(ctx)
	l := &lake.Loader{Catalog: in.Catalog(e.cat), Timeout: 10 * time.Second, Now: later}
	if fault == testenv.Hang {
		in.OnFire = func() { stop(errors.New("killed")) }
	}
	snapshots := len(e.table().Metadata().Snapshots())
	_, err := l.Maintain(ctx, m)
	e.check.Expired()
	if in.Fired() && err == nil {
		e.tb.Errorf("effect %d, %s: no error", at, fault)
	}
	if errors.Is(err, lake.ErrUnknown) && fault == testenv.Fail && len(e.table().Metadata().Snapshots()) != snapshots {
		e.tb.Errorf("effect %d, %s: %v, and the table changed", at, fault, err)
	}
	return in.Fired()
}

// hooked is a catalog whose first commit is preceded by something.
func hooked(cat lake.Catalog, first func()) lake.Catalog {
	var calls atomic.Int32
	return commitHook{cat, func(commit func() error) error {
		if calls.Add(1) == 1 {
			first()
		}
		return commit()
	}}
}

func days(e *events, n int) {
	for i := 1; i <= n; i++ {
		e.replace(mayDay(1), event(int64(i), mayDay(1)+"T01:00:00Z", int64(i)))
	}
}

// TestExpireBesideALoad: a load lands between plan and commit of an expiry,
// which then plans anew.
func TestExpireBesideALoad(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "beside")
	days(e, 3)
	l := &lake.Loader{Now: later, Catalog: hooked(e.cat, func() { e.replace(mayDay(2), event(9, mayDay(2)+"T01:00:00Z", 9)) })}
	r, err := l.Maintain(t.Context(), expireAll(e.load.Table))
	e.check.Expired()
	if err != nil || r.Attempts != 2 || r.Snapshots != (lake.SnapshotCounts{Expired: 3, Kept: 1}) {
		t.Errorf("receipt: %+v, %v", r, err)
	}
	if left := unneeded(t, e.table()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestLoadBesideAnExpiry: an expiry lands between base and commit of a load,
// which does not notice where its base is kept, and else has to run again.
func TestLoadBesideAnExpiry(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "beside")
	days(e, 3)
	src := source(t, event(9, mayDay(2)+"T01:00:00Z", 9))
	src.BeforeRead = func() { e.maintained(expireAll(e.load.Table)) }
	if _, err := e.run(mayDay(2), src); err != nil {
		t.Fatal(err)
	}
	e.model.Append(event(9, mayDay(2)+"T01:00:00Z", 9))
	src = source(t, event(10, mayDay(4)+"T01:00:00Z", 9))
	src.BeforeRead = func() {
		e.replace(mayDay(3), event(11, mayDay(3)+"T01:00:00Z", 9))
		e.replace(mayDay(3), event(11, mayDay(3)+"T01:00:00Z", 10))
		e.maintained(expireAll(e.load.Table))
	}
	_, err := e.run(mayDay(4), src)
	want(t, err, lake.ErrTemporary)
	src.BeforeRead = nil
	if _, err := e.run(mayDay(4), src); err != nil {
		t.Fatal(err)
	}
	e.model.Append(event(10, mayDay(4)+"T01:00:00Z", 9))
}

// TestHeadExpiresUnderALoad: between a load's reading of the head and of its
// files another load replaces it and it expires: the load goes round.
func TestHeadExpiresUnderALoad(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "head")
	days(e, 2)
	l := &lake.Loader{Catalog: loadHook{e.cat, func(n int) {
		if n == 2 { // the first is the plan's
			e.replace(mayDay(3), event(3, mayDay(3)+"T01:00:00Z", 3))
			e.maintained(expireAll(e.load.Table))
		}
	}, &atomic.Int32{}}}
	r, err := l.Load(t.Context(), e.load, source(t, event(9, mayDay(2)+"T01:00:00Z", 9)), window(t, mayDay(2)))
	if err != nil {
		t.Fatal(err)
	}
	e.check.Loaded(r)
	e.model.Append(event(9, mayDay(2)+"T01:00:00Z", 9))
	if r.Attempts != 2 {
		t.Errorf("attempts = %d, want 2", r.Attempts)
	}
}

// loadHook is called after the n-th time that a table was read, from 1.
type loadHook struct {
	lake.Catalog
	hook  func(n int)
	calls *atomic.Int32
}

func (c loadHook) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	t, err := c.Catalog.LoadTable(ctx, id)
	c.hook(int(c.calls.Add(1)))
	return t, err
}

// TestExpireBesideANewTag: a tag is made, between plan and commit, of a snapshot
// that would expire.
func TestExpireBesideANewTag(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "tag")
	days(e, 3)
	first := e.table().Metadata().Snapshots()[0].SnapshotID
	l := &lake.Loader{Now: later, Catalog: hooked(e.cat, func() { e.update(table.NewSetSnapshotRefUpdate("v1", first, table.TagRef, 0, 0, 0)) })}
	r, err := l.Maintain(t.Context(), expireAll(e.load.Table))
	e.check.Expired()
	if err != nil || r.Attempts != 2 || r.Snapshots.Kept != 2 {
		t.Errorf("receipt: %+v, %v", r, err)
	}
	if e.table().SnapshotByName("v1") == nil {
		t.Error("the tag is lost")
	}
	readable(t, e.table())
}

// asServer is a catalog that gets its requirements over a wire, as a REST
// server does: it knows those of the specification and no others.
type asServer struct{ lake.Catalog }

func (c asServer) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	wire, err := json.Marshal(reqs)
	if err != nil {
		return nil, "", err
	}
	var known table.Requirements
	if err := json.Unmarshal(wire, &known); err != nil {
		return nil, "", err
	}
	return c.Catalog.CommitTable(ctx, id, known, updates)
}

// TestExpireLosesATagOnAServer: over REST nothing can require that no tag was
// made in the same moment. The tag is lost then, and said to be; its files stay,
// also in later runs, so that it can be made again from the metadata log.
func TestExpireLosesATagOnAServer(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "tag")
	days(e, 3)
	first := e.table().Metadata().Snapshots()[0].SnapshotID
	var tagged *table.Table
	l := &lake.Loader{Now: later, Catalog: hooked(asServer{e.cat}, func() {
		e.update(table.NewSetSnapshotRefUpdate("v1", first, table.TagRef, 0, 0, 0))
		tagged = e.table()
	})}
	r, err := l.Maintain(t.Context(), everything(e.load.Table))
	e.check.Expired()
	if err != nil || !slices.Equal(r.LostRefs, []string{"v1"}) {
		t.Errorf("receipt: %+v, %v", r, err)
	}
	e.replace(mayDay(2), event(9, mayDay(2)+"T01:00:00Z", 9))
	e.maintained(everything(e.load.Table))
	_, batches, err := tagged.Scan(table.WithSnapshotID(first)).ToArrowRecords(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range batches {
		if err != nil {
			t.Fatalf("the tag's rows cannot be read: %v", err)
		}
		b.Release()
	}
}

// TestExpireOutcomeUnknown: the commit landed, its answer is lost, and the
// catalog is away: no file is deleted, and the next run finishes.
func TestExpireOutcomeUnknown(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "unknown")
	days(e, 3)
	files := filesOf(t, e.table())
	l := &lake.Loader{Now: later, Catalog: &downAfterCommit{Catalog: e.cat}}
	_, err := l.Maintain(t.Context(), expireAll(e.load.Table))
	e.check.Expired()
	want(t, err, lake.ErrUnknown)
	for _, f := range files {
		if !exists(f) {
			t.Errorf("%s was deleted", f)
		}
	}
	if got := len(e.table().Metadata().Snapshots()); got != 1 {
		t.Fatalf("%d snapshots: the commit was to land", got)
	}
	if r := e.maintained(expireAll(e.load.Table)); r.Snapshots.Expired != 0 || r.Expired.Files == 0 {
		t.Errorf("receipt: %+v", r)
	}
	if left := unneeded(t, e.table()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestExpireDoesNotDeleteOutside: files outside the table's folders may be
// another table's.
func TestExpireDoesNotDeleteOutside(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "outside")
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 1))
	e.update(table.NewSetPropertiesUpdate(map[string]string{"write.data.path": e.table().Location() + "2/data"}))
	e.replace(mayDay(2), event(2, mayDay(2)+"T01:00:00Z", 1))
	e.update(table.NewRemovePropertiesUpdate([]string{"write.data.path"}))
	e.replace(mayDay(2), event(2, mayDay(2)+"T01:00:00Z", 2))
	r := e.maintained(expireAll(e.load.Table))
	if r.Expired.Outside != 1 {
		t.Errorf("receipt: %+v", r)
	}
	theirs, err := os.ReadDir(folder(t, e.table()) + "2/data/event_time_day=2026-05-02")
	if err != nil || len(theirs) != 1 {
		t.Errorf("outside are %v, %v, want one file", theirs, err)
	}
}

// TestExpireStatistics: statistics files go with their snapshots.
func TestExpireStatistics(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "statistics")
	days(e, 2)
	now := e.table()
	names := []string{"old.stats", "new.stats", "old.pstats", "new.pstats"}
	for _, name := range names {
		plant(t, now, "metadata/"+name, "puffin", time.Hour)
	}
	s := now.Metadata().Snapshots()
	for i, snap := range s {
		at := now.Location() + "/metadata/" + []string{"old", "new"}[i]
		e.update(
			table.NewSetStatisticsUpdate(table.StatisticsFile{SnapshotID: snap.SnapshotID, StatisticsPath: at + ".stats", FileSizeInBytes: 6}),
			table.NewSetPartitionStatisticsUpdate(table.PartitionStatisticsFile{SnapshotID: snap.SnapshotID, StatisticsPath: at + ".pstats", FileSizeInBytes: 6}),
		)
	}
	e.maintained(everything(e.load.Table))
	for _, name := range names {
		if got := exists(folder(t, now) + "/metadata/" + name); got != strings.HasPrefix(name, "new") {
			t.Errorf("%s: exists %v", name, got)
		}
	}
}

// TestDamagedTable: where a snapshot's list is missing nobody can say what is
// needed.
func TestDamagedTable(t *testing.T) {
	t.Parallel()
	e := withoutModel(t, testenv.Catalog(t), "damaged")
	days(e, 3)
	e.update(table.NewSetSnapshotRefUpdate("v1", e.table().Metadata().Snapshots()[0].SnapshotID, table.TagRef, 0, 0, 0))
	list := strings.TrimPrefix(e.table().SnapshotByName("v1").ManifestList, "file://")
	if err := os.Remove(list); err != nil {
		t.Fatal(err)
	}
	plant(t, e.table(), "data/calve-damaged-00000000000000aa-1.parquet", "x", time.Hour)
	before := len(filesOf(t, e.table()))
	m := everything(e.load.Table)
	m.Expire = nil
	_, err := e.maintain(m)
	want(t, err, lake.ErrRefused)
	if after := len(filesOf(t, e.table())); after != before {
		t.Errorf("%d files, %d before", after, before)
	}
}

// TestMaintenanceBesideLoads: four loads of disjoint windows, again and again,
// and two that maintain. Loads whose base has expired run again.
func TestMaintenanceBesideLoads(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "together")
	e.replace(mayDay(20), event(20, mayDay(20)+"T01:00:00Z", 1))
	ctx := t.Context()
	var loads, upkeep sync.WaitGroup
	done := make(chan struct{})
	for n := range 4 {
		loads.Go(func() {
			for i := range 6 {
				row := event(int64(n), mayDay(n+1)+"T01:00:00Z", int64(i))
				for {
					r, err := (&lake.Loader{Catalog: e.cat}).Load(ctx, e.load, source(t, row), window(t, mayDay(n+1)))
					if err == nil {
						e.check.Loaded(r)
						e.model.Replace(window(t, mayDay(n+1)), "", row)
						break
					}
					if !errors.Is(err, lake.ErrTemporary) {
						t.Errorf("Load: %v", err)
						return
					}
				}
			}
		})
	}
	e.check.Expired()
	for range 2 {
		upkeep.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				m := everything(e.load.Table)
				m.NoLoadRuns, m.OlderThan = false, 0
				if _, err := (&lake.Loader{Catalog: e.cat, Now: later}).Maintain(ctx, m); err != nil && !errors.Is(err, lake.ErrTemporary) && !errors.Is(err, lake.ErrUnknown) {
					t.Errorf("Maintain: %v", err)
				}
			}
		})
	}
	loads.Wait()
	close(done)
	upkeep.Wait()
	e.maintained(everything(e.load.Table))
	readable(t, e.table())
	if left := unneeded(t, e.table()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
