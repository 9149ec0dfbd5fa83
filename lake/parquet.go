package lake

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"golang.org/x/sync/errgroup"
)

// parquetFile writes batches as one Parquet file. It is the one seam to the
// encoder: nothing else in this package knows how a Parquet file is made.
//
// Flat columns are encoded one goroutine each, which arrow-go's buffered row
// groups allow since every column keeps its pages to itself until the group
// ends. The result is the same bytes at any number of cores.
type parquetFile struct {
	writer *file.Writer
	group  file.BufferedRowGroupWriter
	rows   int64 // in the open row group
	arrow  *arrow.Schema
	nested *pqarrow.FileWriter // instead of writer, for nested columns
	// split is true where the nested writer begins a row group with the next
	// row. An empty row group would cost the file its statistics.
	split bool
}

const (
	// rowGroupRows is where a row group ends: many enough for dictionaries and
	// run lengths to pay, few enough for readers to skip.
	rowGroupRows = 1 << 20
	// rowGroupBytes ends a row group of wide rows earlier; Iceberg's default.
	rowGroupBytes = 128 * mib
	pageBytes     = mib
	// statsBytes is the longest value that row groups keep as their least or
	// greatest. arrow-go leaves one out that is longer, 4,096 bytes by default,
	// and iceberg-go reads a greatest value that is missing as the empty text:
	// a filter then passes over the row group.
	statsBytes = 16 * mib
)

// newParquetFile begins a file. The schema carries the field ids.
func newParquetFile(w io.Writer, sc *arrow.Schema, codec codec) (*parquetFile, error) {
	props := writerProperties(sc, codec)
	stored := pqarrow.NewArrowWriterProperties(pqarrow.WithAllocator(allocator))
	f := &parquetFile{arrow: sc}
	if hasNested(sc) {
		nested, err := pqarrow.NewFileWriter(sc, w, props, stored)
		f.nested = nested
		return f, err
	}
	pq, err := pqarrow.ToParquet(sc, props, stored)
	if err != nil {
		return nil, err
	}
	f.writer, err = file.NewParquetWriterWithError(w, pq.Root(), file.WithWriterProps(props))
	return f, err
}

// codec is how pages are compressed.
type codec struct {
	compression compress.Compression
	level       int
}

func writerProperties(sc *arrow.Schema, c codec) *parquet.WriterProperties {
	opts := []parquet.WriterProperty{
		parquet.WithCreatedBy("calve"),
		parquet.WithCompression(c.compression),
		parquet.WithCompressionLevel(c.level),
		parquet.WithDataPageSize(pageBytes),
		parquet.WithMaxStatsSize(statsBytes),
		parquet.WithMaxRowGroupLength(rowGroupRows * 2),
		parquet.WithVersion(parquet.V2_6),
		parquet.WithStoreDecimalAsInteger(true),
		parquet.WithAllocator(allocator),
	}
	for _, f := range sc.Fields() {
		// A dictionary that does not pay is given up before the first page.
		opts = append(opts, parquet.WithDictionaryCostFallbackFor(f.Name, true))
	}
	return parquet.NewWriterProperties(opts...)
}

func hasNested(sc *arrow.Schema) bool {
	for _, f := range sc.Fields() {
		if _, ok := f.Type.(arrow.NestedType); ok {
			return true
		}
	}
	return false
}

