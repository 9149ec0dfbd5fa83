package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"

	"github.com/calve-data/calve/lake"
)

// keyChecks are the rules on modes merge and append, the worst first.
var keyChecks = []loadCheck{ //nolint:gochecknoglobals // a table that nobody changes
	{
		"search-moves", lake.Unsafe, checkedLoad.searchesWhatMoves,
		"search by a column in which a key stays, such as the day of creation, or leave search away",
	},
	{
		"no-look-back", lake.Warn, checkedLoad.looksNotBack,
		"say how far apart deliveries of one event are, as look_back: 7d, or that each has the event's own time: look_back: 0",
	},
	{
		"id-of-loading", lake.Warn, checkedLoad.identifiesByLoading,
		"name columns that are the event's or the thing's own",
	},
	{
		"coarse-version", lake.Warn, checkedLoad.versionsByDay,
		"add a column to version that says which of two changes of a day came later, or say on_equal: error",
	},
	{
		"null-keys", lake.Warn, checkedLoad.mergesNulls,
		"leave null_keys away, so that a NULL is an error, or add a column to key that tells such rows apart",
	},
	{
		"no-overlap", lake.Warn, checkedLoad.readsOnce,
		"say how long the source may show rows late, as overlap: 15m, or that it never does: overlap: 0",
	},
	{
		"hard-deletes", lake.Warn, checkedLoad.forgetsDeletes,
		"use deletes: soft, with a view that leaves deleted rows out; else load windows in order, one at a time",
	},
	{
		"search-trusts", lake.Note, checkedLoad.trustsSearch,
		"run calve check --keys now and then, which finds keys that have moved, or leave search away",
	},
	{
		"moving-rows", lake.Note, checkedLoad.movesRows,
		"partition by a column in which a key stays, such as month(created_at)",
	},
}

// searchedColumns are the columns that search is by, beside those of the key.
func (c checkedLoad) searchedColumns() (names []string) {
	for _, expr := range c.load.SearchIn {
		if name := partitionColumn(expr); !named(c.load.Key, name) {
			names = append(names, name)
		}
	}
	return names
}

// partitionColumn is the column of day(at), bucket(16, id) or region.
func partitionColumn(expr string) string {
	if i := strings.LastIndexAny(expr, "(,"); i >= 0 {
		expr = strings.TrimSuffix(strings.TrimSpace(expr[i+1:]), ")")
	}
	return strings.TrimSpace(expr)
}

// changing are those of some columns that differ in each version of a row.
func (c checkedLoad) changing(names []string) (out []string) {
	for _, name := range names {
		if named(c.load.VersionBy, name) || c.load.Cursor != "" && strings.EqualFold(c.load.Cursor, name) {
			out = append(out, name)
		}
	}
	return out
}

