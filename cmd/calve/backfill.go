package main

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"github.com/calve-data/calve/arrowio"
	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
)

type backfillCommand struct {
	loadFlags

	From     string `placeholder:"TIME" group:"window" help:"Start of the first window."`
	To       string `placeholder:"TIME" group:"window" help:"End of the last window. The windows must come out even."`
	Every    string `placeholder:"STEP" group:"window" help:"Length of a window: 1h, 1d, 1w, 1mo, 1y, 15m, or an ISO 8601 duration such as P1D. They are counted from --from."`
	Timezone string `placeholder:"ZONE" group:"window" help:"Zone of bounds without an offset, and of the days of --every, such as Europe/Berlin. Default: UTC for a timestamptz column."`
	OnlyGaps bool   `group:"window" help:"Only windows that were not loaded yet, or not wholly, as the coverage says."`

	Parallel  int    `placeholder:"N" help:"How many windows to load at the same time. They share --memory. Default: 1."`
	OnFailure string `placeholder:"MODE" help:"What to do when a window fails: stop (begin no other, end those under way; default) or finish (load all others)."`

	runFlags

	DryRun     bool   `help:"Print the windows that would be loaded, and load none."`
	JSON       bool   `help:"Print the receipt of each window as one line of JSON, when it ends."`
	ResultFile string `placeholder:"FILE" help:"Write all receipts to this file, by rename, one line of JSON each, in the order of the windows; also on failure."`
	Quiet      bool   `short:"q" help:"No windows, plan or progress on stderr."`
}

// Help is the long help text.
func (backfillCommand) Help() string {
	return `Loads many windows, each by a load of its own that lands in one snapshot or leaves its
window as it was. Each prints a line when it ends. The windows begin at --from and are
--every long, by the clock of --timezone; a last one that does not fit is refused, for
a part of it would look as if all had been loaded.

Running it again is always right. With --only-gaps it loads what is left, also after
the process was killed: what was loaded stands in the table. One window can go to each
of several machines in the same way, by calve load.

--parallel loads windows at the same time, within one memory budget. A first window
that creates the table is loaded alone, so that the columns are those of its rows; so
is the one that a load begins with in a table. "schema: evolve" changes columns from
one window to the next, and "deletes: hard" needs them in order: neither goes with
--parallel.

Where a window fails, no other is begun, or with --on-failure finish all others are
loaded; the exit code is that of the first failure. Windows that "on_empty: skip" skips
are no failures; the exit code is 99 where all were skipped.

Examples:

    calve backfill payments --from 2026-01-01 --to 2026-05-01 --every 1d
    calve backfill payments --from 2026-01-01 --to 2026-05-01 --every 1d --only-gaps --parallel 4
    calve backfill payments --from 2026-01-01 --to 2026-05-01 --every 1mo --dry-run
    calve backfill payments --from 2026-05-04 --to 2026-05-05 --every 1h --on-failure finish --result-file receipts.ndjson` +
		codes(0, 1, 2, 10, 11, 12, 14, 75, 99, 130)
}

// windows are those that the flags ask for, with their span.
func (c *backfillCommand) windows() (span lake.Window, zone *time.Location, windows []lake.Window, err error) {
	if c.From == "" || c.To == "" || c.Every == "" {
		return span, nil, nil, usage("a backfill needs --from, --to and --every, as in --from 2026-01-01 --to 2026-05-01 --every 1d: windows always come from the caller, never from the clock")
	}
	if span, zone, err = (windowFlags{From: c.From, To: c.To, Timezone: c.Timezone}).parse(); err != nil {
		return span, nil, nil, err
	}
	step, err := lake.ParseStep(c.Every)
	if err != nil {
		return span, nil, nil, fmt.Errorf("--every: %w", err)
	}
	if windows, err = span.Grid(step, zone); err != nil {
		return span, nil, nil, fmt.Errorf("--every %s: %w", c.Every, err)
	}
	return span, zone, windows, nil
}

func (c *backfillCommand) Run(ctx context.Context, a *app) error {
	if c.ResultFile != "" {
		if err := checkWritable(c.ResultFile); err != nil {
			return err
		}
	}
	var windows []lake.Window
	s, err := c.resolveIn(a, func() (span lake.Window, zone *time.Location, err error) {
		span, zone, windows, err = c.windows()
		return span, zone, err
	})
	if err != nil {
		return err
	}
	s.load.CommitUnchanged, s.load.IfChanged = c.CommitUnchanged, c.IfChanged
	what := lake.Backfill{Load: s.load, Windows: windows, OnlyGaps: c.OnlyGaps, Parallel: c.Parallel, OnFailure: lake.OnFailure(c.OnFailure)}
	if c.DryRun {
		return c.printWindows(ctx, a, s, what)
	}
	boundHeap(c.Memory)
	cat, embedded, err := c.open(ctx, s.config)
	if err != nil {
		return err
	}
	defer func() { _ = cat.Close() }()
	if embedded || c.CreateNamespace {
		if err := ensureNamespace(ctx, cat, s.load); err != nil {
			return err
		}
	}
	return c.load(ctx, a, s, what, cat)
}

func (c *backfillCommand) load(ctx context.Context, a *app, s selection, what lake.Backfill, cat *catalog.Catalog) error {
	s.source.Run = c.RunLabel
	src, err := arrowio.New(s.source, cat.Files())
	if err != nil {
		return err
	}
	// A source pins its files for each window anew.
	what.Source = func(lake.Window) (lake.Source, error) { return src, nil }
	show, told := newBackfillProgress(a, c.Quiet, c.Every), &backfillAnswer{}
	a.answers(told)
	what.Planned = func(p *lake.BackfillPlan) {
		told.planned(p)
		show.planned(p)
	}
	what.Began = func(i int) *lake.Trace {
		told.began(i)
		return show.trace(func() { a.sent.Store(true) })
	}
	what.Ended = func(i int, r lake.Receipt, err error) {
		r, _ = loadAnswer{r}.ended(a.explain(ctx, err)).(lake.Receipt)
		told.ending(i, r)
		if !c.JSON {
			show.ended(r, err)
			return
		}
		if line, err := jsonLine(r); err == nil {
			_, _ = a.stdout.Write(line) // the table and the result file say it, too
		}
	}
	loader := lake.Loader{Catalog: cat, Memory: int64(c.Memory), Timeout: c.Timeout, Run: c.RunLabel, Version: programVersion()}
	_, err = loader.Backfill(ctx, what)
	return err
}

// printWindows prints what a backfill would load.
func (c *backfillCommand) printWindows(ctx context.Context, a *app, s selection, what lake.Backfill) error {
	loader, done, err := c.loader(ctx, a, s.config)
	if err != nil {
		return err
	}
	defer done()
	loader.Memory = int64(c.Memory)
	plan, err := loader.PlanBackfill(ctx, what)
	if err != nil {
		return err
	}
	newBackfillProgress(a, c.Quiet, c.Every).planned(plan)
	out := bufio.NewWriter(a.stdout)
	for _, w := range plan.Windows {
		from, to := w.Bounds()
		line := []byte(from + "/" + to + "\n")
		if c.JSON {
			if line, err = jsonLine(struct {
				Window *lake.WindowJSON `json:"window"`
			}{w.JSON()}); err != nil {
				return err
			}
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}
