package lake

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ParseWindow reads a window as a person or an orchestrator writes it:
//
//	2026                      a year
//	2026-05                   a month
//	2026-05-04                a day
//	2026-05-04T10             an hour
//	FROM/TO                   two bounds
//	FROM/P1D                  a bound and an ISO 8601 duration
//
// A bound is a date or a date and time, with T or a space between them, with
// or without seconds, fraction and offset (Z, +02:00, +0200). Where no bound
// has an offset the window is on the wall clock; where one has, the other is
// read in zone (UTC if nil). Its error wraps [ErrWindow].
func ParseWindow(text string, zone *time.Location) (Window, error) {
	text = strings.TrimSpace(text)
	from, to, two := strings.Cut(text, "/")
	if !two {
		return parseUnit(text)
	}
	if strings.HasPrefix(to, "P") {
		return parseFromStep(from, to, zone)
	}
	return ParseBounds(from, to, zone)
}

// ParseBounds reads two bounds, as --from and --to give them. See [ParseWindow].
func ParseBounds(from, to string, zone *time.Location) (Window, error) {
	a, err := parseBound(from)
	if err != nil {
		return Window{}, err
	}
	b, err := parseBound(to)
	if err != nil {
		return Window{}, err
	}
	w := Window{From: a.at, To: b.at, Wall: !a.offset && !b.offset}
	if !w.Wall {
		w.From, w.To = a.instant(zone), b.instant(zone)
	}
	return w, w.validate()
}

func parseFromStep(from, step string, zone *time.Location) (Window, error) {
	a, err := parseBound(from)
	if err != nil {
		return Window{}, err
	}
	s, err := ParseStep(step)
	if err != nil {
		return Window{}, err
	}
	w := Window{From: a.at, To: s.After(a.at), Wall: !a.offset}
	if a.offset {
		start := a.at
		if zone != nil {
			start = start.In(zone)
		}
		w.From, w.To = a.at.UTC(), s.After(start).UTC()
	}
	return w, w.validate()
}

// parseUnit reads a single date or hour as the whole unit it names. It is on
// the wall clock: the zone comes in with [Window.On].
func parseUnit(text string) (Window, error) {
	spaced := strings.Replace(text, " ", "T", 1)
	for _, u := range []struct {
		layout string
		step   Step
	}{
		{"2006", Step{Years: 1}},
		{"2006-01", Step{Months: 1}},
		{"2006-01-02", Step{Days: 1}},
		{"2006-01-02T15", Step{Time: time.Hour}},
	} {
		if len(spaced) != len(u.layout) {
			continue
		}
		if at, err := time.Parse(u.layout, spaced); err == nil {
			w := Window{From: at, To: u.step.After(at), Wall: true}
			return w, w.validate()
		}
	}
	return Window{}, fmt.Errorf("%q is not a window: give a day (2026-05-04), an hour (2026-05-04T10), a month (2026-05), FROM/TO or FROM/P1D: %w", text, ErrWindow)
}

// bound is one end of a window as it was written.
type bound struct {
	at     time.Time // the instant, or the wall clock carried as UTC
	offset bool      // an offset was written
}

func (b bound) instant(zone *time.Location) time.Time {
	if b.offset {
		return b.at.UTC()
	}
	return InZone(b.at, zone)
}

var boundForm = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)(?:[T ](\d\d)(?::(\d\d)(?::(\d\d)([.,]\d{1,9})?)?)?)? ?(Z|[+-]\d\d(?::?\d\d)?)?$`)

func parseBound(text string) (bound, error) {
	bad := func(why string) (bound, error) {
		return bound{}, fmt.Errorf("%q is not a time such as 2026-05-04, 2026-05-04T10:00 or 2026-05-04T10:00:00+02:00%s: %w", text, why, ErrWindow)
	}
	m := boundForm.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return bad("")
	}
	clock := ":" + orZero(m[2]) + ":" + orZero(m[3]) + ":" + orZero(m[4])
	at, err := time.Parse("2006-01-02:15:04:05.999999999", m[1]+clock+strings.Replace(m[5], ",", ".", 1))
	if err != nil {
		var pe *time.ParseError
		if errors.As(err, &pe) {
			return bad(" (" + strings.TrimPrefix(pe.Message, ": ") + ")")
		}
		return bad("")
	}
	if m[6] == "" {
		return bound{at: at}, nil
	}
	off, ok := parseOffset(m[6])
	if !ok {
		return bad(" (offset out of range)")
	}
	return bound{at: at.Add(-off), offset: true}, nil
}

func orZero(s string) string {
	if s == "" {
		return "00"
	}
	return s
}

func parseOffset(s string) (time.Duration, bool) {
	if s == "Z" {
		return 0, true
	}
	digits := strings.ReplaceAll(s[1:], ":", "") + "00"
	h, _ := strconv.Atoi(digits[:2])
	m, _ := strconv.Atoi(digits[2:4])
	if h > 18 || m > 59 {
		return 0, false
	}
	off := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	if s[0] == '-' {
		off = -off
	}
	return off, true
}
