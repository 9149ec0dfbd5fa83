package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/calve-data/calve/lake"
)

// day is the beginning of t's day.
func (d *drawing) day(t time.Time) time.Time {
	y, m, day := t.In(d.zone).Date()
	return time.Date(y, m, day, 0, 0, 0, 0, d.zone)
}

// hourly reports whether windows begin or end within days.
func (d *drawing) hourly() bool {
	within := func(w lake.Window) bool {
		return !d.day(w.From).Equal(w.From) || !d.day(w.To).Equal(w.To)
	}
	return slices.ContainsFunc(d.state.Coverage.Windows, within) ||
		slices.ContainsFunc(d.loads, func(l loaded) bool { return within(l.window) })
}

func (d *drawing) dayName(t time.Time) string { return t.Format("Mon 2 January 2006") }

func (d *drawing) hourName(t time.Time) string { return t.Format("2 January 2006 15:04") }

// timed is a cell and when it begins, in the drawing's zone.
type timed struct {
	pageCell
	at time.Time
}

// cells are those from start to the end of what is drawn.
func (d *drawing) cells(start time.Time, next func(time.Time) time.Time, name func(time.Time) string) (cells []timed) {
	var windows []lake.Window
	for at := start; at.Before(d.in.To); at = next(at) {
		windows = append(windows, lake.Window{From: at, To: next(at)})
	}
	within := make([][]loaded, len(windows))
	for _, l := range d.loads { // newest first
		i, _ := slices.BinarySearchFunc(windows, l.window.From, func(w lake.Window, at time.Time) int {
			if w.To.After(at) {
				return 1
			}
			return -1
		})
		for ; i < len(windows) && windows[i].From.Before(l.window.To); i++ {
			within[i] = append(within[i], l)
		}
	}
	for i, w := range windows {
		cells = append(cells, timed{d.cell(w, name(w.From), within[i]), w.From})
	}
	return cells
}

// cell says of a day or an hour whether it is loaded, and by what.
func (d *drawing) cell(w lake.Window, name string, loads []loaded) pageCell {
	part := w // what of it is asked for
	if part.From.Before(d.in.From) {
		part.From = d.in.From
	}
	if part.To.After(d.in.To) {
		part.To = d.in.To
	}
	have, all := covered(d.state.Coverage, part), part.To.Sub(part.From)
	c := pageCell{}
	switch {
	case have == 0 && part.From.Before(d.state.Coverage.Before):
		c.Kind, c.Label = "unknown", "not known any more"
	case have == 0:
		c.Kind, c.Label = "missing", "missing"
	case have < all:
		c.Kind, c.Label = "partly", fmt.Sprintf("partly loaded, %s of %s", lengthText(have), lengthText(all))
	case again(loads):
		c.Kind, c.Label = "again", "loaded again"
	default:
		c.Kind, c.Label = "loaded", "loaded"
	}
	lines := []string{name, c.Label}
	current := newest(loads)
	if rows, ok := rowsIn(w, current); ok {
		text := plural(rows, "row")
		c.Label += ", " + text
		lines[1] = c.Label
	} else if have > 0 && len(loads) == 0 {
		lines = append(lines, "its snapshot has expired")
	}
	for i, l := range current {
		if i == 4 {
			lines = append(lines, fmt.Sprintf("… and %s more", plural(len(current)-i, "window")))
			break
		}
		lines = append(lines, d.windowText(l.window)+": "+plural(l.entry.Rows, "row"),
			"snapshot "+strconv.FormatInt(l.entry.SnapshotID, 10)+", "+pageTime(l.entry.At))
		if l.entry.Run != "" {
			lines = append(lines, "run "+l.entry.Run)
		}
	}
	if n := len(loads) - len(current); n > 0 {
		lines = append(lines, plural(n, "earlier load"))
	}
	c.Label = name + ": " + c.Label
	c.Tip = strings.Join(lines, "\n")
	return c
}

// again reports whether two of the loads meet.
func again(loads []loaded) bool { return len(newest(loads)) < len(loads) }

