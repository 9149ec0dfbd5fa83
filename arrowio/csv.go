package arrowio

import (
	"context"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
)

// CSVOptions says how CSV files are written. The zero value is the form of
// RFC 4180 with a header line.
type CSVOptions struct {
	// Delimiter separates fields. Default: a comma.
	Delimiter byte
	// Null lists words that, without quotes, mean NULL, as the empty field
	// without quotes always does. Within quotes they are text.
	Null []string
	// Types declares the types of columns by name. The others are inferred when
	// a table is created.
	Types map[string]arrow.DataType
	// Zone is the time zone of times without an offset, in columns of instants
	// that have none of their own. Without it they are an error, and so is a time
	// that clocks skip or, see [Fold], show twice.
	Zone *time.Location
	// Columns says how columns are written, by name.
	Columns map[string]ColumnOptions
	// Numbers is how 1234.56 is written, in columns without a format of their
	// own. Default: so.
	Numbers string
	// NoHeader says that files have no header line. Their columns are Header, or
	// c1, c2 and so on.
	NoHeader bool
	Header   []string
	// MaxRecord is the longest record in bytes, its line end included. A longer
	// one is an error. Default: 64 MiB; at most 1 GiB, and at least 1 KiB.
	MaxRecord int

	readings map[string]reading
	numbers  *numberFormat
}

const (
	defaultMaxRecord = 64 << 20
	// A batch holds less text than a block has bytes, and Arrow's offsets are of
	// 31 bits.
	mostMaxRecord  = 1 << 30
	leastMaxRecord = 1 << 10
)

// withDefaults returns o with its defaults filled in. The error wraps
// [lake.ErrUsage].
func (o CSVOptions) withDefaults() (CSVOptions, error) {
	if o.Delimiter == 0 {
		o.Delimiter = ','
	}
	if o.Delimiter == '"' || o.Delimiter == '\n' || o.Delimiter == '\r' || o.Delimiter >= 0x80 {
		return o, fmt.Errorf("%q cannot be a delimiter: %w", o.Delimiter, lake.ErrUsage)
	}
	if o.MaxRecord == 0 {
		o.MaxRecord = defaultMaxRecord
	}
	if o.MaxRecord < leastMaxRecord || o.MaxRecord > mostMaxRecord {
		return o, fmt.Errorf("the longest record must have %d to %d bytes, not %d: %w", leastMaxRecord, mostMaxRecord, o.MaxRecord, lake.ErrUsage)
	}
	if o.Numbers != "" {
		var err error
		if o.numbers, err = compileNumber(o.Numbers); err != nil {
			return o, err
		}
	}
	if err := o.checkHeader(); err != nil {
		return o, err
	}
	o.Types = cloned(o.Types)
	var err error
	o.readings, err = readings(o.Columns, o.Types, o.Zone)
	return o, err
}

// cloned is a map of its own.
func cloned(types map[string]arrow.DataType) map[string]arrow.DataType {
	out := make(map[string]arrow.DataType, len(types))
	maps.Copy(out, types)
	return out
}

func (o CSVOptions) checkHeader() error {
	seen := map[string]bool{}
	for _, name := range o.Header {
		if name == "" || seen[name] {
			return fmt.Errorf("each of the columns of files without a header line needs a name of its own, and %q is not: %w", name, lake.ErrUsage)
		}
		seen[name] = true
	}
	return nil
}

// reading is how the named column of type t is read, and numbers in it.
func (o CSVOptions) reading(name string, t arrow.DataType) (reading, *numberFormat) {
	r := o.readings[name].within(t, o.Zone)
	if r.numbers != nil {
		return r, r.numbers
	}
	return r, o.numbers
}

// opener opens a source file for reading from its start. It heeds ctx until the
// file is closed.
type opener func(ctx context.Context, f lake.File) (io.ReadCloser, error)

// csvInput reads pinned CSV files. It implements [lake.Input].
//
// Columns are matched by name in each file, and files may have them in
// different orders. Names ending in .gz and .zst are decompressed.
type csvInput struct {
	files  []lake.File
	open   opener
	opt    CSVOptions
	origin lake.Origin
	// blockBytes is the size of a block; tests make it small.
	blockBytes int
	// headers holds the files' headers once Columns has read them.
	headers []*header
}

// newCSV returns the input of files, read in the given order. Its error wraps
// [lake.ErrUsage].
func newCSV(files []lake.File, open opener, origin lake.Origin, opt CSVOptions) (*csvInput, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	return &csvInput{files: files, open: open, origin: origin, opt: opt, blockBytes: blockBytes}, nil
}

// Origin implements [lake.Input].
func (in *csvInput) Origin() lake.Origin { return in.origin }

// Columns implements [lake.Input]. It reads the start of every file.
func (in *csvInput) Columns(ctx context.Context) ([]lake.Column, error) {
	if in.headers == nil {
		headers, err := in.readHeaders(ctx)
		if err != nil {
			return nil, err
		}
		in.headers = headers
	}
	var columns []lake.Column
	seen := map[string]bool{}
	for _, h := range in.headers {
		for _, name := range h.names {
			if name != "" && !seen[name] {
				seen[name] = true
				columns = append(columns, in.declared(name))
			}
		}
	}
	return columns, nil
}

// declared returns the named column with its type if the options declare it.
func (in *csvInput) declared(name string) lake.Column {
	t, ok := in.opt.Types[name]
	if !ok {
		return lake.Column{Name: name}
	}
	return lake.Column{Name: name, Type: t, Why: "declared", Declared: true}
}

func (in *csvInput) readHeaders(ctx context.Context) ([]*header, error) {
	headers := make([]*header, 0, len(in.files))
	for _, f := range in.files {
		err := in.readFile(ctx, f, func(r *blockReader) error {
			headers = append(headers, r.header)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return headers, in.sameWidth(headers)
}

// sameWidth refuses files without a header line that have different numbers of
// fields: which columns they lack cannot be told.
func (in *csvInput) sameWidth(headers []*header) error {
	var first *header
	for _, h := range headers {
		switch {
		case !in.opt.NoHeader || len(h.names) == 0:
		case first == nil:
			first = h
		case len(h.names) != len(first.names):
			return inputErrorf("%s has %d columns and %s has %d, and no header line says which", first.file, len(first.names), h.file, len(h.names))
		}
	}
	return nil
}

// readFile opens a file, reads its header, and lets read have the rest.
func (in *csvInput) readFile(ctx context.Context, f lake.File, read func(*blockReader) error) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("read %s: %w", f.Path, err)
	}
	t, err := openText(ctx, in.open, f)
	if err != nil {
		return err
	}
	r := &blockReader{
		file:  f.Path,
		r:     t,
		size:  min(in.blockBytes, in.opt.MaxRecord),
		limit: in.opt.MaxRecord,
		delim: in.opt.Delimiter,

		noHeader: in.opt.NoHeader,
		names:    in.opt.Header,
	}
	err = r.readHeader()
	if err == nil {
		err = read(r)
	}
	// Closing cannot lose anything that was read.
	_ = t.Close()
	return err
}

// readBlocks reads the blocks of all files in order; see [blockWork].
func (in *csvInput) readBlocks(ctx context.Context, get func() (*block, bool), put func(*block) bool) error {
	return readBlocks(ctx, in.files, in.readFile, get, put)
}

// isNull reports whether text, without quotes, means NULL.
func (o *CSVOptions) isNull(text []byte) bool {
	for _, word := range o.Null {
		if string(text) == word {
			return true
		}
	}
	return len(text) == 0
}
