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

func (s Step) after(t time.Time) time.Time {
	return t.AddDate(s.Years, s.Months, s.Days).Add(s.Time)
}

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

var shortStepForm = regexp.MustCompile(`^(\d+)(y|mo|w|d|h|min|s)$`)

// ParseEvery reads a step as people write it, 1h, 1d, 1w, 1mo, 1y, 15min, or as
// [ParseStep] does. Its error wraps [ErrWindow].
func ParseEvery(text string) (Step, error) {
	m := shortStepForm.FindStringSubmatch(text)
	if m == nil && !strings.HasPrefix(text, "P") {
		return Step{}, fmt.Errorf("%q is not a step such as 1h, 1d, 1mo or P1D: %w", text, ErrWindow)
	}
	if m != nil {
		text = map[string]string{"y": "P%sY", "mo": "P%sM", "w": "P%sW", "d": "P%sD", "h": "PT%sH", "min": "PT%sM", "s": "PT%sS"}[m[2]]
		text = fmt.Sprintf(text, m[1])
	}
	s, err := ParseStep(text)
	if err == nil {
		_, err = s.floor(time.Time{})
	}
	return s, err
}

// ParseStep reads an ISO 8601 duration such as P1D, P1M, PT1H, PT15M. Its
// error wraps [ErrWindow].
func ParseStep(text string) (Step, error) {
	m := stepForm.FindStringSubmatch(text)
	if m == nil || strings.HasSuffix(text, "P") || strings.HasSuffix(text, "T") {
		return Step{}, fmt.Errorf("%q is not an ISO 8601 duration such as P1D, P1M or PT1H: %w", text, ErrWindow)
	}
	var n [7]int
	for i := range n {
		if m[i+1] == "" {
			continue
		}
		v, err := strconv.Atoi(m[i+1])
		if err != nil || v > 1_000_000 {
			return Step{}, fmt.Errorf("%q is too long a duration: %w", text, ErrWindow)
		}
		n[i] = v
	}
	return Step{
		Years: n[0], Months: n[1], Days: 7*n[2] + n[3],
		Time: time.Duration(n[4])*time.Hour + time.Duration(n[5])*time.Minute + time.Duration(n[6])*time.Second,
	}, nil
}
