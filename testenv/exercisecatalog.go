package testenv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/calve-data/calve/lake"
)

// CatalogOnTrial is a catalog for [ExerciseCatalog].
type CatalogOnTrial struct {
	// Open opens the catalog once more, as another process would.
	Open func(testing.TB) lake.Catalog
	// Namespace exists and holds no table.
	Namespace string
	// ReadOnly opens it as somebody who may read and not commit. Nil where the
	// kind does not tell people apart.
	ReadOnly func(testing.TB) lake.Catalog
	// Objects lists what is in the store of its tables. Nil: it is not looked at.
	Objects func() []string
	// Lacks are the promises that it does not keep, by the names of their tests,
	// and why.
	Lacks map[string]string
}

// ExerciseCatalog is the conformance suite of catalogs: what a load asks of the
// one that keeps its table, each promise a sub-test with a catalog of its own,
// which open makes.
func ExerciseCatalog(t *testing.T, open func(testing.TB) CatalogOnTrial) {
	for name, exercise := range map[string]func(*trial){
		"Create":           (*trial).create,
		"CommitAgain":      (*trial).commitAgain,
		"Evolve":           (*trial).evolve,
		"Widen":            (*trial).widen,
		"StaleHead":        (*trial).staleHead,
		"RefusedCreate":    (*trial).refusedCreate,
		"LostAnswer":       (*trial).lostAnswer,
		"MissingNamespace": (*trial).missingNamespace,
		"MissingTable":     (*trial).missingTable,
		"Denied":           (*trial).denied,
		"RacingLoads":      (*trial).racingLoads,
		"RacingCommits":    (*trial).racingCommits,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := &trial{T: t, CatalogOnTrial: open(t), model: &Model{}}
			if why := x.Lacks[name]; why != "" {
				t.Skip(why)
			}
			x.cat = x.Open(t)
			x.load = lake.Load{Table: x.id("events"), TimeColumn: "event_time"}
			x.check = Check(t, x.cat, x.load.Table, x.rows)
			exercise(x)
		})
	}
}

// trial is a catalog, and a table in it that is checked at the end.
type trial struct {
	*testing.T
	CatalogOnTrial
	cat   lake.Catalog
	load  lake.Load
	model *Model
	check *Checker
	more  string // the cells of each row that the model does not know
}

func (x *trial) rows() []string {
	rows := x.model.Strings()
	for i := range rows {
		rows[i] += x.more
	}
	return rows
}

func (x *trial) id(name string) table.Identifier { return table.Identifier{x.Namespace, name} }

func (x *trial) objects() []string {
	if x.Objects == nil {
		return nil
	}
	return x.Objects()
}

// day loads one event of a day through the catalog and notes it.
func (x *trial) day(cat lake.Catalog, day, value int) lake.Receipt {
	x.Helper()
	receipt, err := x.try(cat, day, value)
	if err != nil {
		x.Fatalf("load of day %d: %v", day, err)
	}
	x.landed(receipt, day, value)
	return receipt
}

func (x *trial) landed(receipt lake.Receipt, day, value int) {
	x.check.Loaded(receipt)
	x.model.Replace(x.window(day), "", trialEvent(day, value))
}

func (x *trial) try(cat lake.Catalog, day, value int) (lake.Receipt, error) {
	x.Helper()
	src := Rows(x, EventArrow(), EventRows(trialEvent(day, value))...)
	return (&lake.Loader{Catalog: cat}).Load(x.Context(), x.load, src, x.window(day))
}

func trialEvent(day, value int) Event {
	return NewEvent(int64(day), fmt.Sprintf("2026-05-%02dT10:00:00Z", day), "eu", int64(value))
}

func (x *trial) window(day int) lake.Window {
	x.Helper()
	w, err := lake.ParseWindow(fmt.Sprintf("2026-05-%02d", day), nil)
	if err == nil {
		w, err = w.On(lake.Instants, nil)
	}
	if err != nil {
		x.Fatal(err)
	}
	return w
}

