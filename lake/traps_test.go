package lake_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// The tests of this file are the traps of a commit: what other writers, clocks
// and lost answers do between a load's plan and its snapshot.

func TestSuperseded(t *testing.T) {
	t.Parallel()
	t.Run("the window was loaded while this run read", func(t *testing.T) {
		e := newEvents(t, "superseded")
		e.replace("2026-05-04", event(1, "2026-05-04T01:00:00Z", 1))
		src := source(t, event(2, "2026-05-04T02:00:00Z", 2))
		src.BeforeRead = func() { e.replace("2026-05-04T00/2026-05-04T02", event(3, "2026-05-04T01:30:00Z", 3)) }
		_, err := e.run("2026-05-04", src)
		want(t, err, lake.ErrSuperseded)
		if lake.Untouched(err) {
			t.Error("Untouched: the table holds the other run's rows")
		}
	})
	t.Run("the first load of a table", func(t *testing.T) {
		e := newEvents(t, "superseded")
		src := source(t, event(2, "2026-05-04T02:00:00Z", 2))
		src.BeforeRead = func() { e.replace("2026-05-04", event(3, "2026-05-04T01:30:00Z", 3)) }
		_, err := e.run("2026-05-04", src)
		want(t, err, lake.ErrSuperseded)
	})
	t.Run("a disjoint window is no obstacle", func(t *testing.T) {
		e := newEvents(t, "disjoint")
		src := source(t, event(2, "2026-05-04T02:00:00Z", 2))
		src.BeforeRead = func() { e.replace("2026-05-05", event(3, "2026-05-05T01:30:00Z", 3)) }
		r, err := e.run("2026-05-04", src)
		if err != nil {
			t.Fatal(err)
		}
		e.model.Append(event(2, "2026-05-04T02:00:00Z", 2))
		e.load.Name = "another"
		if r.Watermark == nil || *r.Watermark != "2026-05-06T00:00:00Z" {
			t.Errorf("watermark = %v, want the end of both windows", r.Watermark)
		}
	})
	t.Run("a disjoint scope is no obstacle", func(t *testing.T) {
		e := newEvents(t, "scope")
		e.load.Scope = map[string]string{"region": "eu"}
		e.replace("2026-05-04", event(1, "2026-05-04T01:00:00Z", 1))
		src := source(t, event(2, "2026-05-04T02:00:00Z", 2))
		src.BeforeRead = func() {
			mine := e.load
			e.load.Scope, e.load.Name = map[string]string{"region": "us"}, "american"
			e.replace("2026-05-04", testenv.NewEvent(3, "2026-05-04T01:00:00Z", "us", 3))
			e.load = mine
		}
		if _, err := e.run("2026-05-04", src); err != nil {
			t.Fatal(err)
		}
		e.model.Replace(window(t, "2026-05-04"), "eu", event(2, "2026-05-04T02:00:00Z", 2))
	})
	t.Run("foreign rows are planned anew and counted", func(t *testing.T) {
		e := newEvents(t, "foreign")
		e.replace("2026-05-04", event(1, "2026-05-04T01:00:00Z", 1))
		src := source(t, event(2, "2026-05-04T02:00:00Z", 2))
		outside := event(9, "2026-05-05T02:00:00Z", 9)
		src.BeforeRead = func() {
			testenv.AppendRows(t, e.cat, e.load.Table, event(8, "2026-05-04T05:00:00Z", 8).Row(), outside.Row())
		}
		r, err := e.run("2026-05-04", src)
		if err != nil {
			t.Fatal(err)
		}
		e.model.Replace(window(t, "2026-05-04"), "", event(2, "2026-05-04T02:00:00Z", 2))
		e.model.Append(outside)
		if r.Rows.Foreign != 1 || r.Rows.Replaced != 2 {
			t.Errorf("rows: %+v, want 2 replaced, 1 of them foreign", r.Rows)
		}
	})
}

