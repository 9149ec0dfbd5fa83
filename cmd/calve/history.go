package main

import (
	"context"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/calve-data/calve/lake"
)

type historyCommand struct {
	Table  string `arg:"" help:"The table, NS.NAME, or the name of a load in calve.yaml."`
	Branch string `placeholder:"NAME" help:"Branch of the table. Default: main."`
	JSON   bool   `help:"Print one JSON object a line."`

	Watermark bool `group:"gaps" help:"Print how far each load has come without a gap; with --load, that alone."`
	gapFlags

	catalogFlags
}

// Help is the long help text.
func (historyCommand) Help() string {
	return `Snapshots that a load made show its name, window, number of rows and the end of the
digest of the rows: loads of a window with the same digest wrote the same rows. Those
of other writers show what their summary says.

--gaps lists, for each load of the table, the windows that it has not loaded, from its
coverage: that is a part of the table, so that it is right after a rollback, and
outlives expired snapshots. It says what was loaded, not that the rows are still there:
what others deleted since is no gap. The clock is not asked: without --to, gaps are
looked for up to the end of the last window that was loaded, without --from, from the
first on. A coverage of very many windows forgets the oldest; what it does not know any
more is printed as unknown. calve backfill --only-gaps loads what is missing.

--watermark prints how far each load has come without a gap since its first window. It
is read from the same place; a load of an older window does not move it back.

--html draws the same as a calendar, with the rows, snapshots and runs of the windows
whose snapshots the table still has.

Examples:

    calve history analytics.payments
    calve history analytics.payments --json
    calve history analytics.payments --gaps --every 1d
    calve history analytics.payments --gaps --from 2026-01-01 --to 2026-06-01 --load payments
    calve history analytics.payments --watermark --load payments
    calve history analytics.payments --html coverage.html` +
		codes(0, 1, 2, 10, 75, 130)
}

func (c *historyCommand) Run(ctx context.Context, a *app) error {
	if err := c.checkFlags(); err != nil {
		return err
	}
	_, t, done, err := c.lookAt(ctx, a, c.Table)
	if err != nil {
		return err
	}
	defer done()
	if c.HTML != "" {
		return c.writeHTML(ctx, a, t)
	}
	if c.Gaps {
		return c.printGaps(ctx, a, t)
	}
	if c.Watermark {
		return c.printWatermarks(ctx, a, t)
	}
	entries, err := lake.History(t, c.Branch)
	if err != nil {
		return err
	}
	if c.JSON {
		return printHistoryJSON(a, entries)
	}
	if len(entries) == 0 {
		fmt.Fprintf(a.stdout, "%s has no snapshot\n", a.table)
		return nil
	}
	out := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "SNAPSHOT\tAT\tOPERATION\tLOAD\tWINDOW\tROWS\tDIGEST\tTOTAL\tRUN")
	for _, e := range entries {
		fmt.Fprintf(out, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.SnapshotID, e.At.UTC().Format("2006-01-02 15:04:05Z"), e.Operation,
			orDash(printable(e.Load)), orDash(printable(e.Window)), humanize.Comma(e.Rows), digestEnd(e.Digest), totalText(e.Total), orDash(printable(e.Run)))
	}
	return out.Flush()
}

// digestEnd is the end of a digest, enough for people to see that two loads
// wrote the same rows.
func digestEnd(digest string) string {
	if len(digest) < 8 {
		return "-"
	}
	return digest[len(digest)-8:]
}

func totalText(rows int64) string {
	if rows < 0 {
		return "-"
	}
	return humanize.Comma(rows)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// historyLine is one snapshot as machines read it.
type historyLine struct {
	SnapshotID string           `json:"snapshot_id"`
	At         string           `json:"at"`
	Operation  string           `json:"operation"`
	Load       string           `json:"load,omitempty"`
	Window     *lake.WindowJSON `json:"window"`
	Scope      string           `json:"scope,omitempty"`
	Run        string           `json:"run,omitempty"`
	Source     string           `json:"source,omitempty"`
	Rows       int64            `json:"rows"`
	Added      int64            `json:"added"`
	Removed    int64            `json:"removed"`
	Total      *int64           `json:"total"`
	Digest     string           `json:"digest,omitempty"`
	Coverage   string           `json:"coverage,omitempty"`
	Watermark  string           `json:"watermark,omitempty"`
}

func printHistoryJSON(a *app, entries []lake.HistoryEntry) error {
	for _, e := range entries {
		line := historyLine{
			SnapshotID: strconv.FormatInt(e.SnapshotID, 10), At: e.At.UTC().Format(time.RFC3339Nano), Operation: e.Operation,
			Load: e.Load, Scope: e.Scope, Run: e.Run, Source: e.Source,
			Rows: e.Rows, Added: e.Added, Removed: e.Removed, Digest: e.Digest, Coverage: e.Coverage, Watermark: e.Watermark,
		}
		if e.Total >= 0 {
			line.Total = &e.Total
		}
		if w, err := lake.ParseWindow(e.Window, nil); err == nil {
			line.Window = w.JSON()
		}
		b, err := jsonLine(line)
		if err == nil {
			_, err = a.stdout.Write(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
