package lake_test

import (
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// The tests of this file are the cases of the project's list on commit, retry
// and concurrency. Case 22 is TestEightWindows.

// meets runs a load whose commits meet the mishap, notes it in the model, and
// expects that it lands.
func (e *events) meets(m *testenv.Mishap, text string, rows ...testenv.Event) lake.Receipt {
	e.tb.Helper()
	r, err := (&lake.Loader{Catalog: m.Catalog(e.cat)}).Load(e.tb.Context(), e.load, source(e.tb, rows...), window(e.tb, text))
	if err != nil {
		e.tb.Fatalf("load %s, %s: %v", text, m, err)
	}
	e.check.Loaded(r)
	e.model.Replace(window(e.tb, text), "", rows...)
	return r
}

// snapshots is how many the table has.
func (e *events) snapshots() int {
	e.tb.Helper()
	return len(testenv.Load(e.tb, e.cat, e.load.Table).Metadata().Snapshots())
}

// A commit that landed and was answered with a conflict is found in the table;
// its files are not added a second time.
func TestCase15_AConflictAfterTheCommitLanded(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "answered_conflict")
	for i, day := range []string{"2026-05-03", "2026-05-04"} {
		m := &testenv.Mishap{Answer: testenv.Conflict, Applied: true, Commits: 1}
		r := e.meets(m, day, event(1, day+"T01:00:00Z", 1))
		if e.snapshots() != i+1 || r.Attempts != 1 || len(testenv.DataFiles(t, testenv.Load(t, e.cat, e.load.Table))) != i+1 {
			t.Errorf("%s: %d snapshots, %d attempts", day, e.snapshots(), r.Attempts)
		}
	}
}

// The library's own retries, which clean up after an attempt that had landed,
// stay off whatever the table's properties say. That the table can be read and
// each object is there is what the check at the end looks for.
func TestCase16_TheTableAsksForRetries(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "retries")
	e.load.Properties = iceberg.Properties{table.CommitNumRetriesKey: "4"}
	e.replace("2026-05-03", event(1, "2026-05-03T01:00:00Z", 1))
	if got := testenv.Load(t, e.cat, e.load.Table).Properties()[table.CommitNumRetriesKey]; got != "4" {
		t.Fatalf("the table asks for %q retries", got)
	}
	m := &testenv.Mishap{Answer: testenv.Conflict, Applied: true, Commits: 1}
	e.meets(m, "2026-05-04", event(2, "2026-05-04T01:00:00Z", 2))
	if e.snapshots() != 2 {
		t.Errorf("%d snapshots, want 2", e.snapshots())
	}
	if left := e.orphans(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// The catalog applies an overwrite and answers 503, and the table cannot be
// read twice: then it is, and tells. A run again is harmless.
func TestCase18_NoAnswerAfterTheCommitLanded(t *testing.T) {
	t.Parallel()
	for _, answer := range []testenv.Answer{testenv.InternalError, testenv.BadGateway, testenv.ServiceUnavailable, testenv.GatewayTimeout, testenv.Timeout} {
		e := newEvents(t, "no_answer")
		e.replace("2026-05-04", event(1, "2026-05-04T01:00:00Z", 1), event(2, "2026-05-04T02:00:00Z", 2))
		m := &testenv.Mishap{Answer: answer, Applied: true, Commits: 1, Reloads: 2}
		e.meets(m, "2026-05-04", event(3, "2026-05-04T01:00:00Z", 3))
		if e.snapshots() != 2 {
			t.Errorf("%s: %d snapshots, want 2", answer, e.snapshots())
		}
		e.replace("2026-05-04", event(3, "2026-05-04T01:00:00Z", 3))
	}
}

// A head that moved since the load began is no failure: it is planned anew, and
// the rows of both are there.
func TestCase19_AStaleHead(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "stale")
	e.replace("2026-05-03", event(1, "2026-05-03T01:00:00Z", 1))
	src, other := source(t, event(2, "2026-05-04T01:00:00Z", 2)), event(3, "2026-05-05T01:00:00Z", 3)
	src.BeforeRead = func() { testenv.AppendRows(t, e.cat, e.load.Table, other.Row()) }
	if _, err := e.run("2026-05-04", src); err != nil {
		t.Fatal(err)
	}
	e.model.Append(event(2, "2026-05-04T01:00:00Z", 2), other)
}

// The commit fails once after the files were staged, and is sent again by the
// same process: the files are in the table once.
func TestCase25_TheCommitRunsTwice(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "twice")
	rows := []testenv.Event{event(1, "2026-05-04T01:00:00Z", 1), event(2, "2026-05-04T02:00:00Z", 2), event(3, "2026-05-04T03:00:00Z", 3)}
	m := &testenv.Mishap{Answer: testenv.InternalError, Commits: 1}
	if r := e.meets(m, "2026-05-04", rows...); r.Attempts != 2 || r.Rows.Written != 3 || e.snapshots() != 1 {
		t.Errorf("receipt: %+v, %d snapshots", r, e.snapshots())
	}
}
