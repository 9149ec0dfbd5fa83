package arrowio

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/calve-data/calve/lake"
)

// Derivation says what a derived column holds: a column that no file has.
type Derivation string

const (
	// WindowStart is the beginning of the window that is loaded: the time column
	// of rows that have no time of their own. Its type is timestamptz, unless
	// timestamp or date is declared.
	WindowStart Derivation = "window_start"
	// SourceFile is the name of the file that a row is from. It may differ
	// between two loads of the same rows, so it is volatile.
	SourceFile Derivation = "source_file"
	// RunLabel is the label that the orchestrator gave the run; NULL without
	// one. It is volatile, too.
	RunLabel Derivation = "run"
)

// derivations are all of them.
var derivations = []Derivation{WindowStart, SourceFile, RunLabel} //nolint:gochecknoglobals // a list that nobody changes

// Volatile reports whether the values may differ between two loads of the same
// rows, so that they are left out of a digest.
func (d Derivation) Volatile() bool { return d == SourceFile || d == RunLabel }

// valid checks what a column is derived from, and the type declared for it.
func (d Derivation) valid(name string, declared arrow.DataType) error {
	if !slices.Contains(derivations, d) {
		names := make([]string, len(derivations))
		for i, known := range derivations {
			names[i] = string(known)
		}
		return fmt.Errorf("column %q cannot be derived from %q: there are %s: %w", name, d, strings.Join(names, ", "), lake.ErrUsage)
	}
	switch {
	case declared == nil:
	case d == WindowStart && (declared.ID() == arrow.TIMESTAMP || declared.ID() == arrow.DATE32):
	case d != WindowStart && declared.ID() == arrow.STRING:
	default:
		return fmt.Errorf("column %q is derived from %s, which is no %s: %w", name, d, declared, lake.ErrUsage)
	}
	return nil
}

func (d Derivation) defaultType() arrow.DataType {
	if d == WindowStart {
		return arrow.FixedWidthTypes.Timestamp_us
	}
	return arrow.BinaryTypes.String
}

// derived is an input with columns besides those of the files.
type derived struct {
	lake.Input
	columns map[string]Derivation
	types   map[string]arrow.DataType
	run     string
	alloc   memory.Allocator
}

func derive(input lake.Input, cfg Config) lake.Input {
	if len(cfg.Derived) == 0 {
		return input
	}
	return &derived{Input: input, columns: cfg.Derived, types: cfg.Types, run: cfg.Run, alloc: cfg.Allocator}
}

// Columns implements [lake.Input]. The derived columns come last, by name.
func (d *derived) Columns(ctx context.Context) ([]lake.Column, error) {
	columns, err := d.Input.Columns(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range columns {
		if of, ok := d.columns[c.Name]; ok {
			return nil, fmt.Errorf("the files have a column %q, which is to be derived from %s: give one of them another name: %w", c.Name, of, lake.ErrUsage)
		}
	}
	columns = slices.Clone(columns)
	for _, name := range slices.Sorted(maps.Keys(d.columns)) {
		t := d.types[name]
		if t == nil {
			t = d.columns[name].defaultType()
		}
		columns = append(columns, lake.Column{Name: name, Type: t, Why: "derived: " + string(d.columns[name])})
	}
	return columns, nil
}

// Read implements [lake.Input].
func (d *derived) Read(ctx context.Context, want lake.Request) iter.Seq2[lake.Batch, error] {
	within := want
	fields := want.Schema.Fields()
	fields = slices.DeleteFunc(fields, func(f arrow.Field) bool { _, ok := d.columns[f.Name]; return ok })
	within.Schema = arrow.NewSchema(fields, nil)
	if _, ok := d.columns[want.Time]; ok {
		within.Time = ""
	}
	return func(yield func(lake.Batch, error) bool) {
		for batch, err := range d.Input.Read(ctx, within) {
			if err == nil {
				err = d.extend(&batch, want)
			}
			if !yield(batch, err) || err != nil {
				return
			}
		}
	}
}

// extend gives a batch all wanted columns. With an error it has been released.
func (d *derived) extend(b *lake.Batch, want lake.Request) error {
	inner := b.RecordBatch
	defer inner.Release()
	b.RecordBatch = nil
	fields := want.Schema.Fields()
	columns := make([]arrow.Array, len(fields))
	next := 0
	for i, f := range fields {
		of, ok := d.columns[f.Name]
		if !ok {
			columns[i] = inner.Column(next)
			fields[i].Type = columns[i].DataType() // text may be a dictionary
			next++
			continue
		}
		made, err := d.column(of, f, b.File, want.Window, int(inner.NumRows()))
		if err != nil {
			return err
		}
		defer made.Release()
		columns[i], fields[i].Type = made, made.DataType()
	}
	b.RecordBatch = array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, inner.NumRows())
	return nil
}

func (d *derived) column(of Derivation, f arrow.Field, file string, w lake.Window, n int) (arrow.Array, error) {
	switch {
	case of == SourceFile:
		return repeatText(d.alloc, file, n), nil
	case of == RunLabel && d.run == "":
		return array.MakeArrayOfNull(d.alloc, arrow.BinaryTypes.String, n), nil
	case of == RunLabel:
		return repeatText(d.alloc, d.run, n), nil
	}
	return repeatStart(d.alloc, f, w, n)
}

// repeatText is a column of one text: a dictionary of it.
func repeatText(alloc memory.Allocator, text string, n int) arrow.Array {
	words := array.NewStringBuilder(alloc)
	defer words.Release()
	words.Append(text)
	word := words.NewArray()
	defer word.Release()
	codes := array.NewInt32Builder(alloc)
	defer codes.Release()
	codes.AppendValues(make([]int32, n), nil)
	code := codes.NewArray()
	defer code.Release()
	return array.NewDictionaryArray(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}, code, word)
}

// repeatStart is a column of the window's beginning.
func repeatStart(alloc memory.Allocator, f arrow.Field, w lake.Window, n int) (arrow.Array, error) {
	at := w.From.UTC()
	bad := func(why string) error {
		return fmt.Errorf("column %q, the start of the window %s, cannot be a %s: %s: %w", f.Name, w, f.Type, why, lake.ErrUsage)
	}
	switch t := f.Type.(type) {
	case *arrow.TimestampType:
		switch {
		case (t.TimeZone == "") != w.Wall:
			return nil, bad("one has a zone and the other has none; declare the type that the time column has")
		case at.Nanosecond()%1000 != 0:
			return nil, bad("it is no whole microsecond")
		}
		b := array.NewTimestampBuilder(alloc, t)
		defer b.Release()
		values := make([]arrow.Timestamp, n)
		for i := range values {
			values[i] = arrow.Timestamp(at.UnixMicro())
		}
		b.AppendValues(values, nil)
		return b.NewArray(), nil
	case *arrow.Date32Type:
		if !at.Equal(at.Truncate(24 * time.Hour)) {
			return nil, bad("it is not midnight; declare timestamptz")
		}
		b := array.NewDate32Builder(alloc)
		defer b.Release()
		values := make([]arrow.Date32, n)
		for i := range values {
			values[i] = arrow.Date32FromTime(at)
		}
		b.AppendValues(values, nil)
		return b.NewArray(), nil
	}
	return nil, bad("that is no time")
}
