package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"html/template"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

//go:embed history.html
var historyHTML string

// writeHTML writes the page of coverage to a file, by rename.
func (c *historyCommand) writeHTML(ctx context.Context, a *app, t *table.Table) error {
	all, zone, err := c.gapsOf(ctx, t, c.Branch)
	if err != nil {
		return err
	}
	entries, err := lake.History(t, c.Branch)
	if err != nil {
		return err
	}
	p, err := newPage(a.table, cmp.Or(c.Branch, table.MainBranch), all, entries, zone)
	if err != nil {
		return err
	}
	content, err := p.html()
	if err != nil {
		return err
	}
	if err := writeByRename(c.HTML, content); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s is written: coverage of %s, %s\n", c.HTML, a.table, plural(len(p.Loads), "load"))
	return stateErrors(all)
}

func (p page) html() ([]byte, error) {
	t, err := template.New("history").Parse(historyHTML)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("draw the coverage: %w", err)
	}
	return b.Bytes(), nil
}
