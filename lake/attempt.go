package lake

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// attempt is one snapshot ready to be committed on one head.
type attempt struct {
	id       int64
	parent   *int64
	sequence int64
	updates  []table.Update
	requires []table.Requirement
	// objects are the manifests and the list that only this attempt names.
	objects []string
	// used are the data files that it adds.
	used    []string
	rows    RowCounts
	files   FileCounts
	written int64 // bytes of the data files added
	state   state
	// unchanged is true where id is a snapshot that stands, and nothing is added.
	unchanged bool
	// expires is what it expires, instead of adding a snapshot.
	expires *expiring
}

// attemptOn builds a snapshot on the head just read that replaces the window's
// rows by the staged files.
//
// An attempt without updates means that the table holds these rows already.
//
// The first attempt also merges manifests; later ones, which race with others,
// are as short as they can be.
func (j *loading) attemptOn(ctx context.Context, head *table.Table, staged []iceberg.DataFile, made map[string]derived, first bool) (*attempt, error) {
	meta := head.Metadata()
	snap := j.headOf(head)
	store, err := openStore(ctx, head, j.Timeout)
	if err != nil {
		return nil, err
	}
	known, err := j.stateOn(ctx, head, snap)
	if err != nil {
		return nil, err
	}
	found, err := j.survey(store, meta, snap)
	if err != nil {
		return nil, err
	}
	if first {
		if s := j.standing(head, found); s != nil && s.digest == *j.digest {
			return s.attempt(), nil
		}
	}
	a := &attempt{id: j.freshID(meta), sequence: meta.LastSequenceNumber() + 1, state: known.add(j.owned.window)}
	if snap != nil {
		a.parent = &snap.SnapshotID
	}
	for _, df := range staged {
		a.rows.Written += df.Count()
	}
	changes := &changes{added: slices.Clone(staged)}
	if err := j.collect(ctx, head, found, changes, a, made); err != nil {
		return nil, err
	}
	if err := j.allowEmpty(staged, a); err != nil {
		return nil, err
	}
	list, err := j.writeManifests(ctx, head, store, found, changes, a, first)
	if err != nil {
		return nil, err
	}
	return a, j.describe(head, snap, list, changes, a)
}

// headOf is the tip of the load's branch; nil for a table without snapshots.
func (j *loading) headOf(t *table.Table) *table.Snapshot {
	if j.creates && t == j.planned {
		return nil
	}
	return t.Metadata().SnapshotByName(j.load.Branch)
}

// freshID is a positive random id that no snapshot has.
func (j *loading) freshID(meta table.Metadata) int64 {
	for {
		if id := j.NewID(); id > 0 && meta.SnapshotByID(id) == nil {
			return id
		}
	}
}

// changes are the data files that a snapshot adds and removes.
type changes struct {
	added   []iceberg.DataFile
	removed []iceberg.ManifestEntry
}

// collect turns a survey into changes: inside files go, straddling files are
// replaced by what survives of them.
func (j *loading) collect(ctx context.Context, head *table.Table, found *survey, c *changes, a *attempt, made map[string]derived) error {
	since := j.sinceBase(head)
	count := func(e iceberg.ManifestEntry, owned int64) {
		a.rows.Replaced += owned
		if since[e.SnapshotID()] {
			a.rows.Foreign += owned
		}
	}
	for _, e := range found.inside {
		positions, equalities := found.deletes.applying(e)
		a.rows.ReplacedAtMost = a.rows.ReplacedAtMost || len(positions)+len(equalities) > 0
		c.removed = append(c.removed, e)
		count(e, e.DataFile().Count())
	}
	var evolved *table.Table
	for _, e := range found.straddles {
		positions, equalities := found.deletes.applying(e)
		key := derivedKey(e.DataFile(), positions, equalities, head.Metadata().DefaultPartitionSpec())
		d, ok := made[key]
		if !ok {
			var err error
			if evolved == nil {
				if evolved, err = j.asEvolved(head); err != nil {
					return err
				}
			}
			if d, err = j.survive(ctx, evolved, e, positions, equalities); err != nil {
				return err
			}
			made[key] = d
		}
		if d.owned == 0 {
			// No owned row after all: the file stays as it is, and what was
			// written of it is named by no snapshot.
			continue
		}
		count(e, d.owned)
		c.removed = append(c.removed, e)
		c.added = append(c.added, d.files...)
		a.files.Rewritten++
	}
	for _, df := range c.added {
		a.used = append(a.used, df.FilePath())
		a.written += df.FileSizeBytes()
	}
	a.files.Added, a.files.Removed = len(c.added), len(c.removed)
	return nil
}

