package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/arrowio"
	"github.com/calve-data/calve/lake"
)

func parseLoad(t *testing.T, args ...string) *loadCommand {
	t.Helper()
	var cmds commands
	parser, err := kong.New(&cmds)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(append([]string{"load"}, args...)); err != nil {
		t.Fatal(err)
	}
	return &cmds.Load
}

func TestWindowFlags(t *testing.T) {
	day := "[2026-05-04T00:00:00, 2026-05-05T00:00:00)"
	utc := "[2026-05-04T00:00:00Z, 2026-05-05T00:00:00Z)"
	for _, tc := range []struct{ args, want string }{
		{"--window=2026-05-04", day},
		{"--window=2026-05-04/P1D", day},
		{"--window=2026-05-04/2026-05-05", day},
		{"--window=2026-05-04T10", "[2026-05-04T10:00:00, 2026-05-04T11:00:00)"},
		{"--window=2026-05", "[2026-05-01T00:00:00, 2026-06-01T00:00:00)"},
		{"--from=2026-05-04 --to=2026-05-05", day},
		{"--from=2026-05-04T00:00:00+00:00 --to=2026-05-05T00:00:00+00:00", utc},
		{"--from=2026-05-04_00:00:00+00:00 --to=2026-05-05_00:00:00+00:00", utc},
		{"--from=2026-05-04T02:00:00+02:00 --to=2026-05-05T00:00:00Z", utc},

		{"", "no window given"},
		{"--window=2026-05-04 --from=2026-05-04", "two ways to say the same"},
		{"--from=2026-05-04", "--from without --to"},
		{"--to=2026-05-04", "--to without --from"},
		{"--from=2026-05-04 --to=2026-05-04", "CronDataIntervalTimetable"},
		{"--from=2026-05-05 --to=2026-05-04", "ends before it begins"},
		{"--window=yesterday", "is not a window"},
		{"--window=2026-05-04 --timezone=Mars/Olympus", `"Mars/Olympus" is not a zone`},
	} {
		args := strings.Fields(tc.args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "_", " ")
		}
		w, _, err := parseLoad(t, args...).required()
		got := w.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s, want %s", tc.args, got, tc.want)
		}
	}
}

const oneLoad = `
loads:
  payments:
    table: analytics.payments
    time_column: event_time
    partition_by: [day(event_time), bucket(16, id)]
    source: {type: csv, path: data/*.csv, null: [NA], delimiter: ";"}
    columns: {amount: {type: "decimal(18,2)"}, event_time: {timezone: Europe/Berlin}}
    scope: {region: eu}
    schema: evolve
    on_empty: skip
    outside: error
    branch: audit
`

func resolved(t *testing.T, yaml string, args ...string) (selection, error) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	if yaml != "" {
		if err := writeByRename("calve.yaml", []byte(yaml)); err != nil {
			t.Fatal(err)
		}
	}
	return parseLoad(t, args...).resolve(newApp(nil, &bytes.Buffer{}, &bytes.Buffer{}))
}

func TestSelectionFromTheFile(t *testing.T) {
	s, err := resolved(t, oneLoad, "payments", "--window=2026-05-04")
	if err != nil {
		t.Fatal(err)
	}
	want := lake.Load{
		Name: "payments", Table: []string{"analytics", "payments"}, Branch: "audit", TimeColumn: "event_time",
		Scope: map[string]string{"region": "eu"}, PartitionBy: []string{"day(event_time)", "bucket(16, id)"},
		Schema: lake.Evolve, OnEmpty: lake.SkipEmpty, Outside: lake.ErrorOutside,
	}
	other, err := resolved(t, oneLoad, "payments", "--window=2026-05-04", "--null=x")
	if err != nil {
		t.Fatal(err)
	}
	if s.load.Settings == "" || other.load.Settings == s.load.Settings {
		t.Errorf("settings %q, and with another NULL %q", s.load.Settings, other.load.Settings)
	}
	s.load.Settings = ""
	if diff := cmp.Diff(want, s.load); diff != "" {
		t.Error(diff)
	}
	c := s.source
	if c.Type != "csv" || c.Path != "data/*.csv" || c.Delimiter != ";" || len(c.Null) != 1 || c.Columns["event_time"].Zone.String() != "Europe/Berlin" {
		t.Errorf("source = %+v", c)
	}
	if len(c.Types) != 1 || !arrow.TypeEqual(c.Types["amount"], &arrow.Decimal128Type{Precision: 18, Scale: 2}) {
		t.Errorf("types = %v", c.Types)
	}
}

func TestColumnsFromTheFile(t *testing.T) {
	s, err := resolved(t, `
loads:
  a:
    table: x.y
    time_column: at
    only_listed: true
    source: {path: x.csv, header: [Zeit, n, c], numbers: "1.234,56", max_line: 1MiB}
    columns:
      at: {from: Zeit, format: "%d.%m.%Y %H:%M", timezone: Europe/Berlin, fold: later}
      n: {type: long, default: 0}
      c: {volatile: true, default: ""}
`, "a", "--window=2026-05-04", "--column=at=timestamptz")
	if err != nil {
		t.Fatal(err)
	}
	c := s.source
	at := c.Columns["Zeit"]
	if at.Zone.String() != "Europe/Berlin" || at.Fold != arrowio.LaterFold || at.Format != "%d.%m.%Y %H:%M" || at.Default != nil {
		t.Errorf("Zeit = %+v", at)
	}
	if *c.Columns["n"].Default != "0" || *c.Columns["c"].Default != "" {
		t.Errorf("defaults: %+v", c.Columns)
	}
	if !c.OnlyListed || !c.NoHeader || !cmp.Equal(c.Header, []string{"Zeit", "n", "c"}) || c.Numbers != "1.234,56" || c.MaxLine != 1<<20 {
		t.Errorf("source = %+v", c)
	}
	if !cmp.Equal(c.Rename, map[string]string{"Zeit": "at"}) || c.Types["Zeit"] == nil || !cmp.Equal(s.load.Volatile, []string{"c"}) {
		t.Errorf("source = %+v, volatile %v", c, s.load.Volatile)
	}
	for header, want := range map[string]bool{"": false, "header: true": false, "header: false": true} {
		s, err := resolved(t, "loads: {a: {table: x.y, time_column: at, source: {path: x.csv, "+header+"}}}", "a", "--window=2026-05-04")
		if err != nil || s.source.NoHeader != want || s.source.Header != nil {
			t.Errorf("%s: %+v, %v", header, s.source, err)
		}
	}
}