// newest leaves out loads that meet a newer one.
func newest(loads []loaded) (out []loaded) {
	for _, l := range loads {
		if !slices.ContainsFunc(out, func(o loaded) bool { return o.window.Overlaps(l.window) }) {
			out = append(out, l)
		}
	}
	return out
}

// rowsIn counts the rows of loads that lie in w; ok is false where one does not.
func rowsIn(w lake.Window, loads []loaded) (rows int64, ok bool) {
	for _, l := range loads {
		if l.window.From.Before(w.From) || l.window.To.After(w.To) {
			return 0, false
		}
		rows += l.entry.Rows
	}
	return rows, len(loads) > 0
}

// windowText is a window as short as it can be.
func (d *drawing) windowText(w lake.Window) string {
	if d.day(w.From).Equal(w.From) && d.day(w.To).Equal(w.To) {
		first, last := w.From.In(d.zone).Format("2006-01-02"), w.To.In(d.zone).AddDate(0, 0, -1).Format("2006-01-02")
		if first == last {
			return first
		}
		return first + " to " + last
	}
	return w.From.In(d.zone).Format("2006-01-02 15:04") + " until " + w.To.In(d.zone).Format("2006-01-02 15:04")
}

// years are calendars: weeks are columns, days of the week rows.
func years(days []timed) (grids []pageGrid) {
	for len(days) > 0 {
		year := days[0].at.Year()
		n := slices.IndexFunc(days, func(c timed) bool { return c.at.Year() != year })
		if n < 0 {
			n = len(days)
		}
		grids = append(grids, yearGrid(year, days[:n]))
		days = days[n:]
	}
	return grids
}

func yearGrid(year int, days []timed) pageGrid {
	first := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	lead := (int(first.Weekday()) + 6) % 7 // days of the first week before the year
	weeks := (lead + time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC).YearDay() + 6) / 7
	g := pageGrid{Title: strconv.Itoa(year), Missing: missingText(days, "day")}
	for _, name := range []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"} {
		g.Rows = append(g.Rows, pageRow{Title: name, Cells: make([]pageCell, weeks)})
	}
	for _, c := range days {
		at := lead + c.at.YearDay() - 1
		g.Rows[at%7].Cells[at/7] = c.pageCell
	}
	for week := range weeks {
		month := first.AddDate(0, 0, max(0, 7*week-lead)).Format("Jan")
		if n := len(g.Columns); n > 0 && g.Columns[n-1].Title == month {
			g.Columns[n-1].Span++
		} else {
			g.Columns = append(g.Columns, pageSpan{month, 1})
		}
	}
	return g
}

// months are tables of hours: days are rows.
func months(hours []timed) (grids []pageGrid) {
	var part []timed
	flush := func() {
		if len(part) > 0 {
			grids[len(grids)-1].Missing = missingText(part, "hour")
		}
		part = nil
	}
	day := 0
	for _, c := range hours {
		if title := c.at.Format("January 2006"); len(grids) == 0 || grids[len(grids)-1].Title != title {
			flush()
			g := pageGrid{Title: title}
			for h := range 24 {
				g.Columns = append(g.Columns, pageSpan{fmt.Sprintf("%02d", h), 1})
			}
			grids, day = append(grids, g), 0
		}
		g := &grids[len(grids)-1]
		if c.at.Day() != day {
			day = c.at.Day()
			g.Rows = append(g.Rows, pageRow{Title: c.at.Format("Mon 2"), Cells: make([]pageCell, 0, 25)})
		}
		row := &g.Rows[len(g.Rows)-1]
		for len(row.Cells) < c.at.Hour() { // an hour that clocks skip
			row.Cells = append(row.Cells, pageCell{})
		}
		row.Cells = append(row.Cells, c.pageCell)
		part = append(part, c)
	}
	flush()
	return grids
}

func missingText(cells []timed, unit string) string {
	n := 0
	for _, c := range cells {
		if c.Kind == "missing" {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return plural(n, unit) + " missing"
}
