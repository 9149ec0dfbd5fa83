package lake_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

func (e *events) undo(u lake.Undo) (lake.UndoReceipt, error) {
	e.tb.Helper()
	u.Table = e.load.Table
	return (&lake.Loader{Catalog: e.cat}).Undo(e.tb.Context(), u)
}

// undone undoes, and takes the rows of the days that went out of the model.
func (e *events) undone(u lake.Undo, days ...int) lake.UndoReceipt {
	e.tb.Helper()
	r, err := e.undo(u)
	if err != nil {
		e.tb.Fatal(err)
	}
	for _, n := range days {
		e.model.Delete(func(x testenv.Event) bool { return x.ID == int64(n) })
	}
	return r
}

func (e *events) wantProperties(load, coverage, watermark string, at int64) {
	e.tb.Helper()
	p := e.table().Properties()
	mark := ""
	if coverage != "" {
		mark = fmt.Sprintf("%d:%d", at, e.table().SnapshotByID(at).SequenceNumber)
	}
	for what, want := range map[string]string{"coverage": coverage, "watermark": watermark, "at": mark} {
		if got := p["calve.load."+load+"."+what]; got != want {
			e.tb.Errorf("property %s of %s = %q, want %q", what, load, got, want)
		}
	}
}

func TestUndo(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "undo")
	h := e.loadDays(1, 2, 3)
	snapshots := len(e.table().Metadata().Snapshots())

	plan, err := (&lake.Loader{Catalog: e.cat}).PlanUndo(t.Context(), lake.Undo{Table: e.load.Table})
	if err != nil || e.head() != h[2] || plan.To != strconv.FormatInt(h[1], 10) || plan.Undone.Window != "2026-05-03T00:00:00Z/2026-05-04T00:00:00Z" {
		t.Fatalf("plan: %+v, %v", plan, err)
	}
	r := e.undone(lake.Undo{}, 3)
	if r.Outcome != lake.Landed || r.Attempts != 1 || len(r.Later) != 0 || e.head() != h[1] || r.MetadataLocation != e.table().MetadataLocation() {
		t.Errorf("receipt: %+v", r)
	}
	if want := []lake.UndoneState{{Load: "undo", Coverage: "2026-05-01/2026-05-03", Watermark: "2026-05-03"}}; fmt.Sprint(r.States) != fmt.Sprint(want) {
		t.Errorf("states: %v, want %v", r.States, want)
	}
	e.wantProperties("undo", "2026-05-01/2026-05-03", "2026-05-03", h[1])
	if got := len(e.table().Metadata().Snapshots()); got != snapshots {
		t.Errorf("%d snapshots, want %d: an undo adds none, and what was undone can still be read", got, snapshots)
	}
	// Loads go on from there, also once all that was undone has expired.
	e.maintained(expireAll(e.load.Table))
	e.wantCoverage("undo", "2026-05-01/2026-05-03")
	if r := e.replace(mayDay(4), event(4, mayDay(4)+"T01:00:00Z", 1)); *r.Watermark != "2026-05-03T00:00:00Z" {
		t.Errorf("watermark = %s, want it to stop at the gap", *r.Watermark)
	}
}

func (e *events) wantCoverage(load, coverage string) {
	e.tb.Helper()
	if got := e.state(load).Coverage.String(); got != coverage {
		e.tb.Errorf("coverage of %s = %s, want %s", load, got, coverage)
	}
}

// Other engines read what the undo left.
func TestUndoIsReadByOthers(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "others")
	e.loadDays(1, 2, 3)
	e.undone(lake.Undo{}, 3)
	if got := testenv.PyIceberg(t, e.table().MetadataLocation(), nil, testenv.PyScan{}); got.Count != 2 {
		t.Errorf("PyIceberg reads %d rows, want 2", got.Count)
	}
	rows := testenv.DuckDB(t, e.table().MetadataLocation(), nil, "SELECT count(*) FROM {table}")
	if len(rows) != 1 || rows[0][0] != "2" {
		t.Errorf("DuckDB reads %v, want 2", rows)
	}
}

// A window that was loaded again goes back to the rows it had before.
func TestUndoAReload(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "reload")
	e.loadDays(1)
	before := e.model.Strings()
	r, err := e.run(mayDay(1), source(t, event(7, mayDay(1)+"T05:00:00Z", 7)))
	if err != nil || r.Rows.Replaced != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	e.undone(lake.Undo{})
	if got := testenv.ReadAll(t, e.table()); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("rows %v, want %v", got, before)
	}
	e.wantCoverage("reload", "2026-05-01/2026-05-02")
}

