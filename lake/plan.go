package lake

import "context"

// Plan is what a load would do: a value that can be printed. See [Loader.Plan].
type Plan struct {
	Load   Load
	Window Window
	Origin Origin
	// Creates is true where the table does not exist yet.
	Creates bool
	// BaseSnapshotID is the head when the plan was made; 0 where there is none.
	BaseSnapshotID int64
	// Columns is the table's schema after the load, for people: name and type.
	Columns []PlannedColumn
	// PartitionFields are the fields of the spec that new files are written under.
	PartitionFields []string
	// What would be replaced, as the table stands.
	Manifests, ManifestsOpened int
	// Inside files are dropped whole, Straddling files are rewritten without
	// the window's rows.
	Inside, Straddling []PlannedFile
	Warnings           []string
}

// PlannedColumn is a column of the table as the load will leave it.
type PlannedColumn struct {
	Name, Type string
	// Added is true for a column that the load adds, or all columns of a new table.
	Added bool
	// Why says what decided an inferred type.
	Why string
}

// PlannedFile is a data file that the load would drop or rewrite.
type PlannedFile struct {
	Path      string
	Partition string
	Rows      int64
	Bytes     int64
}

// Plan works out what loading w from src would do. It reads metadata of the
// table and the names of the source's files (and, where types must be inferred,
// the source) and writes nothing.
func (l *Loader) Plan(ctx context.Context, load Load, src Source, w Window) (*Plan, error) {
	panic("not yet")
}
