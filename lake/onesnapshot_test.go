package lake_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// oneSnapshot is a catalog that shows of a table its newest snapshot alone, as
// Nessie does, with its parent or as if it had none.
type oneSnapshot struct {
	lake.Catalog
	tb     testing.TB
	orphan bool
	// onCommit is called around a commit, once. Its error is the answer.
	onCommit func(commit func() error) error
}

func (o *oneSnapshot) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	t, err := o.Catalog.LoadTable(ctx, id)
	if err != nil || t.Metadata().CurrentSnapshot() == nil {
		return t, err
	}
	return table.New(id, o.shown(t.Metadata()), t.MetadataLocation(), t.FS, o), nil
}

func (o *oneSnapshot) shown(meta table.Metadata) table.Metadata {
	o.tb.Helper()
	newest := *meta.CurrentSnapshot()
	if o.orphan {
		newest.ParentSnapshotID = nil
	}
	return withSnapshots(o.tb, meta, newest)
}

// withSnapshots is a table's metadata with these snapshots, and no log of them.
func withSnapshots(tb testing.TB, meta table.Metadata, snapshots ...table.Snapshot) table.Metadata {
	tb.Helper()
	text, err := json.Marshal(meta)
	if err != nil {
		tb.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		tb.Fatal(err)
	}
	if all["snapshots"], err = json.Marshal(snapshots); err != nil {
		tb.Fatal(err)
	}
	delete(all, "snapshot-log")
	if text, err = json.Marshal(all); err != nil {
		tb.Fatal(err)
	}
	shown, err := table.ParseMetadataBytes(text)
	if err != nil {
		tb.Fatal(err)
	}
	return shown
}

func (o *oneSnapshot) CommitTable(ctx context.Context, id table.Identifier, requirements []table.Requirement, updates []table.Update) (meta table.Metadata, location string, err error) {
	commit := func() (err error) {
		meta, location, err = o.Catalog.CommitTable(ctx, id, requirements, updates)
		return err
	}
	if on := o.onCommit; on != nil {
		o.onCommit = nil
		return meta, location, on(commit)
	}
	err = commit()
	return meta, location, err
}

var oneSnapshotKinds = map[string]bool{"with its parent": false, "as the first": true}

func TestCatalogOfOneSnapshot(t *testing.T) {
	t.Parallel()
	for name, orphan := range oneSnapshotKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cat := testenv.Catalog(t)
			e := newEventsIn(t, cat, "one")
			e.cat = &oneSnapshot{Catalog: cat, tb: t, orphan: orphan}
			for value := range int64(3) {
				e.replace("2026-05-04", event(1, "2026-05-04T00:00:00Z", value))
				e.replace("2026-05-05", event(2, "2026-05-05T00:00:00Z", value))
			}
		})
	}
}

// What came between cannot be seen, so nothing is said of it, and nothing is
// overwritten: of the same window or another, a first load included.
func TestCatalogOfOneSnapshotDoesNotGuess(t *testing.T) {
	t.Parallel()
	for name, orphan := range oneSnapshotKinds {
		for _, first := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				cat := testenv.Catalog(t)
				e := newEventsIn(t, cat, "one")
				if !first {
					e.replace("2026-05-04", event(1, "2026-05-04T00:00:00Z", 1))
				}
				src := source(t, event(1, "2026-05-04T00:00:00Z", 99))
				src.BeforeRead = func() {
					e.cat = cat
					e.replace("2026-05-04", event(1, "2026-05-04T00:00:00Z", 2))
					e.replace("2026-05-05", event(2, "2026-05-05T00:00:00Z", 3))
				}
				e.cat = &oneSnapshot{Catalog: cat, tb: t, orphan: orphan}
				_, err := e.run("2026-05-04", src)
				want(t, err, lake.ErrTemporary)
				if !strings.Contains(err.Error(), "cannot be seen") || errors.Is(err, lake.ErrSuperseded) {
					t.Errorf("Load = %v, want that it cannot be seen", err)
				}
			})
		}
	}
}

// A commit that landed, whose answer is lost, and that another commit hides may
// be the table's: its files stay.
func TestCatalogOfOneSnapshotHidesALandedCommit(t *testing.T) {
	t.Parallel()
	for name, orphan := range oneSnapshotKinds {
		for _, first := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				cat := testenv.Catalog(t)
				e := newEventsIn(t, cat, "one")
				if !first {
					e.replace("2026-05-04", event(1, "2026-05-04T00:00:00Z", 1))
				}
				mine := event(1, "2026-05-04T00:00:00Z", 2)
				e.cat = &oneSnapshot{Catalog: cat, tb: t, orphan: orphan, onCommit: func(commit func() error) error {
					if err := commit(); err != nil {
						return err
					}
					e.tell()
					e.model.Replace(window(t, "2026-05-04"), "", mine)
					seeing := &events{tb: t, cat: cat, model: e.model, check: e.check, load: e.load}
					seeing.replace("2026-05-05", event(2, "2026-05-05T00:00:00Z", 3))
					return errors.New("the answer was lost")
				}}
				_, err := e.run("2026-05-04", source(t, mine))
				want(t, err, lake.ErrUnknown)
				e.rerun("2026-05-04", []testenv.Event{mine})
			})
		}
	}
}

// A history that goes round in a circle ends, and is not whole.
func TestHistoryInACircle(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "circle")
	e.replace("2026-05-04", event(1, "2026-05-04T00:00:00Z", 1))
	e.replace("2026-05-05", event(2, "2026-05-05T00:00:00Z", 1))
	tbl := testenv.Load(t, e.cat, e.load.Table)
	snapshots := tbl.Metadata().Snapshots()
	snapshots[0].ParentSnapshotID = &snapshots[1].SnapshotID
	meta := withSnapshots(t, tbl.Metadata(), snapshots...)
	history, err := lake.History(table.New(tbl.Identifier(), meta, tbl.MetadataLocation(), tbl.FS, e.cat), "")
	if err != nil || len(history) != 2 {
		t.Errorf("History = %d entries, %v; want 2", len(history), err)
	}
}
