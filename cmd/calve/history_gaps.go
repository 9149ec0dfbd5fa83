package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

// gapFlags are what is asked of the coverage.
type gapFlags struct {
	Gaps     bool   `group:"gaps" help:"List the windows that were never loaded, from the coverage alone."`
	HTML     string `name:"html" placeholder:"FILE" group:"gaps" help:"Write a page with a calendar of the coverage of each load, by rename. It needs no other file."`
	Load     string `placeholder:"NAME" group:"gaps" help:"Only this load. Default: all loads of the table, each by itself."`
	From     string `placeholder:"TIME" group:"gaps" help:"Where to begin. Default: where the coverage does."`
	To       string `placeholder:"TIME" group:"gaps" help:"Where to end. Default: where the coverage does."`
	Every    string `placeholder:"STEP" group:"gaps" help:"Cut gaps into steps that can be loaded: 1h, 1d, 1w, 1mo, 1y, 15m, or an ISO 8601 duration such as P1D."`
	Timezone string `placeholder:"ZONE" group:"gaps" help:"Zone of times without an offset, and of the days of --every, such as Europe/Berlin. Default: UTC."`
}

func (f gapFlags) check() error {
	if !f.Gaps && f.HTML == "" && (f.Load != "" || f.From != "" || f.To != "" || f.Every != "" || f.Timezone != "") {
		return usage("--load, --from, --to, --every and --timezone go with --gaps or --html")
	}
	if f.HTML != "" && (f.Gaps || f.Every != "") {
		return usage("--html is a page by itself: give it without --gaps and --every")
	}
	return nil
}

// loadGaps are the gaps of one load.
type loadGaps struct {
	state lake.LoadState
	in    lake.Window // where they were looked for
	gaps  []lake.Gap
}

// gapsOf finds the gaps of each load that is asked for.
func (f gapFlags) gapsOf(ctx context.Context, t *table.Table, branch string) (out []loadGaps, zone *time.Location, err error) {
	if f.Timezone != "" {
		if zone, err = time.LoadLocation(f.Timezone); err != nil {
			return nil, nil, usage("--timezone %q is not a zone such as UTC or Europe/Berlin", f.Timezone)
		}
	}
	var step lake.Step
	if f.Every != "" {
		if step, err = lake.ParseEvery(f.Every); err != nil {
			return nil, nil, fmt.Errorf("--every: %w", err)
		}
	}
	states, err := lake.LoadStates(ctx, t, branch)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, s := range states {
		names = append(names, s.Load)
		if f.Load != "" && f.Load != s.Load {
			continue
		}
		g := loadGaps{state: s}
		if s.Err == nil {
			if g.in, err = s.Within(f.From, f.To, zone); err != nil {
				return nil, nil, fmt.Errorf("load %q: %w", s.Load, err)
			}
			g.gaps = s.Coverage.Gaps(g.in)
			if f.Every != "" {
				if g.gaps, err = lake.Cut(g.gaps, step, zone); err != nil {
					return nil, nil, fmt.Errorf("--every: %w", err)
				}
			}
		}
		out = append(out, g)
	}
	if f.Load != "" && len(out) == 0 {
		return nil, nil, usage("the table knows no load %q; it knows: %s", f.Load, orDash(strings.Join(names, ", ")))
	}
	return out, zone, nil
}

// printGaps prints one line for each gap. A load whose state cannot be told does
// not hide the others.
func (c *historyCommand) printGaps(ctx context.Context, a *app, t *table.Table) error {
	all, _, err := c.gapsOf(ctx, t, c.Branch)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintf(a.stderr, "no load of calve has loaded %s\n", a.table)
	}
	out := bufio.NewWriter(a.stdout)
	if c.JSON {
		err = gapsJSON(out, all, c.From != "")
	} else {
		c.explainRanges(a.stderr, all)
		err = gapsText(out, all, c.From != "")
	}
	if e := out.Flush(); err == nil {
		err = e
	}
	return errors.Join(err, stateErrors(all))
}

// stateErrors are those of the loads whose state cannot be told.
func stateErrors(all []loadGaps) (err error) {
	for _, g := range all {
		if g.state.Err != nil {
			err = errors.Join(err, fmt.Errorf("load %q: %w", g.state.Load, g.state.Err))
		}
	}
	return err
}

// explainRanges says where the gaps of each load were looked for, and why there.
func (c *historyCommand) explainRanges(w io.Writer, all []loadGaps) {
	for _, g := range all {
		var why []string
		if c.From == "" {
			why = append(why, "from the first window known")
		}
		if c.To == "" {
			why = append(why, "to the end of the last one; --to looks further")
		}
		text := g.in.String()
		switch {
		case g.state.Err != nil:
			continue
		case g.in.IsZero():
			text = "nothing is known to be loaded; --from and --to say where to look"
		case len(why) > 0:
			text += " (" + strings.Join(why, ", ") + ")"
		}
		fmt.Fprintf(w, "%s: %s\n", g.state.Load, text)
	}
}

// forgotten is what a coverage has forgotten before the range looked at: the
// end of it, where the beginning was not given.
func (g loadGaps) forgotten(fromGiven bool) (end string, yes bool) {
	if g.state.Coverage.Before.IsZero() || fromGiven || g.state.Err != nil {
		return "", false
	}
	end, _ = g.in.Bounds()
	return end, true
}

func gapsText(w io.Writer, all []loadGaps, fromGiven bool) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "LOAD\tWINDOW\tSTATE")
	for _, g := range all {
		if end, yes := g.forgotten(fromGiven); yes {
			fmt.Fprintf(out, "%s\t?/%s\tunknown\n", g.state.Load, end)
		}
		for _, gap := range g.gaps {
			from, to := gap.Bounds()
			fmt.Fprintf(out, "%s\t%s/%s\t%s\n", g.state.Load, from, to, gapState(gap))
		}
	}
	return out.Flush()
}

func gapState(g lake.Gap) string {
	if g.Unknown {
		return "unknown"
	}
	return "missing"
}

// gapLine is one gap as machines read it. From is null where a coverage has
// forgotten what was before To.
type gapLine struct {
	Load   string `json:"load"`
	Window struct {
		From *string `json:"from"`
		To   string  `json:"to"`
	} `json:"window"`
	State string `json:"state"`
}

func gapsJSON(w io.Writer, all []loadGaps, fromGiven bool) error {
	put := func(load, state string, from *string, to string) error {
		line := gapLine{Load: load, State: state}
		line.Window.From, line.Window.To = from, to
		b, err := jsonLine(line)
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	}
	for _, g := range all {
		if end, yes := g.forgotten(fromGiven); yes {
			if err := put(g.state.Load, "unknown", nil, end); err != nil {
				return err
			}
		}
		for _, gap := range g.gaps {
			from, to := gap.Bounds()
			if err := put(g.state.Load, gapState(gap), &from, to); err != nil {
				return err
			}
		}
	}
	return nil
}
