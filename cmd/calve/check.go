package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/calve-data/calve/arrowio"
	"github.com/calve-data/calve/lake"
)

type checkCommand struct {
	selectionFlags
	sinceFlags

	Keys       bool   `help:"Also look for keys, or ids of events, that the table holds twice: reads their columns of all rows of the table, within --memory, up to a few times."`
	Strict     bool   `help:"Exit with 13 for warnings, too."`
	JSON       bool   `help:"Print the findings as one line of JSON, the last of stdout, also on failure."`
	ResultFile string `placeholder:"FILE" help:"Write the same line to this file, by rename."`
}

// Help is the long help text.
func (checkCommand) Help() string {
	return `Says whether a load is safe to run again and again: from what calve.yaml and flags say
of it, before it ever ran, and from the table once it exists. With a window it also
looks whether the source has files for it and whether the table's can be replaced;
without, at the window that was loaded last. No row is read, but for --keys, and nothing
written.

What it finds is unsafe (rows would be lost or doubled, or the load is refused so that
they are not), a warning or a note. Each finding has a page in docs/checks.

Examples:

    calve check payments
    calve check payments --window 2026-05-04 --strict     in CI
    calve check orders --keys                              is each key there once?` +
		codes(0, 1, 2, 10, 13, 75, 130)
}

// errUnsafe ends a check that found something unsafe.
var errUnsafe = errors.New("not safe to run again")

func (c *checkCommand) Run(ctx context.Context, a *app) error {
	if c.ResultFile != "" {
		if err := checkWritable(c.ResultFile); err != nil {
			return err
		}
	}
	window := c.parse
	if c.From == watermarkWord {
		window = c.window(c.windowFlags)
	}
	s, err := c.resolveIn(a, window)
	if err != nil {
		return err
	}
	if c.Keys {
		boundHeap(c.Memory)
	}
	answer := checkAnswer{Load: s.load.Name, Table: s.load.TableName(), Window: s.window.JSON(), Findings: []foundAnswer{}}
	a.answers(answer)
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
	if err := c.since(ctx, io.Discard, c.windowFlags, &s, &loader); err != nil {
		return err
	}
	checked, err := loader.Check(ctx, s.load, src, lake.CheckOptions{Window: s.window, TimeType: s.timeType(), Keys: c.Keys})
	if err != nil {
		return err
	}
	found, err := c.all(s, checked)
	if err != nil {
		return err
	}
	answer.Outcome, answer.Exists = "safe", checked.Exists
	for _, f := range found {
		answer.Findings = append(answer.Findings, foundAnswer{f.ID, f.Severity, f.Message, f.Advice, pageOf(f.ID)})
	}
	a.answers(answer)
	if !c.JSON {
		if err := printFindings(a.stdout, found); err != nil {
			return err
		}
	}
	return c.verdict(s.load.TableName(), found)
}

// verdict is the error of a check that found what it must not.
func (c *checkCommand) verdict(name string, found []lake.Finding) error {
	n := tallied(found)
	if n[lake.Unsafe] > 0 || c.Strict && n[lake.Warn] > 0 {
		return fmt.Errorf("load of %s: %s: %w", name, tallyText(n), errUnsafe)
	}
	return nil
}

func tallied(found []lake.Finding) map[lake.Severity]int {
	n := map[lake.Severity]int{}
	for _, f := range found {
		n[f.Severity]++
	}
	return n
}

func tallyText(n map[lake.Severity]int) string {
	return fmt.Sprintf("%d unsafe, %s, %s", n[lake.Unsafe], plural(int64(n[lake.Warn]), "warning"), plural(int64(n[lake.Note]), "note"))
}

// pageOf is the page about a finding.
func pageOf(id string) string { return "docs/checks/" + id + ".md" }

// printFindings prints findings for people.
func printFindings(w io.Writer, found []lake.Finding) error {
	if len(found) == 0 {
		_, err := fmt.Fprintln(w, "safe to run again: nothing found")
		return err
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range found {
		fmt.Fprintf(out, "%s\t%s\n", f.Severity, f.ID)
		for _, line := range append(folded(f.Message), folded("do: "+f.Advice)...) {
			fmt.Fprintf(out, "\t%s\n", printable(line))
		}
	}
	fmt.Fprintf(out, "\n%s; about each: docs/checks\n", tallyText(tallied(found)))
	return out.Flush()
}

// foldedWidth is how long lines of prose are, in bytes, where a word does not
// make them longer.
const foldedWidth = 100

// folded is a text as lines.
func folded(text string) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > foldedWidth {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// checkAnswer is a check as machines read it.
type checkAnswer struct {
	Outcome string           `json:"outcome"`
	Load    string           `json:"load"`
	Table   string           `json:"table"`
	Exists  bool             `json:"exists"`
	Window  *lake.WindowJSON `json:"window"`

	Findings []foundAnswer      `json:"findings"`
	Error    *lake.ReceiptError `json:"error"`
}

type foundAnswer struct {
	ID       string        `json:"id"`
	Severity lake.Severity `json:"severity"`
	Message  string        `json:"message"`
	Advice   string        `json:"advice"`
	Page     string        `json:"page"`
}

func (c checkAnswer) ended(f failure) any {
	if f.code != 0 {
		c.Outcome, c.Error = string(f.outcome), &f.ReceiptError
	}
	return c
}
