package lake_test

import (
	"context"
	"errors"
	"testing"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// TestEveryStepFails makes every effect of a load go wrong, one run each: each
// call to the object store and the catalog fails, hangs, or succeeds with its
// answer lost, and the load is stopped there. One plain re-run later the table
// must equal the one of a single clean load, with every live file there.
func TestEveryStepFails(t *testing.T) {
	t.Parallel()
	before := []testenv.Event{
		event(1, "2026-05-03T23:00:00Z", 1), event(2, "2026-05-04T09:00:00Z", 2), event(3, "2026-05-04T10:30:00Z", 3), event(4, "2026-05-05T00:00:00Z", 4),
	}
	for name, tc := range map[string]struct {
		first  bool
		merge  bool
		window string
		rows   []testenv.Event
	}{
		"replace a whole partition":       {window: "2026-05-04", rows: []testenv.Event{event(5, "2026-05-04T05:00:00Z", 5)}},
		"replace an hour, with survivors": {window: "2026-05-04T10", rows: []testenv.Event{event(5, "2026-05-04T10:45:00Z", 5)}},
		"first load":                      {first: true, window: "2026-05-04", rows: []testenv.Event{event(5, "2026-05-04T05:00:00Z", 5)}},
		"clear":                           {window: "2026-05-04"},
		"merge manifests":                 {window: "2026-05-06", rows: []testenv.Event{event(5, "2026-05-06T05:00:00Z", 5)}, merge: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := []testenv.Fault{testenv.LostAnswer, testenv.Fail, testenv.Hang}
			if testing.Short() {
				t.Log("-short: lost answers alone")
				faults = faults[:1]
			}
			steps := 0
			for _, fault := range faults {
				for at := 0; ; at++ {
					e := newEvents(t, "step")
					e.load.OnEmpty = lake.ClearEmpty
					if tc.merge {
						e.mergingFrom(2)
					}
					if !tc.first {
						for _, day := range []string{"2026-05-03", "2026-05-04", "2026-05-05"} {
							e.replace(day, before...)
						}
					}
					if !e.faultAt(at, fault, tc.window, tc.rows) {
						e.model.Replace(window(t, tc.window), "", tc.rows...)
						break
					}
					steps++
					e.rerun(tc.window, tc.rows)
				}
			}
			t.Logf("%d steps", steps)
			if steps < 5*len(faults) {
				t.Errorf("%d steps, want more: are the effects seen?", steps)
			}
		})
	}
}

// faultAt runs a load whose effect number at goes wrong and says whether it
// had that many effects.
func (e *events) faultAt(at int, fault testenv.Fault, text string, rows []testenv.Event) bool {
	e.tb.Helper()
	ctx, stop := context.WithCancelCause(e.tb.Context())
	defer stop(nil)
	in := testenv.NewInjector(at, fault)
	in.StopAfter = true
	in.Until(ctx)
	if fault == testenv.Hang {
		in.OnFire = func() { stop(errors.New("killed")) }
	}
	l := &lake.Loader{Catalog: in.Catalog(e.cat)}
	r, err := l.Load(ctx, e.load, source(e.tb, rows...), window(e.tb, text))
	if err == nil {
		e.check.Loaded(r)
	} else if !in.Fired() {
		e.tb.Fatalf("without a fault: %v", err)
	} else if e.tell() > 0 && lake.Untouched(err) && fault != testenv.LostAnswer {
		e.tb.Errorf("effect %d, %s: %v says that the table is untouched, and it is not", at, fault, err)
	}
	return in.Fired()
}

func (e *events) rerun(text string, rows []testenv.Event) {
	e.tb.Helper()
	r, err := (&lake.Loader{Catalog: e.cat}).Load(e.tb.Context(), e.load, source(e.tb, rows...), window(e.tb, text))
	if err != nil {
		e.tb.Fatalf("re-run: %v", err)
	}
	e.check.Loaded(r)
	e.model.Replace(window(e.tb, text), "", rows...)
}
