package arrowio

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/calve-data/calve/lake"
)

// Infer implements [lake.Input]. Integers, decimals, dates and times are told
// apart as in CSV, but a string that looks like a number or a boolean is text.
// Objects become structs and lists lists. A column with values of several forms
// is an error that names the first of two. It uses all cores.
func (in *ndjsonInput) Infer(ctx context.Context, names []string) ([]lake.Column, error) {
	all := make([]*guess, len(names))
	for i, name := range names {
		all[i] = &guess{path: name}
	}
	work := scanWork(in, func(b *block) guessed { return guessBlock(b, names) })
	found := map[string]bool{}
	for got, err := range work.results(ctx) {
		if err != nil {
			return nil, err
		}
		if got.err != nil {
			return nil, got.err
		}
		for i, g := range got.columns {
			all[i].follow(g)
		}
		for _, name := range got.keys {
			found[name] = true
		}
	}
	columns := make([]lake.Column, len(names))
	for i, name := range names {
		if !found[name] {
			return nil, inputErrorf("no record has a key %q", name)
		}
		columns[i] = in.declared(name)
		if columns[i].Type != nil {
			continue
		}
		var err error
		if columns[i].Type, columns[i].Why, err = all[i].verdict(); err != nil {
			return nil, err
		}
		columns[i].Seen = all[i].values.sightings()
	}
	return columns, nil
}

// guessed is what a block says of the wanted columns.
type guessed struct {
	columns []*guess
	keys    []string
	err     error
}

func guessBlock(b *block, names []string) (out guessed) {
	columns := make([]*jsonColumn, len(names))
	for i, name := range names {
		g := &guess{path: name}
		out.columns = append(out.columns, g)
		columns[i] = &jsonColumn{column: &column{field: arrow.Field{Name: name, Nullable: true}}, guess: g}
	}
	p := newJSONParser(b, columns)
	out.err = p.scan()
	for _, c := range p.columns {
		if c.record > 0 {
			out.keys = append(out.keys, c.field.Name)
		}
	}
	return out
}

// see adds the value at pos, which t is or begins, to the column's guess.
func (p *jsonParser) see(c *jsonColumn, t token, pos int) (end int, err error) {
	here := func(shown string) sighting {
		return sighting{text: shown, file: p.b.header.file, line: p.b.lineAt(pos)}
	}
	if t.form == jsonObject || t.form == jsonList {
		return p.nested(c.field.Name, pos, func(d *jsontext.Decoder) error { return c.guess.read(d, here, 0) })
	}
	c.guess.add(t, here)
	return t.end, nil
}
