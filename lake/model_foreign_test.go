package lake_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/testenv"
)

// act is something that another writer does to the table.
type act struct {
	name string
	do   func(m *randomTable)
	// breaks is true where a load that is under way may end as temporary:
	// history, partitioning or a column's type was changed under it.
	breaks bool
	// renames is true where a source may have a column's old name.
	renames bool
	// may reports whether the writer can do it now without a fault of its own;
	// nil: always.
	may func(m *randomTable) bool
}

// acts are what other writers do, by their own means.
var acts = []act{
	{name: "append", do: (*randomTable).appendRows},
	{name: "append by PyIceberg", do: (*randomTable).appendByPyIceberg, may: (*randomTable).pyIceberg},
	{name: "overwrite of an id", do: (*randomTable).overwriteID, may: func(m *randomTable) bool { return m.noDeletes() && m.readable() }},
	{name: "delete by copy on write", do: (*randomTable).deleteByCopy, may: func(m *randomTable) bool { return m.noDeletes() && m.readable() }},
	{name: "delete by PyIceberg", do: (*randomTable).deleteByPyIceberg, may: func(m *randomTable) bool { return m.pyIceberg() && m.noDeletes() }},
	{name: "delete by merge on read", do: (*randomTable).deleteByMerge, may: func(m *randomTable) bool { return m.oneSpec() && m.readable() }},
	{name: "equality delete", do: (*randomTable).deleteByEquality},
	{name: "insert by DuckDB", do: (*randomTable).insertByDuckDB, may: (*randomTable).duckDB},
	{name: "delete by DuckDB", do: (*randomTable).deleteByDuckDB, may: func(m *randomTable) bool { return m.duckDB() && m.oneSpec() }},
	{name: "compaction", may: (*randomTable).readable, do: func(m *randomTable) { testenv.Compact(m.tb, m.cat, m.load.Table, m.random.IntN(2) == 0) }},
	{name: "compaction, and snapshots expired", breaks: true, may: (*randomTable).readable, do: func(m *randomTable) {
		testenv.Compact(m.tb, m.cat, m.load.Table, true)
		m.expire()
	}},
	{name: "manifests rewritten", do: (*randomTable).rewriteManifests, may: (*randomTable).noEmptyManifest},
	{name: "snapshots expired", breaks: true, do: (*randomTable).expire},
	{name: "branch rolled back", breaks: true, do: (*randomTable).rollBack},
	{name: "partitioned otherwise", breaks: true, do: (*randomTable).repartition},
	{name: "column added", do: (*randomTable).addExtra, may: func(m *randomTable) bool { return m.extra() == nil }},
	{name: "column widened", breaks: true, do: (*randomTable).widenExtra, may: func(m *randomTable) bool {
		return m.extra() != nil && m.extra().Type.Equals(iceberg.PrimitiveTypes.Int32)
	}},
	{name: "column dropped", breaks: true, do: (*randomTable).dropExtra, may: func(m *randomTable) bool { return m.extra() != nil }},
	{name: "column renamed", renames: true, do: (*randomTable).renameValue},
	{name: "columns reordered", do: (*randomTable).reorder},
}

func (m *randomTable) pickAct() act {
	for {
		if a := acts[m.random.IntN(len(acts))]; a.may == nil || a.may(m) {
			return a
		}
	}
}

// perform does an act, unless it cannot be done any more.
func (m *randomTable) perform(a act) {
	if a.may != nil && !a.may(m) {
		return
	}
	a.do(m)
	m.remember()
	m.done[a.name]++
}

// change commits by iceberg-go's transaction.
func (m *randomTable) change(what string, do func(tx *table.Transaction) error) {
	testenv.Change(m.tb, m.cat, m.load.Table, what, do)
}

// remember notes what the table holds at its head.
func (m *randomTable) remember() {
	if head := testenv.Load(m.tb, m.cat, m.load.Table).CurrentSnapshot(); head != nil {
		m.past[head.SnapshotID] = m.model.Rows()
	}
}

