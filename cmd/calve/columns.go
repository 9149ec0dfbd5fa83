package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/dustin/go-humanize"

	"github.com/calve-data/calve/arrowio"
)

// columnConfig is what calve.yaml says of a column, by its name in the table.
type columnConfig struct {
	Type string `yaml:"type"`
	// From is the column's name in the source, where it is another one.
	From string `yaml:"from"`
	// Default stands where the source has no value.
	Default *string `yaml:"default"`
	// Format is how times or numbers are written.
	Format string `yaml:"format"`
	// Timezone is the zone of the column's times that carry no offset, and Fold
	// which of two is meant when its clocks are set back.
	Timezone string `yaml:"timezone"`
	Fold     string `yaml:"fold"`
	// Derive fills a column that no file has: window_start, source_file or run.
	Derive string `yaml:"derive"`
	// Volatile says that the column's values differ from run to run.
	Volatile bool `yaml:"volatile"`
}

// source is the column's name in the source.
func (c columnConfig) source(name string) string {
	if c.From != "" {
		return c.From
	}
	return name
}

// arrowio returns the source as its package wants it.
func (l loadConfig) arrowio() (arrowio.Config, error) {
	cfg := arrowio.Config{
		Type: l.Source.Type, Path: l.Source.Path, Null: l.Source.Null,
		Delimiter: l.Source.Delimiter, Numbers: l.Source.Numbers, OnlyListed: l.OnlyListed,
		Types: map[string]arrow.DataType{}, Columns: map[string]arrowio.ColumnOptions{}, Rename: map[string]string{},
		Derived: map[string]arrowio.Derivation{},
	}
	if cfg.Delimiter == `\t` || cfg.Delimiter == "tab" {
		cfg.Delimiter = "\t"
	}
	if err := l.Source.header(&cfg); err != nil {
		return cfg, err
	}
	if err := l.onlyListed(); err != nil {
		return cfg, err
	}
	owner := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(l.Columns)) {
		column := l.Columns[name]
		if column.Derive != "" {
			if err := column.derived(&cfg, name); err != nil {
				return cfg, err
			}
			continue
		}
		from := column.source(name)
		if other, twice := owner[from]; twice {
			return cfg, usage("columns %q and %q are both from the source's %q", other, name, from)
		}
		owner[from] = name
		if from != name {
			cfg.Rename[from] = name
		}
		if err := column.into(&cfg, name, from); err != nil {
			return cfg, err
		}
	}
	return cfg, l.noDefaultTime()
}

// derived adds a column that no file has.
func (c columnConfig) derived(cfg *arrowio.Config, name string) error {
	if c.From != "" || c.Default != nil || c.Format != "" || c.Timezone != "" || c.Fold != "" {
		return usage("column %q is derived from %s: there is nothing of it in the source, so it takes a type and no more", name, c.Derive)
	}
	cfg.Derived[name] = arrowio.Derivation(c.Derive)
	return c.typed(cfg, name, name)
}

// typed declares the column's type, if it has one.
func (c columnConfig) typed(cfg *arrowio.Config, name, from string) error {
	if c.Type == "" {
		return nil
	}
	t, err := arrowio.ParseType(c.Type)
	if err != nil {
		return usage("type of column %q: %v", name, err)
	}
	cfg.Types[from] = t
	return nil
}

// into adds the column to a source's config.
func (c columnConfig) into(cfg *arrowio.Config, name, from string) error {
	if err := c.typed(cfg, name, from); err != nil {
		return err
	}
	options := arrowio.ColumnOptions{Default: c.Default, Format: c.Format, Fold: arrowio.Fold(c.Fold)}
	if c.Timezone != "" {
		zone, err := time.LoadLocation(c.Timezone)
		if err != nil || c.Timezone == "Local" {
			return usage("timezone of column %q: %q is not a zone such as UTC or Europe/Berlin", name, c.Timezone)
		}
		options.Zone = zone
	}
	cfg.Columns[from] = options
	return nil
}

// header says whether CSV has a header line: true, false, or what its columns are.
func (s sourceConfig) header(cfg *arrowio.Config) error {
	switch {
	case len(s.Header) == 0 || len(s.Header) == 1 && s.Header[0] == "true":
	case len(s.Header) == 1 && s.Header[0] == "false":
		cfg.NoHeader = true
	default:
		cfg.NoHeader, cfg.Header = true, s.Header
	}
	if s.MaxLine == "" {
		return nil
	}
	n, err := humanize.ParseBytes(s.MaxLine)
	if err != nil || n == 0 || n > 1<<30 {
		return usage("source.max_line %q is not a size such as 64MiB, at most 1GiB", s.MaxLine)
	}
	cfg.MaxLine = int(n)
	return nil
}

// onlyListed refuses a list that lacks what says which rows the load owns.
func (l loadConfig) onlyListed() error {
	if !l.OnlyListed {
		return nil
	}
	listed := func(name string) bool {
		for column := range l.Columns {
			if strings.EqualFold(column, name) {
				return true
			}
		}
		return false
	}
	needed := append([]string{cmp.Or(l.Cursor, l.TimeColumn)}, slices.Sorted(maps.Keys(l.Scope))...)
	for _, name := range needed {
		if !listed(name) {
			return usage("only_listed: true leaves out the column %q, which says which rows the load owns: list it in columns, as %s: {}", name, name)
		}
	}
	return nil
}

// noDefaultTime refuses to make up the time that windows are on.
func (l loadConfig) noDefaultTime() error {
	for name, c := range l.Columns {
		if c.Default != nil && strings.EqualFold(name, cmp.Or(l.Cursor, l.TimeColumn)) {
			return usage("column %q has a default and is the time column, or the cursor: a row without its time is in no window", name)
		}
	}
	return nil
}

// volatile lists the columns whose values differ from run to run.
func (l loadConfig) volatile() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(l.Columns)) {
		if c := l.Columns[name]; c.Volatile || arrowio.Derivation(c.Derive).Volatile() {
			names = append(names, name)
		}
	}
	return names
}

// meantColumn is the hint for a declared column that the source lacks.
func meantColumn(e *arrowio.NoColumnError) string {
	if near := nearest(e.Name, e.Have); near != "" {
		return fmt.Sprintf("did you mean %q? columns: NAME: {from: SOURCE_NAME} loads a column under another name", near)
	}
	return "columns: NAME: {from: SOURCE_NAME} loads a column under another name; {default: VALUE} fills one that the source lacks"
}
