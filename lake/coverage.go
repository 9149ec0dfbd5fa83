package lake

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
)

// Coverage is the set of windows that a load has loaded: sorted, merged,
// half-open and apart. Where Before is not zero, what lies before it has been
// forgotten and is unknown, never claimed.
type Coverage struct {
	Before  time.Time
	Windows []Window
}

// coverageBytes is the longest text that a coverage may have as a property.
const coverageBytes = 3500

// Add returns the coverage with w merged in.
func (c Coverage) Add(w Window) Coverage {
	// Of the windows, those from first to last touch w and become one with it.
	first := sort.Search(len(c.Windows), func(i int) bool { return !c.Windows[i].To.Before(w.From) })
	last := sort.Search(len(c.Windows), func(i int) bool { return c.Windows[i].From.After(w.To) })
	for _, o := range c.Windows[first:last] {
		if o.From.Before(w.From) {
			w.From = o.From
		}
		if o.To.After(w.To) {
			w.To = o.To
		}
	}
	merged := slices.Concat(c.Windows[:first], []Window{w}, c.Windows[last:])
	return Coverage{Before: c.Before, Windows: merged}
}

// Holds reports whether all of w is known to have been loaded.
func (c Coverage) Holds(w Window) bool {
	return slices.ContainsFunc(c.Windows, func(o Window) bool {
		return !w.From.Before(o.From) && !w.To.After(o.To)
	})
}

// end is the end of the window that holds at, or touches it; at where none does.
func (c Coverage) end(at time.Time) time.Time {
	for _, w := range c.Windows {
		if !at.Before(w.From) && !at.After(w.To) {
			return w.To
		}
	}
	return at
}

// String prints the coverage as it is kept in the table:
// 2026-01-01/2026-05-03,2026-05-04T10/2026-05-05, at most 3,500 bytes. Past
// that the oldest windows are forgotten, and the text begins with ?/ and the
// instant before which nothing is known.
func (c Coverage) String() string {
	parts := make([]string, len(c.Windows))
	size := len("?/2006-01-02T15:04:05.000000000")
	for i, w := range c.Windows {
		parts[i] = shortTime(w.From) + "/" + shortTime(w.To)
		size += len(parts[i]) + 1
	}
	before := c.Before
	first := 0
	for size > coverageBytes && first < len(parts)-1 {
		size -= len(parts[first]) + 1
		if end := c.Windows[first].To; end.After(before) {
			before = end
		}
		first++
	}
	parts = parts[first:]
	if !before.IsZero() {
		parts = append([]string{"?/" + shortTime(before)}, parts...)
	}
	return strings.Join(parts, ",")
}

// ParseCoverage reads what String prints.
func ParseCoverage(text string) (Coverage, error) {
	var c Coverage
	if text == "" {
		return c, nil
	}
	for i, part := range strings.Split(text, ",") {
		from, to, ok := strings.Cut(part, "/")
		if !ok {
			return Coverage{}, fmt.Errorf("coverage %q: %q is not FROM/TO", text, part)
		}
		end, err := parseBound(to)
		if err != nil {
			return Coverage{}, fmt.Errorf("coverage %q: %w", text, err)
		}
		if from == "?" && i == 0 {
			c.Before = end.at
			continue
		}
		start, err := parseBound(from)
		if err != nil {
			return Coverage{}, fmt.Errorf("coverage %q: %w", text, err)
		}
		w := Window{From: start.at, To: end.at}
		if n := len(c.Windows); !w.From.Before(w.To) || n > 0 && !w.From.After(c.Windows[n-1].To) {
			return Coverage{}, fmt.Errorf("coverage %q: %q is empty, or not after what is before it", text, part)
		}
		c.Windows = append(c.Windows, w)
	}
	return c, nil
}

// shortTime prints a UTC time as short as it can be read back.
func shortTime(t time.Time) string {
	t = t.UTC()
	switch {
	case t.Equal(t.Truncate(24 * time.Hour)):
		return t.Format("2006-01-02")
	case t.Equal(t.Truncate(time.Hour)):
		return t.Format("2006-01-02T15")
	case t.Equal(t.Truncate(time.Minute)):
		return t.Format("2006-01-02T15:04")
	}
	return t.Format("2006-01-02T15:04:05.999999999")
}