// noDeletes: iceberg-go brings deleted rows back when it rewrites a file that
// has deletes (pitfall L5), and PyIceberg does not read equality deletes.
func (m *randomTable) noDeletes() bool {
	return len(testenv.Entries(m.tb, testenv.Load(m.tb, m.cat, m.load.Table), true)) == 0
}

// oneSpec: iceberg-go lists a position delete under the table's present spec,
// also where its data file is of an older one; it then applies to nothing.
func (m *randomTable) oneSpec() bool {
	t := testenv.Load(m.tb, m.cat, m.load.Table)
	spec := t.Spec()
	for _, e := range testenv.Entries(m.tb, t, false) {
		if int(e.DataFile().SpecID()) != spec.ID() {
			return false
		}
	}
	return true
}

// noEmptyManifest: iceberg-go cannot rewrite a manifest without a live file.
func (m *randomTable) noEmptyManifest() bool {
	t := testenv.Load(m.tb, m.cat, m.load.Table)
	fs, err := t.FS(m.tb.Context())
	if err != nil {
		m.tb.Fatal(err)
	}
	head := t.CurrentSnapshot()
	if head == nil {
		return true
	}
	manifests, err := head.Manifests(fs)
	if err != nil {
		m.tb.Fatal(err)
	}
	return !slices.ContainsFunc(manifests, func(f iceberg.ManifestFile) bool { return !f.HasAddedFiles() && !f.HasExistingFiles() })
}

// pyIceberg reports whether PyIceberg can write: in files it escapes the names
// of folders, and names the file by a URL that is not escaped again.
func (m *randomTable) pyIceberg() bool {
	spec := testenv.Load(m.tb, m.cat, m.load.Table).Spec()
	for _, f := range spec.Fields() {
		if _, identity := f.Transform.(iceberg.IdentityTransform); identity && f.SourceID() == 2 {
			return false
		}
	}
	return m.local != nil && testenv.HasPython()
}

// duckDB reports whether DuckDB can write: not where two partition specs of the
// table have a field of one name.
func (m *randomTable) duckDB() bool {
	names := map[string]bool{}
	for _, spec := range testenv.Load(m.tb, m.cat, m.load.Table).Metadata().PartitionSpecs() {
		for _, f := range spec.Fields() {
			if names[f.Name] {
				return false
			}
			names[f.Name] = true
		}
	}
	return m.rest != nil && testenv.HasPython()
}

// readable: iceberg-go does not read the files that DuckDB writes.
func (m *randomTable) readable() bool {
	t := testenv.Load(m.tb, m.cat, m.load.Table)
	for _, deletes := range []bool{false, true} {
		for _, e := range testenv.Entries(m.tb, t, deletes) {
			if e.DataFile().FileFormat() != iceberg.ParquetFile {
				return false
			}
		}
	}
	return true
}

func (m *randomTable) appendRows() {
	rows := m.foreign(1 + m.random.IntN(4))
	testenv.AppendRows(m.tb, m.cat, m.load.Table, m.named(rows)...)
	m.model.Append(rows...)
}

func (m *randomTable) appendByPyIceberg() {
	rows := m.rows(1 + m.random.IntN(4))
	testenv.PyIcebergAppend(m.tb, m.local, strings.Join(m.load.Table, "."), m.named(rows)...)
	m.model.Append(rows...)
}

// anID is the id of some row of the table, or, at times, of none.
func (m *randomTable) anID() int64 {
	if rows := m.model.Rows(); len(rows) > 0 {
		return rows[m.random.IntN(len(rows))].ID
	}
	return m.nextID + 1
}

func (m *randomTable) forget(id int64) {
	m.model.Delete(func(e testenv.Event) bool { return e.ID == id })
}

