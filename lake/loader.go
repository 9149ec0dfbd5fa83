package lake

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// Catalog is what a load needs of an Iceberg catalog.
type Catalog interface {
	// LoadTable returns the table as it is now. Its error wraps [ErrNoTable] or
	// [ErrNoNamespace] where that is the reason. CommitTable applies updates if
	// all requirements hold, else changes nothing; with the requirement that
	// the table does not exist it creates it. What an error of CommitTable
	// means is read from the table, never from the error.
	table.CatalogIO
	// Draft returns a table that does not exist yet, with the location and the
	// file system that it would get. It writes nothing. Its error wraps
	// [ErrNoNamespace] where the namespace is missing.
	Draft(ctx context.Context, id table.Identifier, schema *iceberg.Schema, spec *iceberg.PartitionSpec, properties iceberg.Properties) (*table.Table, error)
	// WritesMetadata reports whether CommitTable writes the metadata file
	// itself, as with SQL catalogs. Then removing old ones is up to its caller;
	// else a server keeps them in its own way.
	WritesMetadata() bool
}

// SchemaMode says what happens to a source's columns that the table lacks, or
// has in a narrower type.
//
// In every mode the values decide in the end: one that the table's type does
// not hold is an error that names it, whatever the source's type.
type SchemaMode string

const (
	// Strict refuses columns that the table lacks with [ErrSchema], and leaves
	// types as they are. The default.
	Strict SchemaMode = "strict"
	// Ignore does not read columns that the table lacks, and says which.
	Ignore SchemaMode = "ignore"
	// Evolve adds them as optional columns, and widens int to long, float to
	// double and the precision of decimals, in the commit of the data. A source
	// with types needs what its types say; in text the values decide.
	Evolve SchemaMode = "evolve"
)

// OnEmpty says what happens when the source holds no row of the window while
// the table does, or when the source matched no file.
type OnEmpty string

const (
	// RefuseEmpty changes nothing and returns [ErrRefused]. The default.
	RefuseEmpty OnEmpty = "refuse"
	// ClearEmpty clears the window, if at least one file matched.
	ClearEmpty OnEmpty = "clear"
	// SkipEmpty changes nothing and returns [ErrSkipped].
	SkipEmpty OnEmpty = "skip"
)

// Outside says what happens to rows outside the window or the scope.
type Outside string

const (
	// OutsideDefault is SelectOutside, or ErrorOutside for a source that claims
	// to be exactly the window.
	OutsideDefault Outside = ""
	// SelectOutside leaves them out and counts them.
	SelectOutside Outside = "select"
	// ErrorOutside fails with [ErrOutsideWindow].
	ErrorOutside Outside = "error"
	// DropOutside leaves them out of a source that claims to be exact, and counts them.
	DropOutside Outside = "drop"
)