// A table comes to be with its first snapshot, in one commit.
func (x *trial) create() {
	in := NewInjector(-1, Fail)
	x.day(in.Catalog(x.cat), 1, 1)
	if n := in.Count("commit"); n != 1 {
		x.Errorf("%d commits made the table and its first snapshot, want 1", n)
	}
	meta := Load(x, x.Open(x), x.load.Table).Metadata()
	if n := len(meta.Snapshots()); n != 1 || meta.Version() != 2 {
		x.Errorf("the table has %d snapshots and format version %d, want 1 and 2", n, meta.Version())
	}
	if ids := []int{meta.CurrentSchema().ID, meta.DefaultPartitionSpec(), meta.SortOrder().OrderID()}; !slices.Equal(ids, []int{0, 0, 0}) {
		x.Errorf("schema, spec and sort order are numbered %v, and the manifests say 0", ids)
	}
}

func (x *trial) commitAgain() {
	x.day(x.cat, 1, 1)
	x.day(x.Open(x), 2, 2)
	x.day(x.cat, 1, 3)
	if n := len(Load(x, x.cat, x.load.Table).Metadata().Snapshots()); n != 3 {
		x.Errorf("three loads made %d snapshots", n)
	}
}

// Columns and data come in one commit.
func (x *trial) evolve() {
	x.day(x.cat, 1, 1)
	x.load.Schema = lake.Evolve
	schema := arrow.NewSchema(append(EventArrow().Fields(), arrow.Field{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true}), nil)
	row := trialEvent(2, 2).Row()
	in := NewInjector(-1, Fail)
	receipt, err := (&lake.Loader{Catalog: in.Catalog(x.cat)}).Load(x.Context(), x.load, Rows(x, schema, row), x.window(2))
	if err != nil {
		x.Fatal(err)
	}
	if n := in.Count("commit"); n != 1 {
		x.Errorf("%d commits added a column and its data, want 1", n)
	}
	x.landed(receipt, 2, 2)
	if _, ok := Load(x, x.Open(x), x.load.Table).Schema().FindFieldByName("note"); !ok {
		x.Error("the column is not there")
	}
	x.more = " NULL"
}

// A wider type and the value that needs it come in one commit.
func (x *trial) widen() {
	narrow := EventArrow().Fields()
	at := slices.IndexFunc(narrow, func(f arrow.Field) bool { return f.Name == "value" })
	narrow[at].Type = arrow.PrimitiveTypes.Int32
	src := Rows(x, arrow.NewSchema(narrow, nil), trialEvent(1, 1).Row())
	receipt, err := (&lake.Loader{Catalog: x.cat}).Load(x.Context(), x.load, src, x.window(1))
	if err != nil {
		x.Fatal(err)
	}
	x.landed(receipt, 1, 1)
	x.load.Schema = lake.Evolve
	in := NewInjector(-1, Fail)
	x.day(in.Catalog(x.cat), 2, 3_000_000_000)
	if n := in.Count("commit"); n != 1 {
		x.Errorf("%d commits widened a column for its data, want 1", n)
	}
	if f, _ := Load(x, x.Open(x), x.load.Table).Schema().FindFieldByName("value"); f.Type.String() != "long" {
		x.Errorf("the column is %s, want long", f.Type)
	}
}

// A commit on a head that is another by now changes nothing.
func (x *trial) staleHead() {
	x.day(x.cat, 1, 1)
	stale := Load(x, x.cat, x.load.Table)
	x.day(x.Open(x), 2, 2)
	before := Load(x, x.cat, x.load.Table)
	head := stale.Metadata().CurrentSnapshot().SnapshotID
	for _, c := range []struct {
		name        string
		requirement table.Requirement
	}{
		{"head", table.AssertRefSnapshotID(table.MainBranch, &head)},
		{"no head", table.AssertRefSnapshotID(table.MainBranch, nil)},
		{"schema", table.AssertCurrentSchemaID(7)},
		{"last field", table.AssertLastAssignedFieldID(99)},
		{"uuid", table.AssertTableUUID(uuid.New())},
	} {
		_, _, err := x.cat.CommitTable(x.Context(), x.load.Table, []table.Requirement{c.requirement},
			[]table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{"calve.test": c.name})})
		if err == nil {
			x.Errorf("a commit with a stale %s was taken", c.name)
		}
	}
	after := Load(x, x.cat, x.load.Table)
	if !after.Metadata().Equals(before.Metadata()) {
		x.Error("refused commits changed the table")
	}
}

