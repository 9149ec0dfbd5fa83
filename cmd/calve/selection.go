package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/calve-data/calve/arrowio"
	"github.com/calve-data/calve/lake"
)

// selectionFlags say what to load, and which window of it.
type selectionFlags struct {
	windowFlags
	loadFlags
}

// loadFlags say what to load: a load of calve.yaml by its name, or everything by
// flags, or both, where the flags override the file.
type loadFlags struct {
	Name string `arg:"" optional:"" name:"load" help:"Name of a load in calve.yaml."`

	Source    string            `placeholder:"PATTERN" group:"source" help:"Files to load, a path or an s3:// URL with * and ?."`
	Type      string            `placeholder:"TYPE" group:"source" help:"csv, ndjson or parquet. Default: by the name's ending."`
	Null      []string          `placeholder:"TOKEN" sep:"none" group:"source" help:"Text that means NULL, besides nothing at all. Repeat for more."`
	Delimiter string            `placeholder:"CHAR" group:"source" help:"Delimiter of CSV columns. Default: a comma."`
	Column    map[string]string `placeholder:"NAME=TYPE" mapsep:"none" group:"source" help:"Type of a column, such as amount=decimal(18,2). Repeat for more."`
	Outside   string            `placeholder:"MODE" group:"source" help:"What rows outside the window mean: select (leave out), error, or drop (leave out, also where the source claims to be exactly the window)."`
	OnEmpty   string            `placeholder:"MODE" group:"source" help:"What a source without rows means for a window that has some: refuse (default), clear, or skip (exit 99)."`

	AllowEmpty bool `group:"source" help:"Clear the window if the source has no row for it; for one run what --on-empty clear is."`

	Table           string            `placeholder:"NS.NAME" group:"table" help:"The table to load into; created by its first load."`
	TimeColumn      string            `placeholder:"COLUMN" group:"table" help:"The column that windows are on."`
	PartitionBy     []string          `placeholder:"EXPR" sep:"none" group:"table" help:"Partitions of a new table: day(ts), bucket(16, id), region. Repeat for more; an empty one for none. Default: the day of the time column."`
	Scope           map[string]string `placeholder:"COLUMN=VALUE" mapsep:"none" group:"table" help:"Own only rows with this value, so that several loads share a table. Repeat for more."`
	Schema          string            `placeholder:"MODE" group:"table" help:"What columns mean that the table lacks: strict (an error, default), ignore (not read) or evolve (added; types are widened where needed)."`
	TakeOver        bool              `group:"table" help:"For one run: own what another load of the table has claimed that runs no more, or something else than this load did before."`
	Branch          string            `placeholder:"NAME" group:"table" help:"Branch of the table. Default: main."`
	CreateNamespace bool              `group:"table" help:"Create the table's namespace if it is missing; the embedded catalog always does."`

	modeFlags

	Memory byteSize `placeholder:"SIZE" help:"Bound on the memory of all that is loaded at a time. Default: 1GiB."`

	catalogFlags
}

// byteSize is a flag such as 512MiB.
type byteSize int64

func (b *byteSize) UnmarshalText(text []byte) error {
	n, err := humanize.ParseBytes(string(text))
	if err != nil || n == 0 || n > 1<<50 {
		return fmt.Errorf("%q is not a size such as 512MiB", text)
	}
	*b = byteSize(n)
	return nil
}

// selection is what the flags and the file together ask for.
type selection struct {
	load   lake.Load
	source arrowio.Config
	window lake.Window
	config *config
	// told is what file and flags together say of the load.
	told loadConfig
}

// resolve puts file and flags together. It opens nothing but the file.
func (f *selectionFlags) resolve(a *app) (selection, error) {
	return f.resolveIn(a, f.required)
}

