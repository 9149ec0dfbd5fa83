package lake

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"time"

	"github.com/apache/iceberg-go/table"
)

// Orphans are files that a load staged which is over and did not commit. Nobody
// can ask a load whether it is over: it may be of another machine. So a file is
// an orphan only if all of this holds:
//
//   - its name says that a load of calve which the table knows wrote it
//   - it lies in the table's folder, and no other table's metadata does
//   - no snapshot of any branch or tag needs it, nor one of a creation of the
//     table that was lost
//   - it is older than [OrphanAge], by the store's time of it against the time of
//     the store's newest object: a clock of this machine that is ahead deletes
//     nothing
//
// and for the last one loads do their part: one that began longer than
// [LongestLoad] ago does not commit. The folder is listed first and the table
// read afterwards, so a file that was committed meanwhile is seen as needed;
// and once more before the first deletion.

const (
	// OrphanAge is the least age of an object that maintenance takes for one
	// that nobody will need any more.
	OrphanAge = 7 * 24 * time.Hour
	// LongestLoad is how long after its beginning a load may commit: so much
	// less than [OrphanAge] that clocks may differ by hours.
	LongestLoad = 6 * 24 * time.Hour
)

// stagedName is the form of the names that loads give to their objects.
var stagedName = regexp.MustCompile(`^(?:snap-\d+-)?calve-([a-z0-9_-]{1,64})-[0-9a-f]{16}-\d+\.(?:parquet|avro)$`)

// stagedBy is the load that an object's name says wrote it; "" for others'.
func stagedBy(location string) string {
	if m := stagedName.FindStringSubmatch(path.Base(location)); m != nil {
		return m[1]
	}
	return ""
}

// tooLate refuses to commit files that maintenance may have taken for orphans.
func (j *loading) tooLate() error {
	now := j.Now()
	// The wall clock goes on while a machine sleeps, the other one cannot be set.
	took := max(now.Sub(j.began), now.Round(0).Sub(j.began.Round(0)))
	if took <= LongestLoad {
		return nil
	}
	return fmt.Errorf("the load began %s ago: files that old may be taken for orphans, so they are not committed; load smaller windows: %w",
		took.Round(time.Hour), ErrTemporary)
}

// findOrphans are the objects of a listing that are orphans of t, the table as
// it was read after the listing, and that none of further snapshots needs.
func (k *maintaining) findOrphans(ctx context.Context, t *table.Table, all []listed, r *references, further []table.Snapshot) ([]Object, error) {
	loads := append(loadsOf(t.Metadata()), loadName(t.Identifier()[len(t.Identifier())-1]))
	newest := k.storeTime(all)
	var found []Object
	for _, o := range all {
		if slices.Contains(loads, stagedBy(o.path)) && newest.Sub(o.modified) >= k.OlderThan {
			found = append(found, Object{o.path, o.bytes})
		}
	}
	return k.unneeded(ctx, t, found, r, further...)
}

// unneeded are those of some objects that a table does not need, nor one of
// further snapshots. Manifests that r has read before are not read again: what
// they need was left out then.
func (k *maintaining) unneeded(ctx context.Context, t *table.Table, some []Object, r *references, further ...table.Snapshot) ([]Object, error) {
	if len(some) == 0 {
		return nil, nil
	}
	found := make(map[string]Object, len(some))
	for _, o := range some {
		found[objectKey(o.Path)] = o
	}
	past, err := k.readPast(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	lost, _ := past.lostRefs()
	needed := func(location string) {
		for _, key := range objectKeys(location) {
			delete(found, key)
		}
	}
	if err := r.of(ctx, t, needed); err != nil {
		return nil, err
	}
	if err := r.snapshots(ctx, append(lost, further...), true, needed); err != nil {
		return nil, err
	}
	var out []Object
	for _, o := range found {
		out = append(out, o)
	}
	sortObjects(out)
	return out, nil
}

// storeTime is the present, as late as it is certain: the time of the newest
// object is past, whatever the clocks say, and a clock that is behind only makes
// everything younger.
func (k *maintaining) storeTime(all []listed) time.Time {
	var newest time.Time
	for _, o := range all {
		if o.modified.After(newest) {
			newest = o.modified
		}
	}
	if now := k.Now(); now.Before(newest) {
		return now
	}
	return newest
}
