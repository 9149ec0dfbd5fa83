package arrowio

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/calve-data/calve/lake"
)

// batchRows is the most rows of a batch: enough to forget what a batch costs,
// few enough for several to be on their way.
const batchRows = 1 << 16

// blocksInFlight returns how many blocks may be in memory at once: one for the
// reader and the consumer each and one per core, or fewer if memory is short,
// counting a block's text and, twice that at most, its batches.
func blocksInFlight(procs, blockBytes int, memory int64) int {
	n := procs + 2
	if memory > 0 {
		n = min(n, int(memory/int64(3*blockBytes)))
	}
	return max(n, 1)
}

// Read implements [lake.Input]. Batches have at most 65,536 rows, and their
// borders depend on the files alone. Where a record is longer than a block of
// 8 MiB, memory is exceeded by its length.
func (in *csvInput) Read(ctx context.Context, r lake.Request) iter.Seq2[lake.Batch, error] {
	inflight := blocksInFlight(r.Procs, in.blockBytes, r.Memory)
	mem := &recycler{limit: int64(2 * inflight * in.blockBytes)}
	return in.read(ctx, r, inflight, mem)
}

func (in *csvInput) read(ctx context.Context, r lake.Request, inflight int, mem memory.Allocator) iter.Seq2[lake.Batch, error] {
	work := blockWork[parsed]{
		procs:    max(r.Procs, 1),
		inflight: inflight,
		read:     in.readBlocks,
		work:     func(b *block) parsed { return in.parseBlock(b, r.Schema, mem) },
		drop:     func(p parsed) { p.release() },
	}
	return yieldParsed(ctx, work)
}

// yieldParsed yields the batches of all blocks, with the place of each.
func yieldParsed(ctx context.Context, work blockWork[parsed]) iter.Seq2[lake.Batch, error] {
	return func(yield func(lake.Batch, error) bool) {
		var at *header
		var row int64
		for p, err := range work.results(ctx) {
			if err != nil {
				yield(lake.Batch{}, err)
				return
			}
			if p.header != at {
				at, row = p.header, 1
			}
			if row, err = p.yieldFrom(row, yield); err != nil {
				yield(lake.Batch{}, err)
				return
			}
			if row == 0 {
				return
			}
		}
	}
}

// parsed is what became of a block: its batches and then, perhaps, an error.
type parsed struct {
	header  *header
	batches []arrow.RecordBatch
	err     error
}

func (p *parsed) release() {
	for _, b := range p.batches {
		b.Release()
	}
	p.batches = nil
}

// yieldFrom yields the batches, of which the first begins with the given row of
// its file, and returns the row after them, or 0 if the consumer wants no more.
func (p *parsed) yieldFrom(row int64, yield func(lake.Batch, error) bool) (int64, error) {
	defer p.release()
	for len(p.batches) > 0 {
		b := p.batches[0]
		p.batches = p.batches[1:]
		next := row + b.NumRows()
		if !yield(lake.Batch{RecordBatch: b, File: p.header.file, FirstRow: row}, nil) {
			return 0, nil
		}
		row = next
	}
	return row, p.err
}

// parseBlock turns a block into batches of the schema.
func (in *csvInput) parseBlock(b *block, schema *arrow.Schema, mem memory.Allocator) parsed {
	out := parsed{header: b.header}
	columns, err := bindColumns(b.header, schema, in.opt, mem)
	if err != nil {
		out.err = err
		return out
	}
	p := newCSVParser(&in.opt, b, columns)
	for pos, lines := 0, b.lines; pos < b.n; {
		limit := min(lines, batchRows)
		for _, c := range columns {
			c.grow(limit)
		}
		rows, next, err := p.parse(pos, limit)
		if err == nil && rows > 0 {
			out.batches = append(out.batches, makeBatch(schema, columns, rows))
		}
		for _, c := range columns {
			c.free()
		}
		if err != nil {
			out.err = err
			return out
		}
		// A record has at least one newline.
		pos, lines = next, lines-rows
	}
	return out
}

// bindColumns returns a column for each of the header's names. Those that the
// schema does not have are skipped; those that only the schema has are left to
// makeBatch.
func bindColumns(h *header, schema *arrow.Schema, opt CSVOptions, mem memory.Allocator) ([]*column, error) {
	columns := make([]*column, len(h.names))
	for i, name := range h.names {
		kind := kindSkip
		if name == "" {
			kind = kindEmpty
		}
		columns[i] = &column{field: arrow.Field{Name: name, Nullable: true}, kind: kind, fastKind: kind}
	}
	for _, f := range schema.Fields() {
		i := h.index(f.Name)
		switch {
		case i < 0 && !f.Nullable:
			return nil, inputErrorf("%s has no column %q, and the column is required", h.file, f.Name)
		case i < 0:
			continue
		}
		columns[i] = newColumn(f, mem)
		columns[i].use(opt.reading(f.Name, f.Type))
		if columns[i].kind == kindNone {
			return nil, inputErrorf("%s column %q: %s cannot be read from CSV", h.file, f.Name, columnsOf(f.Type))
		}
	}
	for _, c := range columns {
		c.delims = eachByte * uint64(opt.Delimiter)
	}
	return columns, nil
}

// makeBatch turns the first rows of the columns into a batch of the schema.
// Columns that the file does not have are null.
func makeBatch(schema *arrow.Schema, columns []*column, rows int) arrow.RecordBatch {
	byName := make(map[string]*column, len(columns))
	for _, c := range columns {
		byName[c.field.Name] = c
	}
	arrays := make([]arrow.Array, schema.NumFields())
	for i, f := range schema.Fields() {
		if c := byName[f.Name]; c != nil {
			arrays[i] = c.array(rows)
		} else {
			arrays[i] = array.MakeArrayOfNull(memory.DefaultAllocator, f.Type, rows)
		}
		defer arrays[i].Release()
	}
	return array.NewRecordBatch(schema, arrays, int64(rows))
}