// resolveIn is resolve with the window that a function gives.
func (f *loadFlags) resolveIn(a *app, window func() (lake.Window, *time.Location, error)) (s selection, err error) {
	if s.config, err = f.read(a); err != nil {
		return s, err
	}
	var l loadConfig
	if f.Name != "" {
		if l, err = s.config.load(f.Name); err != nil {
			return s, err
		}
	}
	if err := f.override(&l); err != nil {
		return s, err
	}
	if err := f.complete(s.config, l); err != nil {
		return s, err
	}
	a.table = l.Table
	id, err := parseTable(l.Table)
	if err != nil {
		return s, err
	}
	var zone *time.Location
	if s.window, zone, err = window(); err != nil {
		return s, err
	}
	s.told = l
	s.load = lake.Load{
		Name: f.Name, Table: id, Branch: l.Branch, TakeOver: f.TakeOver,
		TimeColumn: l.TimeColumn, Zone: zone, Scope: l.Scope, PartitionBy: l.PartitionBy,
		Schema: lake.SchemaMode(l.Schema), OnEmpty: lake.OnEmpty(l.OnEmpty), Outside: lake.Outside(l.Outside),
	}
	if err := l.applyMode(&s.load); err != nil {
		return s, err
	}
	s.load.Volatile, s.load.Settings = l.volatile(), l.settings()
	if s.source, err = l.arrowio(); err != nil {
		return s, err
	}
	if s.source.PathZone, s.source.Arrival, err = l.Source.template(zone); err != nil {
		return s, err
	}
	return s, s.source.Validate()
}

// settings is a hash of all that file and flags say of the load. None of it is
// secret.
func (l loadConfig) settings() string {
	text, _ := json.Marshal(l) // of strings alone
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// override lays the flags over l.
func (f *loadFlags) override(l *loadConfig) error {
	set := func(to *string, from string) {
		if from != "" {
			*to = from
		}
	}
	set(&l.Table, f.Table)
	set(&l.TimeColumn, f.TimeColumn)
	set(&l.Source.Path, f.Source)
	set(&l.Source.Type, f.Type)
	set(&l.Source.Delimiter, f.Delimiter)
	set(&l.Schema, f.Schema)
	set(&l.OnEmpty, f.OnEmpty)
	set(&l.Outside, f.Outside)
	set(&l.Branch, f.Branch)
	f.modeFlags.override(l)
	if f.Null != nil {
		l.Source.Null = f.Null
	}
	if f.PartitionBy != nil {
		l.PartitionBy = splitExpressions(f.PartitionBy)
	}
	if len(f.Scope) > 0 {
		l.Scope = maps.Clone(l.Scope)
		if l.Scope == nil {
			l.Scope = map[string]string{}
		}
		maps.Copy(l.Scope, f.Scope)
	}
	for name, typ := range f.Column {
		if l.Columns = maps.Clone(l.Columns); l.Columns == nil {
			l.Columns = map[string]columnConfig{}
		}
		column := l.Columns[name]
		column.Type = typ
		l.Columns[name] = column
	}
	if f.AllowEmpty {
		if f.OnEmpty != "" && f.OnEmpty != string(lake.ClearEmpty) {
			return usage("--allow-empty and --on-empty %s contradict each other", f.OnEmpty)
		}
		l.OnEmpty = string(lake.ClearEmpty)
	}
	return nil
}

// complete names what is missing in l, as the user would write it.
func (f *loadFlags) complete(c *config, l loadConfig) error {
	var missing []string
	for _, need := range []struct{ value, flag, key string }{
		{l.Source.Path, "--source", "source.path"},
		{l.Table, "--table", "table"},
		{l.TimeColumn, "--time-column", "time_column"},
	} {
		switch {
		case need.value != "":
		case f.Name != "":
			missing = append(missing, need.key)
		default:
			missing = append(missing, need.flag)
		}
	}
	switch {
	case len(missing) == 0:
		return nil
	case f.Name != "":
		return configError{file: c.path, text: fmt.Sprintf("loads.%s lacks %s", f.Name, strings.Join(missing, ", "))}
	case len(missing) == 3 && len(c.Loads) > 0:
		return usage("which load? %s has: %s", c.path, strings.Join(slices.Sorted(maps.Keys(c.Loads)), ", "))
	}
	return usage("missing %s: without a load's name from %s, --source, --table and --time-column say what to load", strings.Join(missing, ", "), configName)
}

// splitExpressions splits at commas outside parentheses, so that both
// "day(ts),region" and "bucket(16, id)" mean what they say. Nothing at all is
// an empty list: no partitions.
func splitExpressions(args []string) []string {
	list := []string{}
	for _, arg := range args {
		depth, start := 0, 0
		for i, c := range arg + "," {
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			case ',':
				if depth > 0 && i < len(arg) {
					continue
				}
				if expr := strings.TrimSpace(arg[start:i]); expr != "" {
					list = append(list, expr)
				}
				start = i + 1
			}
		}
	}
	return list
}
