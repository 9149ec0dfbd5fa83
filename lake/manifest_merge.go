package lake

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// A load adds a manifest, so their number would grow with every load, and each
// commit lists them all. Therefore a commit merges a few small ones into one:
// neighbours in partition order, since a manifest that spans far partitions can
// no longer be skipped by its summary. Which ones is decided by their summaries
// alone; at most [mergeAtMost] are read and one is written, whatever the number.
//
// The table's properties say whether (commit.manifest-merge.enabled, default
// true), from how many small manifests on (commit.manifest.min-count-to-merge,
// default 100), and how large one becomes (commit.manifest.target-size-bytes,
// default 8 MiB); small is an eighth of that.

// mergeAtMost is how many manifests one commit merges.
const mergeAtMost = 8

// mergeManifests replaces neighbours in list, the manifests that a snapshot
// would have, by one manifest with the same entries. The entries keep their
// sequence numbers, by which deletes apply to their files. Where a manifest
// cannot be read, or not be written again as another engine has written it, the
// list stays as it is: merging is no condition of a load.
func (j *loading) mergeManifests(ctx context.Context, meta table.Metadata, s *store, found *survey, list []iceberg.ManifestFile, put func(manifest) (iceberg.ManifestFile, error)) ([]iceberg.ManifestFile, error) {
	chosen := neighbours(meta, found.unchanged(list))
	if len(chosen) == 0 {
		return list, nil
	}
	read, err := readManifests(s, chosen)
	if err != nil {
		return list, context.Cause(ctx)
	}
	merged := manifest{spec: *meta.PartitionSpecByID(int(chosen[0].PartitionSpecID())), existing: slices.Concat(read...)}
	one, err := put(merged)
	if err != nil {
		return list, context.Cause(ctx)
	}
	gone := map[string]bool{}
	for _, m := range chosen {
		gone[m.FilePath()] = true
	}
	list = slices.DeleteFunc(list, func(m iceberg.ManifestFile) bool { return gone[m.FilePath()] })
	return append(list, one), nil
}

// unchanged are those manifests of a list that the surveyed snapshot has too.
func (v *survey) unchanged(list []iceberg.ManifestFile) (out []iceberg.ManifestFile) {
	had := map[string]bool{}
	for _, m := range v.manifests {
		had[m.FilePath()] = true
	}
	for _, m := range list {
		if had[m.FilePath()] {
			out = append(out, m)
		}
	}
	return out
}

// neighbours picks the manifests to merge: of all runs of small manifests that
// are adjacent in partition order, the one with the least cost. None where there
// are few small ones, or the table's properties forbid it.
func neighbours(meta table.Metadata, manifests []iceberg.ManifestFile) []iceberg.ManifestFile {
	props := meta.Properties()
	if !props.GetBool(table.ManifestMergeEnabledKey, true) {
		return nil
	}
	target := int64(props.GetInt(table.ManifestTargetSizeBytesKey, table.ManifestTargetSizeBytesDefault))
	bySpec, small := map[int32][]iceberg.ManifestFile{}, 0
	for _, m := range manifests {
		if m.ManifestContent() == iceberg.ManifestContentData && m.Length() < target/mergeAtMost && m.KeyMetadata() == nil {
			bySpec[m.PartitionSpecID()] = append(bySpec[m.PartitionSpecID()], m)
			small++
		}
	}
	enough := props.GetInt(table.ManifestMinMergeCountKey, table.ManifestMinMergeCountDefault)
	if small <= enough {
		return nil
	}
	var best mergeRun
	for _, id := range slices.Sorted(maps.Keys(bySpec)) {
		if spec := meta.PartitionSpecByID(int(id)); spec == nil || notForAvro(spec) != "" {
			continue // such a manifest cannot be written
		}
		for _, r := range runs(meta, int(id), bySpec[id]) {
			// Where no run is compact, a wide one is better than no end of manifests.
			if (r.spread() <= 2 || small > 2*enough) && (best.members == nil || r.cost() < best.cost()) {
				best = r
			}
		}
	}
	return best.members
}

// mergeRun is a run of manifests of one partition spec, adjacent in partition order.
type mergeRun struct {
	members []iceberg.ManifestFile
	bytes   int64
	// volume is the space that all together span, parts the sum of their own.
	volume, parts float64
}

// spread is how much more of the partition space one manifest would span than
// the members do: 1 for disjoint neighbours, less where they overlap, more
// where one of them is wide and the others would become so with it. What it
// spans is what a window has to look into.
func (r mergeRun) spread() float64 { return r.volume / r.parts }

// cost is what is written for each manifest saved, times the spread. Its least
// value prefers long runs of tiny manifests, so that an entry is written again
// only a logarithmic number of times, and such as overlap.
func (r mergeRun) cost() float64 { return float64(r.bytes) / float64(len(r.members)-1) * r.spread() }