// sinceBase are the snapshots of others between base and head.
func (j *loading) sinceBase(head *table.Table) map[int64]bool {
	out := map[int64]bool{}
	for s := range ancestors(head.Metadata(), j.headOf(head)) {
		if j.base != nil && s.SnapshotID == j.base.SnapshotID {
			break
		}
		if summaryOf(s)[keyLoad] != j.load.Name {
			out[s.SnapshotID] = true
		}
	}
	return out
}

// allowEmpty guards a window that holds rows against a source that has none.
func (j *loading) allowEmpty(staged []iceberg.DataFile, a *attempt) error {
	if len(staged) > 0 || a.rows.Replaced == 0 || j.load.OnEmpty == ClearEmpty {
		return nil
	}
	has := fmt.Sprint(a.rows.Replaced)
	if a.rows.ReplacedAtMost {
		has = "up to " + has
	}
	if j.load.OnEmpty == SkipEmpty {
		return fmt.Errorf("the source has no row in the window and the table has %s: %w", has, ErrSkipped)
	}
	return fmt.Errorf("the source has no row in the window and the table has %s, so loading would empty it: load with on_empty: clear (--allow-empty) if that is meant: %w", has, ErrRefused)
}

// writeManifests stores the manifests that change and the manifest list.
func (j *loading) writeManifests(ctx context.Context, head *table.Table, s *store, found *survey, c *changes, a *attempt, merge bool) (string, error) {
	locations, err := locationsOf(head)
	if err != nil {
		return "", err
	}
	meta := head.Metadata()
	gone := map[string]bool{}
	for _, e := range c.removed {
		gone[e.DataFile().FilePath()] = true
	}
	put := func(m manifest) (iceberg.ManifestFile, error) {
		path := j.metaName(locations, "")
		a.objects = append(a.objects, path)
		sc, err := schemaWith(m.spec, j.schemaOn(head), meta)
		if err != nil {
			return nil, err
		}
		return m.write(s, path, sc, a.id)
	}
	var list []iceberg.ManifestFile
	for _, m := range addedManifests(meta, c.added) {
		mf, err := put(m)
		if err != nil {
			return "", err
		}
		list = append(list, mf)
	}
	for _, mf := range found.manifests {
		if !live(mf) {
			continue
		}
		if m, changed := without(meta, mf, found.opened[mf.FilePath()], gone); changed {
			if mf, err = put(m); err != nil {
				return "", err
			}
		}
		list = append(list, mf)
	}
	if merge {
		if list, err = j.mergeManifests(ctx, meta, s, found, list, put); err != nil {
			return "", err
		}
	}
	path := j.metaName(locations, fmt.Sprintf("snap-%d-", a.id))
	a.objects = append(a.objects, path)
	var buf bytes.Buffer
	if err := iceberg.WriteManifestList(2, &buf, a.id, a.parent, &a.sequence, 0, list); err != nil {
		return "", fmt.Errorf("write the manifest list: %w", err)
	}
	return path, s.write(path, buf.Bytes())
}

// schemaOn is the table's schema after the load.
func (j *loading) schemaOn(head *table.Table) *iceberg.Schema {
	if j.fit.evolved {
		return j.fit.schema
	}
	return head.Schema()
}

// schemaWith is a schema that has the source columns of spec: the present one,
// or the newest older one, for a column may have been dropped since. Without
// its source a partition value would be written as NULL.
func schemaWith(spec iceberg.PartitionSpec, present *iceberg.Schema, meta table.Metadata) (*iceberg.Schema, error) {
	schemas := slices.Clone(meta.Schemas())
	slices.SortFunc(schemas, func(a, b *iceberg.Schema) int { return b.ID - a.ID })
	for _, sc := range append([]*iceberg.Schema{present}, schemas...) {
		whole := true
		for _, f := range spec.Fields() {
			_, has := sc.FindFieldByID(f.SourceID())
			whole = whole && has
		}
		if whole {
			return sc, nil
		}
	}
	return nil, fmt.Errorf("partition spec %d names columns that no schema of the table has together, so its manifests cannot be written again: %w", spec.ID(), ErrRefused)
}