// What came later goes only where that is said, and is named where it is not.
func TestUndoLosesLaterOnlyIfTold(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "later")
	h := e.loadDays(1, 2, 3)
	testenv.AppendRows(t, e.cat, e.load.Table, event(99, mayDay(30)+"T01:00:00Z", 1).Row())
	foreign := e.head()
	e.model.Append(event(99, mayDay(30)+"T01:00:00Z", 1))
	for _, u := range []lake.Undo{{}, {Window: window(t, mayDay(2))}, {SnapshotID: h[1]}, {Load: "later", Window: window(t, mayDay(2))}} {
		_, err := e.undo(u)
		want(t, err, lake.ErrRefused)
		for _, text := range []string{strconv.FormatInt(foreign, 10), "--lose-later"} {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%+v: the error lacks %q: %v", u, text, err)
			}
		}
		if e.head() != foreign {
			t.Fatal("it was undone")
		}
	}
	r := e.undone(lake.Undo{Window: window(t, mayDay(2)), LoseLater: true}, 2, 3, 99)
	if len(r.Later) != 2 || r.Later[0].SnapshotID != strconv.FormatInt(foreign, 10) || e.head() != h[0] {
		t.Errorf("receipt: %+v", r)
	}
	e.wantProperties("later", "2026-05-01/2026-05-02", "2026-05-02", h[0])
}

func TestUndoOfAnotherWritersSnapshot(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "foreign")
	h := e.loadDays(1)
	testenv.AppendRows(t, e.cat, e.load.Table, event(99, mayDay(30)+"T01:00:00Z", 1).Row())
	r := e.undone(lake.Undo{SnapshotID: e.head()})
	if e.head() != h[0] || len(r.States) != 0 {
		t.Errorf("receipt: %+v", r)
	}
	e.wantProperties("foreign", "2026-05-01/2026-05-02", "2026-05-02", h[0])
}

func TestUndoWhatIsNotThere(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "nothing")
	_, err := e.undo(lake.Undo{})
	want(t, err, lake.ErrNoTable)
	h := e.loadDays(1, 2)
	for _, u := range []lake.Undo{{Load: "other"}, {Window: window(t, mayDay(3))}, {Window: window(t, mayDay(1)+"/P2D")}, {SnapshotID: 4711}, {Branch: "dev"}} {
		_, err := e.undo(u)
		want(t, err, lake.ErrUsage)
	}
	_, err = e.undo(lake.Undo{SnapshotID: h[0], LoseLater: true})
	want(t, err, lake.ErrRefused) // the first snapshot of all
	e.maintained(expireAll(e.load.Table))
	_, err = e.undo(lake.Undo{})
	want(t, err, lake.ErrRefused)
	if !strings.Contains(err.Error(), "has expired") {
		t.Errorf("error: %v", err)
	}
}

// A load whose first snapshot is undone leaves nothing behind, so that it can
// begin anew, with another claim; the other loads of the table stay as they are.
func TestUndoTheFirstSnapshotOfALoad(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "first")
	e.load.Name, e.load.Scope = "a", map[string]string{"region": "eu"}
	h := e.loadDays(1)
	a := e.load
	e.load.Name, e.load.Scope = "b", map[string]string{"region": "us"}
	e.replace(mayDay(1), testenv.NewEvent(50, mayDay(1)+"T01:00:00Z", "us", 1))
	r := e.undone(lake.Undo{Load: "b"}, 50)
	if fmt.Sprint(r.States) != fmt.Sprint([]lake.UndoneState{{Load: "b"}}) {
		t.Errorf("states: %v", r.States)
	}
	e.wantProperties("a", "2026-05-01/2026-05-02", "2026-05-02", h[0])
	for key := range e.table().Properties() {
		if strings.HasPrefix(key, "calve.load.b.") {
			t.Errorf("property %s is left", key)
		}
	}
	e.load.Scope = map[string]string{"region": "asia"}
	if r := e.replace(mayDay(5), testenv.NewEvent(51, mayDay(5)+"T01:00:00Z", "asia", 1)); *r.Watermark != "2026-05-06T00:00:00Z" {
		t.Errorf("watermark = %s", *r.Watermark)
	}
	e.load = a
	e.replace(mayDay(2), event(2, mayDay(2)+"T01:00:00Z", 1))
	e.wantCoverage("a", "2026-05-01/2026-05-03")
}

