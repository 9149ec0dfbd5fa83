package testenv

import (
	"context"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

// Change commits what do does to a table, as another writer: by iceberg-go's
// transaction.
func Change(tb testing.TB, cat lake.Catalog, id table.Identifier, what string, do func(*table.Transaction) error) *table.Table {
	tb.Helper()
	tx := Load(tb, cat, id).NewTransaction()
	err := do(tx)
	if err == nil {
		_, err = tx.Commit(tb.Context())
	}
	if err != nil {
		tb.Fatalf("%s in %v: %v", what, id, err)
	}
	return Load(tb, cat, id)
}

// Compact writes the data files of each partition of the present spec anew as
// one, with the deletes applied, as other engines' maintenance does. The new
// files have the head's sequence number, so that deletes committed meanwhile
// would still apply to them, where ofHead is true, else their snapshot's.
func Compact(tb testing.TB, cat lake.Catalog, id table.Identifier, ofHead bool) {
	tb.Helper()
	t := Load(tb, cat, id)
	head := t.CurrentSnapshot()
	if head == nil {
		return
	}
	tasks, err := t.Scan().PlanFiles(tb.Context())
	if err != nil {
		tb.Fatalf("compact %v: %v", id, err)
	}
	groups := map[string][]table.FileScanTask{}
	spec := t.Spec()
	for _, task := range tasks {
		if int(task.File.SpecID()) == spec.ID() {
			key := tupleText(task.File.Partition())
			groups[key] = append(groups[key], task)
		}
	}
	tx := t.NewTransaction()
	rewrite := tx.NewRewrite(nil)
	if ofHead {
		rewrite.DataSequenceNumber(head.SequenceNumber)
	}
	rewritten := false
	for key, tasks := range groups {
		if len(tasks) < 2 {
			continue
		}
		result, err := table.ExecuteCompactionGroup(tb.Context(), t, table.CompactionTaskGroup{PartitionKey: key, Tasks: tasks})
		if err != nil {
			tb.Fatalf("compact %v: %v", id, err)
		}
		rewrite.ApplyResult(result)
		rewritten = true
	}
	if !rewritten {
		return
	}
	if err := rewrite.Commit(tb.Context()); err != nil {
		tb.Fatalf("compact %v: %v", id, err)
	}
	if _, err := tx.Commit(tb.Context()); err != nil {
		tb.Fatalf("compact %v: %v", id, err)
	}
}

// Expire expires the snapshots but the branch's last keep ones, and removes the
// objects that none of those left names.
func Expire(tb testing.TB, cat lake.Catalog, id table.Identifier, keep int) {
	tb.Helper()
	before := Load(tb, cat, id)
	was := Named(tb, before)
	after := Change(tb, cat, id, "expire snapshots", func(tx *table.Transaction) error {
		return tx.ExpireSnapshots(table.WithRetainLast(keep), table.WithOlderThan(0), table.WithPostCommit(false))
	})
	is := Named(tb, after)
	fs, err := after.FS(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	for path := range was {
		if is[path] {
			continue
		}
		if err := fs.Remove(path); err != nil {
			tb.Fatalf("remove what expired in %v: %v", id, err)
		}
	}
}

// Named are the objects that the table's snapshots name: lists, manifests, and
// the files that are live in some snapshot.
func Named(tb testing.TB, t *table.Table) map[string]bool {
	tb.Helper()
	fs, err := t.FS(context.WithoutCancel(tb.Context()))
	if err != nil {
		tb.Fatal(err)
	}
	named := map[string]bool{}
	for _, s := range t.Metadata().Snapshots() {
		named[s.ManifestList] = true
		manifests, err := s.Manifests(fs)
		if err != nil {
			tb.Fatalf("manifests of snapshot %d: %v", s.SnapshotID, err)
		}
		for _, m := range manifests {
			if named[m.FilePath()] {
				continue
			}
			named[m.FilePath()] = true
			for e, err := range m.Entries(fs, true) {
				if err != nil {
					tb.Fatalf("manifest %s: %v", m.FilePath(), err)
				}
				named[e.DataFile().FilePath()] = true
			}
		}
	}
	return named
}

// ReadFields is [ReadAll] of the columns with the given field ids, in that
// order, whatever they are called and wherever they stand.
func ReadFields(tb testing.TB, t *table.Table, ids ...int) []string {
	tb.Helper()
	var at []int
	for _, id := range ids {
		at = append(at, slices.IndexFunc(t.Schema().Fields(), func(f iceberg.NestedField) bool { return f.ID == id }))
	}
	var rows []string
	for b, err := range batches(tb.Context(), t) {
		if err != nil {
			tb.Fatalf("read %v: %v", t.Identifier(), err)
		}
		var fields []arrow.Field
		var columns []arrow.Array
		for _, i := range at {
			fields, columns = append(fields, b.Schema().Field(i)), append(columns, b.Column(i))
		}
		rows = append(rows, Text(array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, b.NumRows()))...)
		b.Release()
	}
	slices.Sort(rows)
	return rows
}

// PyIcebergDelete deletes the rows that a filter in PyIceberg's language finds,
// as another writer would: files are written anew without them.
func PyIcebergDelete(tb testing.TB, cat *LocalCatalog, table, filter string) {
	tb.Helper()
	var snapshot string
	Python(tb).run(tb, "pyiceberg_delete.py", map[string]any{
		"DB": cat.DB, "Name": cat.Name, "Warehouse": cat.Warehouse, "S3": cat.S3, "Table": table, "Filter": filter,
	}, &snapshot)
}

// PyIcebergAlter changes, removes, adds or doubles one row of those that a filter
// in PyIceberg's language finds, as another writer would. The changed or added
// row has the given number in the given column.
func PyIcebergAlter(tb testing.TB, cat *LocalCatalog, table, filter, how, column string, value int64) {
	tb.Helper()
	var snapshot string
	Python(tb).run(tb, "pyiceberg_alter.py", map[string]any{
		"DB": cat.DB, "Name": cat.Name, "Warehouse": cat.Warehouse, "S3": cat.S3, "Table": table, "Filter": filter,
		"How": how, "Column": column, "Value": value,
	}, &snapshot)
}
