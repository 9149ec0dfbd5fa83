package arrowio

import (
	"context"
	"runtime"
	"slices"

	"github.com/calve-data/calve/lake"
)

// Infer implements [lake.Input]. A column is as its values are, all of them and
// whether in quotes or not; an empty value in quotes makes it text. It uses all
// cores.
func (in *csvInput) Infer(ctx context.Context, names []string) ([]lake.Column, error) {
	seen := make([]evidence, len(names))
	found := make([]bool, len(names))
	work := in.inferWork(names, runtime.GOMAXPROCS(0))
	for got, err := range work.results(ctx) {
		if err != nil {
			return nil, err
		}
		if got.err != nil {
			return nil, got.err
		}
		for i, e := range got.columns {
			seen[i].follow(e)
			found[i] = found[i] || slices.Contains(got.names, names[i])
		}
	}
	return in.verdicts(ctx, names, seen, found)
}

// verdicts turns evidence into columns. A name that no block knew may still be
// in the header of a file without rows.
func (in *csvInput) verdicts(ctx context.Context, names []string, seen []evidence, found []bool) ([]lake.Column, error) {
	columns := make([]lake.Column, len(names))
	for i, name := range names {
		columns[i] = in.declared(name)
		if columns[i].Type == nil {
			columns[i].Type, columns[i].Why = seen[i].verdict()
			columns[i].Seen = seen[i].sightings()
		}
	}
	if !slices.Contains(found, false) {
		return columns, nil
	}
	all, err := in.Columns(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(c lake.Column) bool { return c.Name == name }) {
			return nil, inputErrorf("no file has a column %q", name)
		}
	}
	return columns, nil
}

func (in *csvInput) inferWork(names []string, procs int) blockWork[inferred] {
	return blockWork[inferred]{
		procs:    procs,
		inflight: procs + 2,
		read:     in.readBlocks,
		work:     func(b *block) inferred { return in.inferBlock(b, names) },
		drop:     func(inferred) {},
	}
}

// inferred is what a block says of the wanted columns.
type inferred struct {
	names   []string
	columns []evidence
	err     error
}

// inferBlock looks at every wanted value of a block.
func (in *csvInput) inferBlock(b *block, names []string) inferred {
	out := inferred{names: b.header.names, columns: make([]evidence, len(names))}
	// Each field's place among the wanted columns, or -1.
	wanted := make([]int, len(b.header.names))
	for i, name := range b.header.names {
		wanted[i] = slices.Index(names, name)
	}
	numbers := make([]*numberFormat, len(names))
	for i, name := range names {
		_, numbers[i] = in.opt.reading(name, nil)
	}
	p := newCSVParser(&in.opt, b, make([]*column, len(wanted)))
	for pos := 0; pos < b.n; {
		if isBlank(b.buf, pos) {
			pos = p.afterBlank(pos)
			continue
		}
		next, err := p.inferRecord(pos, wanted, numbers, out.columns)
		if err != nil {
			out.err = p.explain(pos, err)
			return out
		}
		pos = next
	}
	return out
}

func (p *csvParser) inferRecord(pos int, wanted []int, numbers []*numberFormat, columns []evidence) (next int, err error) {
	for i, w := range wanted {
		f, err := p.scan.field(p.b.buf[:p.b.n], pos)
		if err != nil {
			return pos, err
		}
		if f.last != (i == len(wanted)-1) {
			return pos, errFieldCount
		}
		if w >= 0 && !columns[w].shape.isText() && (f.quoted || !p.opt.isNull(f.text)) {
			columns[w].add(numbers[w].shape(f.text), func() sighting {
				return sighting{text: shown(f.text), file: p.b.header.file, line: p.b.lineAt(pos)}
			})
		}
		pos = f.next
	}
	return pos, nil
}
