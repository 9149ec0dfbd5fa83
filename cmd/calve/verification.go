package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
)

// printVerification prints a comparison for people.
func printVerification(w io.Writer, v *lake.Verification) error {
	result := "equal"
	if !v.Equal() {
		result = "different"
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "%s\t%s %s", result, tableText(v.Table, v.Branch), v.Window)
	if v.SnapshotID != 0 {
		fmt.Fprintf(out, " at snapshot %d", v.SnapshotID)
	}
	fmt.Fprintln(out)
	for i, s := range v.Sides {
		fmt.Fprintf(out, "%s\t%s", s.Name, s.Digest)
		if i == 0 {
			fmt.Fprintf(out, "  %s", originLine(v.Origin))
		}
		fmt.Fprintln(out)
	}
	if l := v.Loaded; l != nil {
		digest := "no digest"
		if l.Digest != nil {
			digest = l.Digest.String()
		}
		fmt.Fprintf(out, "loaded\t%s  snapshot %d of %s", digest, l.SnapshotID, l.At.Format("2006-01-02 15:04:05Z"))
		if l.Run != "" {
			fmt.Fprintf(out, ", run %s", printable(l.Run))
		}
		fmt.Fprintln(out)
	}
	for _, why := range v.Causes {
		fmt.Fprintf(out, "because\t%s\n", why)
	}
	if err := out.Flush(); err != nil || v.Equal() {
		return err
	}
	return printDifference(w, v.Difference)
}

func printDifference(w io.Writer, d *lake.Difference) error {
	if err := printOnly(w, d.Source, d.OnlySource); err != nil {
		return err
	}
	if err := printOnly(w, d.Other, d.OnlyOther); err != nil || len(d.Columns) == 0 {
		return err
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "\ncolumn\t%s\t%s\n", d.Source, d.Other)
	for _, c := range d.Columns {
		fmt.Fprintf(out, "%s\t%s\t%s\n", printable(c.Name), sumText(c.Source), sumText(c.Other))
	}
	return out.Flush()
}

func sumText(s lake.ColumnSum) string {
	text := plural(s.Values, "value")
	if s.Sum != "" {
		text += ", sum " + s.Sum
	}
	return text
}

// printOnly prints rows that only one side has, as JSON: a value is then never
// mistaken for another, as NULL for a text.
func printOnly(w io.Writer, side string, rows lake.DifferingRows) error {
	atLeast, shown := "", int64(0)
	if rows.AtLeast {
		atLeast = "at least "
	}
	if _, err := fmt.Fprintf(w, "\nonly in the %s: %s%s\n", side, atLeast, plural(rows.Count, "row")); err != nil {
		return err
	}
	for _, line := range jsonLines(rows.Rows) {
		if _, err := fmt.Fprintf(w, "  %s\n", line); err != nil {
			return err
		}
		shown++
	}
	if more := rows.Count - shown; more > 0 && shown > 0 {
		_, err := fmt.Fprintf(w, "  … and %s%s more\n", atLeast, strconv.FormatInt(more, 10))
		return err
	}
	return nil
}

// jsonLines are rows as JSON objects.
func jsonLines(batches []arrow.RecordBatch) (lines []string) {
	var text strings.Builder
	for _, b := range batches {
		fields := b.Schema().Fields()
		p := printer{fields: fields, names: quotedNames(fields), out: bufio.NewWriter(&text)}
		if p.jsonRows(b, b.NumRows()) == nil {
			_ = p.out.Flush() // to memory
		}
	}
	for line := range strings.Lines(text.String()) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return lines
}

// verifyAnswer is a comparison as machines read it.
type verifyAnswer struct {
	Outcome    string             `json:"outcome"`
	Load       string             `json:"load"`
	Table      string             `json:"table"`
	Branch     string             `json:"branch,omitempty"`
	Window     *lake.WindowJSON   `json:"window"`
	SnapshotID string             `json:"snapshot_id"`
	Sides      []verifiedSide     `json:"sides"`
	Loaded     *verifiedLoad      `json:"loaded"`
	Causes     []string           `json:"causes"`
	Difference *verifiedDiff      `json:"difference"`
	Seconds    float64            `json:"seconds"`
	Error      *lake.ReceiptError `json:"error"`
}

