package lake

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go/table"
)

// RowsQuery says which rows of a table to read. The zero value reads all rows
// of the main branch's head.
type RowsQuery struct {
	// Window restricts to a window of TimeColumn; the zero window: all rows,
	// those whose time is NULL too.
	Window     Window
	TimeColumn string
	// Zone is the zone of a window without an offset. See [Window.On].
	Zone *time.Location
	// SnapshotID reads an older snapshot; 0: the branch's head.
	SnapshotID int64
	// Branch is the branch to read. Default: main.
	Branch string
	// Limit is the largest number of rows to yield; 0: no limit.
	Limit int64
}

// RowsResult is the result of [Rows].
type RowsResult struct {
	Schema *arrow.Schema
	// Batches yields the rows; the caller releases each batch.
	Batches iter.Seq2[arrow.RecordBatch, error]
}

// Rows reads rows of a table, all deletes applied. Its error wraps [ErrUsage]
// where snapshot, branch or column do not exist.
func Rows(ctx context.Context, t *table.Table, q RowsQuery) (*RowsResult, error) {
	scan, err := q.scan(t)
	if err != nil {
		return nil, err
	}
	sc, err := scan.Projection()
	if err != nil {
		return nil, err
	}
	var in *owned
	if !q.Window.IsZero() {
		if in, err = newOwned(Load{TimeColumn: q.TimeColumn, Zone: q.Zone}, q.Window, sc); err != nil {
			return nil, err
		}
	}
	f, err := fitOf(sc)
	if err != nil {
		return nil, err
	}
	return &RowsResult{Schema: f.arrow, Batches: q.read(ctx, t, f, scan, in)}, nil
}

// scanOptions are those of every reading of a table. The library reads one file
// at a time: of two it would keep all rows of the second until the first has been
// read. Its columns keep all cores busy. Batches are an eighth of its own choice,
// which are tens of megabytes of wide rows.
func scanOptions() []table.ScanOption {
	return []table.ScanOption{table.WithMaxConcurrency(1), table.WithArrowBatchSize(1 << 14)}
}

// scan is the library's scan of the snapshot asked for: a branch's head with the
// table's present columns, or an older snapshot with its own.
func (q RowsQuery) scan(t *table.Table) (*table.Scan, error) {
	opts := scanOptions()
	meta := t.Metadata()
	switch {
	case q.SnapshotID != 0:
		if meta.SnapshotByID(q.SnapshotID) == nil {
			return nil, fmt.Errorf("the table has no snapshot %d: %w", q.SnapshotID, ErrUsage)
		}
		opts = append(opts, table.WithSnapshotID(q.SnapshotID))
	case q.Branch != "" && q.Branch != table.MainBranch:
		if meta.SnapshotByName(q.Branch) == nil {
			return nil, fmt.Errorf("the table has no branch %q: %w", q.Branch, ErrUsage)
		}
		return t.Scan(opts...).UseRef(q.Branch)
	}
	return t.Scan(opts...), nil
}

// read reads a snapshot file by file, those of the window alone where there is
// one. Files are chosen as a load does it; the scan has no filter, so that all
// deletes are matched.
func (q RowsQuery) read(ctx context.Context, t *table.Table, f *fit, scan *table.Scan, in *owned) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		tasks, err := scan.PlanFiles(ctx)
		if err != nil {
			yield(nil, fmt.Errorf("plan the scan: %w", err))
			return
		}
		tasks = q.within(t.Metadata(), tasks, in)
		for i := range tasks {
			if tasks[i], err = legibleTask(tasks[i]); err != nil {
				yield(nil, err)
				return
			}
		}
		_, batches, err := scan.ReadTasks(ctx, tasks)
		if err != nil {
			yield(nil, fmt.Errorf("scan: %w", err))
			return
		}
		left := q.Limit
		for rec, err := range batches {
			if err == nil {
				rec, err = q.pick(ctx, f, rec, in, &left)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if rec.NumRows() == 0 {
				rec.Release()
			} else if !yield(rec, nil) {
				return
			}
			if q.Limit > 0 && left == 0 {
				return
			}
		}
	}
}

// within leaves out the files that hold no row of the window.
func (q RowsQuery) within(meta table.Metadata, tasks []table.FileScanTask, in *owned) []table.FileScanTask {
	if in == nil {
		return tasks
	}
	var out []table.FileScanTask
	for _, task := range tasks {
		spec := meta.PartitionSpecByID(int(task.File.SpecID()))
		if spec == nil || in.side(*spec, task.File) != outside {
			out = append(out, task)
		}
	}
	return out
}

// pick returns the wanted rows of a batch, which it releases.
func (q RowsQuery) pick(ctx context.Context, f *fit, rec arrow.RecordBatch, in *owned, left *int64) (arrow.RecordBatch, error) {
	defer rec.Release()
	rec, err := conform(ctx, rec, f.arrow)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	var keep []bool
	if in != nil {
		keep = in.rows(f.schema, rec)
	}
	kept, err := keepRows(ctx, rec, keep)
	if err != nil || q.Limit == 0 {
		return kept, err
	}
	defer kept.Release()
	n := min(*left, kept.NumRows())
	*left -= n
	return kept.NewSlice(0, n), nil
}
