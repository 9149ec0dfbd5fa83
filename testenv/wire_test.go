package testenv

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

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
