package lake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go/table"
)

// tableCheck is a rule on a load and its table.
type tableCheck struct {
	id       string
	severity Severity
	// finds says what is so; "" where it is not.
	finds  func(context.Context, *checking) (string, error)
	advice string
}

func (r tableCheck) finding(text string) Finding {
	return Finding{ID: r.id, Severity: r.severity, Message: text, Advice: r.advice}
}

// unsupportedTable is the rule that leaves nothing to look at where it holds.
var unsupportedTable = tableCheck{ //nolint:gochecknoglobals // never changed
	id: "table-unsupported", severity: Unsafe,
	advice: "load into a table of format version 2 that is not encrypted",
}

// tableChecks are the rules on a load and its table, the worst first.
var tableChecks = []tableCheck{ //nolint:gochecknoglobals // a table that nobody changes
	{
		"claim", Unsafe, alone((*checking).collides),
		"give each load of the table a scope of its own; --take-over is for one run, where the other load runs no more",
	},
	{
		"unreadable-files", Unsafe, surveysWindow,
		"rewrite these files with the engine that wrote them, as Parquet without deletion vectors, or load a window that covers them whole",
	},
	{
		"doubled-keys", Unsafe, findsKeysTwice,
		"delete all but one of the rows of each such key with another engine, and look for what wrote them: search, or a writer that is no merge",
	},
	{
		"doubled-ids", Unsafe, findsIDsTwice,
		"delete all but the first row of each with another engine, and make look_back longer than deliveries of one event are apart",
	},
	{
		"source-missing", Warn, listsSource,
		"look whether the files were delivered, and whether source.path is where they are",
	},
	{
		"identity-time-partition", Warn, alone((*checking).partitionsByMoment),
		"partition by day, hour or month of the time column",
	},
	{
		"early-expiry", Warn, alone((*checking).expiresEarly),
		"set history.expire.max-snapshot-age-ms to 5 days or more, or history.expire.min-snapshots-to-keep to 10 or more",
	},
	{
		"short-metadata-log", Warn, alone((*checking).forgetsMetadata),
		"set write.metadata.previous-versions-max to 100, as new tables have it",
	},
	{
		"hidden-history", Warn, alone((*checking).hidesHistory),
		"let no two loads of the table run at the same time, or use a catalog that shows all snapshots",
	},
	{
		"no-time-partition", Note, alone((*checking).partitionsByNoTime),
		"partition by day(time column), or a unit that windows are made of",
	},
	{
		"unpruned-keys", Note, alone((*checking).searchesMost),
		"nothing, while that is little; else search: partitions(EXPR) by a column in which a key never moves, such as the month of creation",
	},
	{
		"gc-disabled", Note, alone((*checking).keepsGarbage),
		"nothing, where other tables share its files; else unset gc.enabled and run calve maintain",
	},
}

// TableCheckIDs are the IDs of what [Loader.Check] may find.
func TableCheckIDs() []string {
	ids := []string{unsupportedTable.id}
	for _, r := range tableChecks {
		ids = append(ids, r.id)
	}
	return ids
}

// alone makes a rule of a look at what is known already.
func alone(finds func(*checking) string) func(context.Context, *checking) (string, error) {
	return func(_ context.Context, c *checking) (string, error) { return finds(c), nil }
}

func (c *checking) collides() string {
	if c.creates {
		return ""
	}
	if err := c.admit(c.planned.Metadata()); err != nil {
		return refusal(err)
	}
	return ""
}

// surveysWindow reads the manifests as a load of the window would.
func surveysWindow(ctx context.Context, c *checking) (string, error) {
	if c.creates || c.any {
		return "", nil
	}
	err := c.surveyBase(ctx)
	if errors.Is(err, ErrRefused) {
		return refusal(err), nil
	}
	return "", err
}

// listsSource looks for the source's files of the window.
func listsSource(ctx context.Context, c *checking) (string, error) {
	if c.asked.IsZero() {
		return "", nil
	}
	in, err := c.src.Pin(ctx, c.asked)
	if err != nil {
		return "", err
	}
	switch c.origin = in.Origin(); {
	case c.origin.Files == 0:
		return refusal(c.noFile()), nil
	case len(c.origin.Missing) > 0 && c.load.OnEmpty != ClearEmpty:
		return refusal(c.filesMissing()), nil
	}
	return "", nil
}

