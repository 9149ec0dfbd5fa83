package arrowio

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// castTimes floors to microseconds or days, before 1970 too: a time is never
// moved into the next window.
func castTimes(arr arrow.Array, to arrow.DataType, at place) (arrow.Array, error) {
	switch arr := arr.(type) {
	case *array.Date64:
		if to.ID() == arrow.DATE32 {
			return fill(arr, arr.Date64Values(), to, at, func(v arrow.Date64) (arrow.Date32, bool) {
				d := floorDiv(int64(v), 86_400_000)
				return arrow.Date32(d), int64(arrow.Date32(d)) == d
			})
		}
	case *array.Time32:
		unit := arr.DataType().(*arrow.Time32Type).Unit
		if to.ID() == arrow.TIME64 {
			return fill(arr, arr.Time32Values(), to, at, func(v arrow.Time32) (arrow.Time64, bool) {
				us, ok := toMicros(int64(v), unit)
				return arrow.Time64(us), ok
			})
		}
	case *array.Time64:
		unit := arr.DataType().(*arrow.Time64Type).Unit
		if to.ID() == arrow.TIME64 {
			return fill(arr, arr.Time64Values(), to, at, func(v arrow.Time64) (arrow.Time64, bool) {
				us, ok := toMicros(int64(v), unit)
				return arrow.Time64(us), ok
			})
		}
	case *array.Timestamp:
		if target, ok := to.(*arrow.TimestampType); ok && target.Unit == arrow.Microsecond {
			return castTimestamps(arr, target, at)
		}
	}
	return nil, at.refuse(arr, to, "")
}

func castTimestamps(arr *array.Timestamp, to *arrow.TimestampType, at place) (arrow.Array, error) {
	from := arr.DataType().(*arrow.TimestampType)
	shift, err := at.fromWall(arr, from, to)
	if err != nil {
		return nil, err
	}
	return fill(arr, arr.TimestampValues(), to, at, func(v arrow.Timestamp) (arrow.Timestamp, bool) {
		us, ok := toMicros(int64(v), from.Unit)
		if !ok {
			return 0, false
		}
		us, ok = shift(us)
		return arrow.Timestamp(us), ok
	})
}

// fromWall is how a time in microseconds is read: as it is, or as what clocks
// showed in the zone that was declared.
func (at place) fromWall(arr arrow.Array, from, to *arrow.TimestampType) (func(us int64) (int64, bool), error) {
	switch {
	case (from.TimeZone == "") == (to.TimeZone == ""):
		return func(us int64) (int64, bool) { return us, true }, nil
	case to.TimeZone == "":
		return nil, at.refuse(arr, to, "it has a zone and the table's column has none")
	case at.zone == nil:
		return nil, at.refuse(arr, to, "its times carry no zone, so say which one they are in: declare the column's timezone")
	}
	return wallClock(at.zone), nil
}

// toMicros floors to microseconds; false if that overflows.
func toMicros(v int64, unit arrow.TimeUnit) (int64, bool) {
	switch unit {
	case arrow.Nanosecond:
		return floorDiv(v, 1000), true
	case arrow.Microsecond:
		return v, true
	case arrow.Millisecond:
		return v * 1000, v*1000/1000 == v
	}
	return v * 1_000_000, v*1_000_000/1_000_000 == v
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// wallClock reads what clocks in zone show, in microseconds, as an instant. A
// reading that occurs twice, when clocks are set back, is the first one; one
// that is skipped is none. While the offset does not change within a day of a
// reading, it is remembered, for the rows of a file lie close together.
func wallClock(zone *time.Location) func(int64) (int64, bool) {
	const day = 24 * time.Hour
	var from, to, steady int64
	return func(wall int64) (int64, bool) {
		if wall >= from && wall < to {
			return wall - steady, true
		}
		shown := time.UnixMicro(wall)
		start, end := shown.In(zone).ZoneBounds()
		_, offset := shown.In(zone).Zone()
		if (start.IsZero() || shown.Sub(start) > day) && (end.IsZero() || end.Sub(shown) > day) {
			steady = int64(offset) * 1e6
			from, to = wall, wall+1
			if !end.IsZero() {
				to = end.Add(-day).UnixMicro()
			}
			return wall - steady, true
		}
		_, before := shown.Add(-day).In(zone).Zone()
		_, after := shown.Add(day).In(zone).Zone()
		for _, o := range [2]int{max(before, after), min(before, after)} {
			instant := wall - int64(o)*1e6
			if _, there := time.UnixMicro(instant).In(zone).Zone(); there == o {
				return instant, true
			}
		}
		return 0, false
	}
}
