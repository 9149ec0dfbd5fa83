package lake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// loading is one load under way: what was planned, and what it has written.
type loading struct {
	Loader
	load  Load
	input Input
	// planned is the table as the plan found it, a draft where it did not exist.
	planned *table.Table
	creates bool
	base    *table.Snapshot // the branch's head at plan; nil where there is none
	fit     *fit
	owned   *owned
	origin  Origin
	// surveyed is what base holds of the window, until an attempt uses it.
	surveyed *survey
	warned   []Warning
	// volatile are the ids of the volatile columns, in ascending order.
	volatile []int
	// digest is that of the staged rows; nil until they are.
	digest *Digest

	began   time.Time
	nonce   string
	files   atomic.Int64 // numbers the objects of this load
	mu      sync.Mutex
	written map[string]bool // objects begun by this load, until they are removed

	watching sync.Mutex // over progress, and over the hooks that are told of it
	progress Progress
}

// prepare plans a load: it fixes the base before the source is opened, pins
// the source, and matches source and table. It writes nothing.
func (l *Loader) prepare(ctx context.Context, load Load, src Source, w Window) (*loading, error) {
	j := &loading{Loader: l.withDefaults(), load: load.withDefaults(), written: map[string]bool{}}
	if err := j.load.validate(); err != nil {
		return j, err
	}
	if err := w.validate(); err != nil {
		return j, err
	}
	j.began = j.Now()
	j.nonce = fmt.Sprintf("%016x", uint64(j.NewID()))
	if err := j.findTable(ctx); err != nil {
		return j, err
	}
	if err := j.bindSource(ctx, src, w); err != nil {
		return j, err
	}
	if len(j.origin.Missing) > 0 && j.load.OnEmpty != ClearEmpty {
		return j, j.filesMissing()
	}
	return j, j.checkColumns()
}

// bindSource pins the source for the window, as it is on the time column, and
// matches it to the table.
func (j *loading) bindSource(ctx context.Context, src Source, w Window) (err error) {
	if !j.creates {
		if j.owned, err = newOwned(j.load, w, j.planned.Schema()); err != nil {
			return err
		}
		if err := j.admit(j.planned.Metadata()); err != nil {
			return err
		}
		if err := j.pin(ctx, src, j.owned.window); err != nil {
			return err
		}
		return j.fitTable(ctx, w)
	}
	// The kind of the time column is known once the files are, and which files
	// those are may depend on it, where folders have days of some zone.
	guess, err := w.On(Instants, j.load.Zone)
	if err != nil {
		return err
	}
	if err := j.pin(ctx, src, guess); err != nil {
		return err
	}
	if err := j.designTable(ctx, w); err != nil || j.owned.window == guess {
		return err
	}
	guessed, kind := j.origin.Fingerprint, j.owned.kind
	if err := j.pin(ctx, src, j.owned.window); err != nil {
		return err
	}
	if guessed != "" && guessed == j.origin.Fingerprint {
		return nil
	}
	if err := j.designTable(ctx, w); err != nil || j.owned.kind == kind {
		return err
	}
	return fmt.Errorf("the time column %q is %s in some of the source's files and %s in others: declare its type: %w", j.owned.time.Name, kind, j.owned.kind, ErrSchema)
}

// pin fixes what is read for w.
func (j *loading) pin(ctx context.Context, src Source, w Window) (err error) {
	if j.input, err = src.Pin(ctx, w); err != nil {
		return err
	}
	if j.origin = j.input.Origin(); j.origin.Files == 0 {
		return j.noFile()
	}
	return nil
}

// reach is what the load looks at of the table: what it owns; in mode merge the
// rows of its scope at any time, in mode append those of the look-back.
func (j *loading) reach() *owned {
	switch j.load.Mode {
	case Merge:
		return j.owned.atAnyTime()
	case Append:
		return j.owned.around(j.load.LookBack)
	}
	return j.owned
}

