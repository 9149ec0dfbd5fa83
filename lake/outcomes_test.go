package lake_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"
	"time"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// TestOutcomes is the table of outcomes: whatever a catalog answers to a
// commit, before or after it has applied it, once or always, and however the
// table can be read afterwards, what is true is read from the table. One plain
// run later the table holds its rows.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, answer := range testenv.Answers() {
		for _, applied := range []bool{false, true} {
			for _, commits := range []int{1, -1} {
				for _, reloads := range []int{0, 2, -1} {
					for _, first := range []bool{false, true} {
						m := &testenv.Mishap{Answer: answer, Applied: applied, Commits: commits, Reloads: reloads}
						name := m.String()
						if first {
							name += ", first load"
						}
						t.Run(name, func(t *testing.T) {
							t.Parallel()
							e := newEvents(t, "outcome")
							e.tryOutcome(t, m, &lake.Loader{Catalog: m.Catalog(e.cat)}, first)
						})
					}
				}
			}
		}
	}
}

// TestOutcomesOverHTTP is the same table with a proxy between calve and a real
// REST catalog.
func TestOutcomesOverHTTP(t *testing.T) {
	t.Parallel()
	s3 := testenv.MinIO(t)
	cat := testenv.RESTOn(t, s3)
	for i, answer := range testenv.Answers() {
		for _, applied := range []bool{false, true} {
			for _, reloads := range []int{0, -1} {
				if answer == testenv.Timeout && reloads != 0 {
					continue // each would be waited for
				}
				m := &testenv.Mishap{Answer: answer, Applied: applied, Commits: 1, Reloads: reloads}
				t.Run(m.String(), func(t *testing.T) {
					t.Parallel()
					first := i%2 == 0
					model := &testenv.Model{}
					e := &events{tb: t, cat: cat, model: model, load: lake.Load{Table: cat.Ident(fmt.Sprintf("outcome_%s_%v_%d", answer, applied, reloads+1)), TimeColumn: "event_time"}}
					e.check = testenv.Check(t, cat, e.load.Table, model.Strings)
					config := cat.Config
					config.URI = m.Proxy(t, config.URI)
					behind, err := catalog.Open(t.Context(), config)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = behind.Close() })
					e.tryOutcome(t, m, &lake.Loader{Catalog: behind, Timeout: 20 * time.Second}, first)
				})
			}
		}
	}
}

// outcome is what must be true after a mishap.
type outcome struct {
	err      error // nil is exit 0, ErrUnknown is exit 12
	inTable  bool  // the rows are in the table
	attempts int
}

// expected is the table itself.
func expected(m *testenv.Mishap, first bool) outcome {
	unread := m.Reloads < 0
	// A table that was never seen is not there when the catalog says so: the
	// commit is sent again, and the catalog says that the table exists.
	denied := first && m.Answer == testenv.NotFound && m.Reloads != 0
	switch {
	case m.Applied && unread:
		return outcome{lake.ErrUnknown, true, 0}
	case m.Applied && denied:
		return outcome{nil, true, 2}
	case m.Applied:
		return outcome{nil, true, 1}
	case m.Commits < 0, unread && !denied:
		// Nobody can say that a commit without an answer will not land later.
		return outcome{lake.ErrUnknown, false, 0}
	}
	return outcome{nil, true, 2}
}

// tryOutcome runs a load by a loader that meets the mishap.
func (e *events) tryOutcome(t *testing.T, m *testenv.Mishap, loader *lake.Loader, first bool) {
	t.Helper()
	before := []testenv.Event{event(1, "2026-05-04T09:00:00Z", 1), event(2, "2026-05-04T10:30:00Z", 2)}
	if !first {
		e.replace("2026-05-04", before...)
	}
	want := expected(m, first) // now: a mishap counts down
	row := event(3, "2026-05-04T10:45:00Z", 3)
	r, err := loader.Load(t.Context(), e.load, source(t, row), window(t, "2026-05-04T10"))
	if !errors.Is(err, want.err) || (want.err == nil) != (err == nil) {
		t.Fatalf("Load = %v, want %v", err, want.err)
	}
	if err == nil {
		e.check.Loaded(r)
		if r.Attempts != want.attempts {
			t.Errorf("attempts = %d, want %d", r.Attempts, want.attempts)
		}
	} else if landed := e.tell() > 0; landed != want.inTable {
		t.Errorf("the rows are in the table: %v, want %v", landed, want.inTable)
	}
	if want.inTable {
		e.model.Replace(window(t, "2026-05-04T10"), "", row)
	}
	if got := e.present(); strings.Join(got, "\n") != strings.Join(e.model.Strings(), "\n") {
		t.Errorf("rows %q, want %q", got, e.model.Strings())
	}
	// A load that landed leaves no object behind; one whose outcome is unknown
	// has removed none.
	orphans := e.orphans()
	if err == nil && len(orphans) > 0 {
		t.Errorf("landed, and left %q", orphans)
	}
	if err != nil && !want.inTable && !contains(orphans, ".parquet") {
		t.Errorf("unknown, and the files that a late commit would name are gone; left %q", orphans)
	}
	e.replace("2026-05-04T10", event(4, "2026-05-04T10:50:00Z", 4))
}

// present are the rows of the table; none where it does not exist.
func (e *events) present() []string {
	e.tb.Helper()
	if !testenv.Exists(e.tb, e.cat, e.load.Table) {
		return nil
	}
	return testenv.ReadAll(e.tb, testenv.Load(e.tb, e.cat, e.load.Table))
}

// orphans are the objects of calve that no snapshot of the table names.
func (e *events) orphans() (names []string) {
	e.tb.Helper()
	t := e.drafted()
	named := map[string]bool{}
	for p := range testenv.Named(e.tb, t) {
		named[path.Base(p)] = true
	}
	fsys, err := t.FS(e.tb.Context())
	if err != nil {
		e.tb.Fatal(err)
	}
	err = fsys.(iceio.ListableIO).WalkDir(t.Location(), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path.Base(p), "calve-") && !named[path.Base(p)] {
			names = append(names, path.Base(p))
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		e.tb.Fatal(err)
	}
	return names
}

// drafted is the table, or what it would be.
func (e *events) drafted() *table.Table {
	e.tb.Helper()
	if testenv.Exists(e.tb, e.cat, e.load.Table) {
		return testenv.Load(e.tb, e.cat, e.load.Table)
	}
	t, err := e.cat.Draft(context.WithoutCancel(e.tb.Context()), e.load.Table, testenv.EventSchema(), testenv.EventsByDay(), nil)
	if err != nil {
		e.tb.Fatal(err)
	}
	return t
}

func contains(names []string, part string) bool {
	for _, n := range names {
		if strings.Contains(n, part) {
			return true
		}
	}
	return false
}