func TestHistoryChangedUnderTheLoad(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "rolled_back")
	e.replace("2026-05-03", event(1, "2026-05-03T01:00:00Z", 1))
	first := testenv.Load(t, e.cat, e.load.Table).CurrentSnapshot().SnapshotID
	e.replace("2026-05-04", event(2, "2026-05-04T01:00:00Z", 2))
	src := source(t, event(3, "2026-05-04T02:00:00Z", 3))
	src.BeforeRead = func() {
		e.update(table.NewSetSnapshotRefUpdate("main", first, table.BranchRef, 0, 0, 0))
		e.model.Delete(func(x testenv.Event) bool { return x.ID == 2 })
	}
	_, err := e.run("2026-05-04", src)
	want(t, err, lake.ErrTemporary)
	// The state follows the roll-back: the second day is not claimed any more.
	r := e.replace("2026-05-05", event(5, "2026-05-05T01:00:00Z", 5))
	if *r.Watermark != "2026-05-04T00:00:00Z" {
		t.Errorf("watermark = %s, want it to stop at the gap", *r.Watermark)
	}
}

// update commits metadata alone, as another writer.
func (e *events) update(updates ...table.Update) {
	e.tb.Helper()
	if _, _, err := e.cat.CommitTable(e.tb.Context(), e.load.Table, nil, updates); err != nil {
		e.tb.Fatal(err)
	}
}

func TestSchemaRace(t *testing.T) {
	t.Parallel()
	withFee := arrow.NewSchema(append(testenv.EventArrow().Fields(), arrow.Field{Name: "fee", Type: arrow.PrimitiveTypes.Int64, Nullable: true}), nil)
	row := event(2, "2026-05-04T02:00:00Z", 2).Row()
	row["fee"] = 7

	t.Run("two evolutions do not take one field id", func(t *testing.T) {
		e := withoutModel(t, testenv.Catalog(t), "evolve")
		e.replace("2026-05-03", event(1, "2026-05-03T01:00:00Z", 1))
		src := testenv.Rows(t, withFee, row)
		src.BeforeRead = func() { e.addColumn("tax") }
		e.load.Schema = lake.Evolve
		_, err := e.run("2026-05-04", src)
		want(t, err, lake.ErrTemporary)
		if names := columnNames(testenv.Load(t, e.cat, e.load.Table)); names != "id event_time region value tax" {
			t.Fatalf("columns: %s", names)
		}
		src.BeforeRead = nil
		if _, err := e.run("2026-05-04", src); err != nil {
			t.Fatal(err)
		}
		if names := columnNames(testenv.Load(t, e.cat, e.load.Table)); names != "id event_time region value tax fee" {
			t.Fatalf("columns: %s", names)
		}
	})
	t.Run("an optional column added by another writer is no obstacle", func(t *testing.T) {
		e := withoutModel(t, testenv.Catalog(t), "added")
		e.replace("2026-05-03", event(1, "2026-05-03T01:00:00Z", 1))
		src := source(t, event(2, "2026-05-04T02:00:00Z", 2))
		src.BeforeRead = func() { e.addColumn("tax") }
		if _, err := e.run("2026-05-04", src); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a dropped column is", func(t *testing.T) {
		e := withoutModel(t, testenv.Catalog(t), "dropped")
		e.replace("2026-05-03", event(1, "2026-05-03T01:00:00Z", 1))
		src := source(t, event(2, "2026-05-04T02:00:00Z", 2))
		src.BeforeRead = func() {
			sc := testenv.Load(t, e.cat, e.load.Table).Schema()
			e.update(table.NewAddSchemaUpdate(iceberg.NewSchema(sc.ID+1, sc.Fields()[:3]...)), table.NewSetCurrentSchemaUpdate(-1))
		}
		_, err := e.run("2026-05-04", src)
		want(t, err, lake.ErrTemporary)
	})
}

func withoutModel(t *testing.T, cat lake.Catalog, name string) *events {
	t.Helper()
	return &events{
		tb: t, cat: cat, model: &testenv.Model{}, check: testenv.Check(t, cat, testenv.Ident(name), nil),
		load: lake.Load{Table: testenv.Ident(name), TimeColumn: "event_time"},
	}
}

