package lake

import (
	"fmt"
	"time"
)

// mostWindows is how many windows a grid may have: each becomes a snapshot.
const mostWindows = 100_000

// Grid cuts w into consecutive windows of step, the first of which begins where
// w does. A step that does not fit into w a whole number of times is refused: a
// last window that is cut would look as if all of it had been loaded.
//
// Steps follow the clock and the calendar of zone (UTC if nil), so that a local
// day has 23, 24 or 25 hours. Where clocks are put back, the hour that they show
// twice is in one window; a bound that they skip is none. The windows make up w
// whatever the kind of the time column turns out to be. Its error wraps
// [ErrWindow].
func (w Window) Grid(step Step, zone *time.Location) ([]Window, error) {
	if err := w.validate(); err != nil {
		return nil, err
	}
	from, to := w.From, w.To
	if !w.Wall {
		from, to = OnWall(w.From, zone), OnWall(w.To, zone)
	}
	if !step.After(from).After(from) {
		return nil, fmt.Errorf("a step must be longer than nothing: %w", ErrWindow)
	}
	if (step.Months != 0 || step.Years != 0) && from.Day() > 28 {
		return nil, fmt.Errorf("months and years cannot be counted from %s, a day that not every month has: begin on another: %w", from.Format(time.DateOnly), ErrWindow)
	}
	bounds := []time.Time{w.From}
	previous, at := from, from
	for n := 1; at.Before(to); n++ {
		if n > mostWindows {
			return nil, fmt.Errorf("%s has more than %d windows, each of which becomes a snapshot: give a longer step or a shorter span: %w", w, mostWindows, ErrWindow)
		}
		previous, at = at, step.After(at)
		bounds = w.addBound(bounds, at, zone)
	}
	if !at.Equal(to) {
		return nil, fmt.Errorf("the last window does not fit: it would go from %s to %s, and the end is %s; one that is cut would look as if all of it had been loaded: end at one of the two, or give another step: %w",
			shortTime(previous), shortTime(at), shortTime(to), ErrWindow)
	}
	if len(bounds) > 1 {
		bounds = bounds[:len(bounds)-1]
	}
	bounds = append(bounds, w.To) // to the instant, where clocks show it twice
	windows := make([]Window, len(bounds)-1)
	for i := range windows {
		windows[i] = Window{From: bounds[i], To: bounds[i+1], Wall: w.Wall}
	}
	return windows, nil
}

// addBound adds the bound at a reading of the clock; where no time passes since
// the one before, it takes its place.
func (w Window) addBound(bounds []time.Time, reading time.Time, zone *time.Location) []time.Time {
	last, at := bounds[len(bounds)-1], InZone(reading, zone)
	bound := at
	if w.Wall {
		last, bound = InZone(last, zone), reading
	}
	switch {
	case at.After(last):
		return append(bounds, bound)
	case len(bounds) > 1:
		bounds[len(bounds)-1] = bound
	}
	return bounds
}
