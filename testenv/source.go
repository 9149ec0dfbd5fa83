package testenv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"iter"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/calve-data/calve/lake"
)

// Source is a [lake.Source] in memory. It may be loaded any number of times, by
// several loads at once.
type Source struct {
	Schema *arrow.Schema
	// Batches are the rows, one file each.
	Batches []arrow.RecordBatch
	// Exact claims that the source is exactly the window.
	Exact bool
	// Files is the number of files to claim; 0: one for each batch. -1: none,
	// as where no file matched.
	Files int
	// BeforeRead is called when a load begins to read, after its base is fixed:
	// the place for another writer to come in between.
	BeforeRead func()
	// Err ends the reading after the rows.
	Err error
}

// Rows is a source of one batch of literals.
func Rows(tb testing.TB, schema *arrow.Schema, rows ...Row) *Source {
	tb.Helper()
	return &Source{Schema: schema, Batches: []arrow.RecordBatch{Batch(tb, nil, schema, rows...)}}
}

// Pin is that of [lake.Source].
func (s *Source) Pin(_ context.Context, _ lake.Window) (lake.Input, error) { return &input{s}, nil }

// input is one reading of a Source.
type input struct{ *Source }

func (in *input) Origin() lake.Origin {
	o := lake.Origin{Kind: "memory", Files: in.Files, Exact: in.Exact}
	if o.Files == 0 {
		o.Files = len(in.Batches)
	}
	o.Files = max(o.Files, 0)
	for i := range min(o.Files, 3) {
		o.Names = append(o.Names, fileName(i))
	}
	sum := sha256.New()
	for _, b := range in.Batches {
		for _, c := range b.Columns() {
			o.Bytes += hashData(sum, c.Data())
		}
	}
	o.Fingerprint = hex.EncodeToString(sum.Sum(nil)[:8])
	return o
}

// hashData hashes an array's buffers and returns their size.
func hashData(sum hash.Hash, d arrow.ArrayData) (size int64) {
	fmt.Fprint(sum, d.Len(), d.Offset())
	for _, b := range d.Buffers() {
		if b != nil {
			sum.Write(b.Bytes())
			size += int64(b.Len())
		}
	}
	for _, child := range d.Children() {
		size += hashData(sum, child)
	}
	return size
}

func fileName(i int) string { return fmt.Sprintf("memory-%d", i) }

func (in *input) Columns(context.Context) ([]lake.Column, error) {
	columns := make([]lake.Column, in.Schema.NumFields())
	for i, f := range in.Schema.Fields() {
		columns[i] = lake.Column{Name: f.Name, Type: f.Type}
	}
	return columns, nil
}

func (in *input) Infer(ctx context.Context, names []string) ([]lake.Column, error) {
	all, err := in.Columns(ctx)
	if err != nil {
		return nil, err
	}
	var columns []lake.Column
	for _, name := range names {
		for _, c := range all {
			if c.Name == name {
				columns = append(columns, c)
			}
		}
	}
	return columns, nil
}

func (in *input) Read(ctx context.Context, r lake.Request) iter.Seq2[lake.Batch, error] {
	return func(yield func(lake.Batch, error) bool) {
		if in.BeforeRead != nil {
			in.BeforeRead()
		}
		for i, b := range in.Batches {
			if err := context.Cause(ctx); err != nil {
				yield(lake.Batch{}, err)
				return
			}
			projected, err := project(ctx, b, r.Schema)
			if err != nil {
				yield(lake.Batch{}, fmt.Errorf("%s: %w", fileName(i), err))
				return
			}
			if !yield(lake.Batch{RecordBatch: projected, File: fileName(i), FirstRow: 1}, nil) {
				return
			}
		}
		if in.Err != nil {
			yield(lake.Batch{}, in.Err)
		}
	}
}

// project returns the columns of b that schema names, cast to its types, and
// nulls for those that b lacks.
func project(ctx context.Context, b arrow.RecordBatch, schema *arrow.Schema) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, schema.NumFields())
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, f := range schema.Fields() {
		at := b.Schema().FieldIndices(f.Name)
		switch {
		case len(at) == 0 && !f.Nullable:
			return nil, fmt.Errorf("column %q is missing and may not be null: %w", f.Name, lake.ErrInput)
		case len(at) == 0:
			columns[i] = array.MakeArrayOfNull(memory.DefaultAllocator, f.Type, int(b.NumRows()))
		case arrow.TypeEqual(b.Column(at[0]).DataType(), f.Type):
			columns[i] = b.Column(at[0])
			columns[i].Retain()
		default:
			c, err := compute.CastArray(ctx, b.Column(at[0]), compute.SafeCastOptions(f.Type))
			if err != nil {
				return nil, fmt.Errorf("column %q: %w: %w", f.Name, err, lake.ErrInput)
			}
			columns[i] = c
		}
	}
	return array.NewRecordBatch(schema, columns, b.NumRows()), nil
}
