package lake

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/apache/iceberg-go"
)

// findsKeysTwice reads the table's keys, where that is asked for.
func findsKeysTwice(ctx context.Context, c *checking) (string, error) {
	if c.load.Mode != Merge {
		return "", nil
	}
	found, text, err := c.lookForRepeats(ctx)
	if found.keys == 0 {
		return text, err
	}
	return fmt.Sprintf("keys are in the table more than once, %d of them in %d rows, such as %s: a merge that finds both is refused, one that does not leaves the older row (%s)",
		found.keys, found.rows, found.widest.text, text), err
}

// findsIDsTwice reads the table's ids of events, where that is asked for.
func findsIDsTwice(ctx context.Context, c *checking) (string, error) {
	if c.load.Mode != Append {
		return "", nil
	}
	found, text, err := c.lookForRepeats(ctx)
	if found.keys == 0 {
		return text, err
	}
	apart := ""
	if w := found.widest; w.apart() > 0 {
		first, last := c.owned.kind.at(w.first), c.owned.kind.at(w.last)
		apart = fmt.Sprintf(", at %s and %s", first.Format(time.RFC3339Nano), last.Format(time.RFC3339Nano))
	}
	return fmt.Sprintf("events are in the table more than once, %d of them in %d rows, %d with deliveries further apart than the look-back; the furthest is %s%s (%s)",
		found.keys, found.rows, found.beyond, found.widest.text, apart, text), err
}

// lookForRepeats says with what was found what was read or, where files cannot be
// read, that.
func (c *checking) lookForRepeats(ctx context.Context) (repeats, string, error) {
	if !c.keys || c.creates || c.base == nil {
		return repeats{}, "", nil
	}
	found, err := c.repeats(ctx)
	switch {
	case errors.Is(err, ErrRefused):
		return repeats{}, "whether keys are in the table twice cannot be told: " + refusal(err), nil
	case err != nil, found.keys == 0:
		return repeats{}, "", err
	}
	return found, fmt.Sprintf("read: %d rows of %d files", found.read, found.files), nil
}

// fewFiles are searched whatever the keys.
const fewFiles = 10

// searchesMost looks at the bounds of the keys in the table's files, which were
// surveyed for the newest window: in mode merge those are all.
func (c *checking) searchesMost() string {
	if c.creates || c.load.Mode != Merge || c.surveyed == nil || len(c.load.SearchIn) > 0 {
		return ""
	}
	files := slices.Concat(c.surveyed.inside, c.surveyed.straddles)
	key, err := newOrdering(c.planned.Schema(), "key", c.load.Key, false)
	if err != nil || len(files) < fewFiles || c.partitionsByKey(key) {
		return ""
	}
	least := math.Inf(1)
	for _, f := range key.fields {
		least = min(least, meetingFiles(files, f))
	}
	if 2*least < float64(len(files)) {
		return ""
	}
	return fmt.Sprintf("the keys of a file may, by their bounds, be in %.0f of the table's %d files, on average, so that a merge of any keys reads key and version of most rows, now %s",
		least, len(files), c.readToSearch(files))
}

// partitionsByKey reports whether a column of the key is partitioned by, so that
// only the partitions of the source's keys are searched.
func (c *checking) partitionsByKey(key *ordering) bool {
	spec := c.planned.Spec()
	for _, f := range spec.Fields() {
		_, void := f.Transform.(iceberg.VoidTransform)
		if !void && slices.ContainsFunc(key.fields, func(k iceberg.NestedField) bool { return slices.Equal(f.SourceIDs, []int{k.ID}) }) {
			return true
		}
	}
	return false
}

// meetingFiles is how many files, on average, have bounds of a column that meet those
// of one file, itself included: nearly all where keys are random.
func meetingFiles(files []iceberg.ManifestEntry, f iceberg.NestedField) float64 {
	var lows, highs []string
	for _, e := range files {
		low, okLow := orderedBound(f.Type, e.DataFile().LowerBoundValues()[f.ID])
		high, okHigh := orderedBound(f.Type, e.DataFile().UpperBoundValues()[f.ID])
		if okLow && okHigh {
			lows, highs = append(lows, string(low)), append(highs, string(high))
		}
	}
	slices.Sort(lows)
	slices.Sort(highs)
	n, bounded := len(files), len(lows)
	sum := n*n - bounded*bounded // what has no bounds meets everything
	for i := range bounded {
		begun := sort.Search(bounded, func(j int) bool { return lows[j] > highs[i] })
		ended := sort.SearchStrings(highs, lows[i])
		sum += begun - ended
	}
	return float64(sum) / float64(n)
}

// readToSearch is the size of the columns that are read to look keys up.
func (c *checking) readToSearch(files []iceberg.ManifestEntry) string {
	size, all := int64(0), int64(0)
	for _, e := range files {
		all += e.DataFile().FileSizeBytes()
		for _, name := range slices.Concat(c.load.Key, c.load.VersionBy) {
			if f, ok := findField(c.planned.Schema(), name); ok {
				size += e.DataFile().ColumnSizes()[f.ID]
			}
		}
	}
	return fmt.Sprintf("%d of %d MiB", (size+1<<20-1)>>20, (all+1<<20-1)>>20)
}
