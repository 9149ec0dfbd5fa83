package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/calve-data/calve/lake"
)

type maintainCommand struct {
	Table string `arg:"" help:"The table, NS.NAME, or the name of a load in calve.yaml."`

	Expire     age  `placeholder:"AGE" help:"Expire snapshots older than this (30d, 12h, or the word default: what the table's properties history.expire.* say, else 5d) and delete the files that only they needed. Never the tip of a branch, nor a tag."`
	Keep       int  `placeholder:"N" help:"Keep the last N snapshots of each branch whatever their age. Default: what the table's properties say, else 1."`
	Orphans    bool `help:"Delete files of loads that ended without a commit, older than 7 days."`
	Metadata   bool `help:"Delete metadata files of the table that its metadata log names no more, older than 7 days."`
	OlderThan  age  `placeholder:"AGE" help:"Another age than 7d for --orphans and --metadata; a lower one only with --no-load-runs."`
	NoLoadRuns bool `help:"Your word that no load of the table is running, on any machine: without it a lower --older-than is refused, for it would take a running load's files."`
	DryRun     bool `help:"Show what would be deleted, and delete nothing."`

	JSON       bool   `help:"Print the receipt as one line of JSON, the last of stdout, also on failure."`
	ResultFile string `placeholder:"FILE" help:"Write the same line to this file, by rename."`

	catalogFlags
}

// Help is the long help text.
func (maintainCommand) Help() string {
	return `No row changes, of any branch or tag, whatever the exit code. Safe beside running
loads: an expiry moves no branch, and what a running load has written is too young
to be an orphan. What a load knows (coverage, watermark) outlives its snapshots.
Stopped anywhere, it is finished by the next run. Begin with --dry-run.

Only files that loads of the table named themselves are orphans, and only those
that no snapshot of any branch or tag needs. Ages are the store's, against its
newest object.

Examples:

    calve maintain analytics.payments --expire 30d --keep 10 --dry-run
    calve maintain analytics.payments --expire 30d --keep 10 --orphans --metadata
    calve maintain analytics.payments --expire default --json` +
		codes(0, 1, 2, 10, 12, 14, 75, 130)
}

// age is a flag such as 30d, 12h or default.
type age struct {
	given, byTable bool
	of             time.Duration
}

var daysForm = regexp.MustCompile(`^(\d{1,5})d$`)

// UnmarshalText reads an age.
func (a *age) UnmarshalText(text []byte) (err error) {
	a.given = true
	if string(text) == "default" {
		a.byTable = true
		return nil
	}
	if m := daysForm.FindSubmatch(text); m != nil {
		days, _ := strconv.Atoi(string(m[1])) // five digits at most
		a.of = time.Duration(days) * 24 * time.Hour
		return nil
	}
	if a.of, err = time.ParseDuration(string(text)); err != nil || a.of < 0 {
		return fmt.Errorf("%q is not an age such as 30d or 12h", text)
	}
	return nil
}

func (c *maintainCommand) Run(ctx context.Context, a *app) error {
	if c.ResultFile != "" {
		if err := checkWritable(c.ResultFile); err != nil {
			return err
		}
	}
	m, err := c.maintenance()
	if err != nil {
		return err
	}
	config, err := c.read(a)
	if err != nil {
		return err
	}
	if m.Table, err = config.tableOf(c.Table); err != nil {
		return err
	}
	a.table = m.TableName()
	a.answers(maintenanceAnswer{lake.MaintenanceReceipt{Table: a.table}})
	loader, done, err := c.loader(ctx, a, config)
	if err != nil {
		return err
	}
	defer done()
	if c.DryRun {
		plan, err := loader.PlanMaintenance(ctx, m)
		if err != nil {
			return err
		}
		a.answers(maintenancePlanAnswer{plan})
		if !c.JSON {
			return printMaintenancePlan(a.stdout, plan, m)
		}
		return nil
	}
	receipt, err := loader.Maintain(ctx, m)
	a.answers(maintenanceAnswer{receipt})
	for _, name := range receipt.LostRefs {
		fmt.Fprintf(a.stderr, "calve: warning: branch or tag %q was made while snapshots expired, and was lost with its snapshot; the files it needs were kept: make it again from a file of the metadata log\n", name)
	}
	if err == nil && !c.JSON {
		printMaintenance(a.stdout, receipt, m)
	}
	return err
}

// maintenance is what the flags ask for.
func (c *maintainCommand) maintenance() (m lake.Maintenance, err error) {
	m = lake.Maintenance{Orphans: c.Orphans, Metadata: c.Metadata, OlderThan: c.OlderThan.of, NoLoadRuns: c.NoLoadRuns}
	switch {
	case !c.Expire.given && !c.Orphans && !c.Metadata:
		return m, usage("say what to do: --expire AGE, --orphans, --metadata, or several of them")
	case c.Keep < 0 || c.Keep > 0 && !c.Expire.given:
		return m, usage("--keep N goes with --expire AGE, and is 1 at least")
	case c.OlderThan.given && !c.Orphans && !c.Metadata:
		return m, usage("--older-than is for --orphans and --metadata; snapshots have their age from --expire")
	case c.OlderThan.byTable:
		return m, usage("--older-than takes an age such as 30d; left out, it is 7d")
	case c.NoLoadRuns && !c.OlderThan.given:
		return m, usage("--no-load-runs goes with --older-than AGE")
	case c.OlderThan.given && c.OlderThan.of < lake.OrphanAge && !c.NoLoadRuns:
		return m, usage("--older-than below 7d could take the files of a running load: if you are certain that none runs, add --no-load-runs")
	}
	if c.Expire.given {
		m.Expire = &lake.Expiry{Keep: c.Keep}
		if !c.Expire.byTable {
			m.Expire.OlderThan = &c.Expire.of
		}
	}
	return m, nil
}

