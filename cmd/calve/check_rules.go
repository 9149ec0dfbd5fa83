package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"

	"github.com/calve-data/calve/arrowio"
	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
)

// checkedLoad is what rules look at: what file and flags say, and the table.
type checkedLoad struct {
	selection
	*lake.Checked
	reached catalog.Reached
	// unit is that of the path's template; zero where it has none.
	unit lake.Step
	// overlap is the overlap that is given, sinceWatermark true where the window is
	// to begin at the watermark.
	overlap        string
	sinceWatermark bool
}

// loadCheck is a rule on what file and flags say of a load.
type loadCheck struct {
	id       string
	severity lake.Severity
	// finds says what is so; "" where it is not.
	finds  func(checkedLoad) string
	advice string
}

// loadChecks are the rules on what file and flags say, the worst first.
var loadChecks = slices.Concat([]loadCheck{ //nolint:gochecknoglobals // a table that nobody changes
	{
		"claim", lake.Unsafe, checkedLoad.sharesRows,
		"give each load of the table a scope of its own, or take one of them out of calve.yaml",
	},
	{
		"late-rows", lake.Warn, checkedLoad.losesLateRows,
		"say how late rows arrive, as source.arrival: {after: 2d}, or that none do: {after: 0}",
	},
	{
		"folders-zone", lake.Warn, checkedLoad.foldersOfAnotherZone,
		"say whose days the folders are, as source.path_timezone: Europe/Berlin, or UTC where they are UTC's",
	},
	{
		"outside-dropped", lake.Warn, checkedLoad.dropsOutside,
		"leave outside away, so that a row in a wrong folder is an error, or say with arrival how far rows stray",
	},
	{
		"empty-clears", lake.Warn, checkedLoad.clearsOnEmpty,
		"leave on_empty away, and clear a window by --allow-empty in the one run that means it",
	},
	{
		"zoneless-times", lake.Warn, checkedLoad.lacksZone,
		"say the zone of the times, as columns.NAME.timezone: Europe/Berlin, or read an offset with %z",
	},
	{
		"local-warehouse", lake.Warn, checkedLoad.keepsFilesLocally,
		"put the warehouse into an object store, or a folder that every machine has at the same path",
	},
	{
		"glue-endpoint", lake.Warn, checkedLoad.asksStandIn,
		"use AWS's own Glue for tables that matter",
	},
	{
		"empty-skips", lake.Note, checkedLoad.skipsOnEmpty,
		"look at exit code 99 in the orchestrator, and at calve history --gaps now and then",
	},
	{
		"naive-windows", lake.Note, checkedLoad.readsWallClocks,
		"give --timezone with windows that have an offset, or make the column a timestamptz by columns.NAME.timezone",
	},
	{
		"path-without-template", lake.Note, checkedLoad.readsAll,
		"write the folders' days into source.path, as {day:%Y/%m/%d}, where there are such",
	},
	{
		"template-coarser", lake.Note, checkedLoad.readsMore,
		"use a template as fine as windows and partitions, where the folders are",
	},
	{
		"undeclared-types", lake.Note, checkedLoad.infersTypes,
		"declare types in columns: calve plan shows what would be inferred",
	},
	{
		"evolve-by-text", lake.Note, checkedLoad.evolvesByText,
		"declare types in columns, or use schema: strict and add columns on purpose",
	},
	{
		"undeclared-volatile", lake.Note, checkedLoad.looksVolatile,
		"say columns.NAME.volatile: true where the values differ from run to run",
	},
	{
		"embedded-catalog", lake.Note, checkedLoad.isOfOneMachine,
		"nothing, where all loads run on one machine; else use PostgreSQL or a REST catalog",
	},
}, keyChecks)

// all are the findings on the table and on what file and flags say, each ID
// once, the worst first.
func (c *checkCommand) all(s selection, checked *lake.Checked) ([]lake.Finding, error) {
	cfg, _ := s.config.catalog(c.Warehouse)
	reached, err := cfg.Reach()
	if err != nil {
		return nil, err
	}
	of := checkedLoad{selection: s, Checked: checked, reached: reached, unit: s.source.Unit(), overlap: cmp.Or(c.Overlap, s.told.Overlap), sinceWatermark: c.From == watermarkWord}
	found := slices.Clone(checked.Findings)
	for _, r := range loadChecks {
		known := slices.ContainsFunc(found, func(f lake.Finding) bool { return f.ID == r.id })
		if text := r.finds(of); text != "" && !known {
			found = append(found, lake.Finding{ID: r.id, Severity: r.severity, Message: text, Advice: r.advice})
		}
	}
	order := []lake.Severity{lake.Unsafe, lake.Warn, lake.Note}
	slices.SortStableFunc(found, func(a, b lake.Finding) int {
		return slices.Index(order, a.Severity) - slices.Index(order, b.Severity)
	})
	return found, nil
}