func TestFlagsOverrideTheFile(t *testing.T) {
	s, err := resolved(t, oneLoad, "payments", "--window=2026-05-04", "--timezone=Europe/Berlin",
		"--table=x.y", "--time-column=at", "--source=other.parquet", "--type=parquet", "--null=", "--null=-",
		"--delimiter=\\t", "--partition-by=day(at),bucket(4, id)", "--partition-by=region", "--scope=kind=a=b", "--scope=n=1,2;3",
		"--schema=strict", "--allow-empty", "--outside=drop", "--branch=main", "--column=amount=long")
	if err != nil {
		t.Fatal(err)
	}
	berlin, _ := time.LoadLocation("Europe/Berlin")
	want := lake.Load{
		Name: "payments", Table: []string{"x", "y"}, Branch: "main", TimeColumn: "at", Zone: berlin,
		Scope:       map[string]string{"region": "eu", "kind": "a=b", "n": "1,2;3"},
		PartitionBy: []string{"day(at)", "bucket(4, id)", "region"},
		Schema:      lake.Strict, OnEmpty: lake.ClearEmpty, Outside: lake.DropOutside,
	}
	if diff := cmp.Diff(want, s.load, cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() })); diff != "" {
		t.Error(diff)
	}
	if c := s.source; c.Type != "parquet" || c.Path != "other.parquet" || c.Delimiter != "\t" || !cmp.Equal(c.Null, []string{"", "-"}) ||
		!arrow.TypeEqual(c.Types["amount"], arrow.PrimitiveTypes.Int64) {
		t.Errorf("source = %+v", c)
	}
}

func TestSelectionMistakes(t *testing.T) {
	flags := []string{"--source=x.csv", "--table=a.b", "--time-column=t", "--window=2026-05-04"}
	with := func(more ...string) []string { return append(append([]string{}, flags...), more...) }
	for _, tc := range []struct {
		name, yaml string
		args       []string
		want       string
	}{
		{"no file", "", []string{"payments"}, "there is no calve.yaml here"},
		{"no such load", oneLoad, []string{"payment"}, `no load "payment"; did you mean "payments"?`},
		{"which load", oneLoad, nil, "which load? calve.yaml has: payments"},
		{"nothing", "", nil, "missing --source, --table, --time-column"},
		{"one missing", "", []string{"--source=x.csv", "--table=a.b"}, "missing --time-column"},
		{"missing in the file", "loads: {a: {table: x.y}}", []string{"a"}, "loads.a lacks source.path, time_column"},
		{"no namespace", "", []string{"--source=x.csv", "--table=b", "--time-column=t"}, `table "b" needs a namespace and a name`},
		{"contradiction", "", with("--allow-empty", "--on-empty=skip"), "contradict"},
		{"no type", "", with("--column=a=nonsense"), `type of column "a"`},
		{"no zone", "loads: {a: {columns: {t: {timezone: Mars}}}}", with("a"), `timezone of column "t"`},
		{"zone of this machine", "loads: {a: {columns: {t: {timezone: Local}}}}", with("a"), `timezone of column "t"`},
		{"one column twice", "loads: {a: {columns: {t: {}, u: {from: t}}}}", with("a"), `columns "t" and "u" are both from the source's "t"`},
		{"default time", "loads: {a: {columns: {t: {default: 2026-05-04}}}}", with("a"), "is the time column"},
		{"list without the time", "loads: {a: {only_listed: true, columns: {u: {}}}}", with("a"), `leaves out the column "t"`},
		{"list without the scope", "loads: {a: {only_listed: true, scope: {r: eu}, columns: {t: {}}}}", with("a"), `leaves out the column "r"`},
		{"long line", "loads: {a: {source: {max_line: 2GiB}}}", with("a"), `source.max_line "2GiB"`},
		{"no such file", "", with("--config=other.yaml"), "other.yaml: no such file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := resolved(t, tc.yaml, tc.args...)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("resolve = %v, want %q", err, tc.want)
			}
			if err != nil && !isUsage(err) && !isConfig(err) {
				t.Errorf("resolve: %v has no exit code of its own", err)
			}
		})
	}
}

func TestSplitExpressions(t *testing.T) {
	for _, tc := range []struct{ in, want []string }{
		{[]string{""}, []string{}},
		{[]string{"day(t)"}, []string{"day(t)"}},
		{[]string{"bucket(16, id), day(t) ,region"}, []string{"bucket(16, id)", "day(t)", "region"}},
		{[]string{"a", "b"}, []string{"a", "b"}},
		{[]string{"bucket(16"}, []string{"bucket(16"}}, // for the loader to refuse
	} {
		if diff := cmp.Diff(tc.want, splitExpressions(tc.in)); diff != "" {
			t.Errorf("splitExpressions(%q): %s", tc.in, diff)
		}
	}
}
