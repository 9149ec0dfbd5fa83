package arrowio

import (
	"bytes"
	"strings"
	"time"
)

// timeParts is what a text in a [timeFormat] says.
type timeParts struct {
	year, month, day     int
	hour, minute, second int
	micros, offset       int64
	pm                   bool
	weekday              int // -1: not said
}

// take reads what the item stands for at the start of text, and returns its
// length.
func (i timeItem) take(text []byte, p *timeParts) (n int, ok bool) {
	switch i.directive {
	case 0:
		return len(i.literal), bytes.HasPrefix(text, []byte(i.literal))
	case 'Y':
		p.year, n = number10(text, 4)
		return n, n == 4
	case 'y':
		p.year, n = number10(text, 2)
		if p.year += 1900; p.year < 1969 {
			p.year += 100
		}
		return n, n == 2
	case 'm':
		return i.short(text, &p.month)
	case 'd':
		return i.short(text, &p.day)
	case 'H', 'I':
		return i.short(text, &p.hour)
	case 'M':
		return i.short(text, &p.minute)
	case 'S':
		return i.short(text, &p.second)
	}
	return i.takeWord(text, p)
}

// short reads a number of two digits.
func (i timeItem) short(text []byte, to *int) (n int, ok bool) {
	*to, n = number10(text, 2)
	return n, n == 2 || n == 1 && !i.narrow
}

// number10 reads up to so many digits.
func number10(text []byte, most int) (v, n int) {
	for n < most && n < len(text) && text[n]-'0' <= 9 {
		v = v*10 + int(text[n]-'0')
		n++
	}
	return v, n
}

// takeWord is take for what is no number of a fixed length.
func (i timeItem) takeWord(text []byte, p *timeParts) (n int, ok bool) {
	switch i.directive {
	case 'f':
		digits, _ := leadingDigits(text)
		p.micros = micros(digits)
		return len(digits), len(digits) > 0
	case 'p':
		if len(text) < 2 {
			return 0, false
		}
		p.pm = isWord(text[:2], "pm")
		return 2, p.pm || isWord(text[:2], "am")
	case 'b', 'B':
		for m := time.January; m <= time.December; m++ {
			if n, ok = takeName(text, m.String(), i.directive == 'b'); ok {
				p.month = int(m)
				return n, true
			}
		}
	case 'a', 'A':
		for d := time.Sunday; d <= time.Saturday; d++ {
			if n, ok = takeName(text, d.String(), i.directive == 'a'); ok {
				p.weekday = int(d)
				return n, true
			}
		}
	case 'z':
		n = offsetLength(text)
		if n > 0 {
			p.offset, ok = parseOffset(text[:n])
		}
		return n, ok
	}
	return 0, false
}

// takeName reads an English name, or its first three letters.
func takeName(text []byte, name string, short bool) (int, bool) {
	if short {
		name = name[:3]
	}
	return len(name), len(text) >= len(name) && isWord(text[:len(name)], strings.ToLower(name))
}

// offsetLength is the length of the offset that text begins with.
func offsetLength(text []byte) int {
	digit := func(i int) bool { return i < len(text) && text[i]-'0' <= 9 }
	switch {
	case len(text) == 0:
		return 0
	case text[0] == 'Z':
		return 1
	case text[0] != '+' && text[0] != '-' || !digit(1) || !digit(2):
		return 0
	case digit(3) && digit(4):
		return 5
	case len(text) > 3 && text[3] == ':' && digit(4) && digit(5):
		return 6
	}
	return 3
}

// moment is the time that the parts make, if there is such a one.
func (p *timeParts) moment(f *timeFormat) (moment, bool) {
	m := moment{zoned: f.zoned, offset: p.offset, date: !f.clock}
	if f.date {
		if p.year < 1 || p.month < 1 || p.month > 12 || p.day < 1 || p.day > daysIn(p.year, p.month) {
			return m, false
		}
		days := daysSinceEpoch(p.year, p.month, p.day)
		// 1970-01-01 was a Thursday; 719467 is whole weeks, so that days are positive.
		if p.weekday >= 0 && (days+719467+4)%7 != p.weekday {
			return m, false
		}
		m.wall = int64(days) * microsPerDay
	}
	hour, ok := p.hour24(f)
	m.wall += int64(hour*3600+p.minute*60+p.second)*microsPerSecond + p.micros
	return m, ok && p.minute <= 59 && p.second <= 59
}

func (p *timeParts) hour24(f *timeFormat) (int, bool) {
	if !f.twelve {
		return p.hour, p.hour <= 23
	}
	hour := p.hour % 12
	if p.pm {
		hour += 12
	}
	return hour, p.hour >= 1 && p.hour <= 12
}
