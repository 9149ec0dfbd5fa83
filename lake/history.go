package lake

import (
	"context"
	"time"

	"github.com/apache/iceberg-go/table"
)

// HistoryEntry is one snapshot of a table, newest first in [History].
type HistoryEntry struct {
	SnapshotID int64
	At         time.Time
	Operation  string
	// Load, Window, Run and Source are empty for a snapshot that no load of
	// calve made.
	Load, Window, Run, Source string
	// Rows is the number of rows that the load wrote, or that another writer
	// says it added.
	Rows         int64
	TotalRecords int64
	Coverage     string
	Watermark    string
}

// History lists the snapshots of a branch from its head back, as far as the
// metadata still has them.
func History(t *table.Table, branch string) ([]HistoryEntry, error) {
	panic("not yet")
}

// RowsQuery says which rows of a table to read. The zero value reads all rows
// of the main branch's head.
type RowsQuery struct {
	// Window restricts to a window of TimeColumn; the zero window: all rows.
	Window     Window
	TimeColumn string
	// Zone is the zone of a window without an offset.
	Zone *time.Location
	// SnapshotID reads an older snapshot; 0: the branch's head.
	SnapshotID int64
	Branch     string
	// Limit is the largest number of rows to yield; 0: no limit.
	Limit int64
}

// Rows reads rows of a table. The caller releases each batch.
func Rows(ctx context.Context, t *table.Table, q RowsQuery) (*RowsResult, error) {
	panic("not yet")
}
