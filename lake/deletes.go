package lake

import (
	"reflect"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// deleteIndex holds the delete files of a snapshot that may apply to the files
// of a window. Which ones apply to a data file is decided by the rules of the
// specification's scan planning, never by the library's scan with a filter: it
// prunes delete files by that filter too, and a deleted row that survives the
// window would come back (pitfall L18).
type deleteIndex struct {
	meta    table.Metadata
	entries []iceberg.ManifestEntry
}

// applying returns the deletes that apply to a data file, equality deletes
// apart from position deletes.
func (x *deleteIndex) applying(data iceberg.ManifestEntry) (positions, equalities []iceberg.DataFile) {
	for _, d := range x.entries {
		switch {
		case !x.applies(d, data):
		case d.DataFile().ContentType() == iceberg.EntryContentEqDeletes:
			equalities = append(equalities, d.DataFile())
		default:
			positions = append(positions, d.DataFile())
		}
	}
	byPath := func(a, b iceberg.DataFile) int { return strings.Compare(a.FilePath(), b.FilePath()) }
	slices.SortFunc(positions, byPath)
	slices.SortFunc(equalities, byPath)
	return positions, equalities
}

// applies reports whether the rows that d deletes may be of data.
func (x *deleteIndex) applies(d, data iceberg.ManifestEntry) bool {
	if d.DataFile().ContentType() == iceberg.EntryContentEqDeletes {
		return d.SequenceNum() > data.SequenceNum() && (x.global(d.DataFile()) || x.sameScope(d.DataFile(), data.DataFile()))
	}
	return d.SequenceNum() >= data.SequenceNum() && x.sameScope(d.DataFile(), data.DataFile()) && refersTo(d.DataFile(), data.DataFile().FilePath())
}

// global reports whether an equality delete was written under an unpartitioned
// spec, and so applies to all partitions.
func (x *deleteIndex) global(d iceberg.DataFile) bool {
	spec := x.meta.PartitionSpecByID(int(d.SpecID()))
	return spec != nil && spec.IsUnpartitioned()
}

// sameScope reports whether two files have the same spec and partition values.
func (x *deleteIndex) sameScope(a, b iceberg.DataFile) bool {
	if a.SpecID() != b.SpecID() {
		return false
	}
	for id, va := range a.Partition() {
		if !sameValue(va, b.Partition()[id]) {
			return false
		}
	}
	return len(a.Partition()) == len(b.Partition())
}

// sameValue compares two partition values as manifests give them, whatever has
// become of their column since.
func sameValue(a, b any) bool {
	if x, ok := intValue(a); ok {
		y, ok := intValue(b)
		return ok && x == y
	}
	return reflect.DeepEqual(a, b)
}

func refersTo(d iceberg.DataFile, path string) bool {
	ref := d.ReferencedDataFile()
	return ref == nil || *ref == path
}
