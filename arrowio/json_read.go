package arrowio

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/calve-data/calve/lake"
)

// Read implements [lake.Input]. Batches have at most 65,536 rows, and their
// borders depend on the files alone. Where a line is longer than a block of
// 8 MiB, memory is exceeded by its length.
func (in *ndjsonInput) Read(ctx context.Context, r lake.Request) iter.Seq2[lake.Batch, error] {
	inflight := blocksInFlight(r.Procs, in.blockBytes, r.Memory)
	mem := &recycler{limit: int64(2 * inflight * in.blockBytes)}
	return in.read(ctx, r, inflight, mem)
}

func (in *ndjsonInput) read(ctx context.Context, r lake.Request, inflight int, mem memory.Allocator) iter.Seq2[lake.Batch, error] {
	return yieldParsed(ctx, blockWork[parsed]{
		procs:    max(r.Procs, 1),
		inflight: inflight,
		read:     in.readBlocks,
		work:     func(b *block) parsed { return in.parseBlock(b, r.Schema, mem) },
		drop:     func(p parsed) { p.release() },
	})
}

// parseBlock turns a block into batches of the schema.
func (in *ndjsonInput) parseBlock(b *block, schema *arrow.Schema, mem memory.Allocator) parsed {
	out := parsed{header: b.header}
	columns, err := in.bindColumns(b.header.file, schema, mem)
	if err != nil {
		out.err = err
		return out
	}
	defer func() {
		for _, c := range columns {
			c.release()
		}
	}()
	p := newJSONParser(b, columns)
	for pos, lines := 0, b.lines; pos < b.n; {
		limit := min(lines, batchRows)
		for _, c := range columns {
			c.grow(limit)
		}
		rows, next, err := p.parse(pos, limit)
		if err == nil && rows > 0 {
			out.batches = append(out.batches, jsonBatch(schema, columns, rows))
		}
		for _, c := range columns {
			c.free()
		}
		if err != nil {
			out.err = err
			return out
		}
		// A record has a newline.
		pos, lines = next, lines-rows
	}
	return out
}

// bindColumns returns a column for each field of the schema.
func (in *ndjsonInput) bindColumns(file string, schema *arrow.Schema, mem memory.Allocator) ([]*jsonColumn, error) {
	columns := make([]*jsonColumn, schema.NumFields())
	for i, f := range schema.Fields() {
		c := &jsonColumn{column: newColumn(f, mem)}
		r := in.opt.readings[f.Name].within(f.Type, in.opt.Zone)
		c.zone, c.fold = r.zone, r.fold
		if c.kind == kindNone {
			root, err := newNode(f, f.Name, in.opt.Zone)
			if err != nil {
				return nil, inputErrorf("%s column %q: %v", file, f.Name, err)
			}
			c.root = root
		}
		columns[i] = c
	}
	// Only now, as builders must be released.
	for _, c := range columns {
		if c.root != nil {
			c.builder = array.NewBuilder(cleared{mem}, c.field.Type)
			c.root.bind(c.builder)
		}
	}
	return columns, nil
}

func jsonBatch(schema *arrow.Schema, columns []*jsonColumn, rows int) arrow.RecordBatch {
	arrays := make([]arrow.Array, len(columns))
	for i, c := range columns {
		if c.builder != nil {
			arrays[i] = c.builder.NewArray()
		} else {
			arrays[i] = c.array(rows)
		}
		defer arrays[i].Release()
	}
	return array.NewRecordBatch(schema, arrays, int64(rows))
}

// cleared is an allocator whose memory is zero, as Arrow's builders expect.
type cleared struct{ memory.Allocator }

func (c cleared) Allocate(size int) []byte {
	b := c.Allocator.Allocate(size)
	clear(b)
	return b
}

func (c cleared) Reallocate(size int, b []byte) []byte {
	before := len(b)
	b = c.Allocator.Reallocate(size, b)
	if size > before {
		clear(b[before:])
	}
	return b
}
