package arrowio

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/calve-data/calve/lake"
)

// renamed is an input whose columns go by other names. Within, they have those
// of the files, so errors name what a person finds there.
type renamed struct {
	lake.Input
	to   map[string]string // from the files' names
	from map[string]string // to the files' names
}

func rename(input lake.Input, to map[string]string) lake.Input {
	if len(to) == 0 {
		return input
	}
	r := &renamed{Input: input, to: to, from: make(map[string]string, len(to))}
	for from, name := range to {
		r.from[name] = from
	}
	return r
}

// Columns implements [lake.Input].
func (r *renamed) Columns(ctx context.Context) ([]lake.Column, error) {
	columns, err := r.Input.Columns(ctx)
	if err != nil {
		return nil, err
	}
	columns = r.outward(columns)
	seen := make(map[string]bool, len(columns))
	for _, c := range columns {
		if seen[c.Name] {
			return nil, fmt.Errorf("two columns of the source would be named %q: see its renames: %w", c.Name, lake.ErrUsage)
		}
		seen[c.Name] = true
	}
	return columns, nil
}

// Infer implements [lake.Input].
func (r *renamed) Infer(ctx context.Context, names []string) ([]lake.Column, error) {
	within := make([]string, len(names))
	for i, name := range names {
		within[i] = r.inward(name)
	}
	columns, err := r.Input.Infer(ctx, within)
	return r.outward(columns), err
}

// Read implements [lake.Input].
func (r *renamed) Read(ctx context.Context, want lake.Request) iter.Seq2[lake.Batch, error] {
	within := want
	within.Schema = withNames(want.Schema, r.inward)
	within.Time = r.inward(want.Time)
	return func(yield func(lake.Batch, error) bool) {
		for batch, err := range r.Input.Read(ctx, within) {
			if err == nil {
				inner := batch.RecordBatch
				batch.RecordBatch = array.NewRecordBatch(withNames(inner.Schema(), r.outwardName), inner.Columns(), inner.NumRows())
				inner.Release()
			}
			if !yield(batch, err) {
				return
			}
		}
	}
}

func (r *renamed) inward(name string) string {
	if from, ok := r.from[name]; ok {
		return from
	}
	return name
}

func (r *renamed) outwardName(name string) string {
	if to, ok := r.to[name]; ok {
		return to
	}
	return name
}

func (r *renamed) outward(columns []lake.Column) []lake.Column {
	for i := range columns {
		columns[i].Name = r.outwardName(columns[i].Name)
	}
	return columns
}

func withNames(s *arrow.Schema, name func(string) string) *arrow.Schema {
	fields := s.Fields()
	for i := range fields {
		fields[i].Name = name(fields[i].Name)
	}
	meta := s.Metadata()
	return arrow.NewSchema(fields, &meta)
}
