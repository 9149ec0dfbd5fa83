package lake

import (
	"fmt"
	"strconv"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// HistoryEntry is one snapshot of a table.
type HistoryEntry struct {
	SnapshotID int64
	// At is when the snapshot was committed, in UTC.
	At        time.Time
	Operation string
	// Load, Window, Scope, Run and Source are empty for a snapshot that no load
	// of calve made.
	Load, Window, Scope, Run, Source string
	// Rows is the number of rows that the load wrote of its window, or that
	// another writer says it added.
	Rows int64
	// Added, Removed and Total count records as the snapshot's summary does;
	// survivors of a rewritten file count in both. Total is -1 where unknown.
	Added, Removed, Total int64
	// Digest is the digest of the rows that the load wrote of its window.
	Digest string
	// Coverage and Watermark are the state of Load after the snapshot.
	Coverage, Watermark string
}

// History lists the snapshots of a branch from its head back, newest first, as
// far as the table's metadata still has them. Its error wraps [ErrUsage] where
// the branch does not exist.
func History(t *table.Table, branch string) ([]HistoryEntry, error) {
	if branch == "" {
		branch = table.MainBranch
	}
	meta := t.Metadata()
	head := meta.SnapshotByName(branch)
	if head == nil && branch != table.MainBranch {
		return nil, fmt.Errorf("the table has no branch %q: %w", branch, ErrUsage)
	}
	var out []HistoryEntry
	for s := range ancestors(meta, head) {
		out = append(out, historyEntry(s))
	}
	return out, nil
}

func historyEntry(s *table.Snapshot) HistoryEntry {
	p := summaryOf(s)
	e := HistoryEntry{
		SnapshotID: s.SnapshotID, At: time.UnixMilli(s.TimestampMs).UTC(),
		Load: p[keyLoad], Window: p[keyWindow], Scope: p[keyScope], Run: p[keyRun], Source: p[keySource],
		Added: number(p, "added-records", 0), Removed: number(p, "deleted-records", 0), Total: number(p, "total-records", -1),
		Digest: p[keyDigest], Coverage: p[keyCoverage], Watermark: p[keyWatermark],
	}
	if s.Summary != nil {
		e.Operation = string(s.Summary.Operation)
	}
	e.Rows = number(p, keyRows, e.Added)
	return e
}

func number(p iceberg.Properties, key string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(p[key], 10, 64); err == nil {
		return n
	}
	return otherwise
}
