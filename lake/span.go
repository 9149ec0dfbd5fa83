package lake

import (
	"math"
	"time"

	"github.com/apache/iceberg-go"
)

// span is a half-open interval of a time column's stored values: microseconds
// since 1970 for timestamps, days for dates. It is what a [Window] is once the
// column is known, and what a partition value or a pair of bounds stands for.
type span struct{ from, to int64 }

// everything is the span of which nothing is known.
var everything = span{math.MinInt64, math.MaxInt64} //nolint:gochecknoglobals // a constant

func (s span) contains(v int64) bool { return s.from <= v && v < s.to }
func (s span) covers(o span) bool    { return s.from <= o.from && o.to <= s.to }
func (s span) overlaps(o span) bool  { return s.from < o.to && o.from < s.to }

const (
	microsPerHour = int64(3600) * 1_000_000
	microsPerDay  = 24 * microsPerHour
)

// spanOf gives the stored values of w, which is already on kind k. The bounds
// are rounded up to the column's unit: a stored value v, floored to that unit,
// is in the window exactly if ceil(from) <= v < ceil(to).
func spanOf(w Window, k TimeKind) span {
	if k == Days {
		return span{ceilDiv(w.From.Unix(), 86400), ceilDiv(w.To.Unix(), 86400)}
	}
	return span{ceilMicros(w.From), ceilMicros(w.To)}
}

func ceilMicros(t time.Time) int64 {
	us := t.UnixMicro()
	if t.Nanosecond()%1000 != 0 {
		us++
	}
	return us
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }

// at is the time of a stored value, and value the stored value of a time.
func (k TimeKind) at(v int64) time.Time {
	if k == Days {
		return time.Unix(v*86400, 0).UTC()
	}
	return time.UnixMicro(v).UTC()
}

func (k TimeKind) value(t time.Time) int64 {
	if k == Days {
		return floorDiv(t.Unix(), 86400)
	}
	return t.UnixMicro()
}

// partitionSpan is the span of stored time values that transform t maps to the
// partition value p (see "Partition Transforms" in the Iceberg specification).
// known is false where the value says nothing about the span: bucket, void and
// transforms that are not known here.
func (k TimeKind) partitionSpan(t iceberg.Transform, p int64) (s span, known bool) {
	epoch := time.Unix(0, 0).UTC()
	var from, to time.Time
	switch t.(type) {
	case iceberg.IdentityTransform:
		return span{p, p + 1}, true
	case iceberg.YearTransform:
		from, to = epoch.AddDate(int(p), 0, 0), epoch.AddDate(int(p)+1, 0, 0)
	case iceberg.MonthTransform:
		from, to = epoch.AddDate(0, int(p), 0), epoch.AddDate(0, int(p)+1, 0)
	case iceberg.DayTransform:
		from, to = epoch.AddDate(0, 0, int(p)), epoch.AddDate(0, 0, int(p)+1)
	case iceberg.HourTransform:
		if k == Days {
			return everything, false
		}
		return span{p * microsPerHour, (p + 1) * microsPerHour}, true
	default:
		return everything, false
	}
	return span{k.value(from), k.value(to)}, true
}