// runs lists the runs of 2 to [mergeAtMost] manifests of one partition spec.
func runs(meta table.Metadata, specID int, manifests []iceberg.ManifestFile) (out []mergeRun) {
	spec := meta.PartitionSpecByID(specID)
	if spec == nil || len(manifests) < 2 {
		return nil
	}
	ranges, ok := partitionRanges(meta.CurrentSchema(), *spec, manifests)
	if !ok {
		return nil
	}
	slices.SortFunc(ranges, func(a, b partitionRange) int {
		return cmp.Or(slices.Compare(a.first, b.first), slices.Compare(a.last, b.last), cmp.Compare(a.manifest.FilePath(), b.manifest.FilePath()))
	})
	for i := range ranges {
		var r mergeRun
		whole := ranges[i].clone()
		for n, next := range ranges[i:min(i+mergeAtMost, len(ranges))] {
			r.members = append(r.members, next.manifest)
			r.bytes += next.manifest.Length()
			whole.extend(next)
			r.parts += next.volume()
			r.volume = whole.volume()
			if n > 0 {
				out = append(out, r)
			}
		}
	}
	return out
}

// partitionRange is where a manifest's files lie, per partition field, in
// ranks among all bounds that the manifests have in that field. NULL ranks
// before all.
type partitionRange struct {
	manifest    iceberg.ManifestFile
	first, last []int
}

func (r partitionRange) clone() partitionRange {
	return partitionRange{first: slices.Clone(r.first), last: slices.Clone(r.last)}
}

func (r *partitionRange) extend(o partitionRange) {
	for i := range r.first {
		r.first[i], r.last[i] = min(r.first[i], o.first[i]), max(r.last[i], o.last[i])
	}
}

// volume is the number of combinations of bounds that the range spans.
func (r partitionRange) volume() float64 {
	v := 1.0
	for i := range r.first {
		v *= float64(r.last[i] - r.first[i] + 1)
	}
	return v
}

// partitionRanges ranks the bounds of manifests. It is not ok where a field's
// values have no order here.
func partitionRanges(sc *iceberg.Schema, spec iceberg.PartitionSpec, manifests []iceberg.ManifestFile) ([]partitionRange, bool) {
	out := make([]partitionRange, len(manifests))
	for i, m := range manifests {
		out[i].manifest = m
	}
	for n, field := range spec.Fields() {
		source, found := sc.FindFieldByID(field.SourceID())
		if !found {
			return nil, false
		}
		order := &bounds{typ: field.Transform.ResultType(source.Type), known: true}
		for _, m := range manifests {
			order.note(m.Partitions(), n)
		}
		if !order.sort() {
			return nil, false
		}
		for i, m := range manifests {
			first, last := order.ranks(m.Partitions(), n)
			out[i].first, out[i].last = append(out[i].first, first), append(out[i].last, last)
		}
	}
	return out, true
}

// bounds are the values at which the manifests' ranges of one partition field
// begin and end, in order.
type bounds struct {
	typ    iceberg.Type
	values [][]byte
	known  bool
}

func (b *bounds) note(summaries []iceberg.FieldSummary, n int) {
	if lo, hi, ok := boundsOf(summaries, n); ok {
		b.values = append(b.values, lo, hi)
	}
}

func (b *bounds) compare(x, y []byte) int {
	before, known := less(b.typ, x, y)
	after, _ := less(b.typ, y, x)
	b.known = b.known && known
	switch {
	case before:
		return -1
	case after:
		return 1
	}
	return 0
}

// sort orders the values and reports whether they have an order.
func (b *bounds) sort() bool {
	slices.SortFunc(b.values, b.compare)
	b.values = slices.CompactFunc(b.values, func(x, y []byte) bool { return b.compare(x, y) == 0 })
	return b.known
}

func (b *bounds) ranks(summaries []iceberg.FieldSummary, n int) (first, last int) {
	lo, hi, ok := boundsOf(summaries, n)
	if !ok {
		return -1, -1
	}
	first, _ = slices.BinarySearchFunc(b.values, lo, b.compare)
	last, _ = slices.BinarySearchFunc(b.values, hi, b.compare)
	return first, last
}

// boundsOf are the least and the greatest value of a partition field in a
// manifest. A manifest has none where all its values are NULL.
func boundsOf(summaries []iceberg.FieldSummary, n int) (lo, hi []byte, ok bool) {
	if n >= len(summaries) || summaries[n].LowerBound == nil || summaries[n].UpperBound == nil {
		return nil, nil, false
	}
	return *summaries[n].LowerBound, *summaries[n].UpperBound, true
}