func named(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

func (c checkedLoad) searchesWhatMoves() string {
	names := c.changing(c.searchedColumns())
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("search is by %s, which differs in each version of a row: the older row is not found where it is in another partition, and both stay", strings.Join(names, ", "))
}

func (c checkedLoad) trustsSearch() string {
	names := c.searchedColumns()
	if len(names) == 0 || len(c.changing(names)) > 0 {
		return ""
	}
	return fmt.Sprintf("search trusts that the row of a key never gets another %s: one that does is in the table twice, and a load sees that only where it looks into both partitions", strings.Join(names, ", "))
}

func (c checkedLoad) movesRows() string {
	names := c.changing(c.partitionColumns())
	if c.load.Mode != lake.Merge || len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("the table is partitioned by %s, which differs in each version of a row: an update takes its row out of one partition and writes it into another, so that one window touches many", strings.Join(names, ", "))
}

// partitionColumns are the columns that the table is, or would be, partitioned by.
func (c checkedLoad) partitionColumns() (names []string) {
	if c.Table == nil {
		if c.told.PartitionBy == nil {
			return []string{c.load.TimeColumn}
		}
		for _, expr := range c.told.PartitionBy {
			names = append(names, partitionColumn(expr))
		}
		return names
	}
	spec := c.Table.Spec()
	for _, f := range spec.Fields() {
		if _, void := f.Transform.(iceberg.VoidTransform); void || len(f.SourceIDs) != 1 {
			continue
		}
		if name, ok := c.Table.Schema().FindColumnName(f.SourceIDs[0]); ok {
			names = append(names, name)
		}
	}
	return names
}

func (c checkedLoad) looksNotBack() string {
	on := c.windowColumn()
	if c.load.Mode != lake.Append || c.told.LookBack != "" || named(c.identity(), on) {
		return ""
	}
	return fmt.Sprintf("no look_back is given, so that ids are looked for in the window alone: an event that comes again with another %s, of another window, is stored twice", on)
}

// identity are the columns by which rows are told apart.
func (c checkedLoad) identity() []string {
	return slices.Concat(c.load.Key, c.load.EventID, c.load.HashOf)
}

// deliveryTimes are names that columns with a time of delivery go by.
var deliveryTimes = []string{ //nolint:gochecknoglobals // a table that nobody changes
	"received_at", "receive_time", "received_time", "delivered_at", "delivery_time", "arrived_at", "arrival_time", "kafka_offset", "kafka_timestamp",
}

func (c checkedLoad) identifiesByLoading() string {
	for _, name := range c.identity() {
		if ofLoading(name) || slices.Contains(deliveryTimes, strings.ToLower(name)) {
			return fmt.Sprintf("rows are told apart by %s, which looks like a time or label of delivery or loading: where it differs from one delivery to the next, the same thing delivered again is a new row", name)
		}
	}
	return ""
}

func (c checkedLoad) versionsByDay() string {
	if len(c.load.VersionBy) == 0 || c.load.OnEqual == lake.ErrorEqual {
		return ""
	}
	for _, name := range c.load.VersionBy {
		if !c.isDate(name) {
			return ""
		}
	}
	text := fmt.Sprintf("version is %s, without a time of day: of two changes of one day neither is newer, so that a window with both is refused", strings.Join(c.load.VersionBy, ", "))
	switch {
	case named(c.load.VersionBy, c.windowColumn()): // one day is in one window
		return text
	case c.load.OnEqual == lake.KeepEqual:
		return text + ", and of two windows only the one counts that was loaded first"
	}
	return text + ", and of two windows the one counts that was loaded last, also where it is the older one, loaded again"
}

// isDate reports whether a column is, or is declared to be, a date.
func (c checkedLoad) isDate(name string) bool {
	if c.Table != nil {
		f, ok := c.Table.Schema().FindFieldByNameCaseInsensitive(name)
		return ok && f.Type.Equals(iceberg.PrimitiveTypes.Date)
	}
	for declared, column := range c.told.Columns {
		if strings.EqualFold(declared, name) {
			t := c.source.Types[column.source(declared)]
			return t != nil && t.ID() == arrow.DATE32
		}
	}
	return false
}

func (c checkedLoad) mergesNulls() string {
	if c.load.NullKeys != lake.MatchNullKeys || len(c.load.Key) != 1 {
		return ""
	}
	return fmt.Sprintf("null_keys: match takes all rows without %s for versions of one row, and keeps only the newest of them", c.load.Key[0])
}

func (c checkedLoad) readsOnce() string {
	byCursor := c.load.Cursor != "" && (c.load.Mode == lake.Merge || c.load.Mode == lake.Append)
	if c.overlap != "" || !byCursor && !c.sinceWatermark {
		return ""
	}
	return fmt.Sprintf("windows are on %s and no overlap is given: a row that the source shows only after its window was loaded, as of a transaction that commits late, is missed by calve load --from watermark", c.windowColumn())
}

func (c checkedLoad) forgetsDeletes() string {
	if c.load.Deletes != lake.HardDeletes {
		return ""
	}
	return "deletes: hard leaves no trace of a deleted row: a window older than the newest one is refused, also where it is only loaded again, and an older version of the row that comes in a later window brings it back"
}
