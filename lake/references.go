package lake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"
)

// references reads which objects snapshots need. A manifest is read once,
// however many snapshots share it, and paths are handed on, not gathered: a
// table may have millions.
type references struct {
	s *store
	// known are manifest lists by their location, read are the manifests whose
	// entries were handed on.
	mu    sync.Mutex
	known map[string]manifestList
	read  map[string]bool
}

// manifestList is a manifest list as it was read.
type manifestList struct {
	manifests []iceberg.ManifestFile
	bytes     int64
	// gone is true where the object is not there any more.
	gone bool
}

func newReferences(s *store) *references {
	return &references{s: s, known: map[string]manifestList{}, read: map[string]bool{}}
}

// lists reads the manifest lists of snapshots.
func (r *references) lists(ctx context.Context, snapshots []table.Snapshot) ([]manifestList, error) {
	out := make([]manifestList, len(snapshots))
	err := inParallel(ctx, len(snapshots), manifestReaders, func(i int) (err error) {
		out[i], err = r.list(&snapshots[i])
		return err
	})
	return out, err
}

func (r *references) list(snap *table.Snapshot) (l manifestList, err error) {
	r.mu.Lock()
	l, ok := r.known[snap.ManifestList]
	r.mu.Unlock()
	if ok {
		return l, nil
	}
	data, err := r.s.read(snap.ManifestList)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.gone = true
	case err != nil:
		return l, fmt.Errorf("read manifest list %s: %w", snap.ManifestList, err)
	default:
		l.bytes = int64(len(data))
		if l.manifests, err = iceberg.ReadManifestList(bytes.NewReader(data)); err != nil {
			return l, fmt.Errorf("read manifest list %s: %w", snap.ManifestList, err)
		}
	}
	r.mu.Lock()
	r.known[snap.ManifestList] = l
	r.mu.Unlock()
	return l, nil
}

// entries hands on the live entries of manifests, each manifest once. visit is
// called by one goroutine at a time. A manifest that is not there is an error,
// unless missing says what to do about it.
func (r *references) entries(ctx context.Context, manifests []iceberg.ManifestFile, missing func(iceberg.ManifestFile), visit func(iceberg.DataFile)) error {
	var fresh []iceberg.ManifestFile
	for _, m := range manifests {
		if !r.read[m.FilePath()] {
			r.read[m.FilePath()] = true
			fresh = append(fresh, m)
		}
	}
	var visiting sync.Mutex
	return inParallel(ctx, len(fresh), manifestReaders, func(i int) error {
		var files []iceberg.DataFile
		for e, err := range fresh[i].Entries(r.s, true) {
			if errors.Is(err, fs.ErrNotExist) && missing != nil {
				visiting.Lock()
				defer visiting.Unlock()
				missing(fresh[i])
				return nil
			}
			if err != nil {
				return fmt.Errorf("read manifest %s: %w", fresh[i].FilePath(), err)
			}
			files = append(files, e.DataFile())
		}
		visiting.Lock()
		defer visiting.Unlock()
		for _, df := range files {
			visit(df)
		}
		return nil
	})
}

// of hands on the location of every object that a table needs: the metadata
// files of its log, statistics, and all that its snapshots lead to, whatever
// branch or tag they are of.
func (r *references) of(ctx context.Context, t *table.Table, visit func(location string)) error {
	visit(t.MetadataLocation())
	for entry := range t.Metadata().PreviousFiles() {
		visit(entry.MetadataFile)
	}
	for s := range t.Metadata().Statistics() {
		visit(s.StatisticsPath)
	}
	for s := range t.Metadata().PartitionStatistics() {
		visit(s.StatisticsPath)
	}
	return r.snapshots(ctx, t.Metadata().Snapshots(), false, visit)
}

// snapshots hands on the location of every object that snapshots need. What is
// missing of them is an error, unless they are gone from the table.
func (r *references) snapshots(ctx context.Context, snapshots []table.Snapshot, gone bool, visit func(location string)) error {
	lists, err := r.lists(ctx, snapshots)
	if err != nil {
		return err
	}
	var manifests []iceberg.ManifestFile
	for i, l := range lists {
		if l.gone && !gone {
			return fmt.Errorf("manifest list %s of snapshot %d: %w", snapshots[i].ManifestList, snapshots[i].SnapshotID, fs.ErrNotExist)
		}
		visit(snapshots[i].ManifestList)
		for _, m := range l.manifests {
			visit(m.FilePath())
		}
		manifests = append(manifests, l.manifests...)
	}
	var missing func(iceberg.ManifestFile)
	if gone {
		missing = func(iceberg.ManifestFile) {}
	}
	return r.entries(ctx, manifests, missing, func(df iceberg.DataFile) {
		visit(df.FilePath())
		if ref := df.ReferencedDataFile(); ref != nil {
			visit(*ref)
		}
	})
}

// inParallel calls do for 0 to n-1, limit of them at a time, until one fails or
// the context ends.
func inParallel(ctx context.Context, n, limit int, do func(i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for i := range n {
		group.Go(func() (err error) {
			defer Caught(&err)
			if err := context.Cause(ctx); err != nil {
				return err
			}
			return do(i)
		})
	}
	return group.Wait()
}
