package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/calve-data/calve/lake"
)

// progress tells people on stderr how a load is going: one line that renews
// itself on a terminal, a line every ten seconds elsewhere.
type progress struct {
	out      io.Writer
	terminal bool
	every    time.Duration
	now      func() time.Time

	asked       lake.Window
	timeColumn  string
	begun, last time.Time
	drawn       bool
}

func newProgress(out io.Writer, quiet bool) *progress {
	p := &progress{out: out, every: 10 * time.Second, now: time.Now}
	if quiet {
		p.out = io.Discard
	}
	if f, ok := p.out.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.terminal, p.every = true, 200*time.Millisecond
		}
	}
	p.begun = p.now()
	p.last = p.begun
	return p
}

// window echoes the window as it was understood, before anything is opened;
// planned does so again where the zone and the time column made it another.
func (p *progress) window(w lake.Window, timeColumn string) {
	p.asked, p.timeColumn = w, timeColumn
	fmt.Fprintf(p.out, "window %s\n", w)
}

func (p *progress) trace() *lake.Trace {
	return &lake.Trace{Planned: p.planned, Progress: p.progress, Attempt: p.attempt}
}

func (p *progress) planned(plan *lake.Plan) {
	p.begun = p.now() // what was read to plan is not in the rate
	p.last = p.begun
	if !plan.Window.From.Equal(p.asked.From) || !plan.Window.To.Equal(p.asked.To) {
		fmt.Fprintf(p.out, "window %s on %s\n", plan.Window, p.timeColumn)
	}
	fmt.Fprintf(p.out, "plan   %s\n", planLine(plan))
	_ = printPlannedColumns(p.out, plan) // what was inferred is seen before it is written
	for _, w := range plan.Warnings {
		fmt.Fprintf(p.out, "hint   %s\n", w)
	}
}

func (p *progress) progress(now lake.Progress) {
	at := p.now()
	if at.Sub(p.last) < p.every {
		return
	}
	p.last = at
	line := fmt.Sprintf("read   %s, staged %s in %s, %s, %s rows/s",
		plural(now.RowsRead, "row"), plural(now.RowsStaged, "row"), plural(now.FilesStaged, "file"), humanize.IBytes(uint64(now.BytesStaged)),
		humanize.Comma(int64(float64(now.RowsRead)/at.Sub(p.begun).Seconds())))
	if p.terminal {
		fmt.Fprintf(p.out, "\r%s\x1b[K", line)
		p.drawn = true
		return
	}
	fmt.Fprintln(p.out, line)
}

func (p *progress) attempt(n int, previous error) {
	if n > 1 {
		p.end()
		fmt.Fprintf(p.out, "commit attempt %d: %v\n", n, previous)
	}
}

// end clears the line that renews itself.
func (p *progress) end() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}
