package arrowio

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"github.com/calve-data/calve/lake"
)

// parquetInput reads Parquet files. Reading is a pipe of three stages, each
// with a bound on what it holds:
//
//	row groups that may hold rows of the window, their columns' bytes read ahead
//	▶ one batch after the other, its columns decoded on all cores
//	▶ cast to the table's types
//
// Rows come in the order of files, row groups and rows, whatever the number of
// cores.
type parquetInput struct {
	origin lake.Origin
	list   []lake.File
	files  lake.Files
	cfg    Config
	// footers are those of the first files, by their place in the list.
	footers map[int]*footer
	// names are how the columns of all files are spelled, once they are known.
	names spelling
}

// footersKept bounds the memory for footers, which are read for the columns and
// needed again for the rows.
const footersKept = 256

// filesAtOnce is how many footers are read at once: each is two short requests.
const filesAtOnce = 16

func newParquet(origin lake.Origin, list []lake.File, files lake.Files, cfg Config) *parquetInput {
	return &parquetInput{origin: origin, list: list, files: files, cfg: cfg, footers: map[int]*footer{}}
}

// Origin implements [lake.Input].
func (p *parquetInput) Origin() lake.Origin { return p.origin }

// Columns implements [lake.Input]. Files of one source may have a column in
// different widths: it has the widest.
func (p *parquetInput) Columns(ctx context.Context) ([]lake.Column, error) {
	footers := make([]*footer, len(p.list))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(filesAtOnce)
	for i, f := range p.list {
		group.Go(func() (err error) {
			defer lake.Caught(&err)
			footers[i], err = readFooter(ctx, p.files, f)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	p.names = spellingOf(footers)
	var union columnUnion
	for i, f := range footers {
		p.names.apply(f)
		if err := union.add(f); err != nil {
			return nil, err
		}
		if i < footersKept {
			p.footers[i] = f
		}
	}
	return union.columns(p.cfg.Types), nil
}

// Infer implements [lake.Input]. Parquet files know their types.
func (p *parquetInput) Infer(ctx context.Context, names []string) ([]lake.Column, error) {
	columns, err := p.Columns(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]lake.Column, len(names))
	for i, name := range names {
		at := slices.IndexFunc(columns, func(c lake.Column) bool { return c.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("no file has a column %q: %w", name, lake.ErrInput)
		}
		out[i] = columns[at]
	}
	return out, nil
}

// columnUnion is the columns of all files by name, in the order of their first
// appearance.
type columnUnion struct {
	list []*unionColumn
	at   map[string]*unionColumn
}

type unionColumn struct {
	name string
	kind arrow.DataType
	file string // the file that decided the type
}

func (u *columnUnion) add(f *footer) error {
	if u.at == nil {
		u.at = map[string]*unionColumn{}
	}
	for _, c := range f.columns {
		kind, ok := normalType(c.Type)
		if !ok {
			return fmt.Errorf("%s: column %q is %s, which a table cannot hold: %w", f.file.Path, c.Name, c.Type, lake.ErrInput)
		}
		known := u.at[c.Name]
		if known == nil {
			known = &unionColumn{name: c.Name, kind: kind, file: f.file.Path}
			u.at[c.Name] = known
			u.list = append(u.list, known)
			continue
		}
		common, ok := commonType(known.kind, kind)
		if !ok {
			return fmt.Errorf("column %q is %s in %s and %s in %s: %w", c.Name, icebergWord(known.kind), known.file, icebergWord(kind), f.file.Path, lake.ErrInput)
		}
		if !sameShape(common, known.kind) {
			known.file = f.file.Path
		}
		known.kind = common
	}
	return nil
}

func (u *columnUnion) columns(declared map[string]arrow.DataType) []lake.Column {
	out := make([]lake.Column, len(u.list))
	for i, c := range u.list {
		out[i] = lake.Column{Name: c.name, Type: c.kind, Why: "as " + c.file + " has it"}
		if t := declared[c.name]; t != nil {
			out[i].Type, out[i].Why, out[i].Declared = t, "declared", true
		} else if c.kind.ID() == arrow.NULL {
			out[i].Type, out[i].Why = arrow.BinaryTypes.String, "no value in any file"
		}
	}
	return out
}
