package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"

	"github.com/calve-data/calve/arrowio"
	"github.com/calve-data/calve/lake"
)

type planCommand struct {
	selectionFlags
	sinceFlags

	JSON bool `help:"Print the plan as one line of JSON."`
}

// Help is the long help text.
func (planCommand) Help() string {
	return `Shows the window, the snapshot the plan is made on, the files that would be dropped
whole or rewritten, and for a new table its columns and why each has its type. A
table that does not exist is not an error: the plan shows what would be created.

Examples:

    calve plan payments --window 2026-05-04
    calve plan --source 'data/*.csv' --table demo.payments --time-column event_time --window 2026-05-04` +
		codes(0, 1, 2, 10, 14, 75, 130)
}

func (c *planCommand) Run(ctx context.Context, a *app) error {
	s, err := c.resolveIn(a, c.window(c.windowFlags))
	if err != nil {
		return err
	}
	cat, embedded, done, err := c.openToLook(ctx, s.config)
	if err != nil {
		return err
	}
	defer done()
	src, err := arrowio.New(s.source, cat.Files())
	if err != nil {
		return err
	}
	loader := lake.Loader{Catalog: cat, Memory: int64(c.Memory), Timeout: c.Timeout, Version: programVersion()}
	if embedded || c.CreateNamespace {
		loader.Catalog = namespaceToCome{cat}
	}
	if err := c.since(ctx, a.stderr, c.windowFlags, &s, &loader); err != nil {
		return err
	}
	if s.window.IsZero() {
		return usage("nothing is left to load: the watermark is not before %s", c.To)
	}
	plan, err := loader.Plan(ctx, s.load, src, s.window)
	if err != nil {
		return err
	}
	if c.JSON {
		a.answers(planAnswer(plan))
		return nil
	}
	return printPlan(a.stdout, plan, cmp.Or(s.load.Cursor, s.load.TimeColumn))
}

// printPlan prints a plan for people.
func printPlan(w io.Writer, p *lake.Plan, timeColumn string) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "table\t%s\n", tableText(p.Table, p.Branch))
	fmt.Fprintf(out, "window\t%s on %s\n", p.Window, timeColumn)
	reading := "the window's rows are selected"
	if p.Origin.Exact {
		reading = "claims to be exactly the window"
	}
	fmt.Fprintf(out, "source\t%s; %s\n", originLine(p.Origin), reading)
	for _, name := range p.Origin.Names {
		fmt.Fprintf(out, "\t%s\n", name)
	}
	if more := p.Origin.Files - len(p.Origin.Names); more > 0 {
		fmt.Fprintf(out, "\t… and %s more\n", humanize.Comma(int64(more)))
	}
	fmt.Fprintf(out, "partitions\t%s\n", listOr(p.PartitionFields, "none"))
	switch {
	case p.Creates:
		fmt.Fprintf(out, "base\tnone: the table does not exist and would be created\n")
		if p.Location != "" {
			fmt.Fprintf(out, "location\t%s\n", p.Location)
		}
	case p.BaseSnapshotID == 0:
		fmt.Fprintf(out, "base\tnone: the table is empty\n")
	default:
		fmt.Fprintf(out, "base\t%d\n", p.BaseSnapshotID)
		fmt.Fprintf(out, "manifests\t%s, %s can hold rows of the window\n", humanize.Comma(int64(p.Manifests)), humanize.Comma(int64(p.Opened)))
	}
	switch {
	case p.Creates:
	case p.Mode == lake.Merge, p.Mode == lake.Append:
		fmt.Fprintf(out, "searched\t%s at most: those that hold keys of the source, by their bounds\n", filesLine(p.Searched))
	default:
		fmt.Fprintf(out, "inside\t%s: dropped whole\n", filesLine(p.Inside))
		fmt.Fprintf(out, "straddling\t%s: rewritten without the window's rows\n", filesLine(p.Straddling))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if err := printPlannedFiles(w, "inside", p.Inside); err != nil {
		return err
	}
	if err := printPlannedFiles(w, "straddling", p.Straddling); err != nil {
		return err
	}
	if err := printPlannedColumns(w, p); err != nil {
		return err
	}
	return printWarnings(w, p.Warnings)
}

// printWarnings prints what users of other engines should know.
func printWarnings(w io.Writer, warnings []lake.Warning) error {
	head := "\nother engines:\n"
	for _, warning := range warnings {
		if _, err := fmt.Fprintf(w, "%s  %s\n", head, warning); err != nil {
			return err
		}
		head = ""
	}
	return nil
}

func printPlannedFiles(w io.Writer, what string, files []lake.PlannedFile) error {
	if len(files) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\n%s:\n", what)
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range files {
		fmt.Fprintf(out, "  %s\t%s\t%s\t%s\n", orDash(f.Partition), plural(f.Rows, "row"), humanize.IBytes(uint64(f.Bytes)), f.Path)
	}
	return out.Flush()
}

