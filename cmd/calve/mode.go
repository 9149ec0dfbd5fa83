package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/calve-data/calve/lake"
)

// modeFlags say what the window's rows mean for the table.
type modeFlags struct {
	Mode       string   `placeholder:"MODE" group:"mode" help:"replace: the window's rows in the table become the source's (default). merge: each row takes the place of the table's row of its key, if it is newer. append: rows are added whose event id the table lacks."`
	Key        []string `placeholder:"COLUMN" group:"mode" help:"Columns that say which rows are versions of one, as order_id or shop,order_id."`
	VersionBy  []string `placeholder:"COLUMN" group:"mode" help:"Columns that say which of two rows is newer, as updated_at,ingest_id."`
	DeleteWhen string   `placeholder:"CONDITION" group:"mode" help:"Which rows are deletions: \"op = 'D'\", \"op in ('D', 'X')\" or \"deleted_at is not null\"."`
	Deletes    string   `placeholder:"HOW" group:"mode" help:"soft: a deleted row stays, with the column of the condition, so that an older window cannot bring it back (default). hard: it goes, and windows are loaded in order."`
	OnEqual    string   `placeholder:"WHICH" group:"mode" help:"Which row counts if the versions are equal and other values are not: source (default), keep (the table's), or error."`
	NullKeys   string   `placeholder:"HOW" group:"mode" help:"What NULL in a key column is: error (default), or match, a value that equals itself."`
	Write      string   `placeholder:"HOW" group:"mode" help:"How a merge takes rows out of files: copy-on-write (default), or merge-on-read, by position deletes, which is far less work where few rows change."`
	Search     string   `placeholder:"WHERE" group:"mode" help:"Where a merge looks for keys: all (default), or partitions(EXPR, …), such as partitions(month(placed_on)): only in the partitions of the source's rows, where a key never moves to another one of these."`
	EventID    []string `name:"event-id" placeholder:"COLUMN" group:"mode" help:"Columns that are the same in each delivery of an event."`
	HashOf     []string `placeholder:"COLUMN" group:"mode" help:"In place of --event-id: rows with the same values in these columns are one event."`
	LookBack   string   `placeholder:"STEP" group:"mode" help:"How far around the window ids are looked for in the table, such as 7d. Default: in the window."`
	Cursor     string   `placeholder:"COLUMN" group:"mode" help:"In modes merge and append: the column that windows are on, such as updated_at, if it is not the time column."`
	OnConflict string   `placeholder:"HOW" group:"mode" help:"What becomes of a row that has the id of another one and other values: keep (the one that is stored, default), or error."`
}

// override lays the flags over l.
func (f modeFlags) override(l *loadConfig) {
	for _, o := range []struct {
		to   *string
		from string
	}{{&l.Mode, f.Mode}, {&l.DeleteWhen, f.DeleteWhen}, {&l.Deletes, f.Deletes}, {&l.OnEqual, f.OnEqual}, {&l.NullKeys, f.NullKeys}, {&l.LookBack, f.LookBack}, {&l.OnConflict, f.OnConflict}, {&l.Cursor, f.Cursor}, {&l.Write, f.Write}, {&l.Search, f.Search}} {
		if o.from != "" {
			*o.to = o.from
		}
	}
	if f.Key != nil {
		l.Key = f.Key
	}
	if f.VersionBy != nil {
		l.Version = f.VersionBy
	}
	if f.EventID != nil {
		l.EventID.Columns = f.EventID
	}
	if f.HashOf != nil {
		l.EventID.HashOf = f.HashOf
	}
}

// applyMode tells the load what the file and flags say of its mode.
func (l loadConfig) applyMode(to *lake.Load) (err error) {
	to.Mode, to.Key, to.VersionBy, to.DeleteWhen = lake.Mode(l.Mode), l.Key, l.Version, l.DeleteWhen
	to.Deletes, to.OnEqual, to.NullKeys = lake.Deletes(l.Deletes), lake.OnEqual(l.OnEqual), lake.NullKeys(l.NullKeys)
	to.Write = lake.WriteMode(l.Write)
	to.EventID, to.HashOf, to.OnConflict = l.EventID.Columns, l.EventID.HashOf, lake.OnConflict(l.OnConflict)
	to.Cursor = l.Cursor
	if to.SearchIn, err = searchIn(l.Search); err != nil {
		return err
	}
	for _, name := range l.EventID.HashOf {
		if c := l.Columns[name]; c.Derive != "" {
			return usage("event_id: hash_of must not name %q, which is derived: it tells deliveries of one event apart", name)
		}
	}
	if l.LookBack != "" {
		if to.LookBack, err = lake.ParseStep(l.LookBack); err != nil {
			return fmt.Errorf("look_back: %w", err)
		}
	}
	return nil
}

// searchIn reads search: all, or partitions(EXPR, …).
func searchIn(text string) ([]string, error) {
	if text == "" || text == "all" {
		return nil, nil
	}
	inner, ok := strings.CutPrefix(strings.TrimSpace(text), "partitions(")
	if ok {
		inner, ok = strings.CutSuffix(inner, ")")
	}
	list := splitExpressions([]string{inner})
	if !ok || len(list) == 0 {
		return nil, usage("search %q is not all, or partitions(EXPR, …) with expressions of partition_by, such as partitions(month(placed_on))", text)
	}
	return list, nil
}

// printByKey prints what became of the rows of a load by keys.
func printByKey(out io.Writer, r lake.Receipt) {
	if r.ByKey == nil {
		return
	}
	fmt.Fprintf(out, "by key     %s\n", keysText(r.ByKey))
	for _, text := range r.Conflicts {
		fmt.Fprintf(out, "conflict   %s\n", text)
	}
}

// keysText says what became of the rows of a load by keys.
func keysText(n *lake.KeyCounts) string {
	var parts []string
	for _, c := range []struct {
		n    int64
		what string
	}{
		{n.Inserted, "inserted"},
		{n.Updated, "updated"},
		{n.Corrected, "corrected"},
		{n.Deleted, "deleted"},
		{n.IgnoredOlder, "older than the table's"},
		{n.Identical, "identical"},
		{n.Kept, "of equal version kept as they are in the table"},
		{n.Duplicates, "duplicates in the source"},
		{n.Conflicts, "left out, of an id that has other values"},
	} {
		if c.n > 0 {
			parts = append(parts, humanize.Comma(c.n)+" "+c.what)
		}
	}
	return listOr(parts, "nothing")
}
