package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/calve-data/calve/lake"
)

// printReceipt prints what a load did, for people.
func printReceipt(out io.Writer, r lake.Receipt) {
	fmt.Fprintf(out, "%-10s %s", r.Outcome, tableText(r.Table, r.Branch))
	if r.Window != nil {
		fmt.Fprintf(out, " [%s, %s)", r.Window.From, r.Window.To)
	}
	fmt.Fprintln(out)
	if r.Outcome == lake.Unchanged {
		printStanding(out, r)
	} else {
		printWritten(out, r)
	}
	printByKey(out, r)
	if r.Digest != nil {
		fmt.Fprintf(out, "digest     %s\n", *r.Digest)
	}
	if r.Watermark != nil {
		fmt.Fprintf(out, "watermark  %s\n", *r.Watermark)
	}
	fmt.Fprintf(out, "took       %.1f s", r.Seconds)
	if r.Attempts > 1 {
		fmt.Fprintf(out, ", %d attempts to commit", r.Attempts)
	}
	fmt.Fprintln(out)
}

// printStanding prints that a window's rows stand as an earlier load left them.
func printStanding(out io.Writer, r lake.Receipt) {
	if r.ByKey != nil {
		fmt.Fprint(out, "rows       the table has what they say; ")
	} else {
		fmt.Fprintf(out, "rows       %s are in the table already; ", humanize.Comma(r.Rows.Written))
	}
	if r.Rows.Read == 0 && r.Rows.Written > 0 {
		fmt.Fprint(out, "the source's files are those that were loaded, and were not read")
	} else {
		printRead(out, r)
	}
	fmt.Fprintf(out, "\nsnapshot   %s stands\n", r.SnapshotID)
}

// printWritten prints what a load changed.
func printWritten(out io.Writer, r lake.Receipt) {
	replaced := humanize.Comma(r.Rows.Replaced)
	if r.Rows.ReplacedAtMost {
		replaced = "at most " + replaced
	}
	fmt.Fprintf(out, "rows       %s written, %s replaced; ", humanize.Comma(r.Rows.Written), replaced)
	printRead(out, r)
	if r.Rows.Foreign > 0 {
		fmt.Fprintf(out, "\nforeign    %s of the replaced rows were committed by others since this load began", humanize.Comma(r.Rows.Foreign))
	}
	if len(r.Ignored) > 0 {
		fmt.Fprintf(out, "\nignored    %s of the source, which the table lacks", quoted(r.Ignored))
	}
	fmt.Fprintf(out, "\nfiles      %d added, %d removed", r.Files.Added, r.Files.Removed)
	if r.Files.Rewritten > 0 {
		fmt.Fprintf(out, " (%d of them rewritten)", r.Files.Rewritten)
	}
	if r.Files.Deletes > 0 {
		fmt.Fprintf(out, ", %s", plural(r.Files.Deletes, "delete file"))
	}
	fmt.Fprintf(out, "; %d read\n", r.Files.Read)
	fmt.Fprintf(out, "bytes      %s written; %s read\n", humanize.IBytes(uint64(r.Bytes.Written)), humanize.IBytes(uint64(r.Bytes.Read)))
	if r.SnapshotID != "" {
		fmt.Fprintf(out, "snapshot   %s", r.SnapshotID)
		if r.BaseSnapshotID != "" {
			fmt.Fprintf(out, " on %s", r.BaseSnapshotID)
		}
		fmt.Fprintln(out)
	}
}

func printRead(out io.Writer, r lake.Receipt) {
	fmt.Fprintf(out, "%s read", humanize.Comma(r.Rows.Read))
	if r.Rows.Outside > 0 {
		fmt.Fprintf(out, ", of which %s outside the window", humanize.Comma(r.Rows.Outside))
	}
}

// planLine is what a load is about to do, in one line.
func planLine(p *lake.Plan) string {
	line := fmt.Sprintf("%s into %s", originLine(p.Origin), tableText(p.Table, p.Branch))
	switch {
	case p.Creates:
		return line + fmt.Sprintf(", which is created: %s, partitioned by %s", plural(len(p.Columns), "column"), listOr(p.PartitionFields, "nothing"))
	case p.BaseSnapshotID == 0:
		return line + ", which is empty"
	}
	return line + fmt.Sprintf(" on snapshot %d", p.BaseSnapshotID)
}

func tableText(table, branch string) string {
	if branch == "" || branch == "main" {
		return table
	}
	return table + " (branch " + branch + ")"
}

func originLine(o lake.Origin) string {
	return fmt.Sprintf("%s, %s", plural(o.Files, o.Kind+" file"), humanize.IBytes(uint64(o.Bytes)))
}

func filesLine(files []lake.PlannedFile) string {
	rows, bytes := total(files)
	if len(files) == 0 {
		return "no file"
	}
	return fmt.Sprintf("%s (%s, %s)", plural(len(files), "file"), plural(rows, "row"), humanize.IBytes(uint64(bytes)))
}

func total(files []lake.PlannedFile) (rows, bytes int64) {
	for _, f := range files {
		rows += f.Rows
		bytes += f.Bytes
	}
	return rows, bytes
}

func plural[N int | int64](n N, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return humanize.Comma(int64(n)) + " " + word + "s"
}

// quoted is a list of names, each in quotes.
func quoted(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = strconv.Quote(name)
	}
	return strings.Join(list, ", ")
}

func listOr(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, ", ")
}
