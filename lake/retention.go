package lake

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// Expiry says which snapshots to expire. A branch's or tag's own retention
// settings stand above it, as the specification's retention policy has it.
type Expiry struct {
	// OlderThan is the least age of a snapshot that expires. Default (nil): the
	// table's history.expire.max-snapshot-age-ms, else five days, in which
	// readers that began on a snapshot should have come to their end.
	OlderThan *time.Duration
	// Keep is how many snapshots of each branch stay whatever their age.
	// Default (0): the table's history.expire.min-snapshots-to-keep, else 1.
	Keep int
}

func (e Expiry) validate() error {
	switch {
	case e.OlderThan != nil && *e.OlderThan < 0:
		return fmt.Errorf("snapshots older than %s: the age must not be negative: %w", *e.OlderThan, ErrUsage)
	case e.Keep < 0:
		return fmt.Errorf("keep %d snapshots: at least the last one is kept: %w", e.Keep, ErrUsage)
	}
	return nil
}

// retention is what an expiry keeps of a table.
type retention struct {
	keep map[int64]bool
	// refs are the names of branches and tags that are past their own age, sorted.
	refs []string
}

// retentionLimits are what holds for a ref: ages in milliseconds, and a number.
type retentionLimits struct {
	snapshotAge, refAge int64
	keep                int
}

const (
	defaultSnapshotAge = 5 * 24 * time.Hour
	forever            = int64(1<<63 - 1)
)

// retain applies the specification's snapshot retention policy: the tip of
// every branch and tag is kept, and of a branch its ancestors that are young
// enough or among the first. What is kept of a branch is one piece from its tip
// on. A snapshot that no ref leads to is kept while it is young: it may be about
// to be published.
func (e Expiry) retain(meta table.Metadata, now time.Time) (retention, error) {
	r := retention{keep: map[int64]bool{}}
	overall, err := e.limits(meta.Properties())
	if err != nil {
		return r, err
	}
	led := map[int64]bool{}
	for name, ref := range meta.Refs() {
		tip := meta.SnapshotByID(ref.SnapshotID)
		if tip == nil {
			return r, fmt.Errorf("%s %q is of snapshot %d, which the table does not have: %w", ref.SnapshotRefType, name, ref.SnapshotID, ErrRefused)
		}
		limits := overall.of(ref)
		if name != table.MainBranch && age(tip, now) > limits.refAge {
			r.refs = append(r.refs, name)
			continue
		}
		r.keep[tip.SnapshotID], led[tip.SnapshotID] = true, true
		if ref.SnapshotRefType != table.BranchRef {
			continue
		}
		needed := limits.needed(meta, tip, now)
		if name != table.MainBranch {
			needed = max(needed, stateDepth(meta, tip))
		}
		n := 0
		for s := range ancestors(meta, tip) {
			led[s.SnapshotID] = true
			if n++; n <= needed {
				r.keep[s.SnapshotID] = true
			}
		}
	}
	for _, s := range meta.Snapshots() {
		if !led[s.SnapshotID] && age(&s, now) <= overall.snapshotAge {
			r.keep[s.SnapshotID] = true
		}
	}
	slices.Sort(r.refs)
	return r, nil
}

// needed is how many snapshots of a branch, from its tip on, are kept.
func (l retentionLimits) needed(meta table.Metadata, tip *table.Snapshot, now time.Time) (n int) {
	for s := range ancestors(meta, tip) {
		if n >= l.keep && age(s, now) > l.snapshotAge {
			break
		}
		n++
	}
	return n
}

// of lays a ref's own settings over the table's.
func (l retentionLimits) of(ref table.SnapshotRef) retentionLimits {
	if ref.MaxSnapshotAgeMs != nil {
		l.snapshotAge = *ref.MaxSnapshotAgeMs
	}
	if ref.MaxRefAgeMs != nil {
		l.refAge = *ref.MaxRefAgeMs
	}
	if ref.MinSnapshotsToKeep != nil {
		l.keep = max(*ref.MinSnapshotsToKeep, 1)
	}
	return l
}

// limits lays the expiry over the table's properties.
func (e Expiry) limits(p iceberg.Properties) (l retentionLimits, err error) {
	number := func(key string, otherwise int64) int64 {
		text, ok := p[key]
		if !ok {
			return otherwise
		}
		n, bad := strconv.ParseInt(text, 10, 64)
		if bad != nil || n < 0 {
			err = fmt.Errorf("table property %s=%q is not a number: %w", key, text, ErrUsage)
		}
		return n
	}
	l = retentionLimits{
		snapshotAge: number(table.MaxSnapshotAgeMsKey, defaultSnapshotAge.Milliseconds()),
		refAge:      number(table.MaxRefAgeMsKey, forever),
		keep:        int(min(number(table.MinSnapshotsToKeepKey, 1), 1<<30)),
	}
	if e.OlderThan != nil {
		l.snapshotAge = e.OlderThan.Milliseconds()
	}
	if e.Keep > 0 {
		l.keep = e.Keep
	}
	l.keep = max(l.keep, 1)
	return l, err
}

// age is how old a snapshot is, in milliseconds.
func age(s *table.Snapshot, now time.Time) int64 { return now.UnixMilli() - s.TimestampMs }
