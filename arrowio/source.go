package arrowio

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/calve-data/calve/lake"
)

// Config describes a source of files. Path is required.
type Config struct {
	// Type is the form of the files: csv, ndjson (also called jsonl or json) or
	// parquet. Default: by the extension of Path: .csv, .tsv, .ndjson, .jsonl and
	// .json, each with .gz or .zst after it or not; .parquet.
	Type string
	// Path is a pattern of files, see [lake.Files]. Parts such as {day:%Y/%m/%d}
	// stand for the units of the window: year, month, day or hour, written with
	// %Y %m %d %H and %j, the day of the year. A template whose units make up
	// the window claims to be exactly it; any other path selects the window's
	// rows from what it finds.
	Path string
	// PathZone is the zone of the units in Path, where the time column is
	// a timestamptz. Default: UTC.
	PathZone *time.Location
	// Arrival widens what is read of a template, for rows that arrive late.
	Arrival Arrival
	// Null lists words that mean NULL in CSV, besides the empty field. NDJSON has
	// a null of its own, and takes none.
	Null []string
	// Delimiter separates the fields of CSV: one character, or tab. Default: a
	// comma, and a tab for .tsv.
	Delimiter string
	// Numbers is how CSV writes 1234.56, as 1.234,56, where a column's format does
	// not say. Default: so.
	Numbers string
	// NoHeader says that CSV files have no header line. Their columns are Header,
	// in this order, or c1, c2 and so on.
	NoHeader bool
	Header   []string
	// MaxLine is the most bytes of a record of text, its line end included.
	// Default: 64 MiB; at most 1 GiB, and at least 1 KiB.
	MaxLine int
	// Types declares columns' types, by the names that the files have. Default:
	// as the file has them, and inferred from all values for CSV and NDJSON.
	Types map[string]arrow.DataType
	// Columns says more of columns, by the names that the files have.
	Columns map[string]ColumnOptions
	// Rename gives columns other names: from those in the files to those in the
	// table. A column that Types, Columns or Rename name must be in a file, or
	// have a default; it is an error that wraps [NoColumnError] otherwise.
	Rename map[string]string
	// OnlyListed leaves out the columns that Types, Columns and Rename do not name.
	OnlyListed bool
	// Zone is the zone of times that carry none, in columns that need one and have
	// no other. Default: such times are refused.
	Zone *time.Location
	// Derived are columns that no file has, by the names that the table gives them.
	Derived map[string]Derivation
	// Run is the orchestrator's label of the run, for [RunLabel].
	Run string
	// Allocator is where batches are allocated. Default: Go's.
	Allocator memory.Allocator
}

// fileSource is a source of files.
type fileSource struct {
	cfg   Config
	kind  string
	delim byte
	files lake.Files
	// readings are those of the columns, by the files' names.
	readings map[string]reading
	// template is the path's; nil where it has none.
	template *pathTemplate
}

// New returns the source that cfg describes, reading from files. Its error
// wraps [lake.ErrUsage].
func New(cfg Config, files lake.Files) (lake.Source, error) {
	if cfg.Path == "" {
		return nil, fmt.Errorf("source.path is required: which files to read, as in data/*.csv: %w", lake.ErrUsage)
	}
	if cfg.Allocator == nil {
		cfg.Allocator = memory.DefaultAllocator
	}
	s := &fileSource{cfg: cfg, files: files}
	var err error
	if s.template, err = parseTemplate(cfg.Path); err != nil {
		return nil, err
	}
	if err := cfg.Arrival.validate(cfg.Path, s.template); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Derived)) {
		if err := cfg.Derived[name].valid(name, cfg.Types[name]); err != nil {
			return nil, err
		}
	}
	if s.kind, err = cfg.form(); err != nil {
		return nil, err
	}
	if s.delim, err = cfg.delimiter(); err != nil {
		return nil, err
	}
	if s.kind == "ndjson" && (len(cfg.Null) > 0 || cfg.Delimiter != "") {
		return nil, fmt.Errorf("source.null and source.delimiter are for CSV: NDJSON writes null as null: %w", lake.ErrUsage)
	}
	if err := s.understand(); err != nil {
		return nil, err
	}
	return s, nil
}

// Validate says what is wrong with a config as far as it alone can tell, as New
// does. Its error wraps [lake.ErrUsage].
func (c Config) Validate() error {
	_, err := New(c, nil)
	return err
}

