package lake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/apache/iceberg-go/table"
)

// metadataName is the form of the names of metadata files that Iceberg's
// catalogs write: a number, a UUID.
var metadataName = regexp.MustCompile(`^\d+-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(\.gz|\.zstd)?\.metadata\.json$`)

// anyMetadata is what a metadata file of any catalog may be called.
var anyMetadata = regexp.MustCompile(`\.metadata\.json(\.gz)?$`)

var compressed = regexp.MustCompile(`\.(gz|zstd)\.metadata\.json$`)

// metadataFiles are what is found of metadata files in a table's folder.
type metadataFiles struct {
	// old are those of the table that its log names no more: of commits that
	// were lost, or that fell out of the log without being deleted.
	old []Object
	// foreign is a metadata file of another table, if there is one: then the
	// folder is not this table's alone.
	foreign string
	// creations are the snapshots of creations of the table that were lost.
	creations []table.Snapshot
}

// findMetadata looks at the metadata files of a listing. Those that the table's
// log names are the table's; of the others each is opened and asked for its
// table's UUID.
func (k *maintaining) findMetadata(ctx context.Context, t *table.Table, all []listed) (metadataFiles, error) {
	known := map[string]bool{objectKey(t.MetadataLocation()): true}
	for entry := range t.Metadata().PreviousFiles() {
		known[objectKey(entry.MetadataFile)] = true
	}
	var unknown []listed
	for _, o := range all {
		if anyMetadata.MatchString(o.path) && !known[objectKey(o.path)] {
			unknown = append(unknown, o)
		}
	}
	var (
		out    metadataFiles
		mu     sync.Mutex
		newest = k.storeTime(all)
		home   = path.Dir(objectKey(t.MetadataLocation()))
	)
	err := inParallel(ctx, len(unknown), manifestReaders, func(i int) error {
		o := unknown[i]
		uuid, whole, err := k.tableOf(o.path)
		if err != nil || !whole {
			return err
		}
		other := uuid != t.Metadata().TableUUID().String()
		var created *table.Snapshot
		if other {
			if created, err = k.creation(t, o.path); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case created != nil:
			out.creations = append(out.creations, *created)
		case other:
			out.foreign = o.path
		case metadataName.MatchString(path.Base(o.path)) && path.Dir(objectKey(o.path)) == home && newest.Sub(o.modified) >= k.OlderThan:
			out.old = append(out.old, Object{o.path, o.bytes})
		}
		return nil
	})
	sortObjects(out.old)
	return out, err
}

// creation is the one snapshot of a metadata file with which a load began a
// table in t's place; nil for any other file. Of two loads that create a table
// at once the one that comes second leaves such a file, with a UUID of its own,
// and so does one that is killed in the midst. It could also be of a table that
// was renamed after one load: so what it names stays.
func (k *maintaining) creation(t *table.Table, location string) (*table.Snapshot, error) {
	if name := path.Base(location); !strings.HasPrefix(name, "00000-") || !metadataName.MatchString(name) {
		return nil, nil
	}
	meta, err := k.readMetadata(location)
	if err != nil {
		return nil, err
	}
	snapshots := meta.Snapshots()
	if len(snapshots) != 1 || summaryOf(&snapshots[0])[keyLoad] == "" || objectKey(meta.Location()) != objectKey(t.Location()) {
		return nil, nil
	}
	return &snapshots[0], nil
}

// tableOf is the UUID of the table that a metadata file is of, whole false where
// the file is gone, or is cut off as a commit leaves it that was killed while it
// wrote to a local folder: that is of no table.
func (k *maintaining) tableOf(location string) (uuid string, whole bool, err error) {
	if !strings.HasSuffix(location, ".metadata.json") || compressed.MatchString(location) {
		meta, err := k.readMetadata(location)
		if err != nil {
			return "", false, err
		}
		return meta.TableUUID().String(), true, nil
	}
	data, err := k.s.read(location)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read %s: %w", location, err)
	}
	var of struct {
		UUID string `json:"table-uuid"`
	}
	if json.Unmarshal(data, &of) != nil {
		return "", false, nil
	}
	return of.UUID, true, nil
}
