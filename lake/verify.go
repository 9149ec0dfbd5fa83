package lake

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// Verification says whether a window of a table holds what the source has for it
// now. It is the answer of [Loader.Verify].
type Verification struct {
	Load, Table, Branch string
	Window              Window
	// SnapshotID is the head that was read; 0 where the branch has none.
	SnapshotID int64
	// Origin is the source as it was read.
	Origin Origin
	// Sides are what was compared: the source first, the table last.
	Sides []Side
	// Loaded is what the newest load of exactly this window said; nil where no
	// snapshot of it is kept.
	Loaded *Loaded
	// Causes say why the sides differ; empty where they do not.
	Causes []string
	// Difference is between the source and the first side that differs from it;
	// nil where none does.
	Difference *Difference
	Seconds    float64
}

// Side is one of the things that are compared.
type Side struct {
	Name string
	// Digest is that of the window's rows, without volatile columns.
	Digest Digest
}

// Loaded is what a load said of the window at the time.
type Loaded struct {
	SnapshotID int64
	At         time.Time
	Run        string
	// Digest is nil where the load said none, or counted other columns in it: what is
	// volatile was otherwise, or the table has lost one since.
	Digest *Digest
	// SameSource and SameSettings say whether the source's files are those of the
	// load, and what was said of how to read them; see [Load].
	SameSource, SameSettings bool
}

// Equal reports whether all that was compared is the same.
func (v *Verification) Equal() bool { return v.Difference == nil }

// Release lets go of the rows that the difference holds.
func (v *Verification) Release() {
	if v.Difference != nil {
		v.Difference.release()
	}
}

// VerifyOptions say what to compare besides source and table.
type VerifyOptions struct {
	// Twice reads the source twice: a source that does not give the same rows
	// each time cannot be loaded again safely.
	Twice bool
	// Stage writes the files that a load would, compares what is read back from
	// them too, and throws them away.
	Stage bool
	// Rows is how many differing rows of each side to keep. Default: 10.
	Rows int
}

// Verify compares the window's rows of the source, as a load would store them
// now, with those of the table at its present head. It publishes nothing. The
// error is about the comparing; that the sides differ is none. The caller
// releases the verification.
//
// Each side is read once, and once more where two differ: then only what lies in
// a few of many hash buckets is looked at, so that memory does not grow with the
// number of rows.
func (l *Loader) Verify(ctx context.Context, load Load, src Source, w Window, opt VerifyOptions) (*Verification, error) {
	began := time.Now()
	j, err := l.prepare(ctx, load, src, w)
	switch {
	case err != nil:
	case j.load.Mode != Replace:
		err = fmt.Errorf("verify compares the rows of a window, and a load of mode %s does not own those: load the window again, and what it counts as identical is the proof: %w", j.load.Mode, ErrUsage)
	case j.creates:
		err = fmt.Errorf("there is nothing to compare with: %w", ErrNoTable)
	case j.fit.evolved && opt.Stage:
		err = fmt.Errorf("the load would change the table's columns, and files with other columns than the table cannot be read back without committing them: %w", ErrRefused)
	}
	if err != nil {
		return nil, j.failed("verify", w, err)
	}
	v := &verifying{loading: j, src: src, opt: opt}
	found, err := v.compare(ctx)
	v.discard(ctx, nil)
	if err != nil {
		return nil, j.failed("verify", w, err)
	}
	found.Seconds = time.Since(began).Seconds()
	return found, nil
}

// verifying is one comparison under way.
type verifying struct {
	*loading
	src Source
	opt VerifyOptions
}

// reading is one of the things that are compared: rows that can be read again.
type reading struct {
	name string
	// schema is that of the rows, which are read anew with each call.
	schema *iceberg.Schema
	rows   func(context.Context) iter.Seq2[arrow.RecordBatch, error]
	tally  *tally
}

