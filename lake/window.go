package lake

import (
	"fmt"
	"time"

	"github.com/apache/iceberg-go"
)

// Window is the half-open span [From, To) of a table's time column. A row at
// exactly To belongs to the next window, so adjacent windows never share a row.
//
// A window is either a span of instants (Wall is false; the bounds are points
// on the UTC time line) or a span of wall-clock readings (Wall is true; the
// bounds are what a clock on the wall shows, carried as if they were UTC).
// [Window.On] turns one into the other, for the type of the time column.
type Window struct {
	From, To time.Time
	Wall     bool
}

// TimeKind is the type of a table's time column.
type TimeKind int

const (
	// Instants is a timestamptz column.
	Instants TimeKind = iota
	// WallClock is a timestamp column, without a zone.
	WallClock
	// Days is a date column; its windows are whole days.
	Days
)

func (k TimeKind) String() string {
	return [...]string{"timestamptz", "timestamp", "date"}[k]
}

// TimeKindOf returns the kind of a column type that windows can be on. Its
// error wraps [ErrWindow].
func TimeKindOf(t iceberg.Type) (TimeKind, error) {
	switch t.(type) {
	case iceberg.TimestampTzType:
		return Instants, nil
	case iceberg.TimestampType:
		return WallClock, nil
	case iceberg.DateType:
		return Days, nil
	}
	return 0, fmt.Errorf("a time column must be timestamptz, timestamp or date, not %s: %w", t, ErrWindow)
}

// IsZero reports whether w is the zero window, which no load accepts.
func (w Window) IsZero() bool { return w.From.IsZero() && w.To.IsZero() }

// Contains reports whether t is in [From, To).
func (w Window) Contains(t time.Time) bool { return !t.Before(w.From) && t.Before(w.To) }

// Overlaps reports whether some time is in both windows.
func (w Window) Overlaps(o Window) bool { return w.From.Before(o.To) && o.From.Before(w.To) }

// String prints the window as errors and receipts show it:
// [2026-01-01T00:00:00Z, 2026-01-02T00:00:00Z), without Z for a wall clock.
func (w Window) String() string {
	return "[" + w.bound(w.From) + ", " + w.bound(w.To) + ")"
}

// MarshalText gives the form FROM/TO that [ParseWindow] reads back.
func (w Window) MarshalText() ([]byte, error) {
	return []byte(w.bound(w.From) + "/" + w.bound(w.To)), nil
}

// UnmarshalText reads what MarshalText gives.
func (w *Window) UnmarshalText(text []byte) (err error) {
	*w, err = ParseWindow(string(text), nil)
	return err
}

// Bounds returns both ends as they are printed, for machine-readable output.
func (w Window) Bounds() (from, to string) { return w.bound(w.From), w.bound(w.To) }

