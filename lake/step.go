package lake

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Step is a calendar length, as ISO 8601 writes it.
type Step struct {
	Years, Months, Days int
	Time                time.Duration
}

// After is t moved on by s, by t's calendar: a day later is the same clock
// reading of the next day.
func (s Step) After(t time.Time) time.Time {
	return t.AddDate(s.Years, s.Months, s.Days).Add(s.Time)
}

// Before is t moved back by s.
func (s Step) Before(t time.Time) time.Time {
	return t.Add(-s.Time).AddDate(-s.Years, -s.Months, -s.Days)
}

// IsZero reports whether s is no time at all.
func (s Step) IsZero() bool { return s == Step{} }

var stepForm = regexp.MustCompile(`^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$`)

// floor is the latest bound of the step's grid, in t's zone, that is not after
// t: whole years, months, days (weeks begin on Monday), or, in UTC, multiples of
// a length of time. Its error wraps [ErrWindow].
func (s Step) floor(t time.Time) (time.Time, error) {
	y, m, d := t.Date()
	switch {
	case s.Time > 0 && s == Step{Time: s.Time}:
		return t.Truncate(s.Time), nil
	case s.Days > 0 && s == Step{Days: s.Days}:
		since := int((time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() - time.Time{}.Unix()) / 86400) // 0001-01-01 is a Monday
		return time.Date(y, m, d-since%s.Days, 0, 0, 0, 0, t.Location()), nil
	case s.Months > 0 && s == Step{Months: s.Months}:
		months := 12*y + int(m) - 1
		return time.Date(0, time.Month(months-months%s.Months+1), 1, 0, 0, 0, 0, t.Location()), nil
	case s.Years > 0 && s == Step{Years: s.Years}:
		return time.Date(y-y%s.Years, 1, 1, 0, 0, 0, 0, t.Location()), nil
	}
	return time.Time{}, fmt.Errorf("a step is a number of one unit, such as P1D, P1M or PT1H: %w", ErrWindow)
}

// ParseEvery is [ParseStep] for a step that has a grid: a number of one unit.
func ParseEvery(text string) (Step, error) {
	s, err := ParseStep(text)
	if err == nil {
		_, err = s.floor(time.Time{})
	}
	return s, err
}

// ParseStep reads an ISO 8601 duration such as P1D, P1M, PT1H or PT15M, a number
// with a unit, such as 1d, or 0. Units are s, m (minutes), h, d, w, mo (months)
// and y. Its error wraps [ErrWindow].
func ParseStep(text string) (Step, error) {
	if s, ok := parseShortStep(text); ok {
		return s, nil
	}
	m := stepForm.FindStringSubmatch(text)
	if m == nil || strings.HasSuffix(text, "P") || strings.HasSuffix(text, "T") {
		return Step{}, fmt.Errorf("%q is not a duration such as 1d, 12h, 1mo, P1D or PT1H: %w", text, ErrWindow)
	}
	var n [7]int
	for i := range n {
		if m[i+1] == "" {
			continue
		}
		v, err := strconv.Atoi(m[i+1])
		if err != nil || v > longestStep {
			return Step{}, fmt.Errorf("%q is too long a duration: %w", text, ErrWindow)
		}
		n[i] = v
	}
	return Step{
		Years: n[0], Months: n[1], Days: 7*n[2] + n[3],
		Time: time.Duration(n[4])*time.Hour + time.Duration(n[5])*time.Minute + time.Duration(n[6])*time.Second,
	}, nil
}

// longestStep is the greatest number of any unit.
const longestStep = 1_000_000

func parseShortStep(text string) (Step, bool) {
	unit := strings.TrimLeft(text, "0123456789")
	n, err := strconv.Atoi(strings.TrimSuffix(text, unit))
	if err != nil || n > longestStep {
		return Step{}, false
	}
	switch unit {
	case "s":
		return Step{Time: time.Duration(n) * time.Second}, true
	case "m":
		return Step{Time: time.Duration(n) * time.Minute}, true
	case "h":
		return Step{Time: time.Duration(n) * time.Hour}, true
	case "d":
		return Step{Days: n}, true
	case "w":
		return Step{Days: 7 * n}, true
	case "mo":
		return Step{Months: n}, true
	case "y":
		return Step{Years: n}, true
	}
	return Step{}, unit == "" && n == 0
}
