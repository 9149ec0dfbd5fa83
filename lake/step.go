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