// What exists is not created, and the attempt leaves nothing behind.
func (x *trial) refusedCreate() {
	draft, err := x.cat.Draft(x.Context(), x.load.Table, EventSchema(), nil, nil)
	if err != nil {
		x.Fatal(err)
	}
	x.day(x.cat, 1, 1)
	before, objects := Load(x, x.cat, x.load.Table), x.objects()
	_, _, err = x.cat.CommitTable(x.Context(), x.load.Table, []table.Requirement{table.AssertCreate()},
		[]table.Update{
			table.NewAssignUUIDUpdate(draft.Metadata().TableUUID()), table.NewUpgradeFormatVersionUpdate(2),
			table.NewAddSchemaUpdate(EventSchema()), table.NewSetCurrentSchemaUpdate(-1),
			table.NewAddPartitionSpecUpdate(iceberg.UnpartitionedSpec, true), table.NewSetDefaultSpecUpdate(-1),
			table.NewAddSortOrderUpdate(&table.UnsortedSortOrder), table.NewSetDefaultSortOrderUpdate(-1),
			table.NewSetLocationUpdate(draft.Location()),
		})
	if err == nil {
		x.Error("a table was created where there is one")
	}
	if !Load(x, x.cat, x.load.Table).Metadata().Equals(before.Metadata()) {
		x.Error("the refused creation changed the table")
	}
	if diff := cmp.Diff(objects, x.objects()); diff != "" {
		x.Errorf("the refused creation left something (-before +after):\n%s", diff)
	}
}

// A commit whose answer is lost is found in the table, the first one too.
func (x *trial) lostAnswer() {
	for value := range 2 {
		losing := &losing{Catalog: x.cat}
		x.day(losing, 1, value)
		if losing.lost != 1 {
			x.Errorf("load %d was committed %d times, want once", value, losing.lost)
		}
	}
}

// losing is a catalog that commits and answers with an error.
type losing struct {
	lake.Catalog
	lost int
}

func (l *losing) CommitTable(ctx context.Context, id table.Identifier, requirements []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	_, _, err := l.Catalog.CommitTable(ctx, id, requirements, updates)
	if err == nil {
		l.lost++
		err = errors.New("the answer was lost")
	}
	return nil, "", err
}

func (x *trial) missingNamespace() {
	x.load.Table = table.Identifier{x.Namespace + "_none", "events"}
	if _, err := x.cat.LoadTable(x.Context(), x.load.Table); !errors.Is(err, lake.ErrNoTable) && !errors.Is(err, lake.ErrNoNamespace) {
		x.Errorf("LoadTable: %v, want ErrNoTable or ErrNoNamespace", err)
	}
	if _, err := x.cat.Draft(x.Context(), x.load.Table, EventSchema(), nil, nil); !errors.Is(err, lake.ErrNoNamespace) {
		x.Errorf("Draft: %v, want ErrNoNamespace", err)
	}
	if _, err := x.try(x.cat, 1, 1); !errors.Is(err, lake.ErrNoNamespace) || !lake.Untouched(err) {
		x.Errorf("Load: %v, want ErrNoNamespace", err)
	}
	if keys := x.objects(); len(keys) > 0 {
		x.Errorf("something was stored: %v", keys)
	}
}

func (x *trial) missingTable() {
	if _, err := x.cat.LoadTable(x.Context(), x.load.Table); !errors.Is(err, lake.ErrNoTable) || errors.Is(err, lake.ErrNoNamespace) {
		x.Errorf("LoadTable: %v, want ErrNoTable alone", err)
	}
	if _, err := x.cat.Draft(x.Context(), x.load.Table, EventSchema(), EventsByDay(), nil); err != nil {
		x.Errorf("Draft: %v", err)
	}
	_, _, err := x.cat.CommitTable(x.Context(), x.load.Table, []table.Requirement{table.AssertTableUUID(uuid.New())},
		[]table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{"calve.test": "1"})})
	if err == nil || Exists(x, x.cat, x.load.Table) {
		x.Errorf("a commit to no table: %v", err)
	}
	if keys := x.objects(); len(keys) > 0 {
		x.Errorf("something was stored: %v", keys)
	}
}