// write appends batches, encoding up to procs columns at the same time.
func (f *parquetFile) write(ctx context.Context, batches []arrow.RecordBatch, procs int) error {
	if f.nested != nil {
		return f.writeNested(batches)
	}
	if f.group == nil {
		var err error
		if f.group, err = f.writer.AppendBufferedRowGroupChecked(); err != nil {
			return err
		}
	}
	group := errgroup.Group{}
	group.SetLimit(max(procs, 1))
	if countRows(batches) < 1024 {
		group.SetLimit(1) // starting goroutines would cost more than it saves
	}
	for i := range f.arrow.NumFields() {
		group.Go(func() (err error) {
			defer Caught(&err)
			return f.writeColumn(ctx, i, batches)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	f.rows += countRows(batches)
	if f.rows >= rowGroupRows || f.unfinished() >= rowGroupBytes {
		return f.endRowGroup()
	}
	return nil
}

func (f *parquetFile) writeColumn(ctx context.Context, i int, batches []arrow.RecordBatch) error {
	column, err := f.group.Column(i)
	if err != nil {
		return err
	}
	stored := pqarrow.NewArrowWriterProperties(pqarrow.WithAllocator(allocator))
	ctx = pqarrow.NewArrowWriteContext(ctx, &stored)
	nullable := f.arrow.Field(i).Nullable
	for _, b := range batches {
		values := storedAs(b.Column(i))
		err := pqarrow.WriteArrowToColumn(ctx, column, values, definitionLevels(values, nullable), nil, nullable)
		values.Release()
		if err != nil {
			return fmt.Errorf("encode column %q: %w", f.arrow.Field(i).Name, err)
		}
	}
	return nil
}

func (f *parquetFile) writeNested(batches []arrow.RecordBatch) error {
	if f.split {
		if err := f.nested.NewBufferedRowGroupChecked(); err != nil {
			return err
		}
		f.split = false
	}
	for _, b := range batches {
		plain := plainBatch(b, f.arrow)
		err := f.nested.WriteBuffered(plain)
		plain.Release()
		if err != nil {
			return err
		}
		f.rows += b.NumRows()
	}
	if f.rows >= rowGroupRows || f.unfinished() >= rowGroupBytes {
		return f.endRowGroup()
	}
	return nil
}

// definitionLevels are 1 for a value and 0 for a NULL; a required column has none.
func definitionLevels(a arrow.Array, nullable bool) []int16 {
	if !nullable {
		return nil
	}
	levels := make([]int16, a.Len())
	for i := range levels {
		levels[i] = 1
	}
	if a.NullN() > 0 {
		for i := range levels {
			if a.IsNull(i) {
				levels[i] = 0
			}
		}
	}
	return levels
}

// storedAs is the array that is encoded for a column: an extension type by its
// storage, a dictionary by its values. arrow-go can take a dictionary as it is,
// but gives up dictionary encoding for the whole row group when the next batch
// has another one. The caller releases the result.
func storedAs(a arrow.Array) arrow.Array {
	switch a := a.(type) {
	case array.ExtensionArray:
		s := a.Storage()
		s.Retain()
		return s
	case *array.Dictionary:
		return plainText(a)
	}
	a.Retain()
	return a
}

// unfinished is the compressed size of the open row group, in bytes.
func (f *parquetFile) unfinished() int64 {
	switch {
	case f.nested != nil:
		return f.nested.RowGroupTotalCompressedBytes()
	case f.group != nil:
		return f.group.TotalCompressedBytes() + f.pending()
	}
	return 0
}

// pending estimates the compressed size of pages that are not full yet, by how
// well the full ones compressed.
func (f *parquetFile) pending() int64 {
	encoded := int64(0)
	for i := range f.arrow.NumFields() {
		if c, err := f.group.Column(i); err == nil {
			encoded += c.CurrentEncoder().EstimatedDataEncodedSize()
		}
	}
	packed, raw := f.group.TotalCompressedBytes(), f.group.TotalBytesWritten()
	if raw == 0 || packed > raw {
		return encoded
	}
	return int64(float64(encoded) * float64(packed) / float64(raw))
}

func (f *parquetFile) endRowGroup() error {
	if f.nested != nil {
		f.split = f.rows > 0
		f.rows = 0
		return nil
	}
	f.rows = 0
	if f.group == nil {
		return nil
	}
	err := f.group.Close()
	f.group = nil
	return err
}

// close ends the file and returns its footer.
func (f *parquetFile) close() (*metadata.FileMetaData, error) {
	if f.nested != nil {
		if err := f.nested.Close(); err != nil {
			return nil, err
		}
		return f.nested.FileMetadata()
	}
	if err := f.endRowGroup(); err != nil {
		return nil, err
	}
	if err := f.writer.Close(); err != nil {
		return nil, err
	}
	return f.writer.FileMetadata()
}
