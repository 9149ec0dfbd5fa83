package lake

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
)

// guard stands between the source and the stage. It turns a batch of the
// source into one with the table's columns and proves on the values that will
// be stored that every row belongs: inside window and scope, required columns
// not null at any depth.
type guard struct {
	owned *owned
	fit   *fit
	// exact is true where a row outside is an error.
	exact bool
	// counted is told, after each batch, how many of its rows were read and how
	// many of them were left out.
	counted func(read, outside int64)
	// placed is told, before a batch is yielded, where its rows are from. Optional.
	placed func(place)
}

// pass yields the batches that the stage may store. The caller releases each.
func (g *guard) pass(ctx context.Context, source iter.Seq2[Batch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for b, err := range source {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				if b.RecordBatch != nil {
					b.Release()
				}
				yield(nil, err)
				return
			}
			checked, err := g.check(ctx, b)
			b.Release()
			if err != nil || (checked != nil && checked.NumRows() > 0) {
				if !yield(checked, err) || err != nil {
					return
				}
			} else if checked != nil {
				checked.Release()
			}
		}
	}
}

// check returns the rows of b that belong, with the table's columns.
func (g *guard) check(ctx context.Context, b Batch) (arrow.RecordBatch, error) {
	if err := g.sameTypes(b); err != nil {
		return nil, err
	}
	rec, err := g.project(b)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	keep, err := g.belonging(rec, b)
	if err != nil {
		return nil, err
	}
	kept, err := keepRows(ctx, rec, keep)
	if err != nil {
		return nil, err
	}
	g.counted(rec.NumRows(), rec.NumRows()-kept.NumRows())
	if row, column, missing := missingRequired(g.fit.schema, kept); missing {
		kept.Release()
		return nil, fmt.Errorf("%s row %d: column %q is NULL, but the table requires it: %w", b.File, b.FirstRow+int64(nthKept(keep, row)), column, ErrInput)
	}
	if g.placed != nil {
		g.placed(place{b.File, b.FirstRow, keep})
	}
	return kept, nil
}

// nthKept is the place of the n-th kept row, from 0, in the batch.
func nthKept(keep []bool, n int) int {
	if keep == nil {
		return n
	}
	for i, ok := range keep {
		if ok {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return len(keep)
}

func (g *guard) sameTypes(b Batch) error {
	want := g.fit.request
	if int(b.NumCols()) != want.NumFields() {
		return fmt.Errorf("the source returned %d columns where %d were asked for: %w", b.NumCols(), want.NumFields(), ErrInput)
	}
	for i, f := range want.Fields() {
		have := b.Column(i).DataType()
		if !arrow.TypeEqual(have, f.Type) && !isTextDictionary(have, f.Type) {
			return fmt.Errorf("%s: column %q came as %s where %s was asked for: %w", b.File, f.Name, have, f.Type, ErrInput)
		}
	}
	return nil
}

func isTextDictionary(have, want arrow.DataType) bool {
	d, ok := have.(*arrow.DictionaryType)
	return ok && arrow.TypeEqual(d.ValueType, want) && want.ID() == arrow.STRING && d.IndexType.ID() == arrow.INT32
}

// project gives b the table's columns; those that the source lacks are null.
func (g *guard) project(b Batch) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(g.fit.from))
	fields := g.fit.arrow.Fields()
	for i, from := range g.fit.from {
		if from < 0 {
			columns[i] = array.MakeArrayOfNull(allocator, fields[i].Type, int(b.NumRows()))
			defer columns[i].Release()
			continue
		}
		columns[i] = b.Column(from)
	}
	return array.NewRecordBatch(schemaOf(fields, columns), columns, b.NumRows()), nil
}

// schemaOf is the fields with the types that the columns have: a text column
// may be a dictionary.
func schemaOf(fields []arrow.Field, columns []arrow.Array) *arrow.Schema {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		out[i] = arrow.Field{Name: f.Name, Type: columns[i].DataType(), Nullable: f.Nullable, Metadata: f.Metadata}
	}
	return arrow.NewSchema(out, nil)
}