func (c *checking) partitionsByMoment() string {
	day := c.timeType != nil && c.timeType.String() == Days.String()
	if day || !slices.ContainsFunc(c.fields, func(p timePartition) bool { return p.moment }) {
		return ""
	}
	unless := ""
	if c.timeType == nil {
		unless = " unless its type is date, which is not declared"
	}
	return fmt.Sprintf("the table is partitioned by %s itself, so that each moment is a partition with a file of its own%s", c.load.windowColumn(), unless)
}

// partitionsByNoTime is not of merges, which go to the rows of keys whatever their
// time.
func (c *checking) partitionsByNoTime() string {
	switch {
	case len(c.fields) > 0, c.load.Mode == Merge:
		return ""
	case c.load.Mode == Append:
		return fmt.Sprintf("no partition is on %s, so that each load may look for ids in the files of all windows", c.load.windowColumn())
	}
	return fmt.Sprintf("no partition is on the time column %s, so that files hold rows of many windows and each load may rewrite some of them", c.load.windowColumn())
}

func (c *checking) expiresEarly() string {
	if c.creates {
		return ""
	}
	meta := c.planned.Metadata()
	limits, err := Expiry{}.limits(meta.Properties())
	if err != nil {
		return refusal(err)
	}
	limits = limits.of(refOf(meta, c.load.Branch))
	if limits.snapshotAge >= defaultSnapshotAge.Milliseconds() || limits.keep >= fewSnapshots {
		return ""
	}
	return fmt.Sprintf("snapshots of branch %s may expire after %s, while a load may run for %s and a window be loaded again later: what the load began on, and what undo and verify compare with, is then gone",
		c.load.Branch, time.Duration(limits.snapshotAge)*time.Millisecond, LongestLoad)
}

// fewSnapshots is how many kept snapshots, or old metadata files, are enough
// whatever their age.
const fewSnapshots = 10

func refOf(meta table.Metadata, branch string) table.SnapshotRef {
	for name, ref := range meta.Refs() {
		if name == branch {
			return ref
		}
	}
	return table.SnapshotRef{}
}

func (c *checking) forgetsMetadata() string {
	if c.creates {
		return ""
	}
	text, set := c.planned.Properties()[table.MetadataPreviousVersionsMaxKey]
	n, err := strconv.Atoi(text)
	switch {
	case !set, err == nil && n >= fewSnapshots:
		return ""
	case err != nil:
		return fmt.Sprintf("the table property %s=%q is not a number", table.MetadataPreviousVersionsMaxKey, text)
	}
	return fmt.Sprintf("%s=%d: after a rollback whose snapshots have expired, a load's coverage is looked up in old metadata files, and there are %d at most",
		table.MetadataPreviousVersionsMaxKey, n, n)
}

func (c *checking) hidesHistory() string {
	if c.creates {
		return ""
	}
	meta := c.planned.Metadata()
	for _, key := range slices.Sorted(maps.Keys(meta.Properties())) {
		if strings.HasPrefix(key, nessiePrefix) {
			return "the catalog is Nessie, which shows one snapshot of a table alone: loads that meet there cannot see each other's windows, and end with exit code 75 or 12"
		}
	}
	if id, hidden := hiddenSnapshot(meta); hidden {
		return fmt.Sprintf("the catalog shows only a part of the table's snapshots (%d is not among them): loads that meet there may not see each other's windows, and end with exit code 75 or 12", id)
	}
	return ""
}

func (c *checking) keepsGarbage() string {
	if c.creates {
		return ""
	}
	if value := c.planned.Properties().Get(table.GCEnabledKey, "true"); !strings.EqualFold(value, "true") {
		return fmt.Sprintf("the table property %s is %q: calve maintain refuses the table, so that snapshots and files of killed loads stay", table.GCEnabledKey, value)
	}
	return ""
}
