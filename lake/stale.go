package lake

import (
	"context"
	"fmt"

	"github.com/apache/iceberg-go/table"
)

// stale are objects that are found by listing.
type stale struct {
	orphans, metadata []Object
	// read is what has been read of the table: the second look reads only what
	// came since.
	read *references
}

// findStale lists the table's folder, reads the table afterwards, and finds
// what it does not need.
func (k *maintaining) findStale(ctx context.Context) (s stale, err error) {
	if !k.Orphans && !k.Metadata {
		return s, nil
	}
	before, err := k.look(ctx)
	if err != nil {
		return s, err
	}
	all, err := k.s.list(before.Location())
	if err != nil {
		return s, err
	}
	t, err := k.look(ctx)
	if err != nil {
		return s, err
	}
	if t.Location() != before.Location() {
		return s, fmt.Errorf("the table moved from %s to %s meanwhile: %w", before.Location(), t.Location(), ErrTemporary)
	}
	found, err := k.findMetadata(ctx, t, all)
	if err != nil {
		return s, err
	}
	if k.Metadata {
		s.metadata = found.old
	}
	if !k.Orphans {
		return s, nil
	}
	for _, p := range places(t.Metadata())[1:] {
		if !below(objectKey(p), t.Location()) {
			return s, fmt.Errorf("files of the table go to %s, outside its folder %s, where other tables may keep theirs: orphans are not looked for: %w", p, t.Location(), ErrRefused)
		}
	}
	if found.foreign != "" {
		return s, fmt.Errorf("the table's folder holds the metadata of another table, %s, whose files cannot be told from orphans (was this table made where a renamed or dropped one had been?): remove the other table's files if it is gone: %w",
			found.foreign, ErrRefused)
	}
	s.read = newReferences(k.s)
	s.orphans, err = k.findOrphans(ctx, t, all, s.read, found.creations)
	return s, err
}

// stillStale is what of it no commit since then needs: the table is read once
// more before anything is deleted.
func (k *maintaining) stillStale(ctx context.Context, s stale) (stale, error) {
	t, err := k.look(ctx)
	if err == nil {
		s.orphans, err = k.unneeded(ctx, t, s.orphans, s.read)
	}
	if err != nil {
		return stale{}, err
	}
	s.metadata = withoutLog(t, s.metadata)
	return s, nil
}

// withoutLog leaves out the metadata files that a table names.
func withoutLog(t *table.Table, files []Object) (out []Object) {
	named := map[string]bool{objectKey(t.MetadataLocation()): true}
	for entry := range t.Metadata().PreviousFiles() {
		named[objectKey(entry.MetadataFile)] = true
	}
	for _, o := range files {
		if !named[objectKey(o.Path)] {
			out = append(out, o)
		}
	}
	return out
}
