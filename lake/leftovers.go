package lake

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// The files of expired snapshots are found after the expiry landed, from the
// table itself: the metadata log names the metadata files of before, and those
// name snapshots that the table has no more. So it makes no difference whether
// the expiry was made by this run, by one that died after it, or by another
// program that left the files. What is deleted are objects that such a snapshot
// leads to and no snapshot of the table does.
//
// Data and delete files go first, manifests second, manifest lists last: as
// long as a list is there, another run finds the rest; where it is gone, that
// snapshot is done.

// Object is an object that maintenance deletes, or would.
type Object struct {
	Path string `json:"path"`
	// Bytes is its size; 0 where only its name is known.
	Bytes int64 `json:"bytes"`
}

// leftovers are the objects that only expired snapshots lead to.
type leftovers struct {
	// inOrder are data, delete and statistics files, manifests, and manifest
	// lists: the order in which they are deleted.
	inOrder [3][]Object
	// outside counts objects that are not in the table's own folders. They may
	// be of another table and stay.
	outside int
	// lostRefs are branches or tags that were made while an expiry was on its
	// way, and removed by it. Their snapshots' files stay.
	lostRefs []string
}

const (
	leftFiles = iota
	leftManifests
	leftLists
)

func (u *leftovers) all() []Object { return slices.Concat(u.inOrder[:]...) }

// findLeftovers reads what snapshots lead to that now has no more, and before
// or a metadata file of now's log had. now is the table after the expiry;
// before is a table that is known to stand before it, or nil.
func (k *maintaining) findLeftovers(ctx context.Context, now, before *table.Table) (*leftovers, error) {
	past, err := k.readPast(ctx, now, before)
	if err != nil {
		return nil, err
	}
	lost, names := past.lostRefs()
	g := &gathering{own: places(now.Metadata()), found: map[string]gathered{}}
	if err := k.gather(ctx, g, now, past, lost); err != nil {
		return nil, err
	}
	u := &leftovers{outside: g.outside, lostRefs: names}
	if len(g.found) > 0 {
		needs := newReferences(k.s)
		if err := needs.of(ctx, now, g.leave); err != nil {
			return nil, err
		}
		if err := needs.snapshots(ctx, lost, true, g.leave); err != nil {
			return nil, err
		}
	}
	for _, o := range g.found {
		u.inOrder[o.kind] = append(u.inOrder[o.kind], o.Object)
	}
	for _, list := range u.inOrder {
		sortObjects(list)
	}
	return u, nil
}

// gathering is what expired snapshots lead to, by the objects' keys.
type gathering struct {
	own     []string
	found   map[string]gathered
	outside int
}

type gathered struct {
	Object

	kind int
}

func (g *gathering) add(kind int, path string, bytes int64) {
	key := objectKey(path)
	if _, known := g.found[key]; known {
		return
	}
	if !belowAny(key, g.own) {
		g.outside++
		return
	}
	g.found[key] = gathered{Object{path, bytes}, kind}
}

// leave lets go of an object that is needed.
func (g *gathering) leave(location string) {
	for _, key := range objectKeys(location) {
		delete(g.found, key)
	}
}

// gather collects what the snapshots that are gone lead to, but for lost ones. A
// manifest that the table still has pins all that it lists, and is not read.
func (k *maintaining) gather(ctx context.Context, g *gathering, now *table.Table, past *past, lost []table.Snapshot) error {
	gone := past.goneBut(lost)
	r := newReferences(k.s)
	lists, err := r.lists(ctx, gone)
	if err != nil {
		return err
	}
	var manifests []iceberg.ManifestFile
	for i, l := range lists {
		if l.gone {
			continue
		}
		for _, s := range past.statistics[gone[i].SnapshotID] {
			g.add(leftFiles, s.Path, s.Bytes)
		}
		g.add(leftLists, gone[i].ManifestList, l.bytes)
		for _, m := range l.manifests {
			g.add(leftManifests, m.FilePath(), m.Length())
		}
		manifests = append(manifests, l.manifests...)
	}
	if len(manifests) == 0 {
		return nil
	}
	if manifests, err = k.withoutNeeded(ctx, r, now, manifests); err != nil {
		return err
	}
	// A manifest that is not there was deleted after all that it lists.
	missing := func(m iceberg.ManifestFile) { g.leave(m.FilePath()) }
	return r.entries(ctx, manifests, missing, func(df iceberg.DataFile) {
		g.add(leftFiles, df.FilePath(), df.FileSizeBytes())
	})
}

// withoutNeeded are the manifests that no snapshot of the table has.
func (k *maintaining) withoutNeeded(ctx context.Context, r *references, now *table.Table, manifests []iceberg.ManifestFile) ([]iceberg.ManifestFile, error) {
	lists, err := r.lists(ctx, now.Metadata().Snapshots())
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	for _, l := range lists {
		for _, m := range l.manifests {
			needed[objectKey(m.FilePath())] = true
		}
	}
	return slices.DeleteFunc(manifests, func(m iceberg.ManifestFile) bool { return needed[objectKey(m.FilePath())] }), nil
}

func sortObjects(list []Object) {
	slices.SortFunc(list, func(a, b Object) int { return strings.Compare(a.Path, b.Path) })
}
