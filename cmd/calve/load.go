package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/arrowio"
	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
)

// runFlags say how one run of a load goes.
type runFlags struct {
	CommitUnchanged bool `help:"Commit a snapshot also where the table holds these rows of the window already."`
	IfChanged       bool `help:"Do not read the source where its files are those that were loaded, by their names, sizes and etags, and are read in the same way by the same version of calve."`

	RunLabel string `name:"run" placeholder:"LABEL" help:"A label from the orchestrator, kept in the snapshot. It never means that a load is done already."`
}

type loadCommand struct {
	selectionFlags
	sinceFlags
	runFlags

	JSON       bool   `help:"Print the receipt as one line of JSON, the last of stdout, also on failure."`
	ResultFile string `placeholder:"FILE" help:"Write the same line to this file, by rename."`
	Quiet      bool   `short:"q" help:"No window, plan or progress on stderr."`
}

// Help is the long help text.
func (loadCommand) Help() string {
	return `The window's rows in the table become the source's rows for that window, in one
snapshot, or the table stays exactly as it was. Running it again is always safe.

With --mode merge each row takes the place of the table's row of its key instead,
wherever that is, if it is newer: windows may come again in any order, and the newest
versions stay. With --mode append rows are added whose event id the table lacks.

Where the table holds these rows already, as an earlier load of the window left them,
nothing is committed and the outcome is "unchanged". That is said by their digest, and
only where no other writer has touched the window since.

Examples:

    calve load payments --window 2026-05-04
    calve load --source 'data/*.csv' --table demo.payments --time-column event_time --window 2026-05-04
    calve load payments --from '{{ data_interval_start }}' --to '{{ data_interval_end }}' --json
    calve load payments --window 2026-05-04 --allow-empty
    calve load orders --from watermark --to '{{ data_interval_end }}' --overlap 15m
    calve load payments --window 2026-05-04 --if-changed
    calve load --source 'events/*.ndjson' --table shop.events --time-column occurred_at --mode append \
        --event-id event_id --look-back 7d --window 2026-05-04
    calve load --source 'orders/*.csv' --table shop.orders --time-column updated_at --mode merge \
        --key order_id --version-by updated_at,seq --delete-when "op = 'D'" --window 2026-05-04` +
		codes(0, 1, 2, 10, 11, 12, 14, 75, 99, 130)
}

func (c *loadCommand) Run(ctx context.Context, a *app) error {
	if c.ResultFile != "" {
		if err := checkWritable(c.ResultFile); err != nil {
			return err
		}
	}
	s, err := c.resolveIn(a, c.window(c.windowFlags))
	if err != nil {
		return err
	}
	a.answers(loadAnswer{lake.Receipt{Load: s.load.Name, Table: s.load.TableName(), Branch: cmp.Or(s.load.Branch, table.MainBranch), Window: s.window.JSON()}})
	boundHeap(c.Memory)
	show := newProgress(a.stderr, c.Quiet)
	windowColumn := cmp.Or(s.load.Cursor, s.load.TimeColumn)
	if !s.window.IsZero() {
		show.window(s.window, windowColumn)
	}
	cat, embedded, err := c.open(ctx, s.config)
	if err != nil {
		return err
	}
	defer func() { _ = cat.Close() }()
	loader := lake.Loader{Catalog: cat, Memory: int64(c.Memory), Timeout: c.Timeout, Run: c.RunLabel, Version: programVersion(), Trace: show.trace()}
	if s.window.IsZero() {
		if err := c.since(ctx, a.stderr, c.windowFlags, &s, &loader); err != nil {
			return err
		}
		if s.window.IsZero() {
			return c.upToDate(a, s)
		}
		show.window(s.window, windowColumn)
	}
	s.source.Run = c.RunLabel
	src, err := arrowio.New(s.source, show.watch(cat.Files()))
	if err != nil {
		return err
	}
	if embedded || c.CreateNamespace {
		if err := ensureNamespace(ctx, cat, s.load); err != nil {
			return err
		}
	}
	s.load.CommitUnchanged, s.load.IfChanged = c.CommitUnchanged, c.IfChanged
	loader.Trace.Sent = func() { a.sent.Store(true) }
	receipt, err := loader.Load(ctx, s.load, src, s.window)
	show.end()
	a.answers(loadAnswer{receipt})
	if err != nil {
		return err
	}
	if !c.JSON {
		printReceipt(a.stdout, receipt)
	}
	return nil
}

// upToDate answers that nothing is left to load.
func (c *loadCommand) upToDate(a *app, s selection) error {
	a.answers(loadAnswer{lake.Receipt{
		Outcome: lake.Unchanged, Load: s.load.Name, Table: s.load.TableName(), Mode: string(s.load.Mode), Branch: cmp.Or(s.load.Branch, table.MainBranch),
	}})
	if !c.JSON {
		fmt.Fprintf(a.stdout, "%-10s %s: the watermark is not before %s\n", lake.Unchanged, s.load.TableName(), c.To)
	}
	return nil
}

// ensureNamespace creates the namespace of the load's table if it is missing.
func ensureNamespace(ctx context.Context, cat *catalog.Catalog, load lake.Load) error {
	namespace := load.Table[:len(load.Table)-1]
	there, err := cat.NamespaceExists(ctx, namespace)
	if err == nil && !there {
		err = cat.CreateNamespace(ctx, namespace)
	}
	if err != nil {
		return fmt.Errorf("namespace of %s: %w", load.TableName(), err)
	}
	return nil
}
