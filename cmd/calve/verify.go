package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/calve-data/calve/arrowio"
	"github.com/calve-data/calve/lake"
)

type verifyCommand struct {
	selectionFlags

	Twice      bool   `help:"Read the source twice: one that gives other rows each time cannot be loaded again safely."`
	Stage      bool   `help:"Write the files that a load would, compare what is read back from them too, and throw them away."`
	Rows       int    `placeholder:"N" help:"Show at most N differing rows of each side. Default: 10."`
	JSON       bool   `help:"Print the result as one line of JSON, the last of stdout, also on failure."`
	ResultFile string `placeholder:"FILE" help:"Write the same line to this file, by rename."`
	Quiet      bool   `short:"q" help:"No window or progress on stderr."`
}

// Help is the long help text.
func (verifyCommand) Help() string {
	return `Compares the window's rows in the table with what a load would store of the source
now, by a digest of each. Where they differ it says why, as far as the table's
history tells: the source changed since the load, the table changed, by which
snapshots, or the load is not repeatable; and it shows rows that only one side has,
and the columns whose values differ. Nothing is published.

Examples:

    calve verify payments --window 2026-05-04
    calve verify payments --window 2026-05-04 --twice
    calve verify payments --window 2026-05-04 --stage     a whole load, beside the table` +
		codes(0, 1, 2, 10, 13, 14, 75, 130)
}

// errDifferent ends a verification that found a difference.
var errDifferent = errors.New("the sides differ")

func (c *verifyCommand) Run(ctx context.Context, a *app) error {
	if c.ResultFile != "" {
		if err := checkWritable(c.ResultFile); err != nil {
			return err
		}
	}
	if c.Rows < 0 {
		return usage("--rows %d: give the number of rows to show of each side", c.Rows)
	}
	s, err := c.resolve(a)
	if err != nil {
		return err
	}
	a.answers(verifyAnswer{Load: s.load.Name, Table: s.load.TableName(), Window: s.window.JSON()})
	show := newProgress(a.stderr, c.Quiet)
	show.window(s.window, s.load.TimeColumn)
	cat, embedded, done, err := c.openToLook(ctx, s.config)
	if err != nil {
		return err
	}
	defer done()
	src, err := arrowio.New(s.source, show.watch(cat.Files()))
	if err != nil {
		return err
	}
	loader := lake.Loader{Catalog: cat, Memory: int64(c.Memory), Timeout: c.Timeout, Version: programVersion(), Trace: show.trace()}
	if embedded {
		loader.Catalog = namespaceToCome{cat}
	}
	found, err := loader.Verify(ctx, s.load, src, s.window, lake.VerifyOptions{Twice: c.Twice, Stage: c.Stage, Rows: c.Rows})
	show.end()
	if err != nil {
		return err
	}
	defer found.Release()
	a.answers(verificationAnswer(found))
	if !c.JSON {
		if err := printVerification(a.stdout, found); err != nil {
			return err
		}
	}
	if d := found.Difference; d != nil {
		return fmt.Errorf("%s of %s: %s and %s: %w", found.Window, found.Table, d.Source, d.Other, errDifferent)
	}
	return nil
}