// addColumn adds an optional column, as another writer.
func (e *events) addColumn(name string) {
	e.tb.Helper()
	t := testenv.Load(e.tb, e.cat, e.load.Table)
	sc := t.Schema()
	fields := append(append([]iceberg.NestedField{}, sc.Fields()...),
		iceberg.NestedField{ID: t.Metadata().LastColumnID() + 1, Name: name, Type: iceberg.PrimitiveTypes.Int64})
	e.update(table.NewAddSchemaUpdate(iceberg.NewSchema(sc.ID+1, fields...)), table.NewSetCurrentSchemaUpdate(-1))
}

func columnNames(t *table.Table) string {
	var names []string
	for _, f := range t.Schema().Fields() {
		names = append(names, f.Name)
	}
	return strings.Join(names, " ")
}

// TestSequenceTaken: another branch takes the sequence number of a commit that
// is on its way, while the head of main stays.
func TestSequenceTaken(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "sequence")
	e.replace("2026-05-03", event(1, "2026-05-03T01:00:00Z", 1))
	cat := e.cat
	head := testenv.Load(t, cat, e.load.Table).CurrentSnapshot()
	var calls atomic.Int32
	e.cat = commitHook{cat, func(commit func() error) error {
		if calls.Add(1) == 1 {
			loaded := testenv.Load(t, cat, e.load.Table)
			other := *head
			other.SnapshotID, other.SequenceNumber, other.ParentSnapshotID = 4711, loaded.Metadata().LastSequenceNumber()+1, &head.SnapshotID
			other.Summary = &table.Summary{Operation: table.OpAppend, Properties: iceberg.Properties{}}
			e.update(table.NewAddSnapshotUpdate(&other), table.NewSetSnapshotRefUpdate("audit", 4711, table.BranchRef, 0, 0, 0))
		}
		return commit()
	}}
	// update goes through the hook too; its own call is the second.
	r := e.replace("2026-05-04", event(2, "2026-05-04T02:00:00Z", 2))
	if r.Attempts != 2 {
		t.Errorf("attempts = %d, want 2", r.Attempts)
	}
}

// TestClockAhead: another host's clock is ahead of this one.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "clock")
	e.replace("2026-05-03", event(1, "2026-05-03T01:00:00Z", 1))
	l := &lake.Loader{Catalog: e.cat, Now: func() time.Time { return time.Now().Add(-10 * time.Minute) }}
	row := event(2, "2026-05-04T02:00:00Z", 2)
	r, err := l.Load(t.Context(), e.load, source(t, row), window(t, "2026-05-04"))
	if err != nil {
		t.Fatal(err)
	}
	e.check.Loaded(r)
	e.model.Append(row)
	if r.Attempts != 1 {
		t.Errorf("attempts = %d, want 1", r.Attempts)
	}
}

// commitHook stands before the commits of a catalog.
type commitHook struct {
	lake.Catalog
	hook func(commit func() error) error
}

func (c commitHook) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (meta table.Metadata, location string, err error) {
	err = c.hook(func() (err error) {
		meta, location, err = c.Catalog.CommitTable(ctx, id, reqs, updates)
		return err
	})
	return meta, location, err
}

