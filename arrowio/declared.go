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

// NoColumnError says that a column was declared and is in no file. It wraps
// [lake.ErrSchema].
type NoColumnError struct {
	Name string
	// Have names the columns that there are.
	Have []string
}

func (e *NoColumnError) Error() string {
	have, more := e.Have, ""
	if len(have) > namesInError {
		have, more = have[:namesInError], " and more"
	}
	return fmt.Sprintf("the column %q is declared, and the source has none of that name: %s%s", e.Name, strings.Join(have, ", "), more)
}

// namesInError is how many columns an error lists.
const namesInError = 20

// Unwrap returns [lake.ErrSchema].
func (e *NoColumnError) Unwrap() error { return lake.ErrSchema }

// declared is an input with what its config says of columns, whatever form the
// files have: that they must be there, what stands where they have no value, and
// whether others are left out. Names are those of the files.
type declared struct {
	lake.Input
	types    map[string]arrow.DataType
	options  map[string]ColumnOptions
	readings map[string]reading
	// zone is that of columns without one.
	zone *time.Location
	// listed holds the columns that the config names in any way.
	listed map[string]bool
	only   bool
	// derived are columns that no file may have; whoever derives them refuses those.
	derived map[string]Derivation
	// optional says that a listed column may be in no file: the files say what
	// columns they have by their rows alone.
	optional bool
	mem      memory.Allocator
	// absent are the columns that only a default fills.
	absent map[string]bool
}

// Columns implements [lake.Input].
func (d *declared) Columns(ctx context.Context) ([]lake.Column, error) {
	columns, err := d.Input.Columns(ctx)
	if err != nil {
		return nil, err
	}
	columns, err = d.withAbsent(slices.Clone(columns))
	if err != nil {
		return nil, err
	}
	if d.only {
		if err := d.refuseOtherCase(columns); err != nil {
			return nil, err
		}
		columns = slices.DeleteFunc(columns, func(c lake.Column) bool { return !d.listed[c.Name] && d.derived[c.Name] == "" })
	}
	return columns, d.checkDefaults(columns)
}

// refuseOtherCase refuses to leave out a column whose name differs from a listed
// one's only by case: where files spell a column in two ways, the values of one
// of them would be lost, and NULL or a default would stand in their place.
func (d *declared) refuseOtherCase(columns []lake.Column) error {
	listed := make(map[string]string, len(d.listed))
	for name := range d.listed {
		listed[strings.ToLower(name)] = name
	}
	for _, c := range columns {
		if name, ok := listed[strings.ToLower(c.Name)]; ok && !d.listed[c.Name] {
			return fmt.Errorf("the source's column %q is not listed and differs from the listed %q only by case: rename it in the source, or list it under another name by from: %w", c.Name, name, lake.ErrSchema)
		}
	}
	return nil
}

// withAbsent adds the columns that no file has and that have a default.
func (d *declared) withAbsent(columns []lake.Column) ([]lake.Column, error) {
	var have []string
	for _, c := range columns {
		have = append(have, c.Name)
	}
	d.absent = map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(d.listed)) {
		switch {
		case slices.Contains(have, name):
		case d.options[name].Default != nil:
			d.absent[name] = true
			columns = append(columns, lake.Column{Name: name, Type: d.types[name], Why: "declared; no file has it"})
		case !d.optional:
			return nil, &NoColumnError{Name: name, Have: have}
		}
	}
	return columns, nil
}

// checkDefaults refuses defaults that do not fit their columns' types, as far as
// these are known.
func (d *declared) checkDefaults(columns []lake.Column) error {
	for _, c := range columns {
		if text := d.options[c.Name].Default; text != nil && c.Type != nil {
			value, err := d.value(c.Name, c.Type)
			if err != nil {
				return err
			}
			value.Release()
		}
	}
	return nil
}

