package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/calve-data/calve/lake"
)

// The page that history --html writes is made of days, whatever the windows are:
// a year is a calendar. Where windows begin or end within days, the hours of each
// month are there as well. Which windows are loaded is read from the coverage,
// and what was loaded, how often, from the snapshots that the table still has.

// page is what the template shows.
type page struct {
	Table, Branch, Zone string
	Snapshot, At        string // of the head
	Snapshots           int
	Loads               []pageLoad
}

// pageLoad is one load.
type pageLoad struct {
	Name, Err string
	Facts     []pageFact
	Gaps      []string
	MoreGaps  int
	Years     []pageGrid
	Months    []pageGrid // of hours; none where all windows are whole days
	Windows   []pageWindow
}

type pageFact struct{ Name, Value string }

// pageGrid is a table of cells, by rows.
type pageGrid struct {
	Title   string
	Columns []pageSpan
	Rows    []pageRow
	Missing string // what is missing in it; "" for nothing
}

type pageSpan struct {
	Title string
	Span  int
}

type pageRow struct {
	Title string
	Cells []pageCell
}

// pageCell is a day or an hour; its Kind is empty where it is outside.
type pageCell struct{ Kind, Label, Tip string }

// pageWindow is a window that a snapshot of the table still tells of.
type pageWindow struct {
	Window, Rows, Snapshot, At, Run string
	Loads                           int
	Percent                         int // of the largest window's rows
}

// longestPage is how many years a page may show.
const longestPage = 100

// hourlyDays is up to how many days hours are shown of.
const hourlyDays = 3 * 366

// newPage describes the loads of a table, within f's bounds.
func newPage(table, branch string, all []loadGaps, entries []lake.HistoryEntry, zone *time.Location) (page, error) {
	p := page{Table: table, Branch: branch, Zone: "UTC", Snapshots: len(entries)}
	if zone != nil {
		p.Zone = zone.String()
	}
	if len(entries) > 0 {
		p.Snapshot, p.At = strconv.FormatInt(entries[0].SnapshotID, 10), pageTime(entries[0].At)
	}
	for _, g := range all {
		if g.in.To.Sub(g.in.From) > longestPage*366*24*time.Hour {
			return p, usage("load %q: %s are more than %d years: --from and --to say which ones to show", g.state.Load, g.in, longestPage)
		}
		p.Loads = append(p.Loads, newDrawing(g, entries, zone).load())
	}
	return p, nil
}

// drawing is a load that is being drawn.
type drawing struct {
	loadGaps
	zone  *time.Location
	loads []loaded // newest first
}

// loaded is a window that was loaded, by a snapshot that the table still has.
type loaded struct {
	window lake.Window
	entry  lake.HistoryEntry
}

func newDrawing(g loadGaps, entries []lake.HistoryEntry, zone *time.Location) *drawing {
	d := &drawing{loadGaps: g, zone: time.UTC}
	if zone != nil && !g.state.Wall {
		d.zone = zone
	}
	for _, e := range entries {
		w, err := lake.ParseWindow(e.Window, nil)
		if e.Load == g.state.Load && err == nil {
			d.loads = append(d.loads, loaded{w, e})
		}
	}
	return d
}

func (d *drawing) load() pageLoad {
	l := pageLoad{Name: d.state.Load, Windows: d.windows()}
	if d.state.Err != nil {
		l.Err = d.state.Err.Error()
		return l
	}
	d.facts(&l)
	if d.in.IsZero() {
		return l
	}
	days := d.cells(d.day(d.in.From), func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }, d.dayName)
	l.Years = years(days)
	if len(days) <= hourlyDays && d.hourly() {
		hours := d.cells(d.day(d.in.From), func(t time.Time) time.Time { return t.Add(time.Hour) }, d.hourName)
		l.Months = months(hours)
	}
	return l
}

func (d *drawing) facts(l *pageLoad) {
	add := func(name, value string) {
		if value != "" {
			l.Facts = append(l.Facts, pageFact{name, value})
		}
	}
	if !d.state.Watermark.IsZero() {
		at, _ := lake.Window{From: d.state.Watermark, Wall: d.state.Wall}.Bounds()
		add("Watermark", at)
	}
	c := d.state.Coverage
	add("Loaded", spanText(c, d.in))
	var missing time.Duration
	n := 0
	for _, g := range d.gaps {
		if g.Unknown {
			continue
		}
		missing += g.To.Sub(g.From)
		n++
		if len(l.Gaps) < 12 {
			l.Gaps = append(l.Gaps, d.windowText(g.Window))
		} else {
			l.MoreGaps++
		}
	}
	if n > 0 {
		add("Missing", fmt.Sprintf("%s in %s", lengthText(missing), plural(n, "gap")))
	} else if !d.in.IsZero() {
		add("Missing", "nothing")
	}
	if !c.Before.IsZero() {
		at, _ := lake.Window{From: c.Before, Wall: d.state.Wall}.Bounds()
		add("Not known", "what was before "+at+": forgotten")
	}
	add("Scope", strings.ReplaceAll(d.state.Claim.Scope, "&", " and "))
	add("Time column", d.state.Claim.TimeColumn)
}

// spanText says how much of a window is loaded.
func spanText(c lake.Coverage, w lake.Window) string {
	if w.IsZero() {
		return "nothing"
	}
	return fmt.Sprintf("%s of %s", lengthText(covered(c, w)), lengthText(w.To.Sub(w.From)))
}

// covered is how much of w is loaded.
func covered(c lake.Coverage, w lake.Window) (sum time.Duration) {
	i, _ := slices.BinarySearchFunc(c.Windows, w.From, func(o lake.Window, at time.Time) int { return o.To.Compare(at) })
	for ; i < len(c.Windows) && c.Windows[i].From.Before(w.To); i++ {
		from, to := c.Windows[i].From, c.Windows[i].To
		if from.Before(w.From) {
			from = w.From
		}
		if to.After(w.To) {
			to = w.To
		}
		sum += max(0, to.Sub(from))
	}
	return sum
}

func lengthText(d time.Duration) string {
	days, rest := int(d/(24*time.Hour)), d%(24*time.Hour)
	switch {
	case days > 0 && rest == 0:
		return plural(days, "day")
	case days > 0 && rest%time.Hour == 0:
		return fmt.Sprintf("%s %d h", plural(days, "day"), rest/time.Hour)
	case days > 0:
		return plural(days, "day") + " " + rest.Round(time.Second).String()
	case d%time.Hour == 0:
		return plural(int(d/time.Hour), "hour")
	}
	return d.String()
}

// windows are those that the snapshots tell of, newest window first.
func (d *drawing) windows() (out []pageWindow) {
	type key struct{ from, to int64 }
	seen := map[key]int{}
	most := int64(1)
	var kept []loaded
	for _, l := range d.loads {
		k := key{l.window.From.UnixNano(), l.window.To.UnixNano()}
		if seen[k]++; seen[k] == 1 {
			kept = append(kept, l)
			most = max(most, l.entry.Rows)
		}
	}
	slices.SortStableFunc(kept, func(a, b loaded) int { return b.window.From.Compare(a.window.From) })
	for _, l := range kept {
		out = append(out, pageWindow{
			Window: d.windowText(l.window), Rows: humanize.Comma(l.entry.Rows), Snapshot: strconv.FormatInt(l.entry.SnapshotID, 10),
			At: pageTime(l.entry.At), Run: l.entry.Run, Loads: seen[key{l.window.From.UnixNano(), l.window.To.UnixNano()}],
			Percent: int(100 * l.entry.Rows / most),
		})
	}
	return out
}

func pageTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
