package arrowio

import (
	"time"
)

const (
	microsPerSecond = 1_000_000
	microsPerDay    = 86_400 * microsPerSecond
)

// Text with more than six digits after the second is floored to the
// microsecond. As the time of day is never negative, that holds before 1970 as
// well, and 23:59:59.9999999 stays within its day.

// parseDate reads YYYY-MM-DD as days since 1970-01-01.
func parseDate(text []byte) (int32, error) {
	if len(text) != 10 {
		return 0, errForm
	}
	day, ok := dateAt(text)
	if !ok {
		return 0, errForm
	}
	return day, nil
}

// parseTime reads HH:MM, HH:MM:SS or HH:MM:SS.fraction as microseconds of the
// day.
func parseTime(text []byte) (int64, error) {
	us, n, ok := clockAt(text)
	if !ok || n != len(text) {
		return 0, errForm
	}
	return us, nil
}

// parseTimestamp reads a date and a time of day, or a date alone, as
// microseconds since 1970-01-01 on a clock without a zone.
func parseTimestamp(text []byte) (int64, error) {
	t, ok := parseMoment(text)
	switch {
	case !ok:
		return 0, errForm
	case t.zoned:
		return 0, errZoned
	}
	return t.wall, nil
}

// parseInstant is [localClock.parse] for a single time.
func parseInstant(text []byte, zone *time.Location) (int64, error) {
	clock := localClock{zone: zone}
	return clock.parse(text)
}

// parse reads a date and a time of day with an offset as microseconds since
// 1970-01-01 in UTC. Without an offset the time is what the clock shows.
func (c *localClock) parse(text []byte) (int64, error) {
	t, ok := parseMoment(text)
	if !ok {
		return 0, errForm
	}
	return c.of(t)
}

// of returns the instant of a moment.
func (c *localClock) of(t moment) (int64, error) {
	switch {
	case t.zoned:
		return t.wall - t.offset*microsPerSecond, nil
	case c.zone == nil:
		return 0, errNaive
	}
	return c.instant(t.wall)
}

// moment is a date and a time of day as they are written.
type moment struct {
	// wall is the reading in microseconds since 1970-01-01 00:00.
	wall int64
	// offset is how many seconds the clock is ahead of UTC, where zoned.
	offset int64
	zoned  bool
	// date says that there was no time of day.
	date bool
}

// parseMoment reads YYYY-MM-DD, then perhaps 'T' or a space and a time of day,
// then perhaps an offset.
func parseMoment(text []byte) (moment, bool) {
	if len(text) < 10 {
		return moment{}, false
	}
	day, ok := dateAt(text)
	m := moment{wall: int64(day) * microsPerDay}
	if !ok || len(text) == 10 {
		m.date = true
		return m, ok
	}
	if text[10] != 'T' && text[10] != ' ' {
		return m, false
	}
	clock, n, ok := clockAt(text[11:])
	m.wall += clock
	if rest := text[11+n:]; ok && len(rest) > 0 {
		m.zoned = true
		m.offset, ok = parseOffset(rest)
	}
	return m, ok
}

// dateAt reads the date in the first 10 bytes of text. Years are 0001 to 9999.
func dateAt(text []byte) (int32, bool) {
	year, ok1 := twoDigits(text)
	rest, ok2 := twoDigits(text[2:])
	month, ok3 := twoDigits(text[5:])
	day, ok4 := twoDigits(text[8:])
	year = year*100 + rest
	ok := ok1 && ok2 && ok3 && ok4 && text[4] == '-' && text[7] == '-' &&
		year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
	if !ok {
		return 0, false
	}
	return int32(daysSinceEpoch(year, month, day)), true
}

// clockAt reads the time of day that text begins with, and returns its length.
func clockAt(text []byte) (us int64, n int, ok bool) {
	if len(text) < 5 || text[2] != ':' {
		return 0, 0, false
	}
	hour, ok1 := twoDigits(text)
	minute, ok2 := twoDigits(text[3:])
	if !ok1 || !ok2 || hour > 23 || minute > 59 {
		return 0, 0, false
	}
	us, n = int64(hour*3600+minute*60)*microsPerSecond, 5
	if len(text) == n || text[n] != ':' {
		return us, n, true
	}
	if len(text) < 8 {
		return 0, 0, false
	}
	second, ok := twoDigits(text[6:])
	if !ok || second > 59 {
		return 0, 0, false
	}
	us, n = us+int64(second)*microsPerSecond, 8
	if len(text) == n || text[n] != '.' {
		return us, n, true
	}
	fraction, _ := leadingDigits(text[n+1:])
	return us + micros(fraction), n + 1 + len(fraction), len(fraction) > 0
}

// micros reads the digits after the second.
func micros(fraction []byte) (us int64) {
	for i := range 6 {
		us *= 10
		if i < len(fraction) {
			us += int64(fraction[i] - '0')
		}
	}
	return us
}

// parseOffset reads Z, +HH, +HHMM or +HH:MM as seconds.
func parseOffset(text []byte) (int64, bool) {
	if len(text) == 1 && text[0] == 'Z' {
		return 0, true
	}
	if len(text) < 3 || text[0] != '+' && text[0] != '-' {
		return 0, false
	}
	neg := text[0] == '-'
	hours, ok := twoDigits(text[1:])
	minutes := 0
	switch rest := text[3:]; {
	case !ok || hours > 23 || len(rest) == 1:
		return 0, false
	case len(rest) == 3 && rest[0] == ':':
		minutes, ok = twoDigits(rest[1:])
	case len(rest) == 2:
		minutes, ok = twoDigits(rest)
	default:
		ok = len(rest) == 0
	}
	seconds := int64(hours*3600 + minutes*60)
	if neg {
		seconds = -seconds
	}
	return seconds, ok && minutes <= 59
}

// twoDigits reads the first two bytes of text.
func twoDigits(text []byte) (int, bool) {
	a, b := text[0]-'0', text[1]-'0'
	return int(a)*10 + int(b), a <= 9 && b <= 9
}