type verifiedSide struct {
	Name   string      `json:"name"`
	Rows   int64       `json:"rows"`
	Digest lake.Digest `json:"digest"`
}

type verifiedLoad struct {
	SnapshotID   string       `json:"snapshot_id"`
	At           string       `json:"at"`
	Run          string       `json:"run,omitempty"`
	Digest       *lake.Digest `json:"digest"`
	SameSource   bool         `json:"same_source"`
	SameSettings bool         `json:"same_settings"`
}

type verifiedDiff struct {
	Only    [2]verifiedRows  `json:"only"`
	Columns []verifiedColumn `json:"columns"`
}

type verifiedRows struct {
	Side    string            `json:"side"`
	Count   int64             `json:"count"`
	AtLeast bool              `json:"at_least"`
	Rows    []json.RawMessage `json:"rows"`
}

type verifiedColumn struct {
	Name string         `json:"name"`
	Sums [2]verifiedSum `json:"sums"`
}

type verifiedSum struct {
	Values int64   `json:"values"`
	Sum    *string `json:"sum"`
}

func verificationAnswer(v *lake.Verification) verifyAnswer {
	out := verifyAnswer{
		Outcome: "equal", Load: v.Load, Table: v.Table, Branch: v.Branch, Window: v.Window.JSON(),
		Causes: filled(v.Causes), Seconds: v.Seconds,
	}
	if v.SnapshotID != 0 {
		out.SnapshotID = strconv.FormatInt(v.SnapshotID, 10)
	}
	for _, s := range v.Sides {
		out.Sides = append(out.Sides, verifiedSide{s.Name, s.Digest.Rows, s.Digest})
	}
	if l := v.Loaded; l != nil {
		out.Loaded = &verifiedLoad{
			SnapshotID: strconv.FormatInt(l.SnapshotID, 10), At: l.At.Format(time.RFC3339Nano), Run: l.Run,
			Digest: l.Digest, SameSource: l.SameSource, SameSettings: l.SameSettings,
		}
	}
	if d := v.Difference; d != nil {
		out.Outcome, out.Difference = "different", differenceAnswer(d)
	}
	return out
}

func differenceAnswer(d *lake.Difference) *verifiedDiff {
	out := &verifiedDiff{
		Only:    [2]verifiedRows{onlyAnswer(d.Source, d.OnlySource), onlyAnswer(d.Other, d.OnlyOther)},
		Columns: []verifiedColumn{},
	}
	for _, c := range d.Columns {
		out.Columns = append(out.Columns, verifiedColumn{c.Name, [2]verifiedSum{sumAnswer(c.Source), sumAnswer(c.Other)}})
	}
	return out
}

func onlyAnswer(side string, rows lake.DifferingRows) verifiedRows {
	out := verifiedRows{Side: side, Count: rows.Count, AtLeast: rows.AtLeast, Rows: []json.RawMessage{}}
	for _, line := range jsonLines(rows.Rows) {
		out.Rows = append(out.Rows, json.RawMessage(line))
	}
	return out
}

func sumAnswer(s lake.ColumnSum) verifiedSum {
	if s.Sum == "" {
		return verifiedSum{Values: s.Values}
	}
	return verifiedSum{s.Values, &s.Sum}
}

func (v verifyAnswer) ended(f failure) any {
	if v.Sides == nil {
		v.Sides, v.Causes = []verifiedSide{}, []string{}
	}
	if f.code != 0 {
		v.Error = &f.ReceiptError
		if v.Outcome == "" {
			v.Outcome = string(f.outcome)
		}
	}
	return v
}
