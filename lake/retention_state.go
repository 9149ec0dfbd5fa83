package lake

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// What a table says of its loads must outlive its snapshots. On main a load's
// state stands in the newest of its snapshots and is mirrored in properties,
// which count once that snapshot has expired. The mirror may be of a later
// snapshot that was rolled back: then it is set anew, in the commit of the
// expiry, before the snapshot that it would hide goes. On other branches there
// is no mirror, so the snapshots that hold a state stay.

// stateDepth is how many snapshots, from a branch's tip on, hold the state of
// the branch's loads: down to the newest snapshot of each.
func stateDepth(meta table.Metadata, tip *table.Snapshot) (depth int) {
	seen := map[string]bool{}
	n := 0
	for s := range ancestors(meta, tip) {
		n++
		if p := summaryOf(s); holdsState(p) && !seen[p[keyLoad]] {
			seen[p[keyLoad]] = true
			depth = n
		}
	}
	return depth
}

// holdsState reports whether a summary holds a load's state. That of a snapshot
// which was cherry-picked from elsewhere is of another history.
func holdsState(p iceberg.Properties) bool {
	return p[keyLoad] != "" && p[keyCoverage] != "" && p["source-snapshot-id"] == ""
}

// mirrored are the mirrors that a load's commit on main writes: its own, and those
// of other loads that a rollback has left ahead of their newest snapshots, which
// tell so only until they expire.
func (j *loading) mirrored(meta table.Metadata, a *attempt) iceberg.Properties {
	out, err := mirrors(meta, retention{})
	if err != nil { // what cannot be read is left to those who do read it
		out = iceberg.Properties{}
	}
	maps.Copy(out, a.state.properties(j.load.Name, a.id, a.sequence))
	return out
}

// mirrors are the properties that keep the states of main which would
// otherwise go with the snapshots that r does not keep.
func mirrors(meta table.Metadata, r retention) (iceberg.Properties, error) {
	out := iceberg.Properties{}
	seen := map[string]bool{}
	for s := range ancestors(meta, meta.SnapshotByName(table.MainBranch)) {
		p := summaryOf(s)
		load := p[keyLoad]
		if !holdsState(p) || seen[load] {
			continue
		}
		seen[load] = true
		if r.keep[s.SnapshotID] {
			continue
		}
		known, err := parseState(p[keyCoverage], p[keyWatermark])
		if err != nil {
			return nil, fmt.Errorf("load %q: %w", load, err)
		}
		mirror := known.properties(load, s.SnapshotID, s.SequenceNumber)
		if meta.Properties()[propertyOf(load, "at")] != mirror[propertyOf(load, "at")] {
			maps.Copy(out, mirror)
		}
	}
	return out, nil
}

// sameStates proves that every load of every branch has the same state before
// and after an expiry.
func sameStates(before, after table.Metadata) error {
	loads := loadsOf(before)
	for branch, ref := range after.Refs() {
		if ref.SnapshotRefType != table.BranchRef {
			continue
		}
		for _, load := range loads {
			was, wasErr := readState(before, branch, before.SnapshotByName(branch), load)
			is, isErr := readState(after, branch, after.SnapshotByName(branch), load)
			switch {
			case wasErr != nil && isErr != nil:
			case wasErr != nil:
				return fmt.Errorf("expiring snapshots would hide that the state is wrong: %w", wasErr)
			case isErr != nil:
				return fmt.Errorf("expiring snapshots would lose a state on branch %q: %w", branch, isErr)
			case was.coverage.String() != is.coverage.String() || !was.watermark.Equal(is.watermark):
				return fmt.Errorf("expiring snapshots would change the state of load %q on branch %q from %q to %q: %w",
					load, branch, was.coverage, is.coverage, ErrRefused)
			}
		}
	}
	return nil
}

// loadsOf are the names of the loads that a table knows, sorted.
func loadsOf(meta table.Metadata) []string {
	names := map[string]bool{}
	for _, s := range meta.Snapshots() {
		if load := summaryOf(&s)[keyLoad]; load != "" {
			names[load] = true
		}
	}
	for key := range meta.Properties() {
		if name, ok := strings.CutPrefix(key, "calve.load."); ok {
			if name, _, ok = cutLast(name, "."); ok {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
