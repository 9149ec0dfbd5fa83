package testenv

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
)

// behindWire opens the catalog once more, through a wire.
func behindWire(t *testing.T, c *AnyCatalog) (*catalog.Catalog, *BadWire) {
	t.Helper()
	u, err := url.Parse(c.Config.URI)
	if err != nil {
		t.Fatal(err)
	}
	wire := Wire(t, u.Host)
	u.Host = wire.Address
	far := *c
	far.Config.URI = u.String()
	return far.Again(t), wire
}

// badCatalogWires is what goes wrong on the way to a catalog, by name, and from
// when on. Cuts come after a few bytes, in the midst of an answer of either
// kind of catalog, and, where the commit is cut, before and after it took effect.
func badCatalogWires() map[string]badWire {
	up := func(t Toxic) Toxic { t.Upstream = true; return t }
	wires := map[string]badWire{
		"LatencyFromstart":    {"start", []Toxic{Latency(20*time.Millisecond, 10*time.Millisecond)}},
		"BandwidthFromstart":  {"start", []Toxic{Bandwidth(64), up(Bandwidth(64))}},
		"ResetLaterFromstart": {"start", []Toxic{ResetPeer(30 * time.Millisecond)}},
		"CutLaterFromstart":   {"start", []Toxic{Cut(2500)}},
	}
	for name, toxic := range map[string]Toxic{
		"Reset": ResetPeer(0), "Silence": Silence(), "SilenceUp": up(Silence()),
		"CutAnswer40": Cut(40), "CutAnswer600": Cut(600), "CutRequest40": up(Cut(40)), "CutRequest300": up(Cut(300)), "CutRequest900": up(Cut(900)),
	} {
		for _, when := range []string{"start", "commit", "once"} { // once: it is good again after the first commit
			wires[name+"From"+when] = badWire{when, []Toxic{toxic}}
		}
	}
	return wires
}

// atCommit calls before in front of each commit, and after behind it.
type atCommit struct {
	lake.Catalog
	before, after func()
}

func (c *atCommit) CommitTable(ctx context.Context, id table.Identifier, requirements []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	c.before()
	defer c.after()
	return c.Catalog.CommitTable(ctx, id, requirements, updates)
}

// A load through a bad wire to its catalog lands exactly, or leaves the table
// as it was, or says that it does not know, in a time that --timeout bounds; the
// same load through a good one then gives exactly the right rows. Where the
// wire is bad for the commit alone, its outcome is known.
func TestBadWireToCatalog(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{{"postgres", PostgresOn}, {"rest", RESTOn}} {
		for name, bad := range badCatalogWires() {
			t.Run(kind.Name+name, func(t *testing.T) {
				t.Parallel()
				badWireToCatalog(t, kind.New(t, MinIO(t)), bad)
			})
		}
	}
}

func badWireToCatalog(t *testing.T, good *AnyCatalog, bad badWire) {
	id, model := good.Ident("events"), &Model{}
	check := Check(t, good, id, model.Strings)
	w, err := lake.ParseWindow(tripDay, nil)
	if err != nil {
		t.Fatal(err)
	}
	run := func(loader lake.Loader, n int64) error {
		events := []Event{NewEvent(n, tripDay+"T00:00:00Z", "eu", n), NewEvent(n+1, tripDay+"T23:59:59Z", "us", n)}
		r, err := loader.Load(t.Context(), lake.Load{Table: id, TimeColumn: "event_time"}, Rows(t, EventArrow(), EventRows(events...)...), w)
		if err == nil {
			model.Replace(w, "", events...)
			check.Loaded(r)
		}
		return err
	}
	if err := run(lake.Loader{Catalog: good}, 10); err != nil {
		t.Fatal(err)
	}
	was := model.Strings()

	far, wire := behindWire(t, good)
	if bad.when == "start" {
		wire.Add(bad.toxics...)
	}
	var commits atomic.Int64
	between := &atCommit{
		Catalog: far,
		before: func() {
			if n := commits.Add(1); n == 1 && bad.when != "start" {
				wire.Add(bad.toxics...)
			}
		},
		after: func() {
			if bad.when == "once" {
				wire.Mend()
			}
		},
	}
	timeout := 600 * time.Millisecond
	if bad.when == "once" { // nothing but the commit may take too long
		timeout = 10 * time.Second
	}
	began := time.Now()
	err = run(lake.Loader{Catalog: between, Timeout: timeout}, 20)
	t.Logf("%.1f s, %d commits: %v", time.Since(began).Seconds(), commits.Load(), err)
	wire.Mend()
	after := ReadAll(t, Load(t, good, id))
	switch {
	case err == nil:
		if !slices.Equal(after, model.Strings()) {
			t.Errorf("the load landed and the table holds %q, want %q", after, model.Strings())
		}
	case bad.when == "once":
		t.Errorf("Load = %v, want that it finds out", err)
	case errors.Is(err, lake.ErrUnknown):
		if commits.Load() == 0 {
			t.Errorf("Load = %v, and no commit was sent", err)
		}
		for _, id := range check.Untold(Load(t, good, id)) {
			check.Loaded(lake.Receipt{Outcome: lake.Landed, SnapshotID: id})
		}
	default:
		if !slices.Equal(after, was) {
			t.Errorf("the load failed and the table holds %q, want %q as before", after, was)
		}
		if !errors.Is(err, lake.ErrTemporary) || !lake.Untouched(err) {
			t.Errorf("Load = %v, want ErrTemporary", err)
		}
	}
	if err := run(lake.Loader{Catalog: good}, 30); err != nil {
		t.Fatal(err)
	}
	if got := ReadAll(t, Load(t, good, id)); !slices.Equal(got, model.Strings()) {
		t.Errorf("after a run over a good wire the table holds %q, want %q", got, model.Strings())
	}
}
