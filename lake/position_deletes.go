package lake

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// Position deletes hide rows of a data file by their place in it (specification,
// section Position Delete Files). Those written here are of one data file each,
// which they name, so that they go when it goes.

// positionsOf are the places in a file of rows that are counted without those
// that are deleted already. Both are in order, deleted without repetition.
func positionsOf(live, deleted []int64) []int64 {
	out := make([]int64, len(live))
	passed := 0
	for i, row := range live {
		at := row + int64(passed)
		for passed < len(deleted) && deleted[passed] <= at {
			passed++
			at++
		}
		out[i] = at
	}
	return out
}

// deletedPositions reads which rows of a data file its position deletes hide.
func deletedPositions(ctx context.Context, s *store, f liveFile) ([]int64, error) {
	var all []int64
	for _, d := range f.positions {
		found, err := readPositions(ctx, s, d.FilePath(), f.entry.DataFile().FilePath())
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", d.FilePath(), err)
		}
		all = append(all, found...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// readPositions reads the positions of one data file from a position delete file.
func readPositions(ctx context.Context, s *store, path, dataPath string) (out []int64, err error) {
	content, err := s.read(path)
	if err != nil {
		return nil, err
	}
	reader, err := file.NewParquetReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }()
	rows, err := pqarrow.NewFileReader(reader, pqarrow.ArrowReadProperties{BatchSize: 1 << 16}, allocator)
	if err != nil {
		return nil, err
	}
	batches, err := rows.GetRecordReader(ctx, nil, nil)
	if err != nil {
		return nil, err
	}
	defer batches.Release()
	for batches.Next() {
		rec := batches.RecordBatch()
		paths, isText := columnOf(rec, "file_path").(array.StringLike)
		positions, isLong := columnOf(rec, "pos").(*array.Int64)
		if !isText || !isLong {
			return nil, fmt.Errorf("its columns are %s, not those of a position delete file: %w", rec.Schema(), ErrRefused)
		}
		for i := range positions.Len() {
			if paths.Value(i) == dataPath {
				out = append(out, positions.Value(i))
			}
		}
	}
	return out, batches.Err()
}

func columnOf(rec arrow.RecordBatch, name string) arrow.Array {
	if i := rec.Schema().FieldIndices(name); len(i) == 1 {
		return rec.Column(i[0])
	}
	return nil
}

// writePositions writes a position delete file for one data file, under its spec
// and in its partition.
func (j *loading) writePositions(ctx context.Context, t *table.Table, s *store, data iceberg.DataFile, positions []int64) (iceberg.DataFile, error) {
	locations, err := locationsOf(t)
	if err != nil {
		return nil, err
	}
	spec := t.Metadata().PartitionSpecByID(int(data.SpecID()))
	sc, err := schemaWith(*spec, t.Schema(), t.Metadata())
	if err != nil {
		return nil, err
	}
	columns, err := table.SchemaToArrowSchema(iceberg.PositionalDeleteSchema, nil, true, false)
	if err != nil {
		return nil, err
	}
	codec, err := pageCodec(t.Properties())
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	out, err := newParquetFile(&buf, columns, codec)
	if err != nil {
		return nil, err
	}
	rec := positionRows(columns, data.FilePath(), positions)
	defer rec.Release()
	if err := out.write(ctx, []arrow.RecordBatch{rec}, j.Procs); err != nil {
		return nil, err
	}
	footer, err := out.close()
	if err != nil {
		return nil, err
	}
	path := j.dataName(locations, &partition{})
	described, err := table.DataFileFromMetadata(table.DataFileArgs{
		Schema: iceberg.PositionalDeleteSchema, Spec: *spec, Format: iceberg.ParquetFile, Metadata: footer, FilePath: path, FileSize: int64(buf.Len()),
		Content: iceberg.EntryContentPosDeletes, PartitionValues: data.Partition(), FormatVersion: 2,
		Properties: iceberg.Properties{table.DefaultWriteMetricsModeKey: "full"}, // the path's bounds say which file it is of
	})
	if err != nil {
		return nil, err
	}
	b, err := iceberg.NewDataFileBuilder(*spec, iceberg.EntryContentPosDeletes, path, iceberg.ParquetFile,
		data.Partition(), logicalTypes(&layout{schema: sc, spec: *spec}), nil, described.Count(), described.FileSizeBytes())
	if err != nil {
		return nil, err
	}
	b.ColumnSizes(described.ColumnSizes()).ValueCounts(described.ValueCounts()).NullValueCounts(described.NullValueCounts()).
		LowerBoundValues(maps.Clone(described.LowerBoundValues())).UpperBoundValues(maps.Clone(described.UpperBoundValues())).
		SplitOffsets(described.SplitOffsets()).ReferencedDataFile(data.FilePath())
	return b.Build(), s.write(path, buf.Bytes())
}

// positionRows are the rows of a position delete file. The caller releases them.
func positionRows(sc *arrow.Schema, path string, positions []int64) arrow.RecordBatch {
	n := len(positions)
	word := array.NewStringBuilder(allocator)
	defer word.Release()
	word.Append(path)
	words := word.NewArray()
	defer words.Release()
	codes := array.NewInt32Data(array.NewData(arrow.PrimitiveTypes.Int32, n, []*memory.Buffer{nil, memory.NewBufferBytes(make([]byte, 4*n))}, nil, 0, 0))
	defer codes.Release()
	paths := array.NewDictionaryArray(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}, codes, words)
	defer paths.Release()
	at := array.NewInt64Data(array.NewData(arrow.PrimitiveTypes.Int64, n, []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(positions))}, nil, 0, 0))
	defer at.Release()
	columns := []arrow.Array{paths, at}
	return array.NewRecordBatch(schemaOf(sc.Fields(), columns), columns, int64(n))
}