// addedManifests lists the added files by the spec they were written under.
func addedManifests(meta table.Metadata, added []iceberg.DataFile) (out []manifest) {
	bySpec := map[int][]iceberg.DataFile{}
	for _, df := range added {
		bySpec[int(df.SpecID())] = append(bySpec[int(df.SpecID())], df)
	}
	for _, id := range slices.Sorted(maps.Keys(bySpec)) {
		out = append(out, manifest{spec: *meta.PartitionSpecByID(id), added: bySpec[id]})
	}
	return out
}

// without is a manifest's live entries with the gone files marked deleted.
func without(meta table.Metadata, mf iceberg.ManifestFile, entries []iceberg.ManifestEntry, gone map[string]bool) (m manifest, changed bool) {
	if mf.ManifestContent() != iceberg.ManifestContentData {
		return m, false
	}
	for _, e := range entries {
		if gone[e.DataFile().FilePath()] {
			m.deleted = append(m.deleted, e)
		} else {
			m.existing = append(m.existing, e)
		}
	}
	if len(m.deleted) == 0 {
		return m, false
	}
	m.spec = *meta.PartitionSpecByID(int(mf.PartitionSpecID()))
	return m, true
}

// describe completes the attempt: the snapshot, and the updates and
// requirements that publish it.
func (j *loading) describe(head *table.Table, snap *table.Snapshot, list string, c *changes, a *attempt) error {
	meta := head.Metadata()
	schemaID, evolution, err := j.evolution(head)
	if err != nil {
		return err
	}
	added := &table.Snapshot{
		SnapshotID: a.id, ParentSnapshotID: a.parent, SequenceNumber: a.sequence, ManifestList: list, SchemaID: &schemaID,
		// Another host's clock may be ahead; a timestamp more than a minute
		// before the last update is refused for ever (pitfall L19).
		TimestampMs: max(j.Now().UnixMilli(), meta.LastUpdatedMillis()),
		Summary:     j.summary(snap, c, a),
	}
	builder, err := table.MetadataBuilderFromBase(meta, head.MetadataLocation())
	if err != nil {
		return err
	}
	if j.creates && head == j.planned {
		a.updates = createUpdates(meta)
		a.requires = []table.Requirement{table.AssertCreate()}
	} else {
		a.requires = append(a.requires, table.AssertTableUUID(meta.TableUUID()), table.AssertRefSnapshotID(j.load.Branch, a.parent))
		a.updates = append(a.updates, evolution...)
		if len(evolution) > 0 {
			// The head check does not see a commit that changes only the schema.
			a.requires = append(a.requires, table.AssertCurrentSchemaID(meta.CurrentSchema().ID), table.AssertLastAssignedFieldID(meta.LastColumnID()))
		}
	}
	a.updates = append(a.updates, table.NewAddSnapshotUpdate(added),
		builder.NewRetainingSnapshotRefUpdate(j.load.Branch, a.id, table.BranchRef))
	if j.load.Branch == table.MainBranch {
		a.updates = append(a.updates, table.NewSetPropertiesUpdate(j.mirrored(meta, a)))
		a.updates = append(a.updates, j.claiming(meta)...)
	}
	return nil
}

// evolution is the schema that the snapshot is in, and the updates that add it
// to the table where the load adds or widens columns.
func (j *loading) evolution(head *table.Table) (schemaID int, updates []table.Update, err error) {
	meta := head.Metadata()
	if !j.fit.evolved || j.creates {
		return meta.CurrentSchema().ID, nil, nil
	}
	builder, err := j.evolvedBuilder(head)
	if err != nil {
		return 0, nil, err
	}
	return builder.CurrentSchema().ID, []table.Update{table.NewAddSchemaUpdate(copySchema(j.fit.schema)), table.NewSetCurrentSchemaUpdate(-1)}, nil
}

// evolvedBuilder is the head's metadata with the load's columns.
func (j *loading) evolvedBuilder(head *table.Table) (*table.MetadataBuilder, error) {
	builder, err := table.MetadataBuilderFromBase(head.Metadata(), head.MetadataLocation())
	if err != nil {
		return nil, err
	}
	if err = builder.AddSchema(copySchema(j.fit.schema)); err == nil {
		err = builder.SetCurrentSchemaID(-1)
	}
	if err != nil {
		return nil, fmt.Errorf("change the table's columns: %w: %w", err, ErrSchema)
	}
	return builder, nil
}
