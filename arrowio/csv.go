package arrowio

import (
	"context"
	"fmt"
	"io"
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
	// Zone is the time zone of times without an offset, in columns of instants.
	// Without it they are an error. A time that occurs twice, when clocks are
	// set back, is the first one; a time that is skipped is an error.
	Zone *time.Location
	// MaxRecord is the longest record in bytes, its line end included. A longer
	// one is an error. Default: 64 MiB; at most 1 GiB, and at least 1 KiB.
	MaxRecord int
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
	return o, nil
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
			if !seen[name] {
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
	return headers, nil
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