// Infer implements [lake.Input].
func (d *declared) Infer(ctx context.Context, names []string) ([]lake.Column, error) {
	for _, name := range names {
		if d.absent[name] {
			return nil, fmt.Errorf("the column %q is in no file, so its default needs a type: declare it: %w", name, lake.ErrUsage)
		}
	}
	columns, err := d.Input.Infer(ctx, names)
	if err != nil {
		return nil, err
	}
	for _, c := range columns {
		if err := d.readings[c.Name].fits(c.Type); err != nil {
			return nil, fmt.Errorf("column %q: %w (%s): declare its type: %w", c.Name, err, c.Why, lake.ErrInput)
		}
	}
	return columns, d.checkDefaults(columns)
}

// Read implements [lake.Input].
func (d *declared) Read(ctx context.Context, r lake.Request) iter.Seq2[lake.Batch, error] {
	return func(yield func(lake.Batch, error) bool) {
		f, err := d.filling(r)
		if err != nil {
			yield(lake.Batch{}, err)
			return
		}
		defer f.release()
		within := r
		within.Schema = f.optionalSchema()
		for batch, err := range d.Input.Read(ctx, within) {
			if err == nil {
				batch.RecordBatch = f.fill(batch.RecordBatch)
			}
			if !yield(batch, err) {
				return
			}
		}
	}
}

// filling prepares the defaults of the wanted columns.
func (d *declared) filling(r lake.Request) (*filling, error) {
	f := &filling{schema: r.Schema, values: make([]arrow.Array, r.Schema.NumFields()), mem: d.mem}
	for i, field := range r.Schema.Fields() {
		if err := d.readings[field.Name].within(field.Type, d.zone).fits(field.Type); err != nil {
			f.release()
			return nil, fmt.Errorf("column %q: %w: %w", field.Name, err, lake.ErrSchema)
		}
		if d.options[field.Name].Default == nil {
			continue
		}
		if field.Name == r.Time {
			f.release()
			return nil, fmt.Errorf("column %q: the time that windows are on has no default: %w", field.Name, lake.ErrUsage)
		}
		var err error
		if f.values[i], err = d.value(field.Name, field.Type); err != nil {
			f.release()
			return nil, err
		}
	}
	return f, nil
}

// value is the default of a column as an array of one value.
func (d *declared) value(name string, t arrow.DataType) (arrow.Array, error) {
	text := []byte(*d.options[name].Default)
	// It is small, and columns give back memory by other lengths than they take.
	c := newColumn(arrow.Field{Name: name, Type: t}, memory.DefaultAllocator)
	if c.kind == kindNone {
		return nil, fmt.Errorf("column %q: there are no defaults of type %s: %w", name, icebergWord(t), lake.ErrUsage)
	}
	r := d.readings[name].within(t, d.zone)
	c.zone, c.fold = r.zone, r.fold
	c.grow(1)
	if err := c.set(0, text); err != nil {
		c.free()
		return nil, fmt.Errorf("default of column %q: %s: %w", name, badValue(text, t, err), lake.ErrUsage)
	}
	return c.array(1), nil
}

// filling puts defaults where batches have no value.
type filling struct {
	schema *arrow.Schema
	// values holds each column's default, nil where it has none.
	values []arrow.Array
	mem    memory.Allocator
}

func (f *filling) release() {
	for _, v := range f.values {
		if v != nil {
			v.Release()
		}
	}
}

// optionalSchema is the schema in which columns with a default may be null.
func (f *filling) optionalSchema() *arrow.Schema {
	fields := f.schema.Fields()
	for i, v := range f.values {
		fields[i].Nullable = fields[i].Nullable || v != nil
	}
	meta := f.schema.Metadata()
	return arrow.NewSchema(fields, &meta)
}

// fill takes over a batch and returns it with its defaults.
func (f *filling) fill(batch arrow.RecordBatch) arrow.RecordBatch {
	defer batch.Release()
	fields, arrays := batch.Schema().Fields(), slices.Clone(batch.Columns())
	for i, value := range f.values {
		if value == nil {
			continue
		}
		fields[i].Nullable = f.schema.Field(i).Nullable
		if arrays[i].NullN() > 0 {
			arrays[i] = fillNulls(arrays[i], value, f.mem)
			fields[i].Type = arrays[i].DataType()
			defer arrays[i].Release()
		}
	}
	meta := batch.Schema().Metadata()
	return array.NewRecordBatch(arrow.NewSchema(fields, &meta), arrays, batch.NumRows())
}
