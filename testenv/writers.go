package testenv

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

// Append adds rows as another writer would: by iceberg-go's transaction.
func Append(tb testing.TB, cat lake.Catalog, id table.Identifier, batches ...arrow.RecordBatch) *table.Table {
	tb.Helper()
	rdr, err := array.NewRecordReader(batches[0].Schema(), batches)
	if err != nil {
		tb.Fatalf("append to %v: %v", id, err)
	}
	defer rdr.Release()
	if _, err := Load(tb, cat, id).Append(tb.Context(), rdr, nil); err != nil {
		tb.Fatalf("append to %v: %v", id, err)
	}
	return Load(tb, cat, id)
}

// AppendRows is [Append] of literals.
func AppendRows(tb testing.TB, cat lake.Catalog, id table.Identifier, rows ...Row) *table.Table {
	tb.Helper()
	return Append(tb, cat, id, Batch(tb, nil, ArrowSchema(tb, Load(tb, cat, id)), rows...))
}

// EqualityDelete deletes the rows that equal a row of the batch in the given
// columns. In a partitioned table the batch holds the source columns of the
// partition too, and the delete is of that partition.
func EqualityDelete(tb testing.TB, cat lake.Catalog, id table.Identifier, columns []string, batch arrow.RecordBatch) *table.Table {
	tb.Helper()
	t := Load(tb, cat, id)
	tx := t.NewTransaction()
	batch.Retain()
	files, err := tx.WriteEqualityDeletes(tb.Context(), fieldIDs(tb, t, columns), sequence(batch))
	if err != nil {
		tb.Fatalf("equality delete in %v: %v", id, err)
	}
	return commitDeletes(tb, cat, tx, id, files...)
}

// GlobalEqualityDelete deletes the rows that equal a row of the batch in the
// batch's columns, whatever their partition: its delete file stands under an
// unpartitioned spec, which is added to the table where it has none.
func GlobalEqualityDelete(tb testing.TB, cat lake.Catalog, id table.Identifier, batch arrow.RecordBatch) *table.Table {
	tb.Helper()
	spec := unpartitionedSpec(tb, cat, id)
	t := Load(tb, cat, id)
	names := make([]string, batch.NumCols())
	for i := range names {
		names[i] = batch.ColumnName(i)
	}
	schema, err := t.Schema().Select(true, names...)
	if err != nil {
		tb.Fatalf("equality delete in %v: %v", id, err)
	}
	file := writeFile(tb, t, batch, table.DataFileArgs{
		Schema: schema, Spec: spec, Content: iceberg.EntryContentEqDeletes, EqualityFieldIDs: fieldIDs(tb, t, names),
	})
	return commitDeletes(tb, cat, t.NewTransaction(), id, file)
}

// PositionDelete deletes rows by data file and position, from 0, with one
// delete file that names no single data file. In a partitioned table the data
// files must be of one partition.
func PositionDelete(tb testing.TB, cat lake.Catalog, id table.Identifier, positions map[string][]int64) *table.Table {
	tb.Helper()
	t := Load(tb, cat, id)
	schema, err := table.SchemaToArrowSchema(iceberg.PositionalDeleteSchema, nil, true, false)
	if err != nil {
		tb.Fatal(err)
	}
	var rows []Row
	for _, path := range slices.Sorted(maps.Keys(positions)) {
		for _, pos := range slices.Sorted(slices.Values(positions[path])) {
			rows = append(rows, Row{"file_path": path, "pos": pos})
		}
	}
	spec, tuple := partitionOf(tb, t, positions)
	file := writeFile(tb, t, Batch(tb, nil, schema, rows...), table.DataFileArgs{
		Schema: iceberg.PositionalDeleteSchema, Spec: spec, PartitionValues: tuple, Content: iceberg.EntryContentPosDeletes,
	})
	return commitDeletes(tb, cat, t.NewTransaction(), id, file)
}

