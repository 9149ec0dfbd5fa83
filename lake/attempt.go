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
	used  []string
	rows  RowCounts
	byKey *KeyCounts // nil in mode replace
	// conflicts show the first rows that [KeyCounts.Conflicts] counts.
	conflicts []string
	files     FileCounts
	written   int64 // bytes of the data files added
	// before is the load's state on the head, state the one after the attempt.
	before, state state
	// unchanged is true where id is a snapshot that stands, and nothing is added.
	unchanged bool
	// expires is what it expires, instead of adding a snapshot.
	expires *expiring
}

// ground is a head that an attempt is made on, with what the load may touch of
// it, and the attempt as far as it has come.
type ground struct {
	head  *table.Table
	snap  *table.Snapshot // the branch's tip; nil where it has none
	store *store
	found *survey
	*attempt

	// leave lets go of the store.
	leave context.CancelFunc
}

// groundOn reads what an attempt on the head needs to know. The caller leaves it.
func (j *loading) groundOn(ctx context.Context, head *table.Table) (_ *ground, err error) {
	g := &ground{head: head, snap: j.headOf(head)}
	lasting, leave := linger(ctx)
	defer func() {
		if err != nil {
			leave()
		}
	}()
	if g.store, err = openStore(lasting, head, j.Timeout); err != nil {
		return nil, err
	}
	known, err := j.stateOn(ctx, head, g.snap)
	if err != nil {
		return nil, err
	}
	meta := head.Metadata()
	if g.found, err = j.survey(g.store, meta, g.snap); err != nil {
		return nil, err
	}
	g.leave, g.attempt = leave, &attempt{id: j.freshID(meta), sequence: meta.LastSequenceNumber() + 1, before: known, state: known.add(j.owned.window)}
	if g.snap != nil {
		g.parent = &g.snap.SnapshotID
	}
	return g, nil
}

// publish completes an attempt that makes these changes. The first attempt also
// merges manifests; later ones, which race with others, are as short as they can
// be.
func (j *loading) publish(ctx context.Context, g *ground, c *changes, first bool) (*attempt, error) {
	for _, df := range slices.Concat(c.added, c.deletes) {
		g.used = append(g.used, df.FilePath())
		g.written += df.FileSizeBytes()
	}
	g.files.Added, g.files.Removed, g.files.Deletes = len(c.added), len(c.removed), len(c.deletes)
	list, err := j.writeManifests(ctx, g, c, first)
	if err != nil {
		return nil, err
	}
	return g.attempt, j.describe(g, list, c)
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
	// deletes are position delete files that it adds.
	deletes []iceberg.DataFile
}

// collect turns a survey into changes: inside files go, straddling files are
// replaced by what survives of them.
func (j *loading) collect(ctx context.Context, g *ground, c *changes, made map[string]derived) error {
	since := j.sinceBase(g.head)
	count := func(e iceberg.ManifestEntry, owned int64) {
		g.rows.Replaced += owned
		if since[e.SnapshotID()] {
			g.rows.Foreign += owned
		}
	}
	for _, e := range g.found.inside {
		positions, equalities := g.found.deletes.applying(e)
		g.rows.ReplacedAtMost = g.rows.ReplacedAtMost || len(positions)+len(equalities) > 0
		c.removed = append(c.removed, e)
		count(e, e.DataFile().Count())
	}
	var evolved *table.Table
	for _, e := range g.found.straddles {
		positions, equalities := g.found.deletes.applying(e)
		key := derivedKey(e.DataFile(), positions, equalities, g.head.Metadata().DefaultPartitionSpec())
		d, ok := made[key]
		if !ok {
			var err error
			if evolved == nil {
				if evolved, err = j.asEvolved(g.head); err != nil {
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
		g.files.Rewritten++
	}
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
func (j *loading) writeManifests(ctx context.Context, g *ground, c *changes, merge bool) (string, error) {
	locations, err := locationsOf(g.head)
	if err != nil {
		return "", err
	}
	meta := g.head.Metadata()
	gone := map[string]bool{}
	for _, e := range c.removed {
		gone[e.DataFile().FilePath()] = true
	}
	put := func(m manifest) (iceberg.ManifestFile, error) {
		path := j.metaName(locations, "")
		g.objects = append(g.objects, path)
		sc, err := schemaWith(m.spec, j.schemaOn(g.head), meta)
		if err != nil {
			return nil, err
		}
		return m.write(g.store, path, sc, g.id)
	}
	var list []iceberg.ManifestFile
	for _, m := range slices.Concat(addedManifests(meta, c.added, iceberg.ManifestContentData), addedManifests(meta, c.deletes, iceberg.ManifestContentDeletes)) {
		mf, err := put(m)
		if err != nil {
			return "", err
		}
		list = append(list, mf)
	}
	for _, mf := range g.found.manifests {
		if !live(mf) {
			continue
		}
		if m, changed := without(meta, mf, g.found.opened[mf.FilePath()], gone); changed {
			if mf, err = put(m); err != nil {
				return "", err
			}
		}
		list = append(list, mf)
	}
	if merge {
		if list, err = j.mergeManifests(ctx, meta, g.store, g.found, list, put); err != nil {
			return "", err
		}
	}
	path := j.metaName(locations, fmt.Sprintf("snap-%d-", g.id))
	g.objects = append(g.objects, path)
	var buf bytes.Buffer
	if err := iceberg.WriteManifestList(2, &buf, g.id, g.parent, &g.sequence, 0, list); err != nil {
		return "", fmt.Errorf("write the manifest list: %w", err)
	}
	return path, g.store.write(path, buf.Bytes())
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
func addedManifests(meta table.Metadata, added []iceberg.DataFile, content iceberg.ManifestContent) (out []manifest) {
	bySpec := map[int][]iceberg.DataFile{}
	for _, df := range added {
		bySpec[int(df.SpecID())] = append(bySpec[int(df.SpecID())], df)
	}
	for _, id := range slices.Sorted(maps.Keys(bySpec)) {
		out = append(out, manifest{spec: *meta.PartitionSpecByID(id), content: content, added: bySpec[id]})
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
func (j *loading) describe(g *ground, list string, c *changes) error {
	head, a := g.head, g.attempt
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
		Summary:     j.summary(g.snap, c, a),
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
