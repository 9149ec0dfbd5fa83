package testenv_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// shared is a table that calve and other engines write in turn.
type shared struct {
	model    *testenv.Model
	trino    *testenv.TrinoServer
	cat      *testenv.LocalCatalog
	load     lake.Load
	schema   *arrow.Schema
	check    *testenv.Checker
	receipts []lake.Receipt
	// added stands after each row: the cells of columns that others added.
	added string
	// forgets is set where snapshots of our loads will be gone at the end.
	forgets bool
	// during runs in the middle of the next load.
	during func()
}

func (s *shared) rows() []string {
	rows := s.model.Strings()
	for i := range rows {
		rows[i] += s.added
	}
	return rows
}

// replace loads a window, again where it says that this is right.
func (s *shared) replace(t *testing.T, window string, events ...testenv.Event) {
	t.Helper()
	w := parse(t, window)
	batch := testenv.Batch(t, nil, testenv.EventArrow(), testenv.EventRows(events...)...)
	for attempt := 1; ; attempt++ {
		src := &testenv.Source{
			Schema: s.schema, Batches: []arrow.RecordBatch{array.NewRecordBatch(s.schema, batch.Columns(), batch.NumRows())},
			BeforeRead: s.during,
		}
		s.during = nil
		r, err := (&lake.Loader{Catalog: s.cat}).Load(t.Context(), s.load, src, w)
		if errors.Is(err, lake.ErrTemporary) && attempt == 1 {
			t.Logf("load %s, run again: %v", window, err)
			continue
		}
		if err != nil {
			t.Fatalf("load %s: %v", window, err)
		}
		if !s.forgets {
			s.check.Loaded(r)
		}
		s.receipts = append(s.receipts, r)
		s.model.Replace(w, "", events...)
		return
	}
}

// spark runs statements; {table} is the table, {name} its name for procedures.
func (s *shared) spark(t *testing.T, statements ...string) {
	t.Helper()
	for i, statement := range statements {
		statements[i] = s.named(statement)
	}
	testenv.Spark(t, s.cat.Served, statements...)
}

func (s *shared) named(statement string) string {
	name := strings.Join(s.load.Table, ".")
	return strings.NewReplacer("{table}", "{catalog}."+name, "{name}", name).Replace(statement)
}

// others are what other engines do to a table, and what is then in it.
func others(t *testing.T, s *shared) map[string]func() {
	t.Helper()
	spark := func(statements ...string) func() { return func() { s.spark(t, statements...) } }
	gone := func(id int64) {
		s.model.Delete(func(e testenv.Event) bool { return e.ID == id })
	}
	extra := testenv.NewEvent(90, "2026-05-04T13:30:00Z", "us", 900)
	insert := "INSERT INTO {table} VALUES (90, TIMESTAMP '2026-05-04 13:30:00 UTC', 'us', 900)"
	return map[string]func(){
		"Spark compacts":           spark("CALL {catalog}.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))"),
		"Spark rewrites manifests": spark("CALL {catalog}.system.rewrite_manifests(table => '{name}')"),
		"Spark deletes by position files": func() {
			s.spark(t, "ALTER TABLE {table} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')", "DELETE FROM {table} WHERE id IN (12, 31)")
			gone(12)
			gone(31)
		},
		"Spark deletes by rewriting": func() {
			s.spark(t, "DELETE FROM {table} WHERE id = 12")
			gone(12)
		},
		"Spark inserts": func() {
			s.spark(t, insert)
			s.model.Append(extra)
		},
		"Spark expires snapshots": spark("CALL {catalog}.system.expire_snapshots(table => '{name}', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"),
		"Spark rolls back": func() {
			s.spark(t, "CALL {catalog}.system.rollback_to_snapshot('{name}', "+s.receipts[1].SnapshotID+")")
			w := parse(t, "2026-05-06")
			s.model.Delete(func(e testenv.Event) bool { return e.Owned(w, "") })
		},
		"Spark adds a partition field": spark("ALTER TABLE {table} ADD PARTITION FIELD bucket(4, id)"),
		"Spark adds a column": func() {
			s.spark(t, "ALTER TABLE {table} ADD COLUMN note string")
			s.added = " NULL"
		},
		"Spark renames a column": func() {
			s.spark(t, "ALTER TABLE {table} RENAME COLUMN region TO place")
			fields := s.schema.Fields()
			fields[2].Name = "place"
			s.schema = arrow.NewSchema(fields, nil)
		},
		"Trino optimizes": func() { s.trino.Query(t, s.cat.Served, s.named("ALTER TABLE {table} EXECUTE optimize")) },
		"Trino inserts": func() {
			s.trino.Query(t, s.cat.Served, s.named(insert))
			s.model.Append(extra)
		},
		"Trino deletes by position files": func() {
			s.trino.Query(t, s.cat.Served, s.named("DELETE FROM {table} WHERE id IN (12, 31)"))
			gone(12)
			gone(31)
		},
	}
}

// Others write a table between our loads and during them: what is outside our
// windows stays theirs, and nothing of ours is lost.
func TestEngineWriters(t *testing.T) {
	t.Parallel()
	s3 := testenv.MinIO(t)
	trino := testenv.Trino(t, s3)
	cat := testenv.CatalogServed(t, s3)
	for _, name := range slices.Sorted(maps.Keys(others(t, &shared{}))) {
		for _, when := range []string{"between", "during"} {
			t.Run(name+" "+when, func(t *testing.T) {
				s := &shared{model: &testenv.Model{}, trino: trino, cat: cat, schema: testenv.EventArrow()}
				s.load = lake.Load{Table: testenv.Ident("events_" + strings.ToLower(strings.ReplaceAll(name+" "+when, " ", "_"))), TimeColumn: "event_time"}
				s.check = testenv.Check(t, cat, s.load.Table, s.rows)
				s.forgets = strings.Contains(name, "expires")
				other := others(t, s)[name]
				s.replace(t, "2026-05-04", testenv.NewEvent(11, "2026-05-04T09:00:00Z", "eu", 1), testenv.NewEvent(12, "2026-05-04T10:30:00Z", "us", 2), testenv.NewEvent(13, "2026-05-04T13:00:00Z", "", 3))
				s.replace(t, "2026-05-05", testenv.NewEvent(21, "2026-05-05T09:00:00Z", "eu", 4), testenv.NewEvent(22, "2026-05-05T10:30:00Z", "us", 5))
				s.replace(t, "2026-05-06", testenv.NewEvent(31, "2026-05-06T09:00:00Z", "eu", 6), testenv.NewEvent(32, "2026-05-06T10:00:00Z", "eu", 7))
				if when == "between" {
					other()
				} else {
					s.during = other
				}
				s.replace(t, "2026-05-04T10/2026-05-04T12", testenv.NewEvent(14, "2026-05-04T10:45:00Z", "eu", 8))
				s.replace(t, "2026-05-05", testenv.NewEvent(23, "2026-05-05T11:00:00Z", "us", 9))
				s.replace(t, "2026-05-06T10/2026-05-06T11", testenv.NewEvent(33, "2026-05-06T10:15:00Z", "", 10))
				agree(t, cat, s.load)
			})
		}
	}
}