func (w Window) bound(t time.Time) string {
	if w.Wall {
		return t.UTC().Format("2006-01-02T15:04:05.999999999")
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// Split cuts w into consecutive windows of step, the last one shorter where
// step does not divide w. Steps of days, months and years follow the calendar
// of zone (UTC if nil), so that a local day has 23, 24 or 25 hours. Its error
// wraps [ErrWindow].
func (w Window) Split(step Step, zone *time.Location) ([]Window, error) {
	if zone == nil || w.Wall {
		zone = time.UTC
	}
	var parts []Window
	for from := w.From; from.Before(w.To); {
		to := step.After(from.In(zone)).UTC()
		if !to.After(from) {
			return nil, fmt.Errorf("a step must be longer than nothing: %w", ErrWindow)
		}
		if to.After(w.To) {
			to = w.To
		}
		parts = append(parts, Window{From: from, To: to, Wall: w.Wall})
		from = to
	}
	return parts, nil
}

// cut is Split at the bounds of the step's grid, so that the first part too may
// be shorter.
func (w Window) cut(step Step, zone *time.Location) (parts []Window, err error) {
	if zone == nil || w.Wall {
		zone = time.UTC
	}
	start, err := step.floor(w.From.In(zone))
	if err != nil {
		return nil, err
	}
	first := step.After(start).UTC()
	if !first.After(w.From) { // a local day that was skipped, or one of 25 hours
		first = step.After(step.After(start)).UTC()
	}
	if !first.Before(w.To) {
		return []Window{w}, nil
	}
	rest, err := Window{From: first, To: w.To, Wall: w.Wall}.Split(step, zone)
	return append([]Window{{From: w.From, To: first, Wall: w.Wall}}, rest...), err
}

// Align returns the smallest window that contains w and whose bounds are
// bounds of t's partitions: year, month, day or hour. Iceberg's time
// transforms are in UTC, whatever zone w was written in.
func (w Window) Align(t iceberg.Transform) Window {
	return Window{From: floorTo(t, w.From.UTC()), To: ceilTo(t, w.To.UTC()), Wall: w.Wall}
}

// Widen returns w with before taken from its start and after added to its end,
// by the calendar of zone (UTC if nil).
func (w Window) Widen(before, after Step, zone *time.Location) Window {
	if zone == nil || w.Wall {
		zone = time.UTC
	}
	return Window{From: before.Before(w.From.In(zone)).UTC(), To: after.After(w.To.In(zone)).UTC(), Wall: w.Wall}
}

func floorTo(t iceberg.Transform, at time.Time) time.Time {
	y, m, d := at.Date()
	switch t.(type) {
	case iceberg.YearTransform:
		return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC)
	case iceberg.MonthTransform:
		return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	case iceberg.DayTransform:
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	case iceberg.HourTransform:
		return time.Date(y, m, d, at.Hour(), 0, 0, 0, time.UTC)
	}
	return at
}

func ceilTo(t iceberg.Transform, at time.Time) time.Time {
	down := floorTo(t, at)
	if down.Equal(at) {
		return at
	}
	switch t.(type) {
	case iceberg.YearTransform:
		return down.AddDate(1, 0, 0)
	case iceberg.MonthTransform:
		return down.AddDate(0, 1, 0)
	case iceberg.DayTransform:
		return down.AddDate(0, 0, 1)
	default:
		return down.Add(time.Hour)
	}
}

// On returns w for a time column of kind k. zone is the zone that the caller
// named, or nil: bounds without an offset are then UTC for a timestamptz
// column, and bounds with an offset are refused for a column without a zone.
// Its error wraps [ErrWindow] and says which flag to use.
func (w Window) On(k TimeKind, zone *time.Location) (Window, error) {
	switch {
	case k == Instants && w.Wall:
		w = Window{From: InZone(w.From, zone), To: InZone(w.To, zone)}
	case k != Instants && !w.Wall:
		if zone == nil {
			return Window{}, fmt.Errorf("the window %s has an offset but the time column is a %s: say whose wall clock is meant with --timezone: %w", w, k, ErrWindow)
		}
		w = Window{From: OnWall(w.From, zone), To: OnWall(w.To, zone), Wall: true}
	}
	if k == Days && (!wholeDay(w.From) || !wholeDay(w.To)) {
		return Window{}, fmt.Errorf("the window %s does not begin and end at midnight, and the time column is a date: give whole days: %w", w, ErrWindow)
	}
	return w, w.validate()
}

func (w Window) validate() error {
	if w.From.Equal(w.To) {
		return fmt.Errorf("the window %s is empty: both bounds are equal; with Airflow 3 use CronDataIntervalTimetable (create_cron_data_intervals), whose data_interval_end lies after data_interval_start: %w", w, ErrWindow)
	}
	if w.To.Before(w.From) {
		return fmt.Errorf("the window %s ends before it begins: %w", w, ErrWindow)
	}
	lo, hi := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	if w.From.Before(lo) || !w.To.Before(hi) {
		return fmt.Errorf("the window %s reaches outside the years 1 to 9999: %w", w, ErrWindow)
	}
	return nil
}

func wholeDay(t time.Time) bool { return t.Equal(t.Truncate(24 * time.Hour)) }

// InZone reads the wall clock t, carried as if it were UTC, in zone (UTC if nil)
// and returns the instant. A reading that a clock skips (spring)
// is the instant of the change; one that it shows twice (autumn) is the first.
func InZone(t time.Time, zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	y, m, d := t.Date()
	h, mi, s := t.Clock()
	at := time.Date(y, m, d, h, mi, s, t.Nanosecond(), zone)
	if OnWall(at, zone).Equal(t) {
		if earlier := at.Add(-offsetBefore(at) + offsetOf(at)); OnWall(earlier, zone).Equal(t) && earlier.Before(at) {
			return earlier.UTC()
		}
		return at.UTC()
	}
	// In a gap: the first instant whose wall clock is not before t.
	start, _ := at.ZoneBounds()
	if OnWall(at, zone).Before(t) {
		_, start = at.ZoneBounds()
	}
	return start.UTC()
}

// offsetBefore is the offset that held before the last change of at's zone.
func offsetBefore(at time.Time) time.Duration {
	start, _ := at.ZoneBounds()
	if start.IsZero() {
		return offsetOf(at)
	}
	return offsetOf(start.Add(-time.Second))
}

func offsetOf(at time.Time) time.Duration {
	_, s := at.Zone()
	return time.Duration(s) * time.Second
}

// OnWall is what a clock in zone (UTC if nil) shows at the instant t, carried as
// if it were UTC.
func OnWall(t time.Time, zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	t = t.In(zone)
	y, m, d := t.Date()
	h, mi, s := t.Clock()
	return time.Date(y, m, d, h, mi, s, t.Nanosecond(), time.UTC)
}