// understand reads what is said of columns, and refuses what the files' form has
// no use for.
func (s *fileSource) understand() (err error) {
	s.cfg.Types = cloned(s.cfg.Types)
	if s.readings, err = readings(s.cfg.Columns, s.cfg.Types, s.cfg.Zone); err != nil {
		return err
	}
	if s.kind == "csv" {
		_, err = s.csvOptions().withDefaults()
		return err
	}
	if s.cfg.Numbers != "" || s.cfg.NoHeader || len(s.cfg.Header) > 0 {
		return fmt.Errorf("source.numbers and source.header are for CSV, and the files are %s: %w", s.kind, lake.ErrUsage)
	}
	for name, r := range s.readings {
		if r.times != nil || r.numbers != nil {
			return fmt.Errorf("column %q: format is for CSV, and the files are %s: %w", name, s.kind, lake.ErrUsage)
		}
	}
	if s.kind == "parquet" && s.cfg.MaxLine != 0 {
		return fmt.Errorf("source.max_line is for files of text, and the files are parquet: %w", lake.ErrUsage)
	}
	return nil
}

func (s *fileSource) csvOptions() CSVOptions {
	return CSVOptions{
		Delimiter: s.delim, Null: s.cfg.Null, Types: s.cfg.Types, Zone: s.cfg.Zone, Columns: s.cfg.Columns,
		Numbers: s.cfg.Numbers, NoHeader: s.cfg.NoHeader, Header: s.cfg.Header, MaxRecord: s.cfg.MaxLine,
	}
}

func (c Config) form() (string, error) {
	switch c.Type {
	case "csv", "ndjson", "parquet":
		return c.Type, nil
	case "json", "jsonl":
		return "ndjson", nil
	case "":
		switch c.extension() {
		case ".csv", ".tsv":
			return "csv", nil
		case ".ndjson", ".jsonl", ".json":
			return "ndjson", nil
		case ".parquet":
			return "parquet", nil
		}
		return "", fmt.Errorf("source.type is required where source.path %q does not end in .csv, .tsv, .ndjson, .jsonl, .json or .parquet: there are csv, ndjson and parquet: %w", c.Path, lake.ErrUsage)
	}
	return "", fmt.Errorf("source.type %q is unknown: there are csv, ndjson and parquet: %w", c.Type, lake.ErrUsage)
}

// Text reports whether the files are text, in which the values alone say what
// type an undeclared column has.
func (c Config) Text() bool {
	form, err := c.form()
	return err == nil && form != "parquet"
}

// extension is the extension of the pattern, without that of a compression.
func (c Config) extension() string {
	name := strings.ToLower(c.Path)
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	return path.Ext(name)
}

func (c Config) delimiter() (byte, error) {
	switch {
	case c.Delimiter == "" && c.extension() == ".tsv", c.Delimiter == "tab", c.Delimiter == `\t`:
		return '\t', nil
	case c.Delimiter == "":
		return ',', nil
	case len(c.Delimiter) == 1 && !strings.ContainsAny(c.Delimiter, "\"\r\n"):
		return c.Delimiter[0], nil
	}
	return 0, fmt.Errorf("source.delimiter %q must be one character, not a quote or a line end, or tab: %w", c.Delimiter, lake.ErrUsage)
}

// Pin lists the files.
func (s *fileSource) Pin(ctx context.Context, w lake.Window) (lake.Input, error) {
	p, err := s.pin(ctx, w)
	if err != nil {
		return nil, err
	}
	origin := originOf(s.kind, s.cfg.Path, p.list)
	origin.Exact, origin.Missing = p.exact, p.missing
	in, err := s.input(origin, p.list)
	if err != nil {
		return nil, err
	}
	return derive(rename(s.declare(in), s.cfg.Rename), s.cfg), nil
}

// declare adds what the config says of columns to an input.
func (s *fileSource) declare(in lake.Input) lake.Input {
	listed := map[string]bool{}
	for name := range s.cfg.Types {
		listed[name] = s.cfg.Derived[name] == ""
	}
	for name := range s.cfg.Columns {
		listed[name] = true
	}
	for name := range s.cfg.Rename {
		listed[name] = true
	}
	maps.DeleteFunc(listed, func(_ string, yes bool) bool { return !yes })
	if len(listed) == 0 && !s.cfg.OnlyListed {
		return in
	}
	return &declared{
		Input: in, types: s.cfg.Types, options: s.cfg.Columns, readings: s.readings, zone: s.cfg.Zone, listed: listed, only: s.cfg.OnlyListed, derived: s.cfg.Derived,
		optional: s.kind != "csv" && s.kind != "parquet", mem: s.cfg.Allocator,
	}
}

func (s *fileSource) input(origin lake.Origin, list []lake.File) (lake.Input, error) {
	if s.kind == "parquet" {
		return newParquet(origin, list, s.files, s.cfg), nil
	}
	open := func(ctx context.Context, f lake.File) (io.ReadCloser, error) { return s.files.Open(ctx, f) }
	if s.kind == "ndjson" {
		return newNDJSON(list, open, origin, NDJSONOptions{Types: s.cfg.Types, Zone: s.cfg.Zone, MaxRecord: s.cfg.MaxLine, readings: s.readings})
	}
	return newCSV(list, open, origin, s.csvOptions())
}
