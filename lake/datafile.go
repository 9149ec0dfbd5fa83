package lake

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// dataWriter writes the data files of one partition, one after another: a file
// ends when it has reached the target size.
type dataWriter struct {
	layout    *layout
	io        iceio.WriteFileIO
	partition *partition
	name      func() string
	procs     int
	target    int64 // compressed bytes
	timeout   time.Duration
	done      func(stagedFile)

	begun int
	path  string
	sink  *countingWriter
	file  *parquetFile
	nans  map[int]int64
}

// visitRows is how many rows a writer takes at a time between looking at the
// file's size: enough to keep all cores busy for a moment.
const visitRows = 1 << 16

func (w *dataWriter) write(ctx context.Context, rows []arrow.RecordBatch) error {
	for len(rows) > 0 {
		n := 0
		for taken := int64(0); n < len(rows) && taken < visitRows; n++ {
			taken += rows[n].NumRows()
		}
		if err := w.visit(ctx, rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// visit appends rows to the open file and ends it if it is large enough.
func (w *dataWriter) visit(ctx context.Context, rows []arrow.RecordBatch) error {
	if w.file == nil {
		if err := w.begin(ctx); err != nil {
			return err
		}
	}
	for _, r := range rows {
		countNaNs(w.layout.schema, r, w.nans)
	}
	if err := w.file.write(ctx, rows, w.procs); err != nil {
		return fmt.Errorf("write %s: %w", w.path, err)
	}
	if w.sink.n+w.file.unfinished() >= w.target {
		return w.close()
	}
	return nil
}

func (w *dataWriter) begin(ctx context.Context) error {
	c, err := pageCodec(w.layout.properties)
	if err != nil {
		return err
	}
	w.path = w.name()
	out, err := w.io.Create(w.path)
	if err != nil {
		return fmt.Errorf("create %s: %w", w.path, err)
	}
	w.sink = &countingWriter{ctx: ctx, to: out, timeout: w.timeout}
	if w.file, err = newParquetFile(w.sink, w.layout.arrow, c); err != nil {
		return fmt.Errorf("begin %s: %w", w.path, err)
	}
	w.nans = map[int]int64{}
	w.begun++
	return nil
}

func (w *dataWriter) unfinished() int64 {
	if w.file == nil {
		return 0
	}
	return w.file.unfinished()
}

func (w *dataWriter) endRowGroup() error {
	if w.file == nil {
		return nil
	}
	if err := w.file.endRowGroup(); err != nil {
		return fmt.Errorf("write %s: %w", w.path, err)
	}
	return nil
}

// close completes the open file, if there is one, and hands it over.
func (w *dataWriter) close() error {
	if w.file == nil {
		return nil
	}
	footer, err := w.file.close()
	if err != nil {
		return fmt.Errorf("complete %s: %w", w.path, err)
	}
	w.file = nil
	if err := w.sink.complete(); err != nil {
		return fmt.Errorf("complete %s: %w", w.path, err)
	}
	df, err := w.dataFile(footer)
	if err != nil {
		return fmt.Errorf("describe %s: %w", w.path, err)
	}
	w.done(stagedFile{file: df, order: w.partition.order, part: w.begun})
	return nil
}

// abort gives the open file up. The context that its store was opened with
// must be cancelled first: closing a live upload would complete it. The returned
// channel, nil where there is no file, is closed once the store has been told.
func (w *dataWriter) abort() <-chan struct{} {
	w.file = nil
	if w.sink == nil {
		return nil
	}
	return w.sink.end()
}

// dataFile describes the file as a manifest does. NaN counts are added: the
// library leaves them out (pitfall L13), and an older engine then takes the
// bounds for the whole truth (case 102).
func (w *dataWriter) dataFile(footer *metadata.FileMetaData) (iceberg.DataFile, error) {
	df, err := table.DataFileFromMetadata(table.DataFileArgs{
		Schema: w.layout.schema, Spec: w.layout.spec, Format: iceberg.ParquetFile, Metadata: footer,
		FilePath: w.path, FileSize: w.sink.n, Content: iceberg.EntryContentData,
		PartitionValues: w.partition.values, SortOrderID: w.layout.sortOrder,
		Properties: w.layout.properties, FormatVersion: 2,
	})
	if err != nil {
		return nil, err
	}
	b, err := iceberg.NewDataFileBuilder(w.layout.spec, iceberg.EntryContentData, w.path, iceberg.ParquetFile,
		w.partition.values, logicalTypes(w.layout), nil, df.Count(), df.FileSizeBytes())
	if err != nil {
		return nil, err
	}
	lower, upper := maps.Clone(df.LowerBoundValues()), maps.Clone(df.UpperBoundValues())
	for _, id := range unboundedTexts(footer) {
		delete(lower, id)
		delete(upper, id)
	}
	nans := map[int]int64{}
	for id, n := range w.nans {
		if _, counted := df.ValueCounts()[id]; counted {
			nans[id] = n
		}
	}
	b.ColumnSizes(df.ColumnSizes()).ValueCounts(df.ValueCounts()).NullValueCounts(df.NullValueCounts()).
		NaNValueCounts(nans).LowerBoundValues(lower).UpperBoundValues(upper).
		SplitOffsets(df.SplitOffsets())
	if w.layout.sortOrder != 0 {
		b.SortOrderID(w.layout.sortOrder)
	}
	return b.Build(), nil
}

// unboundedTexts are the field ids of texts and binaries whose bounds are not to
// be believed. arrow-go leaves a bound of more than 4,096 bytes out of a row
// group's statistics; iceberg-go then takes the empty text for the greatest, and
// passes over a row group that has neither.
func unboundedTexts(footer *metadata.FileMetaData) (ids []int) {
	for g := range footer.NumRowGroups() {
		group := footer.RowGroup(g)
		for i := range group.NumColumns() {
			chunk, err := group.ColumnChunk(i)
			if err != nil || chunk.Type() != parquet.Types.ByteArray {
				continue
			}
			stats, err := chunk.Statistics()
			if err != nil || stats == nil || (stats.NullCount() < chunk.NumValues() && (!stats.HasMinMax() || len(stats.EncodeMax()) == 0)) {
				ids = append(ids, int(footer.Schema.Column(i).SchemaNode().FieldID()))
			}
		}
	}
	return ids
}

// logicalTypes names the Avro logical types of partition values, by field id.
func logicalTypes(l *layout) map[int]string {
	out := map[int]string{}
	for _, f := range l.spec.Fields() {
		source, ok := l.schema.FindFieldByID(f.SourceID())
		if !ok {
			continue
		}
		switch f.Transform.ResultType(source.Type).(type) {
		case iceberg.DateType:
			out[f.FieldID] = "date"
		case iceberg.TimeType:
			out[f.FieldID] = "time-micros"
		case iceberg.TimestampType, iceberg.TimestampTzType:
			out[f.FieldID] = "timestamp-micros"
		case iceberg.DecimalType:
			out[f.FieldID] = "decimal"
		case iceberg.UUIDType:
			out[f.FieldID] = "uuid"
		}
	}
	return out
}

// countNaNs adds the NaN values of top-level float columns.
func countNaNs(sc *iceberg.Schema, rec arrow.RecordBatch, nans map[int]int64) {
	for i, f := range sc.Fields() {
		switch a := rec.Column(i).(type) {
		case *array.Float64:
			nans[f.ID] += nanCount(a, a.Float64Values())
		case *array.Float32:
			nans[f.ID] += nanCount(a, a.Float32Values())
		}
	}
}

func nanCount[T float32 | float64](a arrow.Array, values []T) (n int64) {
	for i, v := range values {
		if math.IsNaN(float64(v)) && a.IsValid(i) {
			n++
		}
	}
	return n
}

// pageCodec reads the table's compression settings.
func pageCodec(p iceberg.Properties) (codec, error) {
	name := p.Get(table.ParquetCompressionKey, "zstd")
	level, err := strconv.Atoi(p.Get(table.ParquetCompressionLevelKey, "1"))
	if err != nil {
		return codec{}, fmt.Errorf("table property %s=%q is not a number: %w", table.ParquetCompressionLevelKey, p[table.ParquetCompressionLevelKey], ErrUsage)
	}
	kinds := map[string]compress.Compression{
		"zstd": compress.Codecs.Zstd, "snappy": compress.Codecs.Snappy, "gzip": compress.Codecs.Gzip,
		"lz4": compress.Codecs.Lz4Raw, "uncompressed": compress.Codecs.Uncompressed,
	}
	kind, ok := kinds[name]
	if !ok {
		return codec{}, fmt.Errorf("table property %s=%q is not zstd, snappy, gzip, lz4 or uncompressed: %w", table.ParquetCompressionKey, name, ErrUsage)
	}
	return codec{kind, level}, nil
}

// exactBounds are the table's properties with full metrics for the time and
// scope columns, whatever the table says: later loads tell files apart by them.
func (o *owned) exactBounds(p iceberg.Properties) iceberg.Properties {
	out := maps.Clone(p)
	if out == nil {
		out = iceberg.Properties{}
	}
	out[table.MetricsModeColumnConfPrefix+"."+o.time.Name] = "full"
	for _, eq := range o.scope {
		out[table.MetricsModeColumnConfPrefix+"."+eq.field.Name] = "full"
	}
	return out
}

// countingWriter counts the bytes that went to a file, each write under a
// deadline of its own: a store that takes no byte any more is an error.
type countingWriter struct {
	ctx     context.Context // of the stage; a writer's calls have no place for one
	to      iceio.FileWriter
	timeout time.Duration
	n       int64
	// writing is held by a write until the store has taken it: one that was left
	// alone at its deadline, or by a load that was stopped, is still under way.
	writing sync.Mutex
	ended   chan struct{} // nil until the file is ended, closed when it has
	err     error         // of ending it
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := within(c.ctx, c.timeout, func(context.Context) (int, error) {
		c.writing.Lock()
		defer c.writing.Unlock()
		return c.to.Write(p)
	})
	c.n += int64(n)
	return n, err
}

// complete ends the file. It is no Close, which the encoder would call. What an
// upload still holds goes out now, so it may take some writes' time.
func (c *countingWriter) complete() error {
	ended := c.end()
	_, err := within(c.ctx, 5*c.timeout, func(ctx context.Context) (struct{}, error) {
		select {
		case <-ended:
			return struct{}{}, c.err
		case <-ctx.Done():
			return struct{}{}, context.Cause(ctx)
		}
	})
	return err
}

// end closes the file in the background, once: completes it, or aborts it where
// the context is over.
func (c *countingWriter) end() <-chan struct{} {
	if c.ended == nil {
		c.ended = make(chan struct{})
		go func() {
			defer close(c.ended)
			defer Caught(&c.err)
			c.writing.Lock()
			defer c.writing.Unlock()
			c.err = c.to.Close()
		}()
	}
	return c.ended
}