// compare reads all sides, and those that differ again.
func (v *verifying) compare(ctx context.Context) (*Verification, error) {
	out := &Verification{
		Load: v.load.Name, Table: v.load.TableName(), Branch: v.load.Branch, Window: v.owned.window,
		Origin: v.origin, Loaded: v.lastLoaded(),
	}
	if v.base != nil {
		out.SnapshotID = v.base.SnapshotID
	}
	source := &reading{name: "source", schema: v.fit.schema, rows: v.readSource}
	others := []*reading{{name: "table", schema: v.planned.Schema(), rows: v.readTable}}
	if v.opt.Stage {
		others = slices.Insert(others, 0, &reading{name: "staged files", schema: v.fit.schema, rows: v.readStaged})
	}
	if v.opt.Twice {
		others = slices.Insert(others, 0, &reading{name: "source, read again", schema: v.fit.schema, rows: v.readSource})
	}
	for _, s := range append([]*reading{source}, others...) {
		if err := v.count(ctx, s); err != nil {
			return nil, fmt.Errorf("read the %s: %w", s.name, err)
		}
		out.Sides = append(out.Sides, Side{Name: s.name, Digest: s.tally.sum()})
	}
	// The source against itself comes first: where it is another each time,
	// nothing else can be equal.
	for i, other := range others {
		if out.Sides[i+1].Digest == out.Sides[0].Digest {
			continue
		}
		out.Causes = v.causes(out)
		var err error
		out.Difference, err = v.difference(ctx, source, other)
		return out, err
	}
	return out, nil
}

// readSource reads the window's rows as a load would store them.
func (v *verifying) readSource(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	in, err := v.pinned(ctx)
	if err != nil {
		return func(yield func(arrow.RecordBatch, error) bool) { yield(nil, err) }
	}
	return v.guarded(ctx, in, nil)
}

// pinned is the source's input: that of the plan, or for another reading one
// that is pinned anew to the same files.
func (v *verifying) pinned(ctx context.Context) (Input, error) {
	if in := v.input; in != nil {
		v.input = nil
		return in, nil
	}
	in, err := v.src.Pin(ctx, v.owned.window)
	if err == nil && in.Origin().Fingerprint != v.origin.Fingerprint {
		err = fmt.Errorf("the source's files changed while they were compared: run again: %w", ErrTemporary)
	}
	return in, err
}

// readTable reads the rows of window and scope at the head that was planned on.
func (v *verifying) readTable(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		if v.base == nil {
			return
		}
		batches, err := v.tableRows(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for rec, err := range batches {
			if err != nil && v.expired(ctx, v.planned) {
				err = fmt.Errorf("snapshot %s expired while it was read: %w: %w", v.baseName(), err, ErrTemporary)
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// tableRows are the table's rows with its own columns: the load may be about to
// widen those that its scope is on.
func (v *verifying) tableRows(ctx context.Context) (iter.Seq2[arrow.RecordBatch, error], error) {
	sc := v.planned.Schema()
	q := RowsQuery{Branch: v.load.Branch}
	scan, err := q.scan(v.planned)
	if err != nil {
		return nil, err
	}
	f, err := fitOf(sc)
	if err != nil {
		return nil, err
	}
	in, err := newOwned(v.load, v.owned.window, sc)
	if err != nil {
		return nil, err
	}
	return q.read(ctx, v.planned, f, scan, in), nil
}

// readStaged writes the files that a load would and reads them back. They are
// removed at the end of the comparison.
func (v *verifying) readStaged(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		files, err := v.stageInto(ctx, v.planned, v.fit, v.readSource(ctx), func(iceberg.DataFile) {})
		if err != nil {
			yield(nil, err)
			return
		}
		tasks := make([]table.FileScanTask, len(files))
		for i, df := range files {
			tasks[i] = table.FileScanTask{File: df, Length: df.FileSizeBytes()}
		}
		_, batches, err := v.planned.Scan(scanOptions()...).ReadTasks(ctx, tasks)
		if err != nil {
			yield(nil, err)
			return
		}
		for rec, err := range batches {
			if err == nil {
				rec, err = conformed(ctx, rec, v.fit.arrow)
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// conformed is conform for a batch that is no longer needed.
func conformed(ctx context.Context, rec arrow.RecordBatch, sc *arrow.Schema) (arrow.RecordBatch, error) {
	defer rec.Release()
	return conform(ctx, rec, sc)
}
