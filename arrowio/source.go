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
	// Type is the form of the files: csv or parquet. Default: by the extension
	// of Path (.csv, .tsv, either with .gz or .zst after it; .parquet).
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
	// Null lists words that mean NULL in CSV, besides the empty field.
	Null []string
	// Delimiter separates the fields of CSV: one character, or tab. Default: a
	// comma, and a tab for .tsv.
	Delimiter string
	// Types declares columns' types, by the names that the files have. Default:
	// as the file has them, and inferred from all values for CSV.
	Types map[string]arrow.DataType
	// Rename gives columns other names: from those in the files to those in the
	// table.
	Rename map[string]string
	// Zone is the zone of times that carry none, in columns that need one.
	// Default: such times are refused.
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
	return s, nil
}

func (c Config) form() (string, error) {
	switch c.Type {
	case "csv", "parquet":
		return c.Type, nil
	case "":
		switch c.extension() {
		case ".csv", ".tsv":
			return "csv", nil
		case ".parquet":
			return "parquet", nil
		}
		return "", fmt.Errorf("source.type is required where source.path %q does not end in .csv, .tsv or .parquet: there are csv and parquet: %w", c.Path, lake.ErrUsage)
	}
	return "", fmt.Errorf("source.type %q is unknown: there are csv and parquet: %w", c.Type, lake.ErrUsage)
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
	return derive(rename(in, s.cfg.Rename), s.cfg), nil
}

func (s *fileSource) input(origin lake.Origin, list []lake.File) (lake.Input, error) {
	if s.kind == "parquet" {
		return newParquet(origin, list, s.files, s.cfg), nil
	}
	open := func(ctx context.Context, f lake.File) (io.ReadCloser, error) { return s.files.Open(ctx, f) }
	return newCSV(list, open, origin, CSVOptions{
		Delimiter: s.delim, Null: s.cfg.Null, Types: s.cfg.Types, Zone: s.cfg.Zone,
	})
}
