package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

func (c *historyCommand) checkFlags() error {
	others := c.gapFlags
	others.Load = ""
	switch {
	case !c.Watermark:
		return c.check()
	case others != (gapFlags{}):
		return usage("--watermark goes with --load alone, not with --gaps, --html or what is for these")
	}
	return nil
}

// watermarkLine is the watermark of a load as machines read it; null where there
// is none.
type watermarkLine struct {
	Load      string  `json:"load"`
	Watermark *string `json:"watermark"`
}

// printWatermarks prints one line for each load, or the watermark alone of the
// one that is asked for. A load whose state cannot be told does not hide the
// others.
func (c *historyCommand) printWatermarks(ctx context.Context, a *app, t *table.Table) error {
	all, _, err := c.gapsOf(ctx, t, c.Branch)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintf(a.stderr, "no load of calve has loaded %s\n", a.table)
	}
	var marks []watermarkLine
	for _, g := range all {
		if g.state.Err == nil {
			marks = append(marks, watermarkLine{g.state.Load, watermarkOf(g.state)})
		}
	}
	switch {
	case c.JSON:
		err = watermarksJSON(a.stdout, marks)
	case c.Load != "" && len(marks) > 0 && marks[0].Watermark != nil:
		_, err = fmt.Fprintln(a.stdout, *marks[0].Watermark)
	case c.Load == "" && len(marks) > 0:
		err = watermarksText(a.stdout, marks)
	}
	return errors.Join(err, stateErrors(all))
}

// watermarkOf prints a watermark as receipts do: without Z on a wall clock.
func watermarkOf(s lake.LoadState) *string {
	if s.Watermark.IsZero() {
		return nil
	}
	at, _ := lake.Window{From: s.Watermark, To: s.Watermark, Wall: s.Wall}.Bounds()
	return &at
}

func watermarksText(w io.Writer, marks []watermarkLine) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "LOAD\tWATERMARK")
	for _, m := range marks {
		at := ""
		if m.Watermark != nil {
			at = *m.Watermark
		}
		fmt.Fprintf(out, "%s\t%s\n", m.Load, orDash(at))
	}
	return out.Flush()
}

func watermarksJSON(w io.Writer, marks []watermarkLine) error {
	for _, m := range marks {
		line, err := jsonLine(m)
		if err == nil {
			_, err = w.Write(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
