package lake

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"

	"github.com/apache/iceberg-go/table"
)

// past is what a table's metadata log tells of its past. Of each metadata file
// only a little is kept: a log of a hundred files with thousands of snapshots
// each would not fit in memory.
type past struct {
	// steps are the metadata files that could be read, oldest first, and last
	// the table's present one.
	steps []pastStep
	// gone are the snapshots that the table has no more, with their id and
	// manifest list alone, and statistics their statistics files.
	gone       map[int64]table.Snapshot
	statistics map[int64][]Object
}

// pastStep is one metadata file.
type pastStep struct {
	known     bool
	updated   int64 // in ms since 1970
	refs      map[string]pastRef
	snapshots map[int64]bool
}

// pastRef is a branch or tag, and the time in ms until which its age lets it be.
type pastRef struct{ snapshot, until int64 }

// readPast reads the metadata files of a table's log. One that is not there any
// more, or is of another table, is left out. before is a table that is known to
// stand before now, or nil.
func (k *maintaining) readPast(ctx context.Context, now, before *table.Table) (*past, error) {
	log := slices.Collect(now.Metadata().PreviousFiles())
	p := &past{steps: make([]pastStep, len(log)), gone: map[int64]table.Snapshot{}, statistics: map[int64][]Object{}}
	known := before == nil || before.MetadataLocation() == now.MetadataLocation()
	var mu sync.Mutex
	err := inParallel(ctx, len(log), metadataReaders, func(i int) error {
		var meta table.Metadata
		var err error
		is := before != nil && objectKey(log[i].MetadataFile) == objectKey(before.MetadataLocation())
		if is {
			meta = before.Metadata()
		} else if meta, err = k.readMetadata(log[i].MetadataFile); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		known = known || is
		p.steps[i] = p.step(meta, now.Metadata(), k.rule())
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !known { // fallen out of a short log
		p.steps = append([]pastStep{p.step(before.Metadata(), now.Metadata(), k.rule())}, p.steps...)
	}
	p.steps = append(p.steps, p.step(now.Metadata(), now.Metadata(), k.rule()))
	p.steps = slices.DeleteFunc(p.steps, func(s pastStep) bool { return !s.known })
	return p, nil
}

// metadataReaders is how many metadata files are read at the same time; each
// may take many times its size in memory.
const metadataReaders = 4

func (k *maintaining) readMetadata(location string) (table.Metadata, error) {
	return metadataAt(k.s, k.Table, location)
}

// step notes what is to be known of a metadata file; nothing of another table.
func (p *past) step(meta, now table.Metadata, rule Expiry) pastStep {
	if meta.TableUUID() != now.TableUUID() {
		return pastStep{}
	}
	s := pastStep{known: true, updated: meta.LastUpdatedMillis(), refs: map[string]pastRef{}, snapshots: map[int64]bool{}}
	overall, err := rule.limits(meta.Properties())
	for name, ref := range meta.Refs() {
		r := pastRef{ref.SnapshotID, forever}
		if tip := meta.SnapshotByID(ref.SnapshotID); tip != nil && err == nil && name != table.MainBranch {
			if age := overall.of(ref).refAge; age < forever-tip.TimestampMs {
				r.until = tip.TimestampMs + age
			}
		}
		s.refs[name] = r
	}
	gone := func(id int64) bool { return now.SnapshotByID(id) == nil }
	for _, snap := range meta.Snapshots() {
		s.snapshots[snap.SnapshotID] = true
		if gone(snap.SnapshotID) {
			p.gone[snap.SnapshotID] = table.Snapshot{SnapshotID: snap.SnapshotID, ManifestList: snap.ManifestList}
		}
	}
	note := func(id int64, path string, bytes int64) {
		if o := (Object{path, bytes}); gone(id) && !slices.Contains(p.statistics[id], o) {
			p.statistics[id] = append(p.statistics[id], o)
		}
	}
	for f := range meta.Statistics() {
		note(f.SnapshotID, f.StatisticsPath, f.FileSizeInBytes)
	}
	for f := range meta.PartitionStatistics() {
		note(f.SnapshotID, f.StatisticsPath, f.FileSizeInBytes)
	}
	return s
}

// goneBut are the snapshots that are gone and not lost.
func (p *past) goneBut(lost []table.Snapshot) (gone []table.Snapshot) {
	kept := map[int64]bool{}
	for _, s := range lost {
		kept[s.SnapshotID] = true
	}
	for id, s := range p.gone {
		if !kept[id] {
			gone = append(gone, s)
		}
	}
	return gone
}

// lostRefs are the branches and tags that went in the very step in which their
// snapshots went, though their age did not ask for that: they were made while an
// expiry was on its way, and lost by it. What they need stays.
func (p *past) lostRefs() (snapshots []table.Snapshot, names []string) {
	for i, was := range p.steps[:len(p.steps)-1] {
		is := p.steps[i+1]
		for name, ref := range was.refs {
			if _, there := is.refs[name]; there || is.snapshots[ref.snapshot] || is.updated > ref.until {
				continue
			}
			names = append(names, name)
			if s, ok := p.gone[ref.snapshot]; ok {
				snapshots = append(snapshots, s)
			}
		}
	}
	slices.Sort(names)
	return snapshots, names
}