func (m *randomTable) overwriteID() {
	id, rows := m.anID(), m.foreign(1)
	rows[0].ID = id
	m.change("overwrite", func(tx *table.Transaction) error {
		sc := testenv.ArrowSchema(m.tb, testenv.Load(m.tb, m.cat, m.load.Table))
		rdr, err := array.NewRecordReader(sc, []arrow.RecordBatch{testenv.Batch(m.tb, nil, sc, m.named(rows)...)})
		if err != nil {
			return err
		}
		defer rdr.Release()
		return tx.Overwrite(m.tb.Context(), rdr, nil, table.WithOverwriteFilter(iceberg.EqualTo(iceberg.Reference("id"), id)))
	})
	m.forget(id)
	m.model.Append(rows...)
}

func (m *randomTable) deleteByCopy()  { m.deleteID(table.WriteModeCopyOnWrite) }
func (m *randomTable) deleteByMerge() { m.deleteID(table.WriteModeMergeOnRead) }

func (m *randomTable) deleteID(mode string) {
	id := m.anID()
	m.change("delete", func(tx *table.Transaction) error {
		if err := tx.SetProperties(iceberg.Properties{table.WriteDeleteModeKey: mode}); err != nil {
			return err
		}
		return tx.Delete(m.tb.Context(), iceberg.EqualTo(iceberg.Reference("id"), id), nil)
	})
	m.forget(id)
}

func (m *randomTable) deleteByPyIceberg() {
	id := m.anID()
	testenv.PyIcebergDelete(m.tb, m.local, strings.Join(m.load.Table, "."), fmt.Sprintf("id = %d", id))
	m.forget(id)
}

func (m *randomTable) insertByDuckDB() {
	rows := m.rows(1 + m.random.IntN(4))
	var values []string
	for _, e := range rows {
		at, region := "NULL", "NULL"
		if e.Time != nil {
			at = time.UnixMicro(*e.Time).UTC().Format("'2006-01-02T15:04:05.999999Z'")
		}
		if e.Region != nil {
			region = "'" + *e.Region + "'"
		}
		values = append(values, fmt.Sprintf("(%d, %s, %s, %d)", e.ID, at, region, e.Value))
	}
	testenv.DuckDBWrite(m.tb, m.rest, m.load.Table,
		fmt.Sprintf("INSERT INTO {table} (id, event_time, region, %s) VALUES %s", m.valueName(), strings.Join(values, ", ")))
	m.model.Append(rows...)
}

func (m *randomTable) deleteByDuckDB() {
	id := m.anID()
	m.change("set the delete mode", func(tx *table.Transaction) error { // DuckDB knows no other
		return tx.SetProperties(iceberg.Properties{table.WriteDeleteModeKey: table.WriteModeMergeOnRead})
	})
	testenv.DuckDBWrite(m.tb, m.rest, m.load.Table, fmt.Sprintf("DELETE FROM {table} WHERE id = %d", id))
	m.forget(id)
}

// deleteByEquality deletes one id by an equality delete on id alone, which in a
// partitioned table must be global.
func (m *randomTable) deleteByEquality() {
	id := m.anID()
	testenv.GlobalEqualityDelete(m.tb, m.cat, m.load.Table, testenv.Batch(m.tb, nil, idOnly(), testenv.Row{"id": id}))
	m.forget(id)
}

func (m *randomTable) rewriteManifests() {
	m.change("rewrite manifests", func(tx *table.Transaction) error {
		_, err := tx.RewriteManifests(m.tb.Context())
		return err
	})
}

func (m *randomTable) expire() {
	testenv.Expire(m.tb, m.cat, m.load.Table, 1+m.random.IntN(3))
}

// rollBack sets the branch back to an ancestor of its head, if there is one.
func (m *randomTable) rollBack() {
	meta := testenv.Load(m.tb, m.cat, m.load.Table).Metadata()
	var ids []int64
	for s := meta.CurrentSnapshot(); s != nil && s.ParentSnapshotID != nil; s = meta.SnapshotByID(*s.ParentSnapshotID) {
		if parent := *s.ParentSnapshotID; meta.SnapshotByID(parent) != nil && m.past[parent] != nil {
			ids = append(ids, parent)
		}
	}
	if len(ids) == 0 {
		return
	}
	id := ids[m.random.IntN(min(3, len(ids)))]
	m.change("roll back", func(tx *table.Transaction) error { return tx.RollbackToSnapshot(id) })
	m.model.Restore(m.past[id])
}

