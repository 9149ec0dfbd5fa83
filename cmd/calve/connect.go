package main

import (
	"context"
	"errors"
	"fmt"
)

type connectCommand struct {
	Table  string `arg:"" help:"The table, NS.NAME, or the name of a load in calve.yaml."`
	Engine string `required:"" enum:"duckdb,trino,spark,pyiceberg" placeholder:"NAME" help:"The engine: duckdb, trino, spark or pyiceberg."`
	JSON   bool   `help:"Print one JSON object with the snippet in it."`

	catalogFlags
}

// Help is the long help text.
func (connectCommand) Help() string {
	return `What is printed works as pasted, with the catalog and the store of calve.yaml: SQL for
the duckdb shell, Python for Spark and PyIceberg, a catalog file for Trino. No secret
is in it: it reads them from environment variables, those of calve.yaml where that has
them as ${NAME}.

Examples:

    calve connect analytics.payments --engine duckdb
    calve connect analytics.payments --engine pyiceberg > payments.py
    calve connect analytics.payments --engine spark > payments.py
    calve connect analytics.payments --engine trino > etc/catalog/lake.properties` +
		codes(0, 1, 2, 10, 14, 75, 130)
}

// errNoSnippet is wrapped where an engine cannot read a table as it is kept.
var errNoSnippet = errors.New("no snippet would work")

// connectLine is a snippet as machines read it.
type connectLine struct {
	Table    string `json:"table"`
	Engine   string `json:"engine"`
	Language string `json:"language"`
	// Environment are the variables that the snippet reads, and what each stands for.
	Environment      []variable `json:"environment"`
	MetadataLocation string     `json:"metadata_location"`
	Snippet          string     `json:"snippet"`
}

func (c *connectCommand) Run(ctx context.Context, a *app) error {
	config, t, done, err := c.lookAt(ctx, a, c.Table)
	if err != nil {
		return err
	}
	defer done()
	to, err := newConnection(config, c.Warehouse, t)
	if err != nil {
		return err
	}
	snippet, reads, err := to.snippet(c.Engine)
	if err != nil {
		return fmt.Errorf("connect %s to %s: %w", c.Engine, a.table, err)
	}
	if !c.JSON {
		_, err = a.stdout.Write([]byte(snippet))
		return err
	}
	line, err := jsonLine(connectLine{
		Table: a.table, Engine: c.Engine, Language: engines[c.Engine].language,
		Environment: reads, MetadataLocation: to.Metadata, Snippet: snippet,
	})
	if err == nil {
		_, err = a.stdout.Write(line)
	}
	return err
}