// TestLostAnswer is the table of outcomes: what was done, what was answered,
// and what the table says.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	lost := errors.New("503 service unavailable")
	for _, first := range []bool{false, true} {
		for _, tc := range []struct {
			name string
			// hook is called for the n-th commit, from 1.
			hook     func(n int, commit func() error, other func()) error
			attempts int
			want     error
		}{
			{"applied, answered with an error", func(_ int, commit func() error, _ func()) error {
				return errors.Join(commit(), lost)
			}, 1, nil},
			{"not applied, answered with an error once", func(n int, commit func() error, _ func()) error {
				if n == 1 {
					return lost
				}
				return commit()
			}, 2, nil},
			// Nobody can say that a commit without an answer will not land later.
			{"never applied", func(int, func() error, func()) error { return lost }, 0, lake.ErrUnknown},
			{"another commit came first", func(n int, commit func() error, other func()) error {
				if n == 1 {
					other()
				}
				return commit()
			}, 2, nil},
			{"applied, answered with an error, and another commit on top", func(n int, commit func() error, other func()) error {
				err := commit()
				if n == 1 {
					other()
				}
				return errors.Join(err, lost)
			}, 1, nil},
		} {
			t.Run(fmt.Sprintf("%s, first load %v", tc.name, first), func(t *testing.T) {
				t.Parallel()
				e := newEvents(t, "lost")
				if !first {
					e.replace("2026-05-03", event(1, "2026-05-03T01:00:00Z", 1))
				}
				cat, n := e.cat, 0
				other := func() {
					mine := e.cat
					e.cat = cat
					e.replace("2026-05-09", event(9, "2026-05-09T02:00:00Z", 9))
					e.cat = mine
				}
				e.cat = commitHook{cat, func(commit func() error) error { n++; return tc.hook(n, commit, other) }}
				row := event(2, "2026-05-04T02:00:00Z", 2)
				r, err := e.run("2026-05-04", source(t, row))
				if !errors.Is(err, tc.want) {
					t.Fatalf("Load = %v, want %v", err, tc.want)
				}
				if err == nil {
					e.model.Replace(window(t, "2026-05-04"), "", row)
					if r.Attempts != tc.attempts {
						t.Errorf("attempts = %d, want %d", r.Attempts, tc.attempts)
					}
				}
				e.cat = cat
				e.replace("2026-05-04", event(3, "2026-05-04T03:00:00Z", 3))
			})
		}
	}
}

// TestUnreadableAfterALostCommit: another commit came first, so ours is
// certainly lost, and then the catalog lets nobody in any more. Nothing about
// that is unknown, and no file is left.
func TestUnreadableAfterALostCommit(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "shut")
	e.replace("2026-05-03", event(1, "2026-05-03T01:00:00Z", 1))
	shut := &shutAfterConflict{Catalog: hooked(e.cat, func() { e.replace("2026-05-09", event(9, "2026-05-09T02:00:00Z", 9)) })}
	_, err := (&lake.Loader{Catalog: shut}).Load(t.Context(), e.load, source(t, event(2, "2026-05-04T02:00:00Z", 2)), window(t, "2026-05-04"))
	want(t, err, lake.ErrDenied)
	if errors.Is(err, lake.ErrUnknown) {
		t.Errorf("the outcome is known: %v", err)
	}
	if left := e.orphans(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// shutAfterConflict lets the table be read once more after a commit.
type shutAfterConflict struct {
	lake.Catalog
	sent  bool
	reads int
}

func (c *shutAfterConflict) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	if c.sent {
		if c.reads++; c.reads > 1 {
			return nil, lake.ErrDenied
		}
	}
	return c.Catalog.LoadTable(ctx, id)
}

func (c *shutAfterConflict) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	c.sent = true
	return c.Catalog.CommitTable(ctx, id, reqs, updates)
}

// TestUnknownOutcome: the commit lands, its answer is lost, and the catalog
// does not answer any more. Every file stays, and running again is safe.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "unknown")
	e.replace("2026-05-03", event(1, "2026-05-03T01:00:00Z", 1))
	cat := e.cat
	down := &downAfterCommit{Catalog: cat}
	e.cat = down
	_, err := e.run("2026-05-04", source(t, event(2, "2026-05-04T02:00:00Z", 2)))
	want(t, err, lake.ErrUnknown)
	if lake.Untouched(err) {
		t.Error("Untouched: nobody knows")
	}
	e.cat = cat
	if n := e.tell(); n != 1 {
		t.Fatalf("%d snapshots without a receipt, want the one whose answer was lost", n)
	}
	e.replace("2026-05-04", event(3, "2026-05-04T02:00:00Z", 3))
}

type downAfterCommit struct {
	lake.Catalog
	down atomic.Bool
}

func (c *downAfterCommit) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	if c.down.Load() {
		return nil, errors.New("connection refused")
	}
	return c.Catalog.LoadTable(ctx, id)
}

func (c *downAfterCommit) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	_, _, err := c.Catalog.CommitTable(ctx, id, reqs, updates)
	c.down.Store(true)
	return nil, "", errors.Join(err, errors.New("connection reset"))
}