// Load describes a load apart from its window and source. Table and TimeColumn
// are required.
type Load struct {
	// Name is the load's name, [a-z0-9_-]{1,64}. Default: the table's last
	// identifier in lower case, other characters as _.
	Name string
	// Table is the identifier: the namespace's parts, then the name.
	Table table.Identifier
	// Branch is the branch to commit to. Default: main.
	Branch string
	// TimeColumn is the table's column that windows are on.
	TimeColumn string
	// Cursor is the column that windows are on in place of the time column, in modes
	// merge and append: it says when the source changed a row, such as updated_at. The
	// time column is then only what a new table is partitioned by. Default: the
	// time column.
	Cursor string
	// Zone is the zone of windows that carry no offset. Default: UTC for a
	// timestamptz column. See [Window.On].
	Zone *time.Location
	// Scope holds constant equalities, column to value as text, that the load
	// owns besides its window. Every row of the source must satisfy them.
	Scope map[string]string
	// TakeOver lets the load replace its own claim, and the claims of other loads
	// that it meets; else it is refused with [ErrClaim]. For one run, where the
	// other load runs no more or the load is to own something else.
	TakeOver bool
	// PartitionBy holds the partition fields of a new table: "day(event_time)",
	// "bucket(16, id)", "region". Default (nil): the day of the time column;
	// empty: none. On an existing table it must be what the table has.
	PartitionBy []string
	// Mode says what the load makes of the window's rows. Default: [Replace].
	Mode Mode
	// Key names the columns of mode merge that say which rows are versions of one.
	// There is one row of each in the table, wherever it is; the scope's columns
	// are part of every key.
	Key []string
	// VersionBy names the columns of mode merge that say which of two rows is
	// newer: the first decides, of equal values the next. NULL in the source is
	// refused, in the table it is the oldest.
	VersionBy []string
	// SearchIn names fields of the table's partitioning, as PartitionBy does, in which
	// a key of mode merge never moves: then it is looked for only in the partitions,
	// by these fields, of the source's rows. A key that did move would be in the
	// table twice. Default: keys are looked for in all partitions, but for fields
	// on a column of the key.
	SearchIn []string
	// DeleteWhen says, in mode merge, which rows are deletions: COLUMN = 'VALUE',
	// COLUMN IN ('VALUE', …) or COLUMN IS NOT NULL, of a column of the table.
	// Default: none is.
	DeleteWhen string
	// Deletes says what becomes of them. Default: [SoftDeletes].
	Deletes Deletes
	// OnEqual says what becomes of a row that has the version of the table's row
	// of its key and other values, volatile columns left out. Default: [SourceWins].
	OnEqual OnEqual
	// NullKeys says what NULL in a key column means. Default: [RefuseNullKeys].
	NullKeys NullKeys
	// Write says how a merge takes rows out of files. Default: [CopyOnWrite].
	Write WriteMode
	// EventID names the columns of mode append that are the same in each delivery
	// of an event, and in no other event. NULL in one is refused.
	EventID []string
	// HashOf stands in place of EventID where events have no id: rows with the same
	// values in these columns, NULL too, are deliveries of one. They are compared by
	// their values, not by a hash.
	HashOf []string
	// LookBack is how far around the window, on its time column, mode append looks
	// for ids in the table. Default: not at all, so that an event must have the
	// same time in each delivery.
	LookBack Step
	// OnConflict says what becomes of a row that has the id of another one and
	// other values, volatile columns left out. Default: [KeepConflict].
	OnConflict OnConflict
	// Schema is the schema mode. Default: [Strict].
	Schema SchemaMode
	// OnEmpty says what an empty source means. Default: [RefuseEmpty].
	OnEmpty OnEmpty
	// Outside says what rows outside the window mean.
	Outside Outside
	// Volatile names columns of the table that differ from run to run, such as
	// a time of loading: they are stored, but left out of the [Digest].
	Volatile []string
	// CommitUnchanged commits also where the table holds the window's rows
	// already, as an earlier load of this name, window and scope left them.
	// Default: such a load commits nothing, and its outcome is [Unchanged].
	CommitUnchanged bool
	// IfChanged does not even read the source where its files are those of that
	// earlier load, by [Origin.Fingerprint], and Settings and [Loader.Version]
	// are as they were.
	IfChanged bool
	// Settings stands for whatever else decides which rows the source gives, such
	// as a hash of how it is read; kept in the snapshot. Only for IfChanged.
	Settings string
	// Properties are set on a new table, over calve's own defaults.
	Properties iceberg.Properties
}

// windowColumn is the column that windows are on.
func (l Load) windowColumn() string { return cmp.Or(l.Cursor, l.TimeColumn) }

// TableName is the table's name with dots, for people.
func (l Load) TableName() string { return strings.Join(l.Table, ".") }

