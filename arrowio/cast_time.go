package arrowio

import (
	"fmt"

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
	if from.TimeZone != "" && to.TimeZone == "" {
		return nil, at.refuse(arr, to, "it has a zone and the table's column has none")
	}
	if from.TimeZone == "" && to.TimeZone != "" {
		return castLocalTimes(arr, from.Unit, to, at)
	}
	return fill(arr, arr.TimestampValues(), to, at, func(v arrow.Timestamp) (arrow.Timestamp, bool) {
		us, ok := toMicros(int64(v), from.Unit)
		return arrow.Timestamp(us), ok
	})
}

// castLocalTimes reads times without a zone as those of the declared one.
func castLocalTimes(arr *array.Timestamp, unit arrow.TimeUnit, to *arrow.TimestampType, at place) (arrow.Array, error) {
	if at.zone == nil {
		return nil, at.refuse(arr, to, "its times carry no zone, so say which one they are in: declare the column's timezone")
	}
	clock := localClock{zone: at.zone, fold: at.fold}
	var why error
	out, err := fill(arr, arr.TimestampValues(), to, at, func(v arrow.Timestamp) (arrow.Timestamp, bool) {
		us, ok := toMicros(int64(v), unit)
		if !ok {
			return 0, false
		}
		us, why = clock.instant(us)
		return arrow.Timestamp(us), why == nil
	})
	if why != nil {
		return nil, fmt.Errorf("%w: %w", err, why)
	}
	return out, err
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
