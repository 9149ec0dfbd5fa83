package lake_test

import (
	"errors"
	"testing"
	"time"

	"github.com/calve-data/calve/lake"
)

// since loads what came since the watermark, up to a bound.
func (o *orders) since(to string, overlap lake.Step, rows ...order) (lake.Receipt, error) {
	o.tb.Helper()
	w, err := o.loader.SinceWatermark(o.tb.Context(), o.load, to, overlap, nil)
	if err != nil || w.IsZero() {
		return lake.Receipt{Outcome: lake.Unchanged}, err
	}
	r, err := o.loader.Load(o.tb.Context(), o.load, orderSource(o.tb, rows...), w)
	if err == nil {
		o.check.Loaded(r)
	}
	return r, err
}

// watermark is where the load's watermark is.
func (o *orders) watermark() string {
	o.tb.Helper()
	t, err := o.cat.LoadTable(o.tb.Context(), o.load.Table)
	if err != nil {
		o.tb.Fatal(err)
	}
	states, err := lake.LoadStates(o.tb.Context(), t, "")
	if err != nil || len(states) != 1 {
		o.tb.Fatal(states, err)
	}
	return states[0].Watermark.Format(time.RFC3339Nano)
}

// TestWatermarkLateCommits is the scene that every data engineer knows: a table in
// which a row shows up when its transaction commits, with the time of before
// (case 32). Without an overlap it is missed; with one, and a merge, it is loaded,
// and nothing twice.
func TestWatermarkLateCommits(t *testing.T) {
	t.Parallel()
	early, late := placed(1, "04", "04T09:50", 1, "new"), placed(2, "04", "04T09:58", 2, "new")
	next := placed(3, "04", "04T10:05", 3, "new")
	quarter := lake.Step{Time: 15 * time.Minute}
	o := newOrders(t, "late")
	_, err := o.since("2026-05-04T10:00", quarter)
	want(t, err, lake.ErrUsage) // where to begin is the caller's to say
	o.merge("2026-05-04/2026-05-04T10", lake.KeyCounts{Inserted: 1}, early)
	for n, step := range []struct {
		to   string
		rows []order // what the source shows by then
		want lake.KeyCounts
		mark string
	}{
		{"2026-05-04T10:10", []order{early, late, next}, lake.KeyCounts{Inserted: 2, Identical: 1}, "2026-05-04T10:10:00Z"},
		{"2026-05-04T10:10", []order{early, late, next}, lake.KeyCounts{Identical: 2}, "2026-05-04T10:10:00Z"}, // run again
		{"2026-05-04T10:20", []order{early, late, next}, lake.KeyCounts{Identical: 2}, "2026-05-04T10:20:00Z"},
	} {
		r, err := o.since(step.to, quarter, step.rows...)
		if err != nil || *r.ByKey != step.want {
			t.Fatalf("step %d: %+v, %v", n, r.ByKey, err)
		}
		o.note(step.rows...)
		if at := o.watermark(); at != step.mark {
			t.Errorf("step %d: the watermark is %s, want %s", n, at, step.mark)
		}
	}
	if w, err := o.loader.SinceWatermark(t.Context(), o.load, "2026-05-04T10:20", lake.Step{}, nil); err != nil || !w.IsZero() {
		t.Errorf("nothing is left to load, and the window is %s, %v", w, err)
	}
}

// TestCase32_ARowThatCommitsAfterItsWindow: without an overlap it is missed, which
// calve warns of; with one it is loaded, once.
func TestCase32_ARowThatCommitsAfterItsWindow(t *testing.T) {
	t.Parallel()
	for overlap, rows := range map[time.Duration]int{0: 1, time.Minute: 2} {
		o := newOrders(t, "commits")
		soon, late := placed(1, "04", "04T10:00", 1, "new"), placed(2, "04", "04T10:00", 2, "new")
		o.merge("2026-05-04T10/2026-05-04T10:01", lake.KeyCounts{Inserted: 1}, soon)
		for range 2 {
			if _, err := o.since("2026-05-04T10:02", lake.Step{Time: overlap}, soon, late); err != nil {
				t.Fatal(err)
			}
		}
		if rows == 2 {
			o.note(late)
		}
	}
}

