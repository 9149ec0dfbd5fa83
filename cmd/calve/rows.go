package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

type rowsCommand struct {
	Table string `arg:"" help:"The table, NS.NAME, or the name of a load in calve.yaml."`

	windowFlags

	TimeColumn string `placeholder:"COLUMN" group:"window" help:"The column that the window is on. Default: that of the table's load in calve.yaml, or the only column it can be."`
	Branch     string `placeholder:"NAME" help:"Branch of the table. Default: main."`
	Snapshot   int64  `placeholder:"ID" help:"An older snapshot; calve history lists them."`
	Limit      *int64 `placeholder:"N" help:"Print at most N rows; 0: all. Default: 100, with --json all."`
	Count      bool   `help:"Print only the number of rows."`
	JSON       bool   `help:"Print one JSON object a line: integers exact, decimals as strings."`

	catalogFlags
}

// Help is the long help text.
func (rowsCommand) Help() string {
	return `Examples:

    calve rows analytics.payments --window 2026-05-04
    calve rows analytics.payments --window 2026-05-04 --count
    calve rows analytics.payments --snapshot 7212648213384920372 --json` +
		codes(0, 1, 2, 10, 75, 130)
}

// usualLimit is the number of rows that a person wants to see at most.
const usualLimit = 100

func (c *rowsCommand) Run(ctx context.Context, a *app) error {
	q := lake.RowsQuery{SnapshotID: c.Snapshot, Branch: c.Branch}
	limit := int64(usualLimit)
	switch {
	case c.Limit != nil && *c.Limit < 0:
		return usage("--limit %d: give the number of rows, or 0 for all", *c.Limit)
	case c.Limit != nil:
		limit = *c.Limit
	case c.JSON || c.Count:
		limit = 0
	}
	if limit > 0 {
		q.Limit = limit + 1 // one more, to know whether there are more
	}
	var err error
	if q.Window, q.Zone, err = c.parse(); err != nil {
		return err
	}
	config, t, done, err := c.lookAt(ctx, a, c.Table)
	if err != nil {
		return err
	}
	defer done()
	if !q.Window.IsZero() {
		if q.TimeColumn, err = c.timeColumn(config, t); err != nil {
			return err
		}
	}
	result, err := lake.Rows(ctx, t, q)
	if err != nil {
		return err
	}
	return c.print(a, result, limit)
}

// timeColumn is the column that the window is on.
func (c *rowsCommand) timeColumn(config *config, t *table.Table) (string, error) {
	if c.TimeColumn != "" {
		return c.TimeColumn, nil
	}
	name := strings.Join(t.Identifier(), ".")
	found := map[string]bool{}
	for _, l := range config.Loads {
		if l.Table == name && l.TimeColumn != "" {
			found[l.TimeColumn] = true
		}
	}
	var candidates []string
	for _, f := range t.Schema().Fields() {
		if _, err := lake.TimeKindOf(f.Type); err != nil {
			continue
		}
		if len(found) == 1 && found[f.Name] {
			return f.Name, nil
		}
		candidates = append(candidates, f.Name)
	}
	switch len(candidates) {
	case 1:
		return candidates[0], nil
	case 0:
		return "", usage("%s has no timestamp or date column that a window could be on", name)
	}
	return "", usage("%s has several times: say which one the window is on with --time-column: %s", name, strings.Join(candidates, ", "))
}

// print prints the rows in the form that was asked for; the limit of 0 is none.
func (c *rowsCommand) print(a *app, result *lake.RowsResult, limit int64) error {
	out := bufio.NewWriter(a.stdout)
	p := printer{fields: result.Schema.Fields(), out: out}
	if c.JSON {
		p.names = quotedNames(p.fields)
	}
	if !c.JSON && !c.Count {
		p.startTable()
	}
	var seen int64
	for batch, err := range result.Batches {
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		rows := batch.NumRows()
		if limit > 0 {
			rows = min(rows, limit-seen)
		}
		switch {
		case c.Count:
		case c.JSON:
			err = p.jsonRows(batch, rows)
		default:
			err = p.tableRows(batch, rows)
		}
		more := batch.NumRows() > rows
		batch.Release()
		if err != nil {
			return err
		}
		seen += rows
		if more {
			p.cut = true
			break
		}
	}
	switch {
	case c.Count && c.JSON:
		fmt.Fprintf(out, "{\"rows\":%d}\n", seen)
	case c.Count:
		fmt.Fprintln(out, seen)
	case !c.JSON:
		if err := p.endTable(seen); err != nil {
			return err
		}
	}
	return out.Flush()
}

// printer prints record batches.
type printer struct {
	fields []arrow.Field
	names  [][]byte // the fields' names as JSON
	out    *bufio.Writer
	table  *tabwriter.Writer
	cut    bool
}

func (p *printer) startTable() {
	p.table = tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for i, f := range p.fields {
		if i > 0 {
			fmt.Fprint(p.table, "\t")
		}
		fmt.Fprint(p.table, printable(f.Name))
	}
	fmt.Fprintln(p.table)
}

func (p *printer) tableRows(batch arrow.RecordBatch, rows int64) error {
	for i := range int(rows) {
		for j, column := range batch.Columns() {
			if j > 0 {
				fmt.Fprint(p.table, "\t")
			}
			fmt.Fprint(p.table, printable(cellText(column, i)))
		}
		fmt.Fprintln(p.table)
	}
	// Align each batch by itself: all rows of a large table do not fit in memory.
	if rows > usualLimit {
		return p.table.Flush()
	}
	return nil
}

func (p *printer) endTable(seen int64) error {
	err := p.table.Flush()
	if p.cut {
		fmt.Fprintf(p.out, "(the first %s; there are more: --limit 0 prints all)\n", plural(seen, "row"))
	} else {
		fmt.Fprintf(p.out, "(%s)\n", plural(seen, "row"))
	}
	return err
}

func (p *printer) jsonRows(batch arrow.RecordBatch, rows int64) error {
	var line []byte
	for i := range int(rows) {
		line = append(line[:0], '{')
		for j, column := range batch.Columns() {
			if j > 0 {
				line = append(line, ',')
			}
			line = append(append(line, p.names[j]...), ':')
			line = appendCell(line, column, i)
		}
		line = append(line, '}', '\n')
		if _, err := p.out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

func quotedNames(fields []arrow.Field) [][]byte {
	names := make([][]byte, len(fields))
	for i, f := range fields {
		names[i] = appendString(nil, f.Name)
	}
	return names
}

// printable keeps a value on its line and out of the terminal's controls.
func printable(text string) string {
	clean := func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 }
	if strings.IndexFunc(text, clean) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if clean(r) {
			fmt.Fprintf(&b, "%s", strings.Trim(fmt.Sprintf("%q", r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