// windowColumn is the column that windows are on.
func (s selection) windowColumn() string { return cmp.Or(s.load.Cursor, s.load.TimeColumn) }

// timeType is the declared type of the windows' column; nil where there is none.
func (s selection) timeType() arrow.DataType {
	name, column := s.timeConfig()
	if t := s.source.Types[column.source(name)]; t != nil {
		return t
	}
	if column.Timezone != "" {
		return arrow.FixedWidthTypes.Timestamp_us
	}
	return nil
}

// timeConfig is what the config says of the windows' column.
func (s selection) timeConfig() (string, columnConfig) {
	for name, column := range s.told.Columns {
		if strings.EqualFold(name, s.windowColumn()) {
			return name, column
		}
	}
	return s.windowColumn(), columnConfig{}
}

func (c checkedLoad) sharesRows() string {
	for _, name := range slices.Sorted(maps.Keys(c.config.Loads)) {
		other := c.config.Loads[name]
		if name != c.load.Name && c.load.Name != "" && other.Table == c.told.Table && !disjoint(other.Scope, c.told.Scope) {
			return fmt.Sprintf("load %q of %s is of the same table, and no scope tells its rows from those of %q: the one that comes second is refused", name, c.config.path, c.load.Name)
		}
	}
	return ""
}

// disjoint reports whether two scopes have no row in common.
func disjoint(a, b map[string]string) bool {
	for column, value := range a {
		for other, text := range b {
			if strings.EqualFold(column, other) && value != text {
				return true
			}
		}
	}
	return false
}

func (c checkedLoad) losesLateRows() string {
	if c.unit.IsZero() || c.told.Source.Arrival != (arrivalConfig{}) {
		return ""
	}
	return "the path has a template, so that only the window's own folders are read: rows of the window that arrive in a later folder are never loaded"
}

// foldersOfAnotherZone is of loads with late rows alone: in others a row in a
// folder of another day is an error.
func (c checkedLoad) foldersOfAnotherZone() string {
	if c.unit.IsZero() || c.told.Source.PathTimezone != "" || c.source.Arrival == (arrowio.Arrival{}) {
		return ""
	}
	windows := "UTC"
	if c.source.PathZone != nil {
		windows = c.source.PathZone.String()
	}
	name, column := c.timeConfig()
	if column.Timezone == "" || column.Timezone == windows {
		return ""
	}
	return fmt.Sprintf("the times of %s are of %s, and the folders are looked for by the days of %s: if they are named by the source's clock, the latest rows of some hours of a window are in a folder that is not read", name, column.Timezone, windows)
}

func (c checkedLoad) dropsOutside() string {
	if c.unit.IsZero() || c.load.Outside != lake.DropOutside {
		return ""
	}
	return "outside: drop leaves out rows in folders of other days than their own, which are then in no window at all"
}

// manyFiles reports whether the path says which files there are only when it is
// looked at.
func (c checkedLoad) manyFiles() bool {
	return !c.unit.IsZero() || strings.ContainsAny(c.source.Path, "*?[")
}

func (c checkedLoad) clearsOnEmpty() string {
	byKeys := c.load.Mode == lake.Merge || c.load.Mode == lake.Append
	switch {
	case c.load.OnEmpty != lake.ClearEmpty, !c.manyFiles(), byKeys && c.unit.IsZero():
		return ""
	case byKeys:
		return "on_empty: clear takes a window for loaded, and moves the watermark, also where a part of its files was not delivered: their rows are missed"
	}
	return "on_empty: clear empties the window where the source has no row for it, also where a part of its files was not delivered"
}

func (c checkedLoad) skipsOnEmpty() string {
	if c.load.OnEmpty != lake.SkipEmpty {
		return ""
	}
	return "on_empty: skip leaves the window as it was where the source is empty or missing, with exit code 99: a file that never comes is a gap"
}

func (c checkedLoad) lacksZone() string {
	name, column := c.timeConfig()
	if column.Format == "" || column.Timezone != "" || strings.Contains(column.Format, "%z") || strings.HasPrefix(column.Format, "unix_") {
		return ""
	}
	typed := c.TimeType
	if typed != nil && !typed.Equals(iceberg.PrimitiveTypes.TimestampTz) {
		return ""
	}
	if typed == nil {
		return fmt.Sprintf("the format of %s has no offset and no timezone is given: a new table gets a timestamp without a zone, whose days begin at other moments than those of UTC", name)
	}
	return fmt.Sprintf("%s is a timestamptz, its format has no offset and no timezone is given: its times are refused", name)
}

