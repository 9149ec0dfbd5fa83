package arrowio

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/calve-data/calve/lake"
)

// timeFormat is how a column's times are written, in the words of strptime:
//
//	%Y year, four digits    %y two digits: 69 to 99 are 1969 to 1999, 00 to 68 2000 to 2068
//	%m month  %d day        %b or %B the month's English name, short or long, in any case
//	%H hour   %M minute     %S second
//	%I hour of 12           %p AM or PM, in any case
//	%f fraction of a second, of any length, floored to microseconds
//	%z offset: Z, +02, +0200 or +02:00
//	%a or %A the day of the week's English name, which must be right
//	%F is %Y-%m-%d, %T is %H:%M:%S, %% is %
//
// Numbers of two digits may lack a leading zero unless another number follows at
// once. All else stands for itself. Other forms are unix_s, unix_ms, unix_us and
// unix_ns: seconds and so on since 1970-01-01 in UTC, unix_s with or without a
// fraction.
type timeFormat struct {
	text  string
	items []timeItem
	// unix is the number of units in a second, 0 where items are the format.
	unix int64
	// date, clock and zoned say what a value has, twelve that its hours are 1 to 12.
	date, clock, zoned, twelve bool
}

// timeItem is a directive or, where that is 0, a literal.
type timeItem struct {
	directive byte
	literal   string
	// narrow says that the number has all its digits, as another one follows.
	narrow bool
}

// compileTime reads a format. Its error wraps [lake.ErrUsage].
func compileTime(text string) (*timeFormat, error) {
	f := &timeFormat{text: text}
	if units, ok := unixUnits(text); ok {
		f.unix, f.date, f.clock, f.zoned = units, true, true, true
		return f, nil
	}
	expanded := strings.NewReplacer("%%", "%%", "%F", "%Y-%m-%d", "%T", "%H:%M:%S").Replace(text)
	seen := map[byte]bool{}
	for i := 0; i < len(expanded); i++ {
		if expanded[i] != '%' {
			f.addLiteral(expanded[i : i+1])
			continue
		}
		if i++; i == len(expanded) {
			return nil, f.bad("it ends in a single %%")
		}
		d := expanded[i]
		switch {
		case d == '%':
			f.addLiteral("%")
			continue
		case !strings.ContainsRune("YymdbBHIMSpfzaA", rune(d)):
			return nil, f.bad("it has %%%c, and there are %%Y %%y %%m %%d %%b %%H %%I %%M %%S %%p %%f %%z %%a %%F %%T", d)
		}
		if seen[meaning(d)] {
			return nil, f.bad("it has %%%c or the like twice", d)
		}
		seen[meaning(d)] = true
		f.twelve = f.twelve || d == 'I'
		if err := f.addDirective(d); err != nil {
			return nil, err
		}
	}
	return f, f.whole(seen)
}

func (f *timeFormat) bad(format string, args ...any) error {
	return fmt.Errorf("format %q: %s: %w", f.text, fmt.Sprintf(format, args...), lake.ErrUsage)
}

func unixUnits(text string) (int64, bool) {
	units, ok := map[string]int64{"unix_s": 1, "unix_ms": 1e3, "unix_us": 1e6, "unix_ns": 1e9}[text]
	return units, ok
}

func (f *timeFormat) addLiteral(text string) {
	if n := len(f.items); n > 0 && f.items[n-1].directive == 0 {
		f.items[n-1].literal += text
		return
	}
	f.items = append(f.items, timeItem{literal: text})
}

func (f *timeFormat) addDirective(d byte) error {
	if n := len(f.items); n > 0 && isNumeric(f.items[n-1].directive) && isNumeric(d) {
		if f.items[n-1].directive == 'f' {
			return f.bad("a number follows %%f at once, so where the fraction ends cannot be told")
		}
		f.items[n-1].narrow = true
	}
	f.items = append(f.items, timeItem{directive: d})
	return nil
}

func isNumeric(directive byte) bool {
	return directive != 0 && strings.IndexByte("YymdHIMSf", directive) >= 0
}

// meaning is one directive of those that mean the same.
func meaning(d byte) byte {
	switch d {
	case 'y':
		return 'Y'
	case 'b', 'B':
		return 'm'
	case 'I':
		return 'H'
	case 'A':
		return 'a'
	}
	return d
}

// whole refuses formats that leave out what a date or a time of day needs.
func (f *timeFormat) whole(seen map[byte]bool) error {
	f.date = seen['Y'] || seen['m'] || seen['d']
	f.clock = seen['H']
	f.zoned = seen['z']
	switch {
	case !f.date && !f.clock:
		return f.bad("it has neither a date nor a time of day")
	case f.date && (!seen['Y'] || !seen['m'] || !seen['d']):
		return f.bad("a date needs a year, a month and a day")
	case seen['M'] && !seen['H'], seen['S'] && !seen['M'], seen['f'] && !seen['S']:
		return f.bad("a time of day needs the hour before the minute, the second and the fraction")
	case f.twelve != seen['p']:
		return f.bad("%%I and %%p belong together")
	case seen['a'] && !f.date:
		return f.bad("a day of the week belongs to a date")
	case f.zoned && (!f.date || !f.clock):
		return f.bad("an offset belongs to a date with a time of day")
	}
	return nil
}

// parse reads a value.
func (f *timeFormat) parse(text []byte) (moment, bool) {
	if f.unix != 0 {
		return f.parseUnix(text)
	}
	p := timeParts{month: 1, day: 1, weekday: -1}
	for _, item := range f.items {
		n, ok := item.take(text, &p)
		if !ok {
			return moment{}, false
		}
		text = text[n:]
	}
	if len(text) > 0 {
		return moment{}, false
	}
	return p.moment(f)
}

// parseUnix reads a time since 1970; only of seconds may there be a fraction.
func (f *timeFormat) parseUnix(text []byte) (moment, bool) {
	whole, fraction, point := bytes.Cut(text, []byte{'.'})
	if digits, rest := leadingDigits(fraction); point && (f.unix != 1 || len(digits) == 0 || len(rest) > 0) {
		return moment{}, false
	}
	v, err := strconv.ParseInt(string(whole), 10, 64)
	if err != nil || whole[0] == '+' {
		return moment{}, false
	}
	var us int64
	switch {
	case f.unix == 1e9:
		us = floorDiv(v, 1000)
	case v > maxMicros || v < minMicros:
		return moment{}, false
	default:
		us = v * (1e6 / f.unix)
		if us/(1e6/f.unix) != v {
			return moment{}, false
		}
	}
	if point {
		us = withFraction(us, fraction, whole[0] == '-')
	}
	return moment{wall: us, zoned: true}, us >= minMicros && us <= maxMicros
}

// withFraction adds the fraction of a second, away from 1970, and floors.
func withFraction(us int64, fraction []byte, negative bool) int64 {
	if !negative {
		return us + micros(fraction)
	}
	us -= micros(fraction)
	if len(fraction) > 6 && len(bytes.Trim(fraction[6:], "0")) > 0 {
		us--
	}
	return us
}

// The years 0001 to 9999 in microseconds since 1970.
const (
	minMicros = -719162 * microsPerDay
	maxMicros = 2932897*microsPerDay - 1
)