// repartition adds a partition field, or takes it away.
func (m *randomTable) repartition() {
	m.load.PartitionBy = nil
	spec := testenv.Load(m.tb, m.cat, m.load.Table).Spec()
	m.change("change the spec", func(tx *table.Transaction) error {
		for _, f := range spec.Fields() {
			if f.Name == "added" {
				return tx.UpdateSpec(true).RemoveField("added").Commit()
			}
		}
		return tx.UpdateSpec(true).AddField(m.valueName(), iceberg.BucketTransform{NumBuckets: 2}, "added").Commit()
	})
}

// extra is the column that comes and goes; nil where it is not there.
func (m *randomTable) extra() *iceberg.NestedField {
	for _, f := range testenv.Load(m.tb, m.cat, m.load.Table).Schema().Fields() {
		if f.Name == "extra" {
			return &f
		}
	}
	return nil
}

func (m *randomTable) addExtra() {
	m.change("add a column", func(tx *table.Transaction) error {
		return tx.UpdateSchema(true, false).AddColumn([]string{"extra"}, iceberg.PrimitiveTypes.Int32, "", false, nil).Commit()
	})
}

func (m *randomTable) widenExtra() {
	m.change("widen a column", func(tx *table.Transaction) error {
		wide := iceberg.Optional[iceberg.Type]{Val: iceberg.PrimitiveTypes.Int64, Valid: true}
		return tx.UpdateSchema(true, false).UpdateColumn([]string{"extra"}, table.ColumnUpdate{FieldType: wide}).Commit()
	})
}

func (m *randomTable) dropExtra() {
	m.change("drop a column", func(tx *table.Transaction) error {
		return tx.UpdateSchema(true, true).DeleteColumn([]string{"extra"}).Commit()
	})
}

func (m *randomTable) renameValue() {
	was := m.valueName()
	is := map[string]string{"value": "amount", "amount": "value"}[was]
	m.change("rename a column", func(tx *table.Transaction) error {
		return tx.UpdateSchema(true, false).RenameColumn([]string{was}, is).Commit()
	})
}

func (m *randomTable) reorder() {
	name := []string{"id", "region", m.valueName()}[m.random.IntN(3)]
	m.change("reorder columns", func(tx *table.Transaction) error {
		return tx.UpdateSchema(true, false).MoveFirst([]string{name}).Commit()
	})
}

// unsetState removes what the loads have left in the table's properties.
func (m *randomTable) unsetState() {
	var keys []string
	for key := range testenv.Load(m.tb, m.cat, m.load.Table).Properties() {
		if strings.HasPrefix(key, "calve.load.") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	m.change("unset the state", func(tx *table.Transaction) error { return tx.RemoveProperties(keys) })
}

// valueName is what the fourth column is called now.
func (m *randomTable) valueName() string {
	if !testenv.Exists(m.tb, m.cat, m.load.Table) {
		return "value"
	}
	name, _ := testenv.Load(m.tb, m.cat, m.load.Table).Schema().FindColumnName(4)
	return name
}

// named are events as rows with the columns' present names.
func (m *randomTable) named(events []testenv.Event) []testenv.Row {
	name := m.valueName()
	rows := testenv.EventRows(events...)
	for _, r := range rows {
		v := r["value"]
		delete(r, "value")
		r[name] = v
	}
	return rows
}

func (m *randomTable) source(events []testenv.Event) *testenv.Source {
	fields := slices.Clone(testenv.EventArrow().Fields())
	fields[3].Name = m.valueName()
	src := testenv.Rows(m.tb, arrow.NewSchema(fields, nil), m.named(events)...)
	if m.merges() {
		return batchesOf(src, 7)
	}
	return src
}

// read reads the four columns of the model, whatever became of them.
func (m *randomTable) read() []string {
	return testenv.ReadFields(m.tb, testenv.Load(m.tb, m.cat, m.load.Table), 1, 2, 3, 4)
}