// printPlannedColumns prints the columns that the load would bring, widen or
// leave out.
func printPlannedColumns(w io.Writer, p *lake.Plan) error {
	if err := printAddedColumns(w, p); err != nil {
		return err
	}
	if err := printWidenedColumns(w, p); err != nil {
		return err
	}
	if len(p.Ignored) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nignored: %s, which the table lacks\n", quoted(p.Ignored))
	return err
}

func printWidenedColumns(w io.Writer, p *lake.Plan) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := "\ncolumns to widen:\n"
	for _, c := range p.Columns {
		if c.Was != "" {
			fmt.Fprintf(out, "%s  %s\t%s to %s\t%s\n", head, c.Name, c.Was, c.Type, c.Why)
			head = ""
		}
	}
	return out.Flush()
}

func printAddedColumns(w io.Writer, p *lake.Plan) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := "\ncolumns to add:\n"
	if p.Creates {
		head = "\ncolumns:\n"
	}
	for _, c := range p.Columns {
		if c.Added {
			fmt.Fprintf(out, "%s  %s\t%s\t%s\n", head, c.Name, c.Type, whyText(c.Why))
			head = ""
		}
	}
	return out.Flush()
}

// whyText is the reason for a type as a part of a sentence: a value with its
// place (quoted, but for numbers and the like of JSON), or already one.
func whyText(why string) string {
	if strings.Contains(why, " at ") && !strings.HasPrefix(why, "as ") {
		return "because of " + why
	}
	return why
}

// planned is a plan as machines read it.
type planned struct {
	Load           string             `json:"load"`
	Mode           lake.Mode          `json:"mode"`
	Table          string             `json:"table"`
	Branch         string             `json:"branch"`
	Window         *lake.WindowJSON   `json:"window"`
	Creates        bool               `json:"creates"`
	Location       string             `json:"location"`
	BaseSnapshotID string             `json:"base_snapshot_id,omitempty"`
	Source         plannedSource      `json:"source"`
	PartitionBy    []string           `json:"partition_by"`
	Columns        []plannedColumn    `json:"columns"`
	Ignored        []string           `json:"ignored_columns,omitempty"`
	Manifests      plannedManifests   `json:"manifests"`
	Inside         []plannedFile      `json:"inside"`
	Straddling     []plannedFile      `json:"straddling"`
	Searched       []plannedFile      `json:"searched,omitempty"`
	Warnings       []lake.Warning     `json:"warnings"`
	Error          *lake.ReceiptError `json:"error"`
}

type plannedSource struct {
	Kind        string   `json:"kind"`
	Files       int      `json:"files"`
	Names       []string `json:"names"`
	Bytes       int64    `json:"bytes"`
	Fingerprint string   `json:"fingerprint"`
	Exact       bool     `json:"exact"`
}

type plannedColumn struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Added bool   `json:"added"`
	Was   string `json:"was,omitempty"`
	Why   string `json:"why,omitempty"`
}

type plannedManifests struct {
	Total  int `json:"total"`
	Opened int `json:"opened"`
}

type plannedFile struct {
	Path      string `json:"path"`
	Partition string `json:"partition"`
	Rows      int64  `json:"rows"`
	Bytes     int64  `json:"bytes"`
}

func planAnswer(p *lake.Plan) planned {
	v := planned{
		Load: p.Load, Mode: p.Mode, Table: p.Table, Branch: p.Branch,
		Window: p.Window.JSON(), Creates: p.Creates, Location: p.Location,
		Source: plannedSource{
			Kind: p.Origin.Kind, Files: p.Origin.Files, Names: filled(p.Origin.Names),
			Bytes: p.Origin.Bytes, Fingerprint: p.Origin.Fingerprint, Exact: p.Origin.Exact,
		},
		PartitionBy: filled(p.PartitionFields),
		Columns:     []plannedColumn{},
		Ignored:     p.Ignored,
		Manifests:   plannedManifests{p.Manifests, p.Opened},
		Inside:      plannedFiles(p.Inside), Straddling: plannedFiles(p.Straddling), Searched: plannedFiles(p.Searched),
		Warnings: append([]lake.Warning{}, p.Warnings...),
	}
	if p.BaseSnapshotID != 0 {
		v.BaseSnapshotID = strconv.FormatInt(p.BaseSnapshotID, 10)
	}
	for _, c := range p.Columns {
		v.Columns = append(v.Columns, plannedColumn(c))
	}
	return v
}

func plannedFiles(files []lake.PlannedFile) []plannedFile {
	list := make([]plannedFile, len(files))
	for i, f := range files {
		list[i] = plannedFile(f)
	}
	return list
}

// filled is list, or an empty list rather than none: [] in JSON, not null.
func filled(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func (p planned) ended(f failure) any {
	if f.code != 0 {
		p.Error = &f.ReceiptError
	}
	return p
}
