package arrowio

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Fold says which instant is meant where clocks are set back and show a time
// twice.
type Fold string

const (
	// RefuseFold makes such a time an error.
	RefuseFold Fold = ""
	// EarlierFold means the first of the two.
	EarlierFold Fold = "earlier"
	// LaterFold means the second.
	LaterFold Fold = "later"
)

// localClock reads what clocks in a zone show as instants. Both are in
// microseconds since 1970-01-01 00:00, on the clock and in UTC.
//
// It remembers the readings for which the offset is certain, from one change of
// the clocks to the next: rows of a file lie close together. So it is not safe
// for concurrent use.
type localClock struct {
	zone *time.Location
	fold Fold
	// From steady to before end clocks are offset microseconds ahead of UTC.
	steady, end, offset int64
}

// oneDay is more than any clock is ahead of UTC, behind it, or is set.
const oneDay = 24 * time.Hour

// quick is instant where the reading is one of those that are remembered.
func (c *localClock) quick(wall int64) (int64, bool) {
	return wall - c.offset, wall >= c.steady && wall < c.end
}

// instant returns when clocks show wall. A time that they skip is an error, and
// so is one that they show twice, unless fold says which is meant.
func (c *localClock) instant(wall int64) (int64, error) {
	if t, ok := c.quick(wall); ok {
		return t, nil
	}
	shown := time.UnixMicro(wall).UTC()
	start, end := shown.In(c.zone).ZoneBounds()
	if (start.IsZero() || shown.Sub(start) > oneDay) && (end.IsZero() || end.Sub(shown) > oneDay) {
		c.remember(shown, start, end)
		return wall - c.offset, nil
	}
	// The offsets in force a day before and after cover the one that is meant.
	before, after := offsetAt(shown.Add(-oneDay), c.zone), offsetAt(shown.Add(oneDay), c.zone)
	earlier, later := wall-max(before, after), wall-min(before, after)
	first := offsetAt(time.UnixMicro(earlier), c.zone) == wall-earlier
	second := offsetAt(time.UnixMicro(later), c.zone) == wall-later
	switch {
	case first && second && earlier != later:
		return c.choose(earlier, later)
	case first:
		return earlier, nil
	case second:
		return later, nil
	}
	return 0, c.skips(shown, before, after)
}

func (c *localClock) remember(shown, start, end time.Time) {
	c.offset = offsetAt(shown, c.zone)
	c.steady, c.end = math.MinInt64, math.MaxInt64
	if !start.IsZero() {
		c.steady = start.Add(oneDay).UnixMicro() + 1
	}
	if !end.IsZero() {
		c.end = end.Add(-oneDay).UnixMicro()
	}
}

func (c *localClock) choose(earlier, later int64) (int64, error) {
	switch c.fold {
	case EarlierFold:
		return earlier, nil
	case LaterFold:
		return later, nil
	}
	const form = "2006-01-02T15:04:05Z"
	return 0, fmt.Errorf("clocks in %s show it twice, at %s and at %s: say which with fold: earlier or fold: later, or write offsets",
		c.zone, time.UnixMicro(earlier).UTC().Format(form), time.UnixMicro(later).UTC().Format(form))
}

// skips is the error of a time that is never shown.
func (c *localClock) skips(shown time.Time, before, after int64) error {
	_, change := shown.Add(-oneDay).In(c.zone).ZoneBounds()
	if change.IsZero() {
		return errNoSuch
	}
	on := func(offset int64) string {
		return change.UTC().Add(time.Duration(offset) * time.Microsecond).Format(time.DateTime)
	}
	return fmt.Errorf("clocks in %s skip it: they go from %s to %s", c.zone, on(before), on(after))
}

var errNoSuch = errors.New("clocks in the declared time zone skip it")

// offsetAt is how many microseconds clocks in zone are ahead of UTC at an instant.
func offsetAt(at time.Time, zone *time.Location) int64 {
	_, seconds := at.In(zone).Zone()
	return int64(seconds) * microsPerSecond
}
