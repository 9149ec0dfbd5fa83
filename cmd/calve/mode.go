package main

import (
	"fmt"
	"io"

	"github.com/dustin/go-humanize"

	"github.com/calve-data/calve/lake"
)

// modeFlags say what the window's rows mean for the table.
type modeFlags struct {
	Mode       string   `placeholder:"MODE" group:"mode" help:"replace: the window's rows in the table become the source's (default). merge: each row takes the place of the table's row of its key, if it is newer."`
	Key        []string `placeholder:"COLUMN" group:"mode" help:"Columns that say which rows are versions of one, as order_id or shop,order_id."`
	VersionBy  []string `placeholder:"COLUMN" group:"mode" help:"Columns that say which of two rows is newer, as updated_at,ingest_id."`
	DeleteWhen string   `placeholder:"CONDITION" group:"mode" help:"Which rows are deletions: \"op = 'D'\", \"op in ('D', 'X')\" or \"deleted_at is not null\"."`
	Deletes    string   `placeholder:"HOW" group:"mode" help:"soft: a deleted row stays, with the column of the condition, so that an older window cannot bring it back (default). hard: it goes, and windows are loaded in order."`
	OnEqual    string   `placeholder:"WHICH" group:"mode" help:"Which row counts if the versions are equal and other values are not: source (default), keep (the table's), or error."`
	NullKeys   string   `placeholder:"HOW" group:"mode" help:"What NULL in a key column is: error (default), or match, a value that equals itself."`
}

// override lays the flags over l.
func (f modeFlags) override(l *loadConfig) {
	for _, o := range []struct {
		to   *string
		from string
	}{{&l.Mode, f.Mode}, {&l.DeleteWhen, f.DeleteWhen}, {&l.Deletes, f.Deletes}, {&l.OnEqual, f.OnEqual}, {&l.NullKeys, f.NullKeys}} {
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
}

// applyMode tells the load what the file and flags say of its mode.
func (l loadConfig) applyMode(to *lake.Load) {
	to.Mode, to.Key, to.VersionBy, to.DeleteWhen = lake.Mode(l.Mode), l.Key, l.Version, l.DeleteWhen
	to.Deletes, to.OnEqual, to.NullKeys = lake.Deletes(l.Deletes), lake.OnEqual(l.OnEqual), lake.NullKeys(l.NullKeys)
}

// printMerged prints what became of the rows of a merge.
func printMerged(out io.Writer, n *lake.MergeCounts) {
	if n != nil {
		fmt.Fprintf(out, "merged     %s\n", mergedText(n))
	}
}

// mergedText says what became of the rows of a merge.
func mergedText(n *lake.MergeCounts) string {
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
	} {
		if c.n > 0 {
			parts = append(parts, humanize.Comma(c.n)+" "+c.what)
		}
	}
	return listOr(parts, "nothing")
}