// The state before may stand in a snapshot that has expired: it is read from the
// metadata log, and where that does not reach back the undo is refused.
func TestUndoAfterExpiry(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"known from the metadata log": false, "not known any more": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEvents(t, "expired")
			e.loadDays(1)
			testenv.AppendRows(t, e.cat, e.load.Table, event(99, mayDay(30)+"T01:00:00Z", 1).Row())
			e.model.Append(event(99, mayDay(30)+"T01:00:00Z", 1))
			e.loadDays(2)
			e.expire(2)
			if lost {
				old, _ := filepath.Glob(folder(t, e.table()) + "/metadata/*.metadata.json")
				for _, f := range old {
					if !strings.HasSuffix(e.table().MetadataLocation(), filepath.Base(f)) {
						if err := os.Remove(f); err != nil {
							t.Fatal(err)
						}
					}
				}
				_, err := e.undo(lake.Undo{})
				want(t, err, lake.ErrRefused)
				return
			}
			e.undone(lake.Undo{}, 2)
			e.wantCoverage("expired", "2026-05-01/2026-05-02")
			e.expire(1)
			e.wantCoverage("expired", "2026-05-01/2026-05-02")
		})
	}
}

func TestUndoOnABranch(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "branch")
	h := e.loadDays(1)
	e.update(table.NewSetSnapshotRefUpdate("dev", h[0], table.BranchRef, 0, 0, 0))
	e.load.Branch = "dev"
	if _, err := e.run(mayDay(2), source(t, event(2, mayDay(2)+"T01:00:00Z", 1))); err != nil {
		t.Fatal(err)
	}
	e.undone(lake.Undo{Branch: "dev"})
	if got := e.table().SnapshotByName("dev").SnapshotID; got != h[0] || e.head() != h[0] {
		t.Errorf("dev is at %d, main at %d, want %d", got, e.head(), h[0])
	}
	e.wantProperties("branch", "2026-05-01/2026-05-02", "2026-05-02", h[0])
}

// A load that runs meanwhile finds its base gone, and runs again; an undo that
// finds the table moved does not lose what it did not see.
func TestUndoBesideALoad(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "beside")
	e.loadDays(1, 2)
	src := source(t, event(3, mayDay(3)+"T01:00:00Z", 1))
	src.BeforeRead = func() { e.undone(lake.Undo{}, 2) }
	_, err := e.run(mayDay(3), src)
	want(t, err, lake.ErrTemporary)
	e.loadDays(3)
	e.wantCoverage("beside", "2026-05-01/2026-05-02,2026-05-03/2026-05-04")

	l := &lake.Loader{Catalog: hooked(e.cat, func() { e.loadDays(4) })}
	_, err = l.Undo(t.Context(), lake.Undo{Table: e.load.Table, LoseLater: true})
	want(t, err, lake.ErrTemporary)
	e.wantCoverage("beside", "2026-05-01/2026-05-02,2026-05-03/2026-05-05")
}

// TestUndoLosesItsAnswer: the undo landed, its answer is lost, and a load landed
// before the table was read again.
func TestUndoLosesItsAnswer(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(e *events){"alone": func(*events) {}, "a load after it": func(e *events) { e.loadDays(4) }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEvents(t, "answer")
			h := e.loadDays(1, 2)
			first := true
			l := &lake.Loader{Catalog: commitHook{e.cat, func(commit func() error) error {
				if !first {
					return commit()
				}
				first = false
				if err := commit(); err != nil {
					return err
				}
				e.model.Delete(func(x testenv.Event) bool { return x.ID == 2 })
				after(e)
				return errors.New("connection reset")
			}}}
			r, err := l.Undo(t.Context(), lake.Undo{Table: e.load.Table})
			if err != nil || r.Outcome != lake.Landed || r.To != strconv.FormatInt(h[0], 10) {
				t.Errorf("receipt: %+v, %v", r, err)
			}
		})
	}
}

