package arrowio

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
)

// NDJSONOptions says how files of one JSON object a line are read. The zero
// value is good for most.
type NDJSONOptions struct {
	// Types declares the types of columns by name. The others are inferred when
	// a table is created.
	Types map[string]arrow.DataType
	// Zone is the time zone of times without an offset, in columns of instants;
	// see [CSVOptions].
	Zone *time.Location
	// MaxRecord is the longest line in bytes, its end included. A longer one is
	// an error. Default: 64 MiB; at most 1 GiB, and at least 1 KiB.
	MaxRecord int

	// readings say how columns are read, by name.
	readings map[string]reading
}

// mostKeys is the most different keys of a source's records. More of them are
// data that was written as keys, and no columns.
const mostKeys = 10_000

// ndjsonInput reads pinned NDJSON files. It implements [lake.Input].
//
// A column is a key of the records: where a record lacks it, the column is
// null. Names ending in .gz and .zst are decompressed.
type ndjsonInput struct {
	files  []lake.File
	open   opener
	opt    NDJSONOptions
	origin lake.Origin
	// blockBytes is the size of a block; tests make it small.
	blockBytes int
	// names holds the keys of all records once Columns has read them.
	names []string
}

// newNDJSON returns the input of files, read in the given order. Its error
// wraps [lake.ErrUsage].
func newNDJSON(files []lake.File, open opener, origin lake.Origin, opt NDJSONOptions) (*ndjsonInput, error) {
	if opt.MaxRecord == 0 {
		opt.MaxRecord = defaultMaxRecord
	}
	if opt.MaxRecord < leastMaxRecord || opt.MaxRecord > mostMaxRecord {
		return nil, fmt.Errorf("the longest record must have %d to %d bytes, not %d: %w", leastMaxRecord, mostMaxRecord, opt.MaxRecord, lake.ErrUsage)
	}
	return &ndjsonInput{files: files, open: open, origin: origin, opt: opt, blockBytes: blockBytes}, nil
}

// Origin implements [lake.Input].
func (in *ndjsonInput) Origin() lake.Origin { return in.origin }

// Columns implements [lake.Input]. It reads all files: the last record may have
// a key of its own. What is no NDJSON is an error already here.
func (in *ndjsonInput) Columns(ctx context.Context) ([]lake.Column, error) {
	if in.names == nil {
		names, err := in.readNames(ctx)
		if err != nil {
			return nil, err
		}
		in.names = names
	}
	columns := make([]lake.Column, 0, len(in.names))
	for _, name := range in.names {
		columns = append(columns, in.declared(name))
	}
	return columns, nil
}

// declared returns the named column with its type if the options declare it.
func (in *ndjsonInput) declared(name string) lake.Column {
	t, ok := in.opt.Types[name]
	if !ok {
		return lake.Column{Name: name}
	}
	return lake.Column{Name: name, Type: t, Why: "declared"}
}

// names is the keys of a block's records in the order of their appearance.
type names struct {
	file string
	list []string
	err  error
}

func (in *ndjsonInput) readNames(ctx context.Context) ([]string, error) {
	work := scanWork(in, func(b *block) names {
		p := newJSONParser(b, nil)
		err := p.scan()
		return names{file: b.header.file, list: p.names(), err: err}
	})
	all, seen := []string{}, map[string]bool{}
	for got, err := range work.results(ctx) {
		if err != nil {
			return nil, err
		}
		for _, name := range got.list {
			if !seen[name] {
				seen[name] = true
				all = append(all, name)
			}
		}
		switch {
		case got.err != nil:
			return nil, got.err
		case len(all) > mostKeys:
			return nil, inputErrorf("%s: %s", got.file, tooManyKeys)
		}
	}
	return all, nil
}