func (c checkedLoad) readsWallClocks() string {
	naive := c.TimeType != nil && c.TimeType.Equals(iceberg.PrimitiveTypes.Timestamp)
	if !naive || c.load.Zone != nil {
		return ""
	}
	return fmt.Sprintf("%s is a timestamp without a zone: windows are on its wall clock, an hour of autumn may be there twice, and windows with an offset are refused", c.windowColumn())
}

func (c checkedLoad) readsAll() string {
	if !c.unit.IsZero() {
		return ""
	}
	return "the path has no template: each load lists and reads all files that it matches, whatever the window"
}

func (c checkedLoad) readsMore() string {
	if c.unit.IsZero() {
		return ""
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	switch {
	case !c.Partition.IsZero() && c.unit.After(start).After(c.Partition.After(start)):
		return "the path's template is coarser than the table's partitions: a load of one partition reads the files of many"
	case !c.window.IsZero() && c.unit.After(c.window.From).After(c.window.To):
		return "the path's template is coarser than the window: each load reads the files of more than it"
	}
	return ""
}

// untyped says of which columns types are inferred from text; "" for none.
func (c checkedLoad) untyped() string {
	if !c.source.Text() {
		return ""
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.told.Columns)) {
		if column := c.told.Columns[name]; column.Type == "" && column.Derive == "" && column.Timezone == "" {
			names = append(names, name)
		}
	}
	switch {
	case !c.told.OnlyListed:
		return "of columns that are not declared"
	case len(names) > 0:
		return "of " + strings.Join(names, ", ")
	}
	return ""
}

func (c checkedLoad) infersTypes() string {
	which := c.untyped()
	if c.Exists || which == "" {
		return ""
	}
	return "the table does not exist yet, and its first load decides the types " + which + " by the values of its files, for good: digits may be codes, and times with or without an offset are two types"
}

func (c checkedLoad) evolvesByText() string {
	which := c.untyped()
	if c.load.Schema != lake.Evolve || which == "" {
		return ""
	}
	return "schema: evolve adds what columns the files bring and decides the types " + which + " by their values: a column misspelt once stays in the table"
}

// loadTimes are names that columns with a time or label of loading go by.
var loadTimes = []string{ //nolint:gochecknoglobals // a table that nobody changes
	"loaded_at", "load_time", "load_ts", "load_timestamp", "ingested_at", "ingest_time", "ingestion_time", "inserted_at", "extracted_at",
	"processed_at", "etl_time", "dw_load_ts", "batch_id", "_fivetran_synced", "_airbyte_extracted_at", "_airbyte_emitted_at", "_dlt_load_id",
}

// ofLoading reports whether a name is one of those.
func ofLoading(name string) bool {
	low := strings.ToLower(name)
	return slices.Contains(loadTimes, low) || strings.HasPrefix(low, "_sdc_")
}

func (c checkedLoad) looksVolatile() string {
	names := slices.Sorted(maps.Keys(c.told.Columns))
	if c.Table != nil {
		for _, f := range c.Table.Schema().Fields() {
			names = append(names, f.Name)
		}
	}
	for _, name := range names {
		told := slices.ContainsFunc(c.load.Volatile, func(v string) bool { return strings.EqualFold(v, name) })
		decided := c.told.Columns[name].Derive == string(arrowio.WindowStart)
		if ofLoading(name) && !told && !decided && !c.needs(name) {
			return fmt.Sprintf("column %s looks like a time or label of loading: where it differs from run to run, no re-load is unchanged and verify finds each row different", name)
		}
	}
	return ""
}

// needs reports whether the load goes by a column, which then cannot be volatile.
func (c checkedLoad) needs(name string) bool {
	return strings.EqualFold(name, c.windowColumn()) || named(c.identity(), name) || named(c.load.VersionBy, name)
}

func (c checkedLoad) keepsFilesLocally() string {
	place := c.reached.Warehouse
	if c.Table != nil {
		place = c.Table.Location()
	}
	local := strings.HasPrefix(place, "file:") || strings.HasPrefix(place, "/")
	if !local || c.reached.Type == "sqlite" {
		return ""
	}
	return fmt.Sprintf("the catalog can be reached from other machines and the table's files at %s cannot: a load that runs there finds none of them", place)
}

func (c checkedLoad) asksStandIn() string {
	if c.reached.Type != "glue" || c.reached.URI == "" && c.reached.Properties["glue.endpoint"] == "" {
		return ""
	}
	return "the catalog is not AWS's own Glue: stand-ins that ignore a table's VersionId let the later of two commits undo the earlier one"
}

func (c checkedLoad) isOfOneMachine() string {
	if c.reached.Type != "sqlite" {
		return ""
	}
	return "the catalog is a SQLite file: its locks hold on one machine, and on most network file systems they do not"
}