// Whoever may not commit changes nothing, is told so, and leaves no file.
func (x *trial) denied() {
	if x.ReadOnly == nil {
		x.Skip("this kind of catalog does not tell people apart")
	}
	x.day(x.cat, 1, 1)
	before, objects := Load(x, x.cat, x.load.Table), x.dataFiles()
	reader := x.ReadOnly(x)
	for _, mine := range []table.Identifier{x.load.Table, x.id("another")} {
		x.load.Table = mine
		_, err := x.try(reader, 1, 2)
		if !errors.Is(err, lake.ErrDenied) || !lake.Untouched(err) || errors.Is(err, lake.ErrNoTable) || errors.Is(err, lake.ErrTemporary) {
			x.Errorf("load of %v by one who may not: %v, want ErrDenied", mine, err)
		}
	}
	if !Load(x, x.cat, before.Identifier()).Metadata().Equals(before.Metadata()) || Exists(x, x.cat, x.id("another")) {
		x.Error("the refused loads changed something")
	}
	if diff := cmp.Diff(objects, x.dataFiles()); diff != "" {
		x.Errorf("the refused loads left something (-before +after):\n%s", diff)
	}
}

// Loads of disjoint windows all land, that of the table's creation among them.
func (x *trial) racingLoads() {
	const writers = 6
	receipts := make([]lake.Receipt, writers)
	x.race(writers, func(n int, cat lake.Catalog) (err error) {
		receipts[n], err = x.try(cat, n+1, n)
		return err
	}, func(n int, err error) {
		if err != nil {
			x.Errorf("load of day %d: %v", n+1, err)
			return
		}
		x.landed(receipts[n], n+1, n)
	})
}

// Of commits on one head one is taken; what was taken is not lost.
func (x *trial) racingCommits() {
	const writers, rounds = 4, 3
	x.day(x.cat, 1, 1)
	wanted := map[string]bool{}
	for round := range rounds {
		t := Load(x, x.cat, x.load.Table)
		key := func(n int) string { return fmt.Sprintf("calve.test.%d.%d", round, n) }
		x.race(writers, func(n int, cat lake.Catalog) error {
			_, _, err := cat.CommitTable(x.Context(), x.load.Table, []table.Requirement{table.AssertTableUUID(t.Metadata().TableUUID())},
				[]table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{key(n): "1"})})
			return err
		}, func(n int, err error) {
			if err == nil {
				wanted[key(n)] = true
			}
		})
	}
	if len(wanted) < rounds {
		x.Errorf("%d commits were taken in %d rounds, want one a round at least", len(wanted), rounds)
	}
	properties := Load(x, x.Open(x), x.load.Table).Properties()
	for key := range wanted {
		if properties[key] == "" {
			x.Errorf("the commit of %s was taken, and is lost", key)
		}
	}
}

// race does the same through as many handles at once, then tells how each went.
func (x *trial) race(writers int, do func(int, lake.Catalog) error, done func(int, error)) {
	x.Helper()
	handles, errs := make([]lake.Catalog, writers), make([]error, writers)
	for n := range handles {
		handles[n] = x.Open(x)
	}
	var group sync.WaitGroup
	for n, cat := range handles {
		group.Go(func() { errs[n] = do(n, cat) })
	}
	group.Wait()
	for n, err := range errs {
		done(n, err)
	}
}

// dataFiles are the objects but for metadata files: of a commit that loses, an
// SQL catalog leaves the one that it wrote before.
func (x *trial) dataFiles() []string {
	return slices.DeleteFunc(x.objects(), func(key string) bool { return strings.HasSuffix(key, ".metadata.json") })
}