// Loader runs loads. Catalog is required; the zero value of every other field
// is a usable default. A Loader holds no state between loads and is safe for
// concurrent use.
type Loader struct {
	Catalog Catalog
	// Memory bounds, in bytes, what one load holds at once: input blocks,
	// batches, rows waiting for their partition, open files. Default: 1 GiB.
	Memory int64
	// Procs is the number of cores to use. Default: GOMAXPROCS.
	Procs int
	// TempDir is where rows are spilled when many partitions do not fit into
	// Memory. Default: the system's temporary folder.
	TempDir string
	// Timeout bounds each call to the catalog and each metadata object read or
	// written. Default: 60 seconds.
	Timeout time.Duration
	// Attempts is how often a commit is tried when others commit at the same
	// time. Default: 30.
	Attempts int
	// Run is a label from the orchestrator, kept in the snapshot. It never
	// means that a load is already done.
	Run string
	// Version is the version of the program, kept in the snapshot.
	Version string
	// Now and NewID supply time and ids, for reproducible tests. NewID returns
	// positive random numbers.
	Now   func() time.Time
	NewID func() int64
	// Trace observes the load. Optional.
	Trace *Trace
}

func (l Loader) withDefaults() Loader {
	if l.Memory <= 0 {
		l.Memory = 1 << 30
	}
	if l.Procs <= 0 {
		l.Procs = runtime.GOMAXPROCS(0)
	}
	if l.TempDir == "" {
		l.TempDir = os.TempDir()
	}
	if l.Timeout <= 0 {
		l.Timeout = time.Minute
	}
	if l.Attempts <= 0 {
		l.Attempts = 30
	}
	if l.Now == nil {
		l.Now = time.Now
	}
	if l.NewID == nil {
		l.NewID = func() int64 { return rand.Int64N(1<<63-1) + 1 }
	}
	if l.Trace == nil {
		l.Trace = &Trace{}
	}
	return l
}

func (l Load) withDefaults() Load {
	if l.Name == "" && len(l.Table) > 0 {
		l.Name = loadName(l.Table[len(l.Table)-1])
	}
	if l.Branch == "" {
		l.Branch = table.MainBranch
	}
	if l.Mode == "" {
		l.Mode = Replace
	}
	if l.Schema == "" {
		l.Schema = Strict
	}
	if l.OnEmpty == "" {
		l.OnEmpty = RefuseEmpty
	}
	return l
}

var nameForm = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)

func loadName(table string) string {
	name := []byte(strings.ToLower(table))
	for i, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			name[i] = '_'
		}
	}
	return string(name[:min(len(name), 64)])
}

func (l Load) validate() error {
	switch {
	case len(l.Table) < 2 || slices.Contains(l.Table, ""):
		return fmt.Errorf("table %q needs a namespace and a name, as in analytics.payments: %w", l.TableName(), ErrUsage)
	case !nameForm.MatchString(l.Name):
		return fmt.Errorf("load name %q must be 1 to 64 of a-z, 0-9, _ and -: %w", l.Name, ErrUsage)
	case l.TimeColumn == "":
		return fmt.Errorf("time_column is required: the column that windows are on: %w", ErrUsage)
	case !slices.Contains([]SchemaMode{Strict, Ignore, Evolve}, l.Schema):
		return fmt.Errorf("schema %q must be strict, ignore or evolve: %w", l.Schema, ErrUsage)
	case !slices.Contains([]OnEmpty{RefuseEmpty, ClearEmpty, SkipEmpty}, l.OnEmpty):
		return fmt.Errorf("on_empty %q must be refuse, clear or skip: %w", l.OnEmpty, ErrUsage)
	case !slices.Contains([]Outside{OutsideDefault, SelectOutside, ErrorOutside, DropOutside}, l.Outside):
		return fmt.Errorf("outside %q must be select, error or drop: %w", l.Outside, ErrUsage)
	}
	if _, ok := l.Scope[l.windowColumn()]; ok {
		return fmt.Errorf("scope must not name the time column %q: that is what the window is for: %w", l.windowColumn(), ErrUsage)
	}
	if err := l.checkMode(); err != nil {
		return err
	}
	return l.checkUnchanged()
}