// TestLastAttemptLands: the last attempt that is allowed lands, and its answer
// is lost: it has landed all the same, and nothing of it is removed.
func TestLastAttemptLands(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "last")
	e.replace("2026-05-03", event(1, "2026-05-03T01:00:00Z", 1))
	row := event(2, "2026-05-04T01:00:00Z", 2)
	hook := commitHook{e.cat, func(commit func() error) error { return errors.Join(commit(), errors.New("503 service unavailable")) }}
	r, err := (&lake.Loader{Catalog: hook, Attempts: 1}).Load(t.Context(), e.load, source(t, row), window(t, "2026-05-04"))
	if err != nil || r.Outcome != lake.Landed {
		t.Fatalf("Load = %s, %v, want landed", r.Outcome, err)
	}
	e.check.Loaded(r)
	e.model.Append(row)
}

// TestNotFoundAfterTheCommit: a proxy answers "not found" once a commit was
// sent. The table was there, so it cannot be read; nothing may be removed.
func TestNotFoundAfterTheCommit(t *testing.T) {
	t.Parallel()
	for _, times := range []int32{1, 100} {
		e := newEvents(t, "not_found")
		e.replace("2026-05-03", event(1, "2026-05-03T01:00:00Z", 1))
		row := event(2, "2026-05-04T01:00:00Z", 2)
		gone := &goneAfterCommit{Catalog: e.cat, times: times}
		r, err := (&lake.Loader{Catalog: gone}).Load(t.Context(), e.load, source(t, row), window(t, "2026-05-04"))
		if times == 1 {
			if err != nil {
				t.Fatal(err)
			}
			e.check.Loaded(r)
		} else {
			want(t, err, lake.ErrUnknown)
			e.tell()
		}
		e.model.Append(row)
	}
}

type goneAfterCommit struct {
	lake.Catalog
	times int32
	left  atomic.Int32
}

func (c *goneAfterCommit) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	if c.left.Add(-1) >= 0 {
		return nil, fmt.Errorf("404: %w", lake.ErrNoTable)
	}
	return c.Catalog.LoadTable(ctx, id)
}

func (c *goneAfterCommit) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	_, _, err := c.Catalog.CommitTable(ctx, id, reqs, updates)
	c.left.Store(c.times)
	return nil, "", errors.Join(err, errors.New("connection reset"))
}

// TestFirstLoadsWithOtherColumnOrders: two first loads draft the table from
// files whose columns stand in different order. The later one must not put its
// values under the other's names.
func TestFirstLoadsWithOtherColumnOrders(t *testing.T) {
	t.Parallel()
	cat := testenv.Catalog(t)
	load := lake.Load{Table: testenv.Ident("orders"), TimeColumn: "at"}
	at := arrow.Field{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true}
	first := arrow.Field{Name: "first_name", Type: arrow.BinaryTypes.String, Nullable: true}
	last := arrow.Field{Name: "last_name", Type: arrow.BinaryTypes.String, Nullable: true}
	check := testenv.Check(t, cat, load.Table, func() []string {
		return []string{`2026-05-04T01:00:00Z "Lovelace" "Ada"`, `2026-05-05T01:00:00Z "Hopper" "Grace"`}
	})
	run := func(text string, src *testenv.Source) error {
		r, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), load, src, window(t, text))
		if err == nil {
			check.Loaded(r)
		}
		return err
	}
	ada := testenv.Rows(t, arrow.NewSchema([]arrow.Field{at, first, last}, nil), testenv.Row{"at": "2026-05-04T01:00:00Z", "first_name": "Ada", "last_name": "Lovelace"})
	grace := testenv.Rows(t, arrow.NewSchema([]arrow.Field{at, last, first}, nil), testenv.Row{"at": "2026-05-05T01:00:00Z", "first_name": "Grace", "last_name": "Hopper"})
	ada.BeforeRead = func() {
		if err := run("2026-05-05", grace); err != nil {
			t.Fatal(err)
		}
	}
	want(t, run("2026-05-04", ada), lake.ErrTemporary)
	ada.BeforeRead = nil
	if err := run("2026-05-04", ada); err != nil {
		t.Fatal(err)
	}
}
