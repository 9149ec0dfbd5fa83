package lake

import (
	"bytes"
	"fmt"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"
)

// manifestReaders is how many manifests are read at the same time.
const manifestReaders = 8

// survey is what a snapshot holds of the rows in a load's reach: the manifests that
// may list files of them, opened and classified.
type survey struct {
	manifests []iceberg.ManifestFile // all, in the list's order
	opened    map[string][]iceberg.ManifestEntry
	inside    []iceberg.ManifestEntry
	straddles []iceberg.ManifestEntry
	deletes   *deleteIndex
}

// surveyWindow reads the manifest list of a snapshot and those manifests that
// cannot be skipped by their partition summaries. Delete manifests are read
// only if a data file is touched.
func (j *loading) surveyWindow(s *store, meta table.Metadata, snap *table.Snapshot) (*survey, error) {
	v := &survey{opened: map[string][]iceberg.ManifestEntry{}, deletes: &deleteIndex{meta: meta}}
	if snap == nil {
		return v, v.check(meta)
	}
	var err error
	if v.manifests, err = snap.Manifests(s); err != nil {
		return nil, fmt.Errorf("read the manifest list: %w", err)
	}
	data, err := j.openManifests(s, meta, v, iceberg.ManifestContentData)
	if err != nil {
		return nil, err
	}
	reach := j.reach()
	for _, e := range data {
		spec := meta.PartitionSpecByID(int(e.DataFile().SpecID()))
		if spec == nil {
			return nil, fmt.Errorf("%s was written under partition spec %d, which the table does not have: %w", e.DataFile().FilePath(), e.DataFile().SpecID(), ErrRefused)
		}
		switch reach.side(*spec, e.DataFile()) {
		case inside:
			v.inside = append(v.inside, e)
		case straddling:
			v.straddles = append(v.straddles, e)
		}
	}
	if len(v.inside)+len(v.straddles) > 0 {
		if v.deletes.entries, err = j.openManifests(s, meta, v, iceberg.ManifestContentDeletes); err != nil {
			return nil, err
		}
	}
	return v, v.check(meta)
}

// openManifests reads the manifests of one content that may hold files of the
// window and returns their live entries in the list's order.
func (j *loading) openManifests(s *store, meta table.Metadata, v *survey, content iceberg.ManifestContent) ([]iceberg.ManifestEntry, error) {
	var wanted []iceberg.ManifestFile
	reach := j.reach()
	for _, m := range v.manifests {
		if m.ManifestContent() != content || !live(m) {
			continue
		}
		if spec := meta.PartitionSpecByID(int(m.PartitionSpecID())); spec == nil || reach.manifestMayHold(*spec, m.Partitions()) {
			wanted = append(wanted, m)
		}
	}
	read, err := readManifests(s, wanted)
	if err != nil {
		return nil, err
	}
	var all []iceberg.ManifestEntry
	for i, m := range wanted {
		v.opened[m.FilePath()] = read[i]
		all = append(all, read[i]...)
	}
	return all, nil
}

// readManifests returns the live entries of each manifest.
func readManifests(s *store, manifests []iceberg.ManifestFile) ([][]iceberg.ManifestEntry, error) {
	read := make([][]iceberg.ManifestEntry, len(manifests))
	group := errgroup.Group{}
	group.SetLimit(manifestReaders)
	for i, m := range manifests {
		group.Go(func() (err error) {
			defer Caught(&err)
			for e, err := range m.Entries(s, true) {
				if err != nil {
					return fmt.Errorf("read manifest %s: %w", m.FilePath(), err)
				}
				read[i] = append(read[i], e)
			}
			return nil
		})
	}
	return read, group.Wait()
}

// live reports whether a manifest lists any file that is there: one that only
// lists deleted files is history, and is dropped by the next snapshot.
func live(m iceberg.ManifestFile) bool { return m.HasAddedFiles() || m.HasExistingFiles() }

// manifest is a manifest to be written.
type manifest struct {
	spec     iceberg.PartitionSpec
	content  iceberg.ManifestContent
	added    []iceberg.DataFile
	existing []iceberg.ManifestEntry
	deleted  []iceberg.ManifestEntry
}

// write encodes the manifest, stores it and returns its entry for the list.
func (m manifest) write(s *store, path string, sc *iceberg.Schema, snapshotID int64) (iceberg.ManifestFile, error) {
	var buf bytes.Buffer
	w, err := iceberg.NewManifestWriter(2, &buf, m.spec, sc, snapshotID, iceberg.WithManifestWriterContent(m.content))
	if err != nil {
		return nil, err
	}
	for _, df := range m.added {
		// The sequence number is inherited, so the manifest serves another attempt.
		if err := w.Add(iceberg.NewManifestEntry(iceberg.EntryStatusADDED, &snapshotID, nil, nil, df)); err != nil {
			return nil, fmt.Errorf("list %s: %w", df.FilePath(), err)
		}
	}
	for _, e := range m.existing {
		if err := w.Existing(e); err != nil {
			return nil, fmt.Errorf("keep %s: %w", e.DataFile().FilePath(), err)
		}
	}
	for _, e := range m.deleted {
		if err := w.Delete(e); err != nil {
			return nil, fmt.Errorf("remove %s: %w", e.DataFile().FilePath(), err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	mf, err := w.ToManifestFile(path, int64(buf.Len()), iceberg.WithManifestFileContent(m.content))
	if err != nil {
		return nil, err
	}
	if err := s.write(path, buf.Bytes()); err != nil {
		return nil, err
	}
	return mendSummaries(mf, snapshotID), nil
}

// mendSummaries gives partition summaries the empty bounds that iceberg-go
// turns into nulls (pitfall L2): a null bound of a field with values hides the
// whole manifest from Spark, Trino and PyIceberg.
func mendSummaries(mf iceberg.ManifestFile, snapshotID int64) iceberg.ManifestFile {
	parts := mf.Partitions()
	mended := false
	for i := range parts {
		for _, bound := range []*[]byte{parts[i].LowerBound, parts[i].UpperBound} {
			if bound != nil && *bound == nil {
				*bound = []byte{}
				mended = true
			}
		}
	}
	if !mended {
		return mf
	}
	return iceberg.NewManifestFile(mf.Version(), mf.FilePath(), mf.Length(), mf.PartitionSpecID(), snapshotID).
		Content(mf.ManifestContent()).SequenceNum(mf.SequenceNum(), mf.MinSequenceNum()).
		AddedFiles(mf.AddedDataFiles()).AddedRows(mf.AddedRows()).
		ExistingFiles(mf.ExistingDataFiles()).ExistingRows(mf.ExistingRows()).
		DeletedFiles(mf.DeletedDataFiles()).DeletedRows(mf.DeletedRows()).
		KeyMetadata(mf.KeyMetadata()).Partitions(parts).Build()
}