// TestWatermarkMovesWithTheData: a failed load does not move it, nor does an older
// window; it keeps all digits (case 33).
func TestWatermarkMovesWithTheData(t *testing.T) {
	t.Parallel()
	o := newOrders(t, "mark")
	o.merge("2026-05-04/2026-05-04T10:00:00.031153", lake.KeyCounts{Inserted: 1}, placed(1, "04", "04T09:00", 1, "new"))
	const exact = "2026-05-04T10:00:00.031153Z"
	if at := o.watermark(); at != exact {
		t.Errorf("the watermark is %s, want %s", at, exact)
	}
	tie := []order{placed(2, "04", "04T10:30", 2, "a"), placed(2, "04", "04T10:30", 2, "b")}
	if _, err := o.since("2026-05-04T11", lake.Step{}, tie...); !errors.Is(err, lake.ErrTie) {
		t.Fatalf("a tie: %v", err)
	}
	o.merge("2026-05-03", lake.KeyCounts{Inserted: 1}, placed(3, "03", "03T09:00", 1, "new"))
	if at := o.watermark(); at != exact {
		t.Errorf("after a failed load and an older window the watermark is %s, want %s", at, exact)
	}
	w, err := o.loader.SinceWatermark(t.Context(), o.load, "2026-05-04T11:00:00+01:00", lake.Step{}, nil)
	if err != nil || !w.IsZero() { // 10:00 UTC, before the watermark
		t.Errorf("the window is %s, %v", w, err)
	}
}

// TestWatermarkRaces: of two loads that race from one watermark the larger bound
// stays, with the data of both.
func TestWatermarkRaces(t *testing.T) {
	t.Parallel()
	o := newOrders(t, "race")
	o.merge("2026-05-04/2026-05-04T10", lake.KeyCounts{Inserted: 1}, placed(1, "04", "04T09:00", 1, "new"))
	rows := []order{placed(2, "04", "04T10:10", 2, "new"), placed(3, "04", "04T10:40", 3, "new"), placed(1, "04", "04T10:20", 4, "paid")}
	errs := make(chan error)
	for _, to := range []string{"2026-05-04T10:30", "2026-05-04T11", "2026-05-04T10:45"} {
		go func() {
			w, err := o.loader.SinceWatermark(t.Context(), o.load, to, lake.Step{Time: time.Hour}, nil)
			if err == nil {
				var r lake.Receipt
				if r, err = o.loader.Load(t.Context(), o.load, orderSource(t, rows...), w); err == nil {
					o.check.Loaded(r)
				}
			}
			errs <- err
		}()
	}
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	o.note(rows...)
	if at := o.watermark(); at != "2026-05-04T11:00:00Z" {
		t.Errorf("the watermark is %s", at)
	}
}

// TestWatermarkCursor: windows on the time of change, partitions on the time of
// the order. Mode replace would lose rows that change, and is refused.
func TestWatermarkCursor(t *testing.T) {
	t.Parallel()
	o := newOrders(t, "cursor")
	o.load.TimeColumn, o.load.Cursor, o.load.PartitionBy = "placed_on", "updated_at", nil
	o.merge("2026-05-04", lake.KeyCounts{Inserted: 1}, placed(1, "01", "04T09:00", 1, "new"))
	if _, err := o.since("2026-05-05T12", lake.Step{}, placed(1, "01", "05T09:00", 2, "paid")); err != nil {
		t.Fatal(err)
	}
	o.note(placed(1, "01", "05T09:00", 2, "paid"))
	if at := o.watermark(); at != "2026-05-05T12:00:00Z" {
		t.Errorf("the watermark is %s", at)
	}
	o.load = lake.Load{Table: o.load.Table, TimeColumn: "placed_on", Cursor: "updated_at"}
	_, err := o.run("2026-05-06", placed(1, "01", "06T09:00", 1, "new"))
	want(t, err, lake.ErrUsage)
}
