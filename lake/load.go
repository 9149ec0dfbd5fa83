package lake

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"
)

// Load replaces the table's rows in w, within the load's scope, by the source's
// rows for w. It either publishes one snapshot or leaves the table exactly as
// it was; calling it again for the same window is always safe. Where the table
// holds these rows already, nothing is published. The receipt is
// filled as far as the load came, also with an error, which is an [*Error].
func (l *Loader) Load(ctx context.Context, load Load, src Source, w Window) (Receipt, error) {
	began := time.Now()
	j, err := l.prepare(ctx, load, src, w)
	if err != nil {
		return j.receipt(w, nil, began, err), j.failed("plan", w, err)
	}
	if err := j.surveyBase(ctx); err != nil {
		return j.receipt(w, nil, began, err), j.failed("plan", w, err)
	}
	plan := j.plan(j.surveyed)
	j.warned = plan.Warnings
	j.Trace.planned(plan)
	if stands := j.unread(); stands != nil {
		return j.receipt(w, stands, began, nil), nil
	}
	what, done, err := j.read(ctx)
	if err != nil {
		j.discard(ctx, nil)
		return j.receipt(w, nil, began, err), j.failed("stage", w, err)
	}
	defer done()
	landed, err := j.commit(ctx, j.load.Table, what)
	return j.receipt(w, landed, began, err), j.failed("commit", w, err)
}

// failed says what was being done to which table and window.
func (j *loading) failed(op string, w Window, err error) error {
	if err == nil {
		return nil
	}
	if j.owned != nil {
		w = j.owned.window
	}
	if unreachable(err) {
		err = fmt.Errorf("%w: %w", err, ErrTemporary)
	}
	return &Error{Op: op, Table: j.load.TableName(), Window: w, Err: err}
}

// read reads the source and returns what is to be committed; done lets go of what
// that holds.
func (j *loading) read(ctx context.Context) (what change, done func(), err error) {
	if j.load.Mode != Replace {
		m, err := j.newKeyed(ctx)
		if err != nil {
			return nil, nil, err
		}
		return m, m.rows.close, nil
	}
	staged, err := j.stage(ctx)
	return &replacement{published: published{j}, staged: staged, made: map[string]derived{}}, func() {}, err
}

// stage writes the window's rows of the source as data files that no snapshot
// names.
func (j *loading) stage(ctx context.Context) ([]iceberg.DataFile, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	digester, err := NewDigester(j.fit.schema, j.volatile...)
	if err != nil {
		return nil, err
	}
	files, err := j.stageInto(ctx, j.planned, j.fit, beside(j.guarded(ctx, j.input, nil), digester.Add), j.noteStaged)
	if err != nil {
		return nil, err
	}
	digest := digester.Digest()
	j.digest = &digest
	return files, j.allStaged(files)
}

// noteStaged tells those who watch of a staged file.
func (j *loading) noteStaged(df iceberg.DataFile) {
	j.Trace.fileStaged(df.FilePath(), df.Count(), df.FileSizeBytes())
	j.advance(func(p *Progress) {
		p.RowsStaged += df.Count()
		p.FilesStaged++
		p.BytesStaged += df.FileSizeBytes()
	})
}

// guarded reads an input and yields its rows as they may be stored; placed, which
// may be nil, is told where each batch is from.
func (j *loading) guarded(ctx context.Context, in Input, placed func(place)) iter.Seq2[arrow.RecordBatch, error] {
	g := &guard{owned: j.owned, fit: j.fit, exact: j.refusesOutside(), counted: func(read, outside int64) {
		j.advance(func(p *Progress) { p.RowsRead += read; p.RowsOutside += outside })
	}, placed: placed}
	return g.pass(ctx, in.Read(ctx, Request{
		Schema: j.fit.request, Time: j.fit.sourceName(j.owned.timeID), Window: j.owned.window,
		Procs: j.Procs, Memory: j.Memory / 4,
	}))
}

// allStaged checks that as many rows were written as the guard let pass: the
// digest counts them, the files' footers say how many they hold.
func (j *loading) allStaged(files []iceberg.DataFile) error {
	n := int64(0)
	for _, df := range files {
		n += df.Count()
	}
	if n != j.digest.Rows {
		return fmt.Errorf("the staged files hold %d rows, and the source gave %d of the window: %w", n, j.digest.Rows, ErrBug)
	}
	return nil
}

// refusesOutside reports whether a row outside the window is an error.
func (j *loading) refusesOutside() bool {
	return j.load.Outside == ErrorOutside || (j.load.Outside == OutsideDefault && j.origin.Exact)
}

