package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
)

// checkIDs are the IDs of all findings with their severities, sorted.
func checkIDs() []string {
	ids := lake.TableCheckIDs()
	for _, r := range loadChecks {
		ids = append(ids, r.id)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Each finding has a page and each page a finding, and the index lists them.
func TestCheckPages(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "checks")
	files, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	for _, file := range files {
		if id := strings.TrimSuffix(filepath.Base(file), ".md"); id != "README" {
			pages = append(pages, id)
		}
	}
	if diff := cmp.Diff(checkIDs(), pages); diff != "" {
		t.Errorf("findings and pages (-findings +pages):\n%s", diff)
	}
	index, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^\| \[([a-z-]+)\]\(([a-z-]+)\.md\) \| (unsafe|warn|note) \| \S`).FindAllStringSubmatch(string(index), -1) {
		listed = append(listed, m[1])
		page, err := os.ReadFile(filepath.Join(dir, m[2]+".md"))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(page, []byte("\n")); n < 15 || n > 30 {
			t.Errorf("the page of %s has %d lines", m[1], n)
		}
		if !bytes.Contains(page, []byte("`"+m[1]+"`, "+m[3]+".\n")) {
			t.Errorf("the page of %s does not say that it is %s, as the index does", m[1], m[3])
		}
	}
	slices.Sort(listed)
	if diff := cmp.Diff(checkIDs(), listed); diff != "" {
		t.Errorf("findings and index (-findings +index):\n%s", diff)
	}
	for _, r := range loadChecks {
		page, _ := os.ReadFile(filepath.Join(dir, r.id+".md"))
		if !bytes.Contains(page, []byte(", "+string(r.severity)+".\n")) {
			t.Errorf("%s is %s, and its page says otherwise", r.id, r.severity)
		}
	}
}

// checked runs calve check on a load of calve.yaml and returns what it found.
func checked(t *testing.T, yaml string, args ...string) map[string]lake.Severity {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("calve.yaml", []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), append([]string{"check", "l", "--json"}, args...), nil, &stdout, &stderr)
	var answer checkAnswer
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil || answer.Outcome != "safe" && answer.Outcome != "unsafe" {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout.String(), stderr.String())
	}
	found := map[string]lake.Severity{}
	for _, f := range answer.Findings {
		if f.Message == "" || f.Advice == "" || f.Page != pageOf(f.ID) {
			t.Errorf("a finding that does not say enough: %+v", f)
		}
		found[f.ID] = f.Severity
	}
	if unsafe := slices.Contains(slices.Collect(maps.Values(found)), lake.Unsafe); (code == 13) != unsafe || code != 13 && code != 0 {
		t.Errorf("exit code %d for %v", code, found)
	}
	return found
}

// loadYAML is a calve.yaml with one load that has these lines, and whatever
// stands before.
func loadYAML(before string, lines ...string) string {
	return before + "loads:\n  l:\n    table: a.b\n    time_column: at\n    " + strings.Join(lines, "\n    ") + "\n"
}

func TestCheckFindings(t *testing.T) {
	path := func(p, more string) string { return `source: {path: "` + p + `"` + more + `}` }
	days := path("in/{day:%Y/%m/%d}/*.csv", "")
	of := func(lines ...string) string { return loadYAML("", lines...) }
	other := "  m: {table: a.b, time_column: at, source: {path: x.csv}, scope: {region: us}}\n"
	merge := func(key, version string, lines ...string) string {
		return of(append([]string{days, "mode: merge", "key: " + key, "version: " + version}, lines...)...)
	}
	appends := func(lines ...string) string { return of(append([]string{days, "mode: append"}, lines...)...) }
	cases := map[string]struct {
		has, lacks string
		args       []string
	}{
		"search-moves":    {has: merge("id", "seq", "cursor: updated", "search: partitions(month(updated))"), lacks: merge("id", "seq", "cursor: updated", "search: partitions(month(made))")},
		"no-look-back":    {has: appends("event_id: id"), lacks: appends("event_id: id", "look_back: 0")},
		"id-of-loading":   {has: appends("event_id: {hash_of: [type, Received_At]}"), lacks: appends("event_id: {hash_of: [type, at]}", "columns: {received_at: {volatile: true}}")},
		"coarse-version":  {has: merge("id", "day", "columns: {day: {type: date}}"), lacks: merge("id", "[day, seq]", "columns: {day: {type: date}}")},
		"null-keys":       {has: merge("id", "seq", "null_keys: match"), lacks: merge("[shop, id]", "seq", "null_keys: match")},
		"no-overlap":      {has: merge("id", "seq", "cursor: updated"), lacks: merge("id", "seq", "cursor: updated", "overlap: 0")},
		"hard-deletes":    {has: merge("id", "seq", "deletes: hard", "delete_when: op = 'D'"), lacks: merge("id", "seq", "deletes: soft", "delete_when: op = 'D'")},
		"search-trusts":   {has: merge("id", "seq", "search: partitions(day(at))"), lacks: merge("id", "seq", "search: partitions(bucket(4, ID))")},
		"moving-rows":     {has: merge("id", "at"), lacks: merge("id", "at", "partition_by: [month(made)]")},
		"claim":           {has: of(path("a.csv", "")) + other, lacks: of(path("a.csv", ""), "scope: {region: eu}") + other},
		"late-rows":       {has: of(days), lacks: of(path("in/{day:%Y/%m/%d}/*.csv", ", arrival: {after: 0}"))},
		"outside-dropped": {has: of(days, "outside: drop"), lacks: of(days)},
		"empty-clears":    {has: of(path("in/*.csv", ""), "on_empty: clear"), lacks: of(path("in/a.csv", ""), "on_empty: clear")},
		"folders-zone": {
			has:   of(path("in/{day:%Y/%m/%d}/*.csv", ", arrival: {after: 2d}"), "columns: {at: {timezone: Europe/Berlin}}"),
			lacks: of(path("in/{day:%Y/%m/%d}/*.csv", ", arrival: {after: 2d}, path_timezone: Europe/Berlin"), "columns: {at: {timezone: Europe/Berlin}}"),
		},
		"zoneless-times":        {has: of(days, `columns: {at: {format: "%F %T"}}`), lacks: of(days, `columns: {at: {format: "%F %T", timezone: Europe/Berlin}}`)},
		"empty-skips":           {has: of(days, "on_empty: skip"), lacks: of(days)},
		"naive-windows":         {has: of(days, "columns: {at: {type: timestamp}}"), lacks: of(days, "columns: {at: {type: timestamptz}}")},
		"path-without-template": {has: of(path("in/*.csv", "")), lacks: of(days)},
		"template-coarser":      {has: of(path("in/{month:%Y%m}.csv", "")), lacks: of(path("in/{month:%Y%m}.csv", ""), "partition_by: [month(at)]")},
		"undeclared-types":      {has: of(days), lacks: of(days, "only_listed: true", "columns: {at: {type: timestamptz}, id: {type: long}}")},
		"evolve-by-text":        {has: of(days, "schema: evolve"), lacks: of(path("in/{day:%Y/%m/%d}/*.parquet", ""), "schema: evolve")},
		"undeclared-volatile":   {has: of(days, "columns: {loaded_at: {}}"), lacks: of(days, "columns: {loaded_at: {volatile: true}}")},
		"embedded-catalog":      {has: of(days)},
		// Rules of lake on a table that does not exist yet.
		"identity-time-partition": {has: of(days, "partition_by: [at]"), lacks: of(days, "partition_by: [at]", "columns: {at: {type: date}}")},
		"no-time-partition":       {has: of(days, `partition_by: ["bucket(4, id)"]`), lacks: of(days)},
		"source-missing":          {has: of(path("in/*.csv", "")), lacks: of(path("calve.yaml", ", type: csv")), args: []string{"--window", "2026-05-04"}},
	}
	for id, tc := range cases {
		t.Run(id, func(t *testing.T) {
			if found := checked(t, tc.has, tc.args...); found[id] == "" {
				t.Errorf("found %v", found)
			}
			if tc.lacks == "" {
				return
			}
			if found := checked(t, tc.lacks, tc.args...); found[id] != "" {
				t.Errorf("found without reason: %v", found)
			}
		})
	}
	for _, r := range loadChecks {
		if _, ok := cases[r.id]; !ok && !slices.Contains([]string{"local-warehouse", "glue-endpoint"}, r.id) {
			t.Errorf("%s has no case", r.id)
		}
	}
	for _, tc := range []struct{ why, id, yaml string }{
		{"an id with the windows' time", "no-look-back", appends("event_id: {hash_of: [type, at]}")},
		{"ties are errors", "coarse-version", merge("id", "day", "on_equal: error", "columns: {day: {type: date}}")},
		{"not a date", "coarse-version", merge("id", "day", "columns: {day: {type: timestamptz}}")},
		{"the cursor is the time column", "no-overlap", of(days, "cursor: at")},
		{"a search that is worse", "search-trusts", merge("id", "seq", "search: partitions(seq)")},
		{"an append", "moving-rows", appends("event_id: id", "cursor: at")},
		{"a merge", "no-time-partition", merge("id", "seq", "partition_by: [month(made)]")},
		{"files are not counted", "empty-clears", of(path("in/*.csv", ""), "mode: append", "event_id: id", "on_empty: clear")},
		{"a column of the key", "undeclared-volatile", merge("batch_id", "seq", "columns: {batch_id: {}}")},
	} {
		if found := checked(t, tc.yaml); found[tc.id] != "" {
			t.Errorf("%s is found in spite of %s", tc.id, tc.why)
		}
	}
	if found := checked(t, appends("event_id: id", "on_empty: clear")); found["empty-clears"] == "" {
		t.Error("a window of mode append whose files are missing is not found")
	}
	longer := of(path("in/{day:%Y%m%d}.csv", ""), "partition_by: [hour(at)]")
	if found := checked(t, longer); found["template-coarser"] == "" {
		t.Error("days are not found coarser than hours")
	}
	if found := checked(t, of(days), "--window", "2026-05-04T10"); found["template-coarser"] == "" {
		t.Error("days are not found coarser than an hour's window")
	}
}

// Rules on catalogs of other machines, which need none to be asked.
func TestCheckCatalogs(t *testing.T) {
	for _, tc := range []struct {
		cfg  catalog.Config
		want [3]bool // local-warehouse, glue-endpoint, embedded-catalog
	}{
		{catalog.Config{}, [3]bool{false, false, true}},
		{catalog.Config{Type: "sql", URI: "file:/x/catalog.db", Warehouse: "s3://lake"}, [3]bool{false, false, true}},
		{catalog.Config{Type: "sql", URI: "postgres://db/lake", Warehouse: "/var/lake"}, [3]bool{true, false, false}},
		{catalog.Config{Type: "sql", URI: "postgres://db/lake", Warehouse: "s3://lake"}, [3]bool{}},
		{catalog.Config{Type: "rest", URI: "http://x", Warehouse: "file:///var/lake"}, [3]bool{true, false, false}},
		{catalog.Config{Type: "rest", URI: "http://x", Warehouse: "lake"}, [3]bool{}},
		{catalog.Config{Type: "glue", Warehouse: "s3://lake"}, [3]bool{}},
		{catalog.Config{Type: "glue", URI: "http://127.0.0.1:1", Warehouse: "s3://lake"}, [3]bool{false, true, false}},
	} {
		reached, err := tc.cfg.Reach()
		if err != nil {
			t.Fatal(err)
		}
		c := checkedLoad{Checked: &lake.Checked{}, reached: reached}
		got := [3]bool{c.keepsFilesLocally() != "", c.asksStandIn() != "", c.isOfOneMachine() != ""}
		if got != tc.want {
			t.Errorf("%+v: %v, want %v", tc.cfg, got, tc.want)
		}
	}
}