// findTable loads the table and fixes the base.
func (j *loading) findTable(ctx context.Context) error {
	t, err := j.loadTable(ctx, j.load.Table)
	if errors.Is(err, ErrNoTable) {
		j.creates = true
		return nil
	}
	if err != nil {
		return err
	}
	if err := supported(t.Metadata()); err != nil {
		return err
	}
	j.planned = t
	j.base = t.Metadata().SnapshotByName(j.load.Branch)
	if j.base == nil && j.load.Branch != table.MainBranch {
		return fmt.Errorf("the table has no branch %q: %w", j.load.Branch, ErrUsage)
	}
	return refuseTag(t.Metadata(), j.load.Branch)
}

// refuseTag refuses a tag in place of a branch: a commit would move it.
func refuseTag(meta table.Metadata, branch string) error {
	for name, ref := range meta.Refs() {
		if name == branch && ref.SnapshotRefType != table.BranchRef {
			return fmt.Errorf("%q is a tag of the table, which is not moved; give a branch: %w", branch, ErrUsage)
		}
	}
	return nil
}

// supported refuses tables that are not written here.
func supported(meta table.Metadata) error {
	if v := meta.Version(); v != 2 {
		return fmt.Errorf("the table has Iceberg format version %d; only version 2 is written: %w", v, ErrRefused)
	}
	for range meta.EncryptionKeys() {
		return fmt.Errorf("the table is encrypted, which is not written here: %w", ErrRefused)
	}
	return nil
}

// LoadTable returns a table as it is now. Unlike the catalog alone it waits no
// longer than Timeout for it.
func (l *Loader) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	k := l.withDefaults()
	return k.loadTable(ctx, id)
}

func (l *Loader) loadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	return within(ctx, l.Timeout, func(ctx context.Context) (*table.Table, error) {
		return l.Catalog.LoadTable(ctx, id)
	})
}

// noFile is what it means that the source matched no file: never that a window
// is empty.
func (j *loading) noFile() error {
	if j.load.OnEmpty == SkipEmpty {
		return fmt.Errorf("the source matched no file%s: %w", j.origin.of(), ErrSkipped)
	}
	return fmt.Errorf("the source matched no file%s, and a missing file never means an empty window: look whether it was delivered, and where: %w", j.origin.of(), ErrRefused)
}

// filesMissing is what it means that the source has files for a part of the
// window only.
func (j *loading) filesMissing() error {
	missing, more := j.origin.Missing, ""
	if n := len(missing); n > 3 {
		missing, more = missing[:3], fmt.Sprintf(" and %d more", n-3)
	}
	return fmt.Errorf("the source has no file for a part of the window, %s%s, and a missing file never means that there is nothing: look whether it was delivered; if nothing happened there, run with on_empty: clear: %w",
		strings.Join(missing, ", "), more, ErrRefused)
}

// designTable drafts a table that does not exist yet from the source.
func (j *loading) designTable(ctx context.Context, w Window) (err error) {
	if j.load.Branch != table.MainBranch {
		return fmt.Errorf("a new table begins on branch main, not %q: %w", j.load.Branch, ErrUsage)
	}
	if j.fit, err = fitNew(ctx, j.input); err != nil {
		return err
	}
	j.Trace.inferred(j.fit.decided)
	if j.owned, err = newOwned(j.load, w, j.fit.schema); err != nil {
		return err
	}
	exprs := j.load.PartitionBy
	if exprs == nil {
		day, ok := findField(j.fit.schema, j.load.TimeColumn)
		if !ok {
			return fmt.Errorf("the source has no column %q, the time column; it has %s: %w", j.load.TimeColumn, columnNames(j.fit.schema), ErrUsage)
		}
		exprs = []string{"day(" + day.Name + ")"}
	}
	spec, err := partitionSpec(j.fit.schema, exprs)
	if err != nil {
		return err
	}
	j.planned, err = within(ctx, j.Timeout, func(ctx context.Context) (*table.Table, error) {
		return j.Catalog.Draft(ctx, j.load.Table, j.fit.schema, &spec, j.newProperties())
	})
	if err != nil {
		return err
	}
	return j.fit.rebind(j.planned.Schema())
}

