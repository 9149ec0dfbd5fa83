package testenv

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
)

// badWire is what goes wrong on the way to a store, and from when on.
type badWire struct {
	when   string // "start", "staged" or "commit"
	toxics []Toxic
}

// badWires are those by name. Cuts come after a few bytes, within a small object,
// and within one that is larger; from the start they mostly end the load in its
// plan, so the later stages have some of their own.
func badWires() map[string]badWire {
	up := func(t Toxic) Toxic { t.Upstream = true; return t }
	start := map[string][]Toxic{
		"Latency":      {Latency(20*time.Millisecond, 10*time.Millisecond)},
		"ResetLater":   {ResetPeer(50 * time.Millisecond)},
		"Bandwidth":    {Bandwidth(256), up(Bandwidth(256))},
		"SlowAndShort": {Latency(5*time.Millisecond, 5*time.Millisecond), Cut(6000)},
		"Silence":      {Silence()},
	}
	for _, n := range []int64{700, 4000, 20_000} {
		start[fmt.Sprint("CutAnswer", n)] = []Toxic{Cut(n)}
		start[fmt.Sprint("CutRequest", n)] = []Toxic{up(Cut(n))}
	}
	wires := map[string]badWire{}
	for name, toxics := range start {
		wires[name] = badWire{"start", toxics}
	}
	for _, when := range []string{"staged", "commit"} {
		for name, toxic := range map[string]Toxic{
			"Reset": ResetPeer(0), "Silence": Silence(), "SilenceUp": up(Silence()), "CutAnswer100": Cut(100), "CutRequest1500": up(Cut(1500)), "CutRequest4000": up(Cut(4000)),
		} {
			wires[name+"From"+when] = badWire{when, []Toxic{toxic}}
		}
	}
	return wires
}

// A load through a bad wire lands exactly or leaves the table as it was, in a
// time that --timeout bounds; the same load through a good one then gives
// exactly the right rows.
func TestBadWire(t *testing.T) {
	t.Parallel()
	for name, bad := range badWires() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := MinIO(t)
			wire := Wire(t, s.Endpoint)
			settings := s.Config()
			settings.Endpoint, settings.Timeout = wire.Endpoint, 300*time.Millisecond
			x := newTrip(t, s, catalog.Config{S3: settings}, "")
			good := s.Config()
			x.reload(t, good)
			was := x.model.Strings()

			var once sync.Once
			from := func(when string) {
				if when == bad.when {
					once.Do(func() { wire.Add(bad.toxics...) })
				}
			}
			from("start")
			began := time.Now()
			_, err := x.run(t.Context(), t, lake.Loader{Timeout: 600 * time.Millisecond, Trace: &lake.Trace{
				FileStaged: func(string, int64, int64) { from("staged") },
				Attempt:    func(int, error) { from("commit") },
			}})
			t.Logf("%.1f s: %v", time.Since(began).Seconds(), err)
			wire.Mend()
			after := ReadAll(t, Load(t, x.cat, x.load.Table))
			switch {
			case err == nil:
				if !slices.Equal(after, x.model.Strings()) {
					t.Errorf("the load landed and the table holds %q, want %q", after, x.model.Strings())
				}
			case !lake.Untouched(err):
				x.tellUnknown(t) // the table is old or new, and what is here now stays until the next load
			default:
				if !slices.Equal(after, was) {
					t.Errorf("the load failed and the table holds %q, want %q as before", after, was)
				}
				if !errors.Is(err, lake.ErrTemporary) {
					t.Errorf("Load = %v, want ErrTemporary", err)
				}
			}
			x.reload(t, good)
		})
	}
}

// reload loads another version of the day by a wire that is good, and compares.
func (x *trip) reload(t *testing.T, good catalog.S3) {
	t.Helper()
	was := x.cat
	defer func() { x.cat = was }()
	x.cat = x.cat.Again(t, good)
	if _, err := x.run(t.Context(), t, lake.Loader{}); err != nil {
		t.Fatal(err)
	}
	if got := ReadAll(t, Load(t, x.cat, x.load.Table)); !slices.Equal(got, x.model.Strings()) {
		t.Errorf("the table holds %q, want %q", got, x.model.Strings())
	}
}

// tellUnknown tells the check of a commit whose answer was lost.
func (x *trip) tellUnknown(t *testing.T) {
	t.Helper()
	for _, id := range x.check.Untold(Load(t, x.cat, x.load.Table)) {
		x.check.Loaded(lake.Receipt{Outcome: lake.Landed, SnapshotID: id})
	}
}

// The requests of a small commit, which replaces one file, stay few at any
// history, of manifests and of snapshots. Where there are many manifests some
// are merged: these are read at the same time.
func TestRequestsOfASmallCommit(t *testing.T) {
	t.Parallel()
	for _, history := range []int{10, 300} {
		t.Run(fmt.Sprint(history), func(t *testing.T) {
			s := MinIO(t)
			proxy := NewProxy(t, s.Endpoint)
			settings := s.Config()
			settings.Endpoint = proxy.Endpoint
			cat := CatalogWith(t, catalog.Config{S3: settings, Warehouse: s.URL("warehouse")})
			load := lake.Load{Table: Ident("events"), TimeColumn: "event_time"}
			CreateTable(t, cat, load.Table, EventSchema(), EventsByDay(), nil)
			ManyManifests(t, cat, load.Table, history)
			olderSnapshots(t, cat, load.Table, history)
			proxy.Forget()
			proxy.Delay(20 * time.Millisecond)
			w, err := lake.ParseWindow("1970-01-05", nil)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			r, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), load, Rows(t, EventArrow(), NewEvent(1, "1970-01-05T10:00:00Z", "eu", 1).Row()), w)
			if err != nil {
				t.Fatal(err)
			}
			if r.Rows.Replaced != 1 {
				t.Errorf("%d rows replaced, want 1", r.Rows.Replaced)
			}
			requests := proxy.Requests()
			t.Logf("%d requests, at most %d at once, %.2f s with 20 ms for each answer", len(requests), proxy.AtOnce(), time.Since(began).Seconds())
			if history == 300 && proxy.AtOnce() < 2 {
				t.Error("the requests were sent one after the other")
			}
			if len(requests) >= 30 {
				t.Errorf("%d requests, want fewer than 30:\n%s", len(requests), strings.Join(requests, "\n"))
			}
		})
	}
}

// olderSnapshots gives the table's head as many successors that change nothing.
func olderSnapshots(t *testing.T, cat lake.Catalog, id table.Identifier, n int) {
	t.Helper()
	head := Load(t, cat, id).CurrentSnapshot()
	var updates []table.Update
	for i := range int64(n) {
		next := *head
		parent := head.SnapshotID
		next.SnapshotID, next.ParentSnapshotID, next.SequenceNumber = head.SnapshotID+1+i, &parent, head.SequenceNumber+1
		next.Summary = &table.Summary{Operation: table.OpAppend, Properties: iceberg.Properties{}}
		updates = append(updates, table.NewAddSnapshotUpdate(&next))
		head = &next
	}
	updates = append(updates, table.NewSetSnapshotRefUpdate(table.MainBranch, head.SnapshotID, table.BranchRef, 0, 0, 0))
	if _, _, err := cat.CommitTable(t.Context(), id, nil, updates); err != nil {
		t.Fatal(err)
	}
}
