package lake

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// derived is what became of one straddling file: its rows outside the window,
// as new files. It depends on the file and on the deletes that apply to it,
// and is made again when either changes.
type derived struct {
	files []iceberg.DataFile
	// owned is the number of live rows that were in the window.
	owned int64
}

// derivedKey names what a derived file was made from.
func derivedKey(data iceberg.DataFile, positions, equalities []iceberg.DataFile, specID int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n%s", specID, data.FilePath())
	for _, d := range append(append([]iceberg.DataFile{}, positions...), equalities...) {
		b.WriteString("\n" + d.FilePath())
	}
	return b.String()
}

// survive rewrites a straddling file without the window's rows.
func (j *loading) survive(ctx context.Context, head *table.Table, entry iceberg.ManifestEntry, positions, equalities []iceberg.DataFile) (derived, error) {
	current, err := fitOf(head.Schema())
	if err != nil {
		return derived{}, err
	}
	var out derived
	kept := j.surviving(ctx, current, j.liveRows(ctx, head, current, liveFile{entry, positions, equalities}), &out.owned)
	if out.files, err = j.stageInto(ctx, head, current, kept, func(iceberg.DataFile) {}); err != nil {
		return derived{}, fmt.Errorf("rewrite %s: %w", entry.DataFile().FilePath(), err)
	}
	return out, nil
}

// liveFile is a data file with the deletes that apply to it.
type liveFile struct {
	entry                 iceberg.ManifestEntry
	positions, equalities []iceberg.DataFile
}

// liveRows reads the rows of a file that are not deleted, in the file's order,
// with the columns of f, which are some of the table's. All deletes that apply
// are applied, and the library gets no row filter: it would drop the rows whose
// time is NULL, and row groups that hold NaN (pitfalls L3, L4, L15). The caller
// releases the batches.
func (j *loading) liveRows(ctx context.Context, t *table.Table, f *fit, file liveFile) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		fail := func(err error) { yield(nil, fmt.Errorf("read %s: %w", file.entry.DataFile().FilePath(), err)) }
		sequence := file.entry.SequenceNum()
		task, err := legibleTask(table.FileScanTask{
			File: file.entry.DataFile(), Length: file.entry.DataFile().FileSizeBytes(),
			DeleteFiles: file.positions, EqualityDeleteFiles: file.equalities, DataSequenceNumber: &sequence,
		})
		if err != nil {
			fail(err)
			return
		}
		ctx, dog, stop := watch(ctx, 5*j.Timeout)
		defer stop()
		options := scanOptions()
		if fields := f.schema.Fields(); len(fields) < t.Schema().NumFields() {
			var names []string
			for _, field := range fields {
				names = append(names, field.Name)
			}
			options = append(options, table.WithSelectedFields(names...))
		}
		_, batches, err := t.Scan(options...).ReadTasks(ctx, []table.FileScanTask{task})
		if err != nil {
			fail(err)
			return
		}
		constants := f.constants(t.Metadata(), task.File)
		for rec, err := range watched(ctx, dog, batches) {
			if err != nil {
				fail(err)
				return
			}
			same, err := f.complete(ctx, rec, constants)
			rec.Release()
			if err != nil {
				fail(err)
				return
			}
			if !yield(same, nil) {
				return
			}
		}
	}
}

// watched feeds the watchdog while a batch is waited for, and says why the
// context ended.
func watched(ctx context.Context, dog *watchdog, batches iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for rec, err := range batches {
			dog.rest()
			if err != nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if !yield(rec, err) {
				return
			}
			dog.feed()
		}
	}
}

// surviving yields the rows that are not owned and counts those that are.
func (j *loading) surviving(ctx context.Context, f *fit, batches iter.Seq2[arrow.RecordBatch, error], count *int64) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for rec, err := range batches {
			if err != nil {
				yield(nil, err)
				return
			}
			kept, err := j.notOwned(ctx, f, rec)
			n := rec.NumRows()
			rec.Release()
			if err == nil {
				*count += n - kept.NumRows()
				if kept.NumRows() == 0 {
					kept.Release()
					continue
				}
			}
			if !yield(kept, err) || err != nil {
				return
			}
		}
	}
}

func (j *loading) notOwned(ctx context.Context, f *fit, rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	mask := j.owned.rows(f.schema, rec)
	if mask == nil {
		return rec.NewSlice(0, 0), nil
	}
	for i := range mask {
		mask[i] = !mask[i]
	}
	return keepRows(ctx, rec, mask)
}

// conform gives a batch that the library read the exact types of the table.
// The caller releases the result.
func conform(ctx context.Context, rec arrow.RecordBatch, sc *arrow.Schema) (arrow.RecordBatch, error) {
	if int(rec.NumCols()) != sc.NumFields() {
		return nil, errors.New("the scan returned other columns than the table has")
	}
	columns := make([]arrow.Array, rec.NumCols())
	for i, c := range rec.Columns() {
		columns[i] = c
		if arrow.TypeEqual(c.DataType(), sc.Field(i).Type) {
			continue
		}
		cast, err := compute.CastArray(ctx, c, compute.SafeCastOptions(sc.Field(i).Type))
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", sc.Field(i).Name, err)
		}
		defer cast.Release()
		columns[i] = cast
	}
	return array.NewRecordBatch(sc, columns, rec.NumRows()), nil
}