// newProperties are the properties of a new table: what is sane for one that
// is written again and again, and bounds by which later loads tell files apart.
// Files have Iceberg's own target size: where the property is set, DuckDB does
// not insert into a partitioned table.
func (j *loading) newProperties() iceberg.Properties {
	p := iceberg.Properties{
		table.ParquetCompressionKey:               "zstd",
		table.MetadataDeleteAfterCommitEnabledKey: "true",
		table.MetadataPreviousVersionsMaxKey:      "100",
		table.CommitNumRetriesKey:                 "0", // the one retry loop is calve's own
	}
	for k, v := range j.owned.exactBounds(nil) {
		p[k] = v
	}
	for k, v := range j.load.Properties {
		p[k] = v
	}
	return p
}

func (j *loading) fitTable(ctx context.Context, w Window) (err error) {
	meta := j.planned.Metadata()
	if err := samePartitioning(meta.CurrentSchema(), meta.PartitionSpec(), j.load.PartitionBy); err != nil {
		return err
	}
	if j.fit, err = fitTable(ctx, j.input, meta, j.load.Schema); err != nil {
		return err
	}
	j.Trace.inferred(j.fit.decided)
	j.owned, err = newOwned(j.load, w, j.fit.schema)
	return err
}

// checkColumns refuses a source that cannot say which rows are its own.
func (j *loading) checkColumns() error {
	if j.fit.sourceName(j.owned.timeID) == "" {
		return fmt.Errorf("the source has no column %q, which the window is on: %w", j.owned.time.Name, ErrSchema)
	}
	for _, eq := range j.owned.scope {
		if j.fit.sourceName(eq.field.ID) == "" {
			return fmt.Errorf("the source has no column %q, which the scope is on: %w", eq.field.Name, ErrSchema)
		}
	}
	if err := j.bindVolatile(); err != nil {
		return err
	}
	_, err := newPartitioner(j.fit.schema, j.planned.Spec())
	return err
}

// bindVolatile finds the volatile columns.
func (j *loading) bindVolatile() error {
	for _, name := range j.load.Volatile {
		field, ok := findField(j.fit.schema, name)
		if !ok {
			return fmt.Errorf("the table has no column %q that could be volatile; it has %s: %w", name, columnNames(j.fit.schema), ErrUsage)
		}
		if field.ID == j.owned.timeID {
			return fmt.Errorf("column %q must not be volatile: the window is on it: %w", name, ErrUsage)
		}
		j.volatile = append(j.volatile, field.ID)
	}
	slices.Sort(j.volatile)
	j.volatile = slices.Compact(j.volatile)
	return nil
}

// dataName names a new data file: the folder is for people, the name tells
// calve's files from other writers'.
func (j *loading) dataName(locations table.LocationProvider, p *partition) string {
	name := fmt.Sprintf("calve-%s-%s-%d.parquet", j.load.Name, j.nonce, j.files.Add(1))
	if p.path != "" {
		name = p.path + "/" + name
	}
	return j.note(locations.NewDataLocation(name))
}

// metaName names a new metadata object.
func (j *loading) metaName(locations table.LocationProvider, kind string) string {
	return j.note(locations.NewMetadataLocation(fmt.Sprintf("%scalve-%s-%s-%d.avro", kind, j.load.Name, j.nonce, j.files.Add(1))))
}

// note records an object before it is written, so that discarding knows it.
func (j *loading) note(path string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.written[path] = true
	return path
}

func (j *loading) advance(change func(*Progress)) {
	j.watching.Lock()
	defer j.watching.Unlock()
	change(&j.progress)
	j.Trace.progress(j.progress)
}

// layout is how the load's files are written into a table.
func (j *loading) layout(t *table.Table, f *fit) *layout {
	return &layout{
		schema: f.schema, arrow: f.arrow, spec: t.Spec(), sortOrder: 0,
		properties: j.owned.exactBounds(t.Properties()),
	}
}

// sourceText describes the source in a snapshot's summary, in at most 2 KiB.
func sourceText(o Origin) string {
	files := "files"
	if o.Files == 1 {
		files = "file"
	}
	text := fmt.Sprintf("%s, %d %s", o.Kind, o.Files, files)
	if o.Fingerprint != "" {
		text += ", sha256:" + o.Fingerprint
	}
	for _, n := range o.Names {
		if len(text)+len(n) > 2000 {
			break
		}
		text += ", " + n
	}
	return strings.ToValidUTF8(text, "?")
}
