package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/calve-data/calve/lake"
)

// backfillProgress tells people how a backfill is going: its plan, what concerns
// all windows and rows now and then on stderr, a line for each window on stdout.
type backfillProgress struct {
	stdout, stderr io.Writer
	hide           func(string) string
	every          string // the windows' length, as it was given

	mu         sync.Mutex // over what follows, and over stderr
	plan       *lake.BackfillPlan
	over, rows int64
	last       time.Time
	hinted     map[string]bool
	files      string // those of the window that was planned last
}

func newBackfillProgress(a *app, quiet bool, every string) *backfillProgress {
	p := &backfillProgress{stdout: a.stdout, stderr: a.stderr, hide: a.hide, every: every, last: time.Now(), hinted: map[string]bool{}}
	if quiet {
		p.stderr = io.Discard
	}
	return p
}

// mostRuns is how many runs of windows a plan shows.
const mostRuns = 20

// planned shows the windows, those that follow each other as one run.
func (p *backfillProgress) planned(plan *lake.BackfillPlan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = plan
	fmt.Fprintf(p.stderr, "plan   %s\n", backfillLine(plan, p.every))
	runs, lengths := runsOf(plan.Windows)
	for i, run := range runs {
		if i == mostRuns {
			fmt.Fprintf(p.stderr, "       … and more, the last of which is %s\n", plan.Windows[len(plan.Windows)-1])
			break
		}
		fmt.Fprintf(p.stderr, "       %s: %s\n", run, plural(lengths[i], "window"))
	}
	if plan.Forgotten > 0 {
		p.hint(fmt.Sprintf("the coverage has forgotten whether %s of these were loaded: they are loaded again", humanize.Comma(int64(plan.Forgotten))))
	}
}

// backfillLine is what a backfill is about to do, in one line.
func backfillLine(plan *lake.BackfillPlan, every string) string {
	line, loaded := plural(len(plan.Windows), "window"), len(plan.Loaded)
	switch {
	case len(plan.Windows) == 0:
		return fmt.Sprintf("nothing: %s of %s in %s are loaded already", plural(loaded, "window"), every, tableText(plan.Table, plan.Branch))
	case loaded > 0:
		line = fmt.Sprintf("%s of %s", humanize.Comma(int64(len(plan.Windows))), plural(len(plan.Windows)+loaded, "window"))
	}
	line += fmt.Sprintf(" of %s into %s", every, tableText(plan.Table, plan.Branch))
	if plan.Parallel > 1 {
		line += fmt.Sprintf(", %d at a time with %s of memory each", plan.Parallel, humanize.IBytes(uint64(plan.Memory)))
	}
	switch {
	case plan.Creates:
		line += "; the first creates the table"
	case loaded > 0:
		line += "; the others are loaded already"
	}
	return line
}

// runsOf are the spans of windows that follow each other, and how many each has.
func runsOf(windows []lake.Window) (runs []lake.Window, lengths []int) {
	for _, w := range windows {
		if n := len(runs); n > 0 && runs[n-1].To.Equal(w.From) {
			runs[n-1].To = w.To
			lengths[n-1]++
			continue
		}
		runs, lengths = append(runs, w), append(lengths, 1)
	}
	return runs, lengths
}

// trace are the hooks of one window's load.
func (p *backfillProgress) trace(sent func()) *lake.Trace {
	rows := int64(0)
	return &lake.Trace{Sent: sent, Planned: p.windowPlanned, Progress: func(now lake.Progress) {
		p.read(now.RowsRead - rows)
		rows = now.RowsRead
	}}
}

// windowPlanned shows what a window brings that those before it did not.
func (p *backfillProgress) windowPlanned(plan *lake.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if plan.Creates {
		fmt.Fprintf(p.stderr, "window %s: %s\n", plan.Window, planLine(plan))
	}
	_ = printPlannedColumns(p.stderr, plan) // what was inferred is seen before it is written
	for _, w := range plan.Warnings {
		p.hint(w.String())
	}
	if files := plan.Origin.Fingerprint; files != "" && files == p.files {
		p.hint("the windows have the same " + originLine(plan.Origin) + ", which are read for each of them: a template in the path, such as {day:%Y-%m-%d}, or a longer --every reads less")
	}
	p.files = plan.Origin.Fingerprint
}

// hint says something once.
func (p *backfillProgress) hint(text string) {
	if !p.hinted[text] {
		fmt.Fprintf(p.stderr, "hint   %s\n", text)
	}
	p.hinted[text] = true
}

// read counts rows, and says so every ten seconds.
func (p *backfillProgress) read(rows int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows += rows
	if now := time.Now(); now.Sub(p.last) >= 10*time.Second {
		p.last = now
		fmt.Fprintf(p.stderr, "read   %s, %d of %s over\n", plural(p.rows, "row"), p.over, plural(len(p.plan.Windows), "window"))
	}
}

// ended prints the line of a window, for people.
func (p *backfillProgress) ended(r lake.Receipt, err error) {
	p.mu.Lock()
	p.over++
	over, all := p.over, len(p.plan.Windows)
	p.mu.Unlock()
	what := fmt.Sprintf("%s written, %s replaced, %.1f s", plural(r.Rows.Written, "row"), humanize.Comma(r.Rows.Replaced), r.Seconds)
	var failed *lake.Error
	switch {
	case errors.As(err, &failed):
		what = failed.Op + ": " + failed.Err.Error()
	case err != nil:
		what = err.Error()
	case r.ByKey != nil:
		what = fmt.Sprintf("%s, %.1f s", keysText(r.ByKey), r.Seconds)
	case r.Outcome == lake.Unchanged:
		what = fmt.Sprintf("%s, %.1f s", plural(r.Rows.Written, "row"), r.Seconds)
	}
	what, _, _ = strings.Cut(p.hide(what), "\n") // a bug has its stack in the receipt
	fmt.Fprintf(p.stdout, "%*d of %d  %-9s  [%s, %s)  %s\n", len(fmt.Sprint(all)), over, all, r.Outcome, r.Window.From, r.Window.To, what)
}