// maintenanceAnswer is a receipt as far as the maintenance came.
type maintenanceAnswer struct{ receipt lake.MaintenanceReceipt }

func (m maintenanceAnswer) ended(f failure) any {
	r := m.receipt
	if r.Refs == nil {
		r.Refs, r.LostRefs = []string{}, []string{}
	}
	if f.code != 0 {
		r.Outcome, r.Error = f.outcome, &f.ReceiptError
	}
	return r
}

// maintenancePlanAnswer is what maintenance would do.
type maintenancePlanAnswer struct{ plan *lake.MaintenancePlan }

func (m maintenancePlanAnswer) ended(f failure) any {
	if f.code != 0 {
		return maintenanceAnswer{lake.MaintenanceReceipt{Table: m.plan.Table}}.ended(f)
	}
	return struct {
		Outcome lake.Outcome `json:"outcome"`
		*lake.MaintenancePlan
		Error *lake.ReceiptError `json:"error"`
	}{lake.Unchanged, m.plan, nil}
}

// printMaintenance prints what maintenance did, for people.
func printMaintenance(out io.Writer, r lake.MaintenanceReceipt, m lake.Maintenance) {
	fmt.Fprintf(out, "%-10s %s\n", r.Outcome, r.Table)
	if m.Expire != nil {
		fmt.Fprintf(out, "snapshots  %s expired, %s kept\n", humanize.Comma(int64(r.Snapshots.Expired)), humanize.Comma(int64(r.Snapshots.Kept)))
		if len(r.Refs) > 0 {
			fmt.Fprintf(out, "refs       %s expired\n", strings.Join(r.Refs, ", "))
		}
		fmt.Fprintf(out, "expired    %s deleted%s\n", deletionsText(r.Expired), outsideText(r.Expired.Outside))
	}
	if m.Orphans {
		fmt.Fprintf(out, "orphans    %s deleted\n", deletionsText(r.Orphans))
	}
	if m.Metadata {
		fmt.Fprintf(out, "metadata   %s deleted\n", deletionsText(r.Metadata))
	}
	fmt.Fprintf(out, "took       %.1f s\n", r.Seconds)
}

func deletionsText(d lake.Deletions) string {
	return fmt.Sprintf("%s, %s", plural(d.Files, "file"), humanize.IBytes(uint64(d.Bytes)))
}

func outsideText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %s outside the table's folders left", humanize.Comma(int64(n)))
}

// shownFiles is how many files of a kind a person wants to see at most.
const shownFiles = 20

// printMaintenancePlan prints what maintenance would do, for people.
func printMaintenancePlan(w io.Writer, p *lake.MaintenancePlan, m lake.Maintenance) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "table\t%s; nothing was changed\n", p.Table)
	if m.Expire != nil {
		fmt.Fprintf(out, "snapshots\t%s would expire, %s kept\n", humanize.Comma(int64(len(p.Snapshots))), humanize.Comma(int64(p.Kept)))
		for i, s := range p.Snapshots {
			if i == shownFiles {
				fmt.Fprintf(out, "\t… and %s more\n", humanize.Comma(int64(len(p.Snapshots)-i)))
				break
			}
			fmt.Fprintf(out, "\t%s of %s %s %s\n", s.SnapshotID, s.At.UTC().Format("2006-01-02 15:04:05Z"), orDash(printable(s.Load)), orDash(printable(s.Window)))
		}
		if len(p.Refs) > 0 {
			fmt.Fprintf(out, "refs\t%s would expire\n", strings.Join(p.Refs, ", "))
		}
		objectLines(out, "expired", p.Expired, outsideText(p.Outside))
	}
	if m.Orphans {
		objectLines(out, "orphans", p.Orphans, "")
	}
	if m.Metadata {
		objectLines(out, "metadata", p.Metadata, "")
	}
	return out.Flush()
}

func objectLines(out io.Writer, kind string, objects []lake.Object, more string) {
	d := lake.Deletions{Files: len(objects)}
	for _, o := range objects {
		d.Bytes += o.Bytes
	}
	fmt.Fprintf(out, "%s\t%s would be deleted%s\n", kind, deletionsText(d), more)
	for i, o := range objects {
		if i == shownFiles {
			fmt.Fprintf(out, "\t… and %s more: --json lists all\n", humanize.Comma(int64(len(objects)-i)))
			return
		}
		fmt.Fprintf(out, "\t%s\n", printable(o.Path))
	}
}
