package arrowio

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/calve-data/calve/lake"
)

// pathTemplate is a pattern of files in which parts such as {day:%Y/%m/%d} stand
// for the days of a window. The finest unit of all parts is the template's: for
// each of its days, hours, months or years there is one pattern.
type pathTemplate struct {
	text string
	unit lake.Step
	// literals stand before, between and behind the formats.
	literals, formats []string
}

// templatePart is a part of a path that the window fills in.
var templatePart = regexp.MustCompile(`\{([a-z]+):([^{}]*)\}`)

// templateUnit is a unit of template parts, with the fields that a name needs to
// tell one from all others.
type templateUnit struct {
	name  string
	step  lake.Step
	needs string
}

// templateUnits are all units, coarsest first.
var templateUnits = []templateUnit{ //nolint:gochecknoglobals // a table that nobody changes
	{"year", lake.Step{Years: 1}, "Y"},
	{"month", lake.Step{Months: 1}, "Ym"},
	{"day", lake.Step{Days: 1}, "Ymd"},
	{"hour", lake.Step{Time: time.Hour}, "YmdH"},
}

// parseTemplate reads the template of a path; nil where it has none. Its error
// wraps [lake.ErrUsage].
func parseTemplate(path string) (*pathTemplate, error) {
	t := &pathTemplate{text: path}
	finest, fields, end := -1, "", 0
	for _, m := range templatePart.FindAllStringSubmatchIndex(path, -1) {
		part, unit, format := path[m[0]:m[1]], path[m[2]:m[3]], path[m[4]:m[5]]
		at := slices.IndexFunc(templateUnits, func(u templateUnit) bool { return u.name == unit })
		if at < 0 {
			return nil, templateError(path, "%s is no template: there are {year:…}, {month:…}, {day:…} and {hour:…}", part)
		}
		more, err := formatFields(format)
		if err != nil {
			return nil, templateError(path, "%s: %v", part, err)
		}
		finest, fields = max(finest, at), fields+more
		t.literals, t.formats, end = append(t.literals, path[end:m[0]]), append(t.formats, format), m[1]
	}
	if finest < 0 {
		return nil, nil
	}
	t.literals = append(t.literals, path[end:])
	unit := templateUnits[finest]
	t.unit = unit.step
	for _, need := range unit.needs {
		if !strings.ContainsRune(fields, need) {
			return nil, templateError(path, "it does not say %s, so that more than one %s would have the same name: an example is {%s:%s}",
				templateFields[byte(need)], unit.name, unit.name, templateExample(unit.needs))
		}
	}
	return t, nil
}

// Unit is the finest unit of the template in Path; zero where it has none, or a
// wrong one.
func (c Config) Unit() lake.Step {
	if t, err := parseTemplate(c.Path); err == nil && t != nil {
		return t.unit
	}
	return lake.Step{}
}

func templateError(path, format string, args ...any) error {
	return fmt.Errorf("source.path %q: %s: %w", path, fmt.Sprintf(format, args...), lake.ErrUsage)
}

var templateFields = map[byte]string{'Y': "the year (%Y)", 'm': "the month (%m)", 'd': "the day (%d)", 'H': "the hour (%H)"} //nolint:gochecknoglobals // a table that nobody changes

func templateExample(fields string) string {
	return "%" + strings.Join(strings.Split(fields, ""), "/%")
}

// formatFields lists what a format says of a time: %j is month and day.
func formatFields(format string) (fields string, err error) {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		if i++; i == len(format) {
			return "", fmt.Errorf("%q ends in the middle of a field", format)
		}
		switch c := format[i]; c {
		case 'Y', 'm', 'd', 'H':
			fields += string(c)
		case 'j':
			fields += "md"
		case '%':
		default:
			return "", fmt.Errorf("%%%c is unknown: there are %%Y, %%m, %%d, %%H, %%j (day of the year) and %%%%", c)
		}
	}
	if fields == "" {
		return "", fmt.Errorf("%q says no field such as %%Y", format)
	}
	return fields, nil
}

func formatTime(format string, t time.Time) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		i++
		switch format[i] {
		case 'Y':
			fmt.Fprintf(&b, "%04d", t.Year())
		case 'm':
			fmt.Fprintf(&b, "%02d", t.Month())
		case 'd':
			fmt.Fprintf(&b, "%02d", t.Day())
		case 'H':
			fmt.Fprintf(&b, "%02d", t.Hour())
		case 'j':
			fmt.Fprintf(&b, "%03d", t.YearDay())
		case '%':
			b.WriteByte('%')
		}
	}
	return b.String()
}

// pattern is the template's pattern for the unit that begins at the wall clock at.
func (t *pathTemplate) pattern(at time.Time) string {
	var b strings.Builder
	for i, format := range t.formats {
		b.WriteString(t.literals[i])
		b.WriteString(formatTime(format, at))
	}
	b.WriteString(t.literals[len(t.formats)])
	return b.String()
}

// mostPatterns is how many patterns a window may need: a year of hours and
// some, so that a mistake in the window does not list for days.
const mostPatterns = 20_000

// expand returns the patterns of the units that w shares a moment with, in
// order, and whether they cover w exactly: no unit begins before it or ends
// after it. The units are those of a clock in zone; where w is on a wall clock
// they are on the same one. Its error wraps [lake.ErrUsage].
func (t *pathTemplate) expand(w lake.Window, zone *time.Location) (patterns []string, exact bool, err error) {
	first := w.From.UTC()
	if !w.Wall {
		first = lake.OnWall(w.From, zone)
	}
	exact = true
	// One unit earlier: when a clock is set back across its end, moments of it
	// come after the first of the next unit.
	for at := t.before(t.floor(first)); ; at = t.unit.After(at) {
		unit := lake.Window{From: at, To: t.unit.After(at), Wall: true}
		if !w.Wall {
			unit = unitInZone(unit, zone)
		}
		switch {
		case !unit.From.Before(w.To):
			return patterns, exact, nil
		case unit.From.Equal(unit.To), !unit.Overlaps(w): // a clock may skip a whole unit
			continue
		case len(patterns) == mostPatterns:
			return nil, false, templateError(t.text, "the window %s has more than %d of its units: load a shorter one", w, mostPatterns)
		}
		exact = exact && !unit.From.Before(w.From) && !unit.To.After(w.To)
		patterns = append(patterns, t.pattern(at))
	}
}

func (t *pathTemplate) floor(at time.Time) time.Time {
	y, m, d := at.Date()
	switch {
	case t.unit.Years > 0:
		return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC)
	case t.unit.Months > 0:
		return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	case t.unit.Days > 0:
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	}
	return at.Truncate(time.Hour)
}

func (t *pathTemplate) before(at time.Time) time.Time { return t.floor(at.Add(-time.Nanosecond)) }

// unitInZone is the span of all moments at which a clock in zone shows a time of
// the wall-clock window w: from the first, to the last where it shows some twice.
func unitInZone(w lake.Window, zone *time.Location) lake.Window {
	if zone == nil {
		zone = time.UTC
	}
	from, to := lake.InZone(w.From, zone), lake.InZone(w.To, zone)
	if _, change := to.In(zone).ZoneBounds(); !change.IsZero() {
		_, summer := to.In(zone).Zone()
		_, winter := change.In(zone).Zone()
		again := to.Add(time.Duration(summer-winter) * time.Second)
		if again.After(change) && lake.OnWall(again, zone).Equal(w.To) {
			to = again
		}
	}
	return lake.Window{From: from, To: to}
}
