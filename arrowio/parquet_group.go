package arrowio

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"golang.org/x/sync/errgroup"

	"github.com/calve-data/calve/lake"
)

// rowGroup is one row group being read, from its first row on.
type rowGroup struct {
	footer *footer
	file   *parquetFile
	// columns decode the wanted columns, in their order; nil where the file has
	// none of that name.
	columns []*pqarrow.ColumnReader
	first   int64 // number in the file of the next row
	left    int64
	// batch is how many rows are decoded at once.
	batch int64
}

// openGroup reads the wanted columns' bytes of row group g.
func (p *parquetInput) openGroup(ctx context.Context, f *footer, g int, r lake.Request) (_ *rowGroup, err error) {
	src, err := openParquet(ctx, p.files, f.file)
	if err != nil {
		return nil, err
	}
	meta := f.meta.RowGroup(g)
	out := &rowGroup{footer: f, file: src, first: f.first[g], left: meta.NumRows(), batch: rowsPerBatch(f, g, r)}
	defer func() {
		if err != nil {
			_ = out.close()
		}
	}()
	defer src.recover(&err)
	stored, _ := f.weight(g, r.Schema)
	pq, err := file.NewParquetReader(src.seeker(), file.WithMetadata(f.meta),
		file.WithReadProps(readProps(p.cfg.Allocator, stored > r.Memory/4)))
	if err != nil {
		return nil, src.explain(err)
	}
	reader, err := pqarrow.NewFileReader(pq, pqarrow.ArrowReadProperties{BatchSize: out.batch}, p.cfg.Allocator)
	if err != nil {
		return nil, src.explain(err)
	}
	for _, field := range r.Schema.Fields() {
		if at := f.find(field.Name); at >= 0 && f.isText(at) && field.Type.ID() == arrow.STRING {
			reader.Manifest.Fields[at].Field.Type = f.textType(g, at)
		}
	}
	if err := out.openColumns(ctx, reader, g, r.Schema); err != nil {
		return nil, src.explain(err)
	}
	return out, nil
}

// openColumns reads the columns' bytes, each in a request of its own.
func (rg *rowGroup) openColumns(ctx context.Context, reader *pqarrow.FileReader, g int, want *arrow.Schema) error {
	rg.columns = make([]*pqarrow.ColumnReader, want.NumFields())
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(filesAtOnce)
	for i, field := range want.Fields() {
		at := rg.footer.find(field.Name)
		if at < 0 {
			if !field.Nullable {
				return fmt.Errorf("%s: column %q is missing, and it is required: %w", rg.footer.file.Path, field.Name, lake.ErrInput)
			}
			continue
		}
		included := map[int]bool{}
		for _, leaf := range rg.footer.leaves[at] {
			included[leaf] = true
		}
		group.Go(func() (err error) {
			defer rg.file.recover(&err)
			rg.columns[i], err = reader.GetFieldReader(ctx, at, included, []int{g})
			return err
		})
	}
	return group.Wait()
}

// next decodes the next batch in the types of want, its columns on procs cores.
func (rg *rowGroup) next(want *arrow.Schema, procs int, at place) (lake.Batch, error) {
	n := min(rg.batch, rg.left)
	arrays := make([]arrow.Array, want.NumFields())
	var group errgroup.Group
	group.SetLimit(max(procs, 1))
	for i, field := range want.Fields() {
		at := at
		at.file, at.column, at.row = rg.footer.file.Path, field.Name, rg.first
		if o := at.options[field.Name]; o.Zone != nil {
			at.zone, at.fold = o.Zone, o.Fold
		}
		group.Go(func() (err error) {
			defer rg.file.recover(&err)
			arrays[i], err = rg.decode(i, n, field.Type, at)
			return err
		})
	}
	err := group.Wait()
	defer func() {
		for _, a := range arrays {
			if a != nil {
				a.Release()
			}
		}
	}()
	if err != nil {
		return lake.Batch{}, err
	}
	batch := lake.Batch{RecordBatch: array.NewRecordBatch(schemaOf(want, arrays), arrays, n), File: rg.footer.file.Path, FirstRow: rg.first}
	rg.first, rg.left = rg.first+n, rg.left-n
	return batch, nil
}

func (rg *rowGroup) decode(i int, n int64, to arrow.DataType, at place) (arrow.Array, error) {
	if rg.columns[i] == nil {
		return array.MakeArrayOfNull(at.mem, to, int(n)), nil
	}
	chunked, err := rg.columns[i].NextBatch(n)
	if err != nil {
		return nil, rg.file.explain(fmt.Errorf("column %q: %w", at.column, err))
	}
	defer chunked.Release()
	if int64(chunked.Len()) != n {
		return nil, rg.file.explain(fmt.Errorf("column %q ends %d rows early", at.column, n-int64(chunked.Len())))
	}
	is := rg.footer.columns[rg.footer.find(at.column)].Type
	if chunks := chunked.Chunks(); len(chunks) == 1 {
		return castAs(chunks[0], is, to, at)
	}
	whole, err := array.Concatenate(chunked.Chunks(), at.mem)
	if err != nil {
		return nil, rg.file.explain(fmt.Errorf("column %q: %w", at.column, err))
	}
	defer whole.Release()
	return castAs(whole, is, to, at)
}

// castAs casts what the library read without knowing all of the type.
func castAs(arr arrow.Array, is, to arrow.DataType, at place) (arrow.Array, error) {
	if arr.DataType().ID() == arrow.DICTIONARY || sameShape(arr.DataType(), is) {
		return cast(arr, to, at)
	}
	told := retype(arr, is)
	defer told.Release()
	return cast(told, to, at)
}

// schemaOf is the wanted schema, with dictionaries where strings come as such.
func schemaOf(want *arrow.Schema, arrays []arrow.Array) *arrow.Schema {
	fields := want.Fields()
	for i, a := range arrays {
		if a.DataType().ID() == arrow.DICTIONARY {
			fields[i].Type = a.DataType()
		}
	}
	meta := want.Metadata()
	return arrow.NewSchema(fields, &meta)
}

func (rg *rowGroup) close() error {
	for _, c := range rg.columns {
		if c != nil {
			c.Release()
		}
	}
	return rg.file.Close()
}
