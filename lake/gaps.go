package lake

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// LoadState is what a table says of one load.
type LoadState struct {
	Load string
	// Claim is what the load says it owns; zero where the table has none.
	Claim Claim
	// Coverage is what it has loaded. It says that a window was loaded, not that
	// its rows are still there: what others deleted since stays in it.
	Coverage Coverage
	// Watermark is zero where there is none.
	Watermark time.Time
	// Wall is true where windows are on a wall clock: the time column has no zone.
	Wall bool
	// Err says why the state cannot be told; then Coverage and Watermark are zero.
	Err error
}

// Range is the window from the first to the last instant of which the coverage
// knows something; zero where it knows nothing.
func (s LoadState) Range() Window {
	c := s.Coverage
	if len(c.Windows) == 0 {
		return Window{}
	}
	w := Window{From: c.Windows[0].From, To: c.Windows[len(c.Windows)-1].To, Wall: s.Wall}
	if !c.Before.IsZero() && c.Before.Before(w.From) {
		w.From = c.Before
	}
	return w
}

// Within is [LoadState.Range] with another beginning and end, in the forms that
// [ParseWindow] takes; an empty text leaves one as it is. zone is that of bounds
// without an offset. Its error wraps [ErrWindow].
func (s LoadState) Within(from, to string, zone *time.Location) (Window, error) {
	w := s.Range()
	for _, given := range []struct {
		text string
		at   *time.Time
	}{{from, &w.From}, {to, &w.To}} {
		if given.text == "" {
			continue
		}
		b, err := parseBound(given.text)
		if err != nil {
			return Window{}, err
		}
		switch *given.at = b.instant(zone); {
		case s.Wall && !b.offset:
			*given.at = b.at
		case s.Wall && zone == nil:
			return Window{}, fmt.Errorf("%q has an offset but the time column has no zone: say whose wall clock is meant with --timezone: %w", given.text, ErrWindow)
		case s.Wall:
			*given.at = OnWall(b.at, zone)
		}
	}
	if !w.From.Before(w.To) && (from != "" || to != "") {
		return Window{}, fmt.Errorf("%s is not before %s: give another --from or --to: %w", w.bound(w.From), w.bound(w.To), ErrWindow)
	}
	return w, nil
}

// Gap is a window that a load has not loaded.
type Gap struct {
	Window
	// Unknown is true where it may have been loaded and that was forgotten: a
	// coverage has room for so many windows.
	Unknown bool
}

// Gaps lists what of w the coverage does not hold, in order.
func (c Coverage) Gaps(w Window) (gaps []Gap) {
	add := func(from, to time.Time) {
		if from.Before(c.Before) {
			known := earlier(c.Before, to)
			gaps = append(gaps, Gap{Window{From: from, To: known, Wall: w.Wall}, true})
			from = known
		}
		if from.Before(to) {
			gaps = append(gaps, Gap{Window: Window{From: from, To: to, Wall: w.Wall}})
		}
	}
	at := w.From
	for _, o := range c.Windows {
		if !o.To.After(at) {
			continue
		}
		if end := earlier(o.From, w.To); at.Before(end) {
			add(at, end)
		}
		at = o.To
		if !at.Before(w.To) {
			return gaps
		}
	}
	if at.Before(w.To) {
		add(at, w.To)
	}
	return gaps
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Cut cuts gaps into windows of step, at the hours, days, months or years of
// zone's calendar (UTC if nil), so that each can be loaded by itself; the first
// and the last of a gap may be shorter. What is unknown stays whole. Its error
// wraps [ErrWindow].
func Cut(gaps []Gap, step Step, zone *time.Location) (cut []Gap, err error) {
	for _, g := range gaps {
		if g.Unknown {
			cut = append(cut, g)
			continue
		}
		parts, err := g.cut(step, zone)
		if err != nil {
			return nil, err
		}
		for _, w := range parts {
			cut = append(cut, Gap{Window: w})
		}
	}
	return cut, nil
}

// LoadStates lists the loads that a branch of a table knows of, by name. It
// reads old metadata files of the table where that is needed to tell whether a
// state is of the branch's history.
func LoadStates(ctx context.Context, t *table.Table, branch string) ([]LoadState, error) {
	if branch == "" {
		branch = table.MainBranch
	}
	meta := t.Metadata()
	head := meta.SnapshotByName(branch)
	if head == nil && branch != table.MainBranch {
		return nil, fmt.Errorf("the table has no branch %q: %w", branch, ErrUsage)
	}
	var out []LoadState
	for _, load := range loadsOf(meta) {
		s := LoadState{Load: load, Wall: wallClock(meta, head, load)}
		s.Claim, _ = parseClaim(meta.Properties()[propertyOf(load, "claim")])
		known, err := stateAt(ctx, t, time.Minute, branch, head, load)
		s.Coverage, s.Watermark, s.Err = known.coverage, known.watermark, err
		out = append(out, s)
	}
	return out, nil
}

// wallClock reports whether the windows of a load are on a wall clock: its
// newest snapshot says so, else the column of its claim.
func wallClock(meta table.Metadata, head *table.Snapshot, load string) bool {
	for s := range ancestors(meta, head) {
		p := summaryOf(s)
		var w Window
		if p[keyLoad] == load && w.UnmarshalText([]byte(p[keyWindow])) == nil {
			return w.Wall
		}
	}
	claim, _ := parseClaim(meta.Properties()[propertyOf(load, "claim")])
	f, ok := findField(meta.CurrentSchema(), claim.TimeColumn)
	_, zoned := f.Type.(iceberg.TimestampTzType)
	return ok && !zoned
}