// belonging marks the rows of rec that are owned; nil means all of them.
func (g *guard) belonging(rec arrow.RecordBatch, b Batch) ([]bool, error) {
	keep := g.owned.rows(g.fit.schema, rec)
	if keep == nil || !g.exact {
		return keep, nil
	}
	for i, ok := range keep {
		if !ok {
			return nil, fmt.Errorf("%s row %d: %s: %w", b.File, b.FirstRow+int64(i), g.owned.describe(g.fit.schema, rec, i), ErrOutsideWindow)
		}
	}
	return nil, nil
}

// rows marks the rows that are owned; nil means all of them.
func (o *owned) rows(sc *iceberg.Schema, rec arrow.RecordBatch) []bool {
	var keep []bool
	if !o.always {
		keep = o.inWindow(rec.Column(columnIndex(sc, o.timeID)))
	}
	for _, eq := range o.scope {
		equal := equalTo(rec.Column(columnIndex(sc, eq.field.ID)), eq)
		for i := range int(rec.NumRows()) {
			if equal(i) {
				continue
			}
			if keep == nil {
				keep = allTrue(int(rec.NumRows()))
			}
			keep[i] = false
		}
	}
	return keep
}

// inWindow marks the times in the window; nil means all of them.
func (o *owned) inWindow(times arrow.Array) []bool {
	n := times.Len()
	at := timeValues(times)
	if times.NullN() == 0 {
		all := true
		for i := range n {
			all = all && o.span.contains(at(i))
		}
		if all {
			return nil
		}
	}
	keep := make([]bool, n)
	for i := range n {
		keep[i] = times.IsValid(i) && o.span.contains(at(i))
	}
	return keep
}

// timeValues reads the stored values of a time column.
func timeValues(a arrow.Array) func(int) int64 {
	switch a := a.(type) {
	case *array.Timestamp:
		v := a.TimestampValues()
		return func(i int) int64 { return int64(v[i]) }
	case *array.Date32:
		v := a.Date32Values()
		return func(i int) int64 { return int64(v[i]) }
	}
	panic("a time column is a timestamp or a date")
}

// equalTo tells whether a value is the scope's constant; NULL never is.
func equalTo(a arrow.Array, eq equality) func(int) bool {
	value := rawValues(a)
	if d, ok := a.(*array.Dictionary); ok {
		words := rawValues(d.Dictionary())
		value = func(i int) []byte { return words(d.GetValueIndex(i)) }
	}
	return func(i int) bool { return a.IsValid(i) && bytes.Equal(value(i), eq.bytes) }
}

func allTrue(n int) []bool {
	b := make([]bool, n)
	for i := range b {
		b[i] = true
	}
	return b
}

// describe says where a row lies that is not owned.
func (o *owned) describe(sc *iceberg.Schema, rec arrow.RecordBatch, i int) string {
	times := rec.Column(columnIndex(sc, o.timeID))
	if times.IsNull(i) {
		return fmt.Sprintf("column %q is NULL, which is in no window", o.time.Name)
	}
	if at := timeValues(times)(i); !o.span.contains(at) {
		w := Window{From: o.kind.at(at), Wall: o.kind != Instants}
		from, _ := w.Bounds()
		return fmt.Sprintf("column %q is %s, outside %s", o.time.Name, from, o.window)
	}
	for _, eq := range o.scope {
		c := rec.Column(columnIndex(sc, eq.field.ID))
		if !equalTo(c, eq)(i) {
			return fmt.Sprintf("column %q is %s, outside the scope %s", eq.field.Name, c.ValueStr(i), o.scopeText())
		}
	}
	return "not outside"
}

func columnIndex(sc *iceberg.Schema, id int) int {
	for i, f := range sc.Fields() {
		if f.ID == id {
			return i
		}
	}
	return -1
}
