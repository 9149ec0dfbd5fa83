package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

type undoCommand struct {
	Table string `arg:"" help:"The table, NS.NAME, or the name of a load in calve.yaml."`

	Load      string `placeholder:"NAME" help:"Undo the newest snapshot of this load. Default: of any load."`
	Snapshot  string `placeholder:"ID" help:"Undo this snapshot, of a load or of another writer."`
	LoseLater bool   `help:"Undo the snapshots after it as well: without it the undo is refused where there are any."`
	Branch    string `placeholder:"NAME" help:"Branch of the table. Default: main."`
	DryRun    bool   `help:"Show what would be undone, and undo nothing."`

	JSON       bool   `help:"Print the receipt as one line of JSON, the last of stdout, also on failure."`
	ResultFile string `placeholder:"FILE" help:"Write the same line to this file, by rename."`

	windowFlags
	catalogFlags
}

// Help is the long help text.
func (undoCommand) Help() string {
	return `The table goes back to the snapshot before that of a load, the newest one if nothing
else is said, in one commit: its rows, and what its loads know (coverage, watermark) with
them. Snapshots that came later would go too, so that is refused unless --lose-later says
that it is meant; --dry-run shows them. What was undone can be read by its snapshot id
until it is expired (calve maintain). A load that runs at the same time ends with exit
code 75, and is to be run again. Columns that were added stay.

Examples:

    calve undo analytics.payments --dry-run
    calve undo analytics.payments
    calve undo analytics.payments --load payments --window 2026-05-04 --lose-later
    calve undo analytics.payments --snapshot 8387199691649912543` +
		codes(0, 1, 2, 10, 12, 14, 75, 130)
}

func (c *undoCommand) Run(ctx context.Context, a *app) error {
	if c.ResultFile != "" {
		if err := checkWritable(c.ResultFile); err != nil {
			return err
		}
	}
	u, err := c.undo()
	if err != nil {
		return err
	}
	config, err := c.read(a)
	if err != nil {
		return err
	}
	if u.Table, err = config.tableOf(c.Table); err != nil {
		return err
	}
	a.table = lake.Load{Table: u.Table}.TableName()
	a.answers(undoAnswer{lake.UndoReceipt{UndoPlan: lake.UndoPlan{Table: a.table, Branch: cmp.Or(u.Branch, table.MainBranch)}}})
	loader, done, err := c.loader(ctx, a, config)
	if err != nil {
		return err
	}
	defer done()
	if c.DryRun {
		plan, err := loader.PlanUndo(ctx, u)
		if err != nil {
			return err
		}
		a.answers(undoPlanAnswer{plan})
		if !c.JSON {
			return printUndo(a.stdout, "would undo", *plan)
		}
		return nil
	}
	receipt, err := loader.Undo(ctx, u)
	a.answers(undoAnswer{receipt})
	if err == nil && !c.JSON {
		return printUndo(a.stdout, "undone", receipt.UndoPlan)
	}
	return err
}

// undo is what the flags ask for.
func (c *undoCommand) undo() (u lake.Undo, err error) {
	u = lake.Undo{Branch: c.Branch, Load: c.Load, LoseLater: c.LoseLater}
	w, zone, err := c.parse()
	if err != nil {
		return u, err
	}
	if u.Window = w; w.Wall && zone != nil {
		if u.Window, err = w.On(lake.Instants, zone); err != nil {
			return u, err
		}
	}
	if c.Snapshot == "" {
		return u, nil
	}
	if c.Load != "" || !w.IsZero() {
		return u, usage("--snapshot names one by itself: give it without --load and a window")
	}
	if u.SnapshotID, err = strconv.ParseInt(c.Snapshot, 10, 64); err != nil || u.SnapshotID <= 0 {
		return u, usage("--snapshot %q is not the id of a snapshot", c.Snapshot)
	}
	return u, nil
}

// undoAnswer is a receipt as far as the undo came.
type undoAnswer struct{ receipt lake.UndoReceipt }

func (u undoAnswer) ended(f failure) any {
	r := u.receipt
	if r.Later == nil {
		r.Later, r.States = []lake.UndoneSnapshot{}, []lake.UndoneState{}
	}
	if f.code != 0 {
		r.Outcome, r.Error = f.outcome, &f.ReceiptError
	}
	return r
}

// undoPlanAnswer is what would be undone.
type undoPlanAnswer struct{ plan *lake.UndoPlan }

func (u undoPlanAnswer) ended(f failure) any {
	if f.code != 0 {
		return noAnswer{}.ended(f)
	}
	return u.plan
}

func printUndo(w io.Writer, what string, p lake.UndoPlan) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "%s\t%s, back to snapshot %s\n", what, p.Table, p.To)
	line := func(kind string, s lake.UndoneSnapshot) {
		fmt.Fprintf(out, "%s\t%s of %s, %s by %s of %s, %s\n", kind, s.SnapshotID, s.At.UTC().Format("2006-01-02 15:04:05Z"), s.Operation,
			orDash(printable(s.Load)), orDash(printable(s.Window)), plural(s.Rows, "row"))
	}
	line("snapshot", p.Undone)
	for _, s := range p.Later {
		line("and later", s)
	}
	for _, s := range p.States {
		fmt.Fprintf(out, "load\t%s: watermark %s, coverage %s\n", printable(s.Load), orDash(s.Watermark), orDash(s.Coverage))
	}
	return out.Flush()
}