// TestUndoEveryStepFails makes every effect of an undo go wrong, one run each,
// and stops it there: the table is at the one snapshot or the other, and its state
// with it; and what says that nothing was changed is right.
func TestUndoEveryStepFails(t *testing.T) {
	t.Parallel()
	for _, fault := range []testenv.Fault{testenv.LostAnswer, testenv.Fail, testenv.Hang} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			for at := 0; ; at++ {
				e := newEvents(t, "step")
				h := e.loadDays(1, 2)
				fired, err := e.undoFaultAt(at, fault)
				switch e.head() {
				case h[0]:
					e.model.Delete(func(x testenv.Event) bool { return x.ID == 2 })
					e.wantProperties("step", "2026-05-01/2026-05-02", "2026-05-02", h[0])
					if err != nil && lake.Untouched(err) {
						t.Errorf("effect %d: %v, and the table was changed", at, err)
					}
				case h[1]:
					e.wantProperties("step", "2026-05-01/2026-05-03", "2026-05-03", h[1])
					if err == nil {
						t.Errorf("effect %d: no error, and nothing was undone", at)
					}
				default:
					t.Fatalf("effect %d: the head is %d", at, e.head())
				}
				if e.head() == h[1] {
					e.undone(lake.Undo{SnapshotID: h[1]}, 2)
				}
				if !fired {
					if err != nil {
						t.Fatalf("without a fault: %v", err)
					}
					if t.Logf("%d steps", at); at < 3 {
						t.Errorf("%d steps, want more: are the effects seen?", at)
					}
					return
				}
			}
		})
	}
}

func (e *events) undoFaultAt(at int, fault testenv.Fault) (fired bool, err error) {
	e.tb.Helper()
	ctx, stop := context.WithCancelCause(e.tb.Context())
	defer stop(nil)
	in := testenv.NewInjector(at, fault)
	in.StopAfter = true
	in.Until(ctx)
	l := &lake.Loader{Catalog: in.Catalog(e.cat), Timeout: 10 * time.Second}
	if fault == testenv.Hang {
		in.OnFire = func() { stop(errors.New("killed")) }
		l.Timeout = 2 * time.Second // of a commit that hangs; all else ends at once
	}
	_, err = l.Undo(ctx, lake.Undo{Table: e.load.Table})
	return in.Fired(), err
}

// A tag is no branch: a commit to it would move it, and let what it keeps expire.
func TestTagsAreNotCommittedTo(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "tagged")
	h := e.loadDays(1, 2)
	e.update(table.NewSetSnapshotRefUpdate("v1", h[1], table.TagRef, 0, 0, 0))
	before := e.table().MetadataLocation()
	_, err := e.undo(lake.Undo{Branch: "v1"})
	want(t, err, lake.ErrUsage)
	e.load.Branch = "v1"
	_, err = e.run(mayDay(3), source(t, event(3, mayDay(3)+"T01:00:00Z", 1)))
	want(t, err, lake.ErrUsage)
	if !strings.Contains(err.Error(), `"v1" is a tag`) {
		t.Errorf("the error does not say why: %v", err)
	}
	if e.table().MetadataLocation() != before {
		t.Error("the table was changed")
	}
}

// TestUndoOnREST: a server takes an undo as it takes a load, with what the load
// has kept in the table, and what comes after it.
func TestUndoOnREST(t *testing.T) {
	t.Parallel()
	cat := testenv.RESTOn(t, testenv.MinIO(t))
	e := &events{tb: t, cat: cat, model: &testenv.Model{}, load: lake.Load{Table: cat.Ident("undone"), TimeColumn: "event_time"}}
	e.check = testenv.Check(t, e.cat, e.load.Table, e.model.Strings)
	h := e.loadDays(1, 2)
	a := e.load
	e.load.Name, e.load.Scope, e.load.TakeOver = "b", map[string]string{"region": "us"}, true
	e.replace(mayDay(1), testenv.NewEvent(50, mayDay(1)+"T01:00:00Z", "us", 1))
	e.undone(lake.Undo{}, 50)
	for key := range e.table().Properties() {
		if strings.HasPrefix(key, "calve.load.b.") {
			t.Errorf("property %s is left", key)
		}
	}
	e.undone(lake.Undo{}, 2)
	if e.head() != h[0] {
		t.Errorf("head %d, want %d", e.head(), h[0])
	}
	e.wantProperties("undone", "2026-05-01/2026-05-02", "2026-05-02", h[0])
	e.load = a
	e.replace(mayDay(3), event(3, mayDay(3)+"T01:00:00Z", 1))
	if r := e.replace(mayDay(3), event(3, mayDay(3)+"T01:00:00Z", 1)); r.Outcome != lake.Unchanged {
		t.Errorf("again: %s", r.Outcome)
	}
}
