package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/term"

	"github.com/calve-data/calve/lake"
)

// progress tells people on stderr how a load is going: a bar that renews itself
// on a terminal, a line every ten seconds elsewhere.
type progress struct {
	out io.Writer
	// width is the terminal's width in characters; 0 where out is none.
	width int
	every time.Duration
	now   func() time.Time

	asked       lake.Window
	timeColumn  string
	begun, last time.Time
	drawn       bool

	// bytes counts what was read of the source's files; of it, skipped was read
	// before the load itself began, to plan. total is the size of all files.
	bytes          atomic.Int64
	skipped, total int64
}

func newProgress(out io.Writer, quiet bool) *progress {
	p := &progress{out: out, every: 10 * time.Second, now: time.Now}
	if quiet {
		p.out = io.Discard
	}
	if f, ok := p.out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.width, p.every = 80, 200*time.Millisecond
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			p.width = w
		}
	}
	p.begun = p.now()
	p.last = p.begun
	return p
}

// watch returns files whose reading is seen by the bar.
func (p *progress) watch(files lake.Files) lake.Files { return countedFiles{files, &p.bytes} }

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
	p.last, p.skipped, p.total = p.begun, p.bytes.Load(), plan.Origin.Bytes
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
	if now.FilesToSearch > 0 && now.FilesStaged == 0 {
		p.searching(now)
		return
	}
	rows := plural(now.RowsRead, "row")
	rate := humanize.Comma(int64(float64(now.RowsRead)/at.Sub(p.begun).Seconds())) + " rows/s"
	read := p.bytes.Load() - p.skipped
	if p.width > 0 {
		fmt.Fprintf(p.out, "\r%s\x1b[K", p.bar(rows, rate, read, at))
		p.drawn = true
		return
	}
	fmt.Fprintf(p.out, "read   %s (%s), staged %s in %s, %s, %s%s\n",
		rows, p.share(read), plural(now.RowsStaged, "row"), plural(int64(now.FilesStaged), "file"), humanize.IBytes(uint64(now.BytesStaged)), rate, p.left(read, at))
}

// searching tells how far the source's keys were looked up in the table.
func (p *progress) searching(now lake.Progress) {
	text := fmt.Sprintf("%s, whose keys are looked up: %d of %s read", plural(now.RowsRead, "row"), now.FilesSearched, plural(int64(now.FilesToSearch), "file"))
	if p.width > 0 {
		fmt.Fprintf(p.out, "\r%s\x1b[K", text[:min(len(text), p.width-1)])
		p.drawn = true
		return
	}
	fmt.Fprintf(p.out, "search %s\n", text)
}

// share says how much of the source was read. Parts of Parquet files that cannot
// hold rows of the window never are.
func (p *progress) share(read int64) string {
	return humanize.IBytes(uint64(read)) + " of " + humanize.IBytes(uint64(p.total))
}

// left guesses how long the rest of the source will take; empty while there is
// nothing to guess from.
func (p *progress) left(read int64, at time.Time) string {
	elapsed := at.Sub(p.begun)
	if read <= 0 || read > p.total || elapsed < 2*time.Second {
		return ""
	}
	rest := time.Duration(float64(elapsed) * float64(p.total-read) / float64(read))
	return ", " + rest.Round(time.Second).String() + " left"
}

// bar is the line of a terminal, no longer than one: a longer one would be
// broken, and could not be renewed.
func (p *progress) bar(rows, rate string, read int64, at time.Time) string {
	text := fmt.Sprintf(" %s, %s, %s%s", p.share(read), rows, rate, p.left(read, at))
	done := 1.0
	if p.total > 0 && read < p.total {
		done = float64(read) / float64(p.total)
	}
	percent := fmt.Sprintf("%3.0f %%", 100*done)
	room := 10
	if p.width >= 110 {
		room = 30
	}
	if len(percent)+room+len(text)+4 <= p.width {
		filled := int(done * float64(room))
		percent += " [" + strings.Repeat("=", filled) + strings.Repeat(" ", room-filled) + "]"
	}
	line := percent + text
	return line[:min(len(line), p.width-1)]
}

func (p *progress) attempt(n int, previous error) {
	p.end()
	if n > 1 {
		fmt.Fprintf(p.out, "commit attempt %d: %v\n", n, previous)
	}
}

// end clears the bar.
func (p *progress) end() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}