// stageInto stages batches as files of a table under its present spec.
func (j *loading) stageInto(ctx context.Context, t *table.Table, f *fit, batches iter.Seq2[arrow.RecordBatch, error], notify func(iceberg.DataFile)) ([]iceberg.DataFile, error) {
	locations, err := locationsOf(t)
	if err != nil {
		return nil, err
	}
	target, err := targetBytes(t.Properties())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := openStore(ctx, t, j.Timeout)
	if err != nil {
		return nil, err
	}
	name := func(p *partition) string { return j.dataName(locations, p) }
	st, err := newStaging(j.layout(t, f), s.io, name, newLimits(j.Loader, target), notify)
	if err != nil {
		return nil, err
	}
	files, err := st.run(ctx, batches)
	if err != nil {
		cancel() // aborts uploads, before they are closed
	}
	st.close()
	return files, err
}

func targetBytes(p iceberg.Properties) (int64, error) {
	text := p.Get(table.WriteTargetFileSizeBytesKey, strconv.Itoa(table.WriteTargetFileSizeBytesDefault))
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("table property %s=%q is not a number of bytes: %w", table.WriteTargetFileSizeBytesKey, text, ErrUsage)
	}
	return n, nil
}

// discard removes the objects that this load wrote and that keep does not
// name. It is called only when the outcome proves that no snapshot names them,
// and works on after ctx was cancelled, for a while. What it cannot remove
// stays as an orphan, which its name tells from other writers' files.
func (j *loading) discard(ctx context.Context, keep map[string]bool) {
	j.mu.Lock()
	written := slices.Sorted(maps.Keys(j.written))
	j.mu.Unlock()
	written = slices.DeleteFunc(written, func(path string) bool { return keep[path] })
	if j.planned == nil || len(written) == 0 {
		return
	}
	j.removeAll(ctx, j.planned, written, func(path string) {
		j.mu.Lock()
		delete(j.written, path)
		j.mu.Unlock()
	})
}

// removers is how many objects are removed at the same time.
const removers = 16

// removeAll removes objects of a table, as many as it can within a while, also
// after ctx was cancelled, and calls removed, which may be nil, for each. What
// is left is an orphan, and no failure of the load.
func (l *Loader) removeAll(ctx context.Context, t *table.Table, paths []string, removed func(path string)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*l.Timeout)
	defer cancel()
	s, err := openStore(ctx, t, l.Timeout)
	if err != nil {
		return
	}
	group := errgroup.Group{}
	group.SetLimit(removers)
	for _, path := range paths {
		group.Go(func() error {
			if ctx.Err() == nil && s.remove(path) == nil && removed != nil {
				removed(path)
			}
			return nil
		})
	}
	_ = group.Wait()
}

// receipt is what the load did so far, or how it landed.
func (j *loading) receipt(w Window, a *landing, began time.Time, err error) Receipt {
	if j.owned != nil {
		w = j.owned.window
	}
	r := Receipt{
		Outcome: outcomeOf(err), Load: j.load.Name, Table: j.load.TableName(), Mode: string(j.load.Mode), Branch: j.load.Branch,
		Window: w.JSON(), Seconds: time.Since(began).Seconds(), Warnings: j.warned,
	}
	if j.fit != nil {
		r.Ignored = j.fit.ignored
	}
	if j.base != nil {
		r.BaseSnapshotID = strconv.FormatInt(j.base.SnapshotID, 10)
	}
	r.Files.Read, r.Bytes.Read = j.origin.Files, j.origin.Bytes
	r.Rows.Read, r.Rows.Outside = j.progress.RowsRead, j.progress.RowsOutside
	if j.digest != nil {
		text := j.digest.String()
		r.Digest = &text
	}
	if a == nil {
		return r
	}
	r.Attempts = a.attempts
	if a.attempt == nil {
		return r
	}
	if a.unchanged && err == nil {
		r.Outcome = Unchanged
	}
	r.SnapshotID, r.MetadataLocation = strconv.FormatInt(a.id, 10), a.metadataLocation
	read := r.Rows
	r.Rows, r.ByKey, r.Conflicts = a.rows, a.byKey, a.conflicts
	r.Rows.Read, r.Rows.Outside = read.Read, read.Outside
	r.Files.Added, r.Files.Deletes = a.files.Added, a.files.Deletes
	r.Files.Removed, r.Files.Rewritten = a.files.Removed, a.files.Rewritten
	r.Bytes.Written = a.written
	if at := a.state.watermark; !at.IsZero() {
		mark, _ := Window{From: at, Wall: j.owned.kind != Instants}.Bounds()
		r.Watermark = &mark
	}
	return r
}