func partitionOf(tb testing.TB, t *table.Table, files map[string][]int64) (iceberg.PartitionSpec, map[int]any) {
	tb.Helper()
	var found []iceberg.DataFile
	for _, e := range Entries(tb, t, false) {
		if _, ok := files[e.DataFile().FilePath()]; ok {
			found = append(found, e.DataFile())
		}
	}
	if len(found) == 0 || len(found) != len(files) {
		tb.Fatalf("position delete in %v: %d of %d data files are live", t.Identifier(), len(found), len(files))
	}
	first := found[0]
	for _, f := range found {
		if f.SpecID() != first.SpecID() || tupleText(f.Partition()) != tupleText(first.Partition()) {
			tb.Fatalf("position delete in %v: %s and %s are of two partitions", t.Identifier(), first.FilePath(), f.FilePath())
		}
	}
	spec := t.Metadata().PartitionSpecByID(int(first.SpecID()))
	if spec == nil {
		tb.Fatalf("%v has no spec %d", t.Identifier(), first.SpecID())
	}
	return *spec, first.Partition()
}

// unpartitionedSpec returns the table's unpartitioned spec, after adding one
// where there is none. The default spec stays.
func unpartitionedSpec(tb testing.TB, cat lake.Catalog, id table.Identifier) iceberg.PartitionSpec {
	tb.Helper()
	for range 2 {
		for _, spec := range Load(tb, cat, id).Metadata().PartitionSpecs() {
			if spec.IsUnpartitioned() {
				return spec
			}
		}
		empty := iceberg.NewPartitionSpecID(99)
		if _, _, err := cat.CommitTable(tb.Context(), id, nil, []table.Update{table.NewAddPartitionSpecUpdate(&empty, false)}); err != nil {
			tb.Fatalf("add a spec to %v: %v", id, err)
		}
	}
	tb.Fatalf("%v has no unpartitioned spec after adding one", id)
	panic("unreachable")
}

// writeFile writes a batch as one Parquet file of the table, with field ids,
// and describes it; args lacks what is known here.
func writeFile(tb testing.TB, t *table.Table, batch arrow.RecordBatch, args table.DataFileArgs) iceberg.DataFile {
	tb.Helper()
	schema, err := table.SchemaToArrowSchema(args.Schema, nil, true, false)
	if err != nil {
		tb.Fatal(err)
	}
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &buf, parquet.NewWriterProperties(parquet.WithStats(true)), pqarrow.NewArrowWriterProperties())
	if err != nil {
		tb.Fatal(err)
	}
	if err := w.Write(array.NewRecordBatch(schema, batch.Columns(), batch.NumRows())); err != nil {
		tb.Fatalf("write a delete file: %v", err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	if args.Metadata, err = w.FileMetadata(); err != nil {
		tb.Fatal(err)
	}
	loc, err := t.LocationProvider()
	if err != nil {
		tb.Fatal(err)
	}
	fs, err := t.FS(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	args.FilePath = loc.NewDataLocation(fmt.Sprintf("delete-%016x.parquet", rand.Uint64()))
	if err := fs.(iceio.WriteFileIO).WriteFile(args.FilePath, buf.Bytes()); err != nil {
		tb.Fatalf("write %s: %v", args.FilePath, err)
	}
	args.Format, args.FileSize, args.FormatVersion = iceberg.ParquetFile, int64(buf.Len()), t.Metadata().Version()
	file, err := table.DataFileFromMetadata(args)
	if err != nil {
		tb.Fatalf("describe %s: %v", args.FilePath, err)
	}
	return file
}

func commitDeletes(tb testing.TB, cat lake.Catalog, tx *table.Transaction, id table.Identifier, files ...iceberg.DataFile) *table.Table {
	tb.Helper()
	delta := tx.NewRowDelta(nil)
	delta.AddDeletes(files...)
	if err := delta.Commit(tb.Context()); err != nil {
		tb.Fatalf("delete in %v: %v", id, err)
	}
	if _, err := tx.Commit(tb.Context()); err != nil {
		tb.Fatalf("delete in %v: %v", id, err)
	}
	return Load(tb, cat, id)
}

func fieldIDs(tb testing.TB, t *table.Table, columns []string) []int {
	tb.Helper()
	ids := make([]int, len(columns))
	for i, name := range columns {
		f, ok := t.Schema().FindFieldByName(name)
		if !ok {
			tb.Fatalf("%v has no column %q", t.Identifier(), name)
		}
		ids[i] = f.ID
	}
	return ids
}

func sequence(b arrow.RecordBatch) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) { yield(b, nil) }
}
