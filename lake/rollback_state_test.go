package lake_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// rollTo sets main to another snapshot, as another engine's rollback does.
func (e *events) rollTo(id int64) {
	e.tb.Helper()
	e.update(table.NewSetSnapshotRefUpdate("main", id, table.BranchRef, 0, 0, 0))
}

func (e *events) head() int64 { return e.table().CurrentSnapshot().SnapshotID }

// loadDays loads some days of May 2026, and returns the head after each.
func (e *events) loadDays(days ...int) (heads []int64) {
	e.tb.Helper()
	for _, n := range days {
		e.replace(mayDay(n), event(int64(n), mayDay(n)+"T01:00:00Z", 1))
		heads = append(heads, e.head())
	}
	return heads
}

func (e *events) foreignAppend() {
	e.tb.Helper()
	testenv.AppendRows(e.tb, e.cat, e.load.Table, event(99, mayDay(30)+"T01:00:00Z", 1).Row())
}

func (e *events) expire(keep int) {
	e.tb.Helper()
	testenv.Expire(e.tb, e.cat, e.load.Table, keep)
	e.check.Expired()
}

func (e *events) unset(keys ...string) {
	e.tb.Helper()
	e.update(table.NewRemovePropertiesUpdate(keys))
}

// onBranch loads days on a branch that begins at main's head.
func (e *events) onBranch(days ...int) (tip int64) {
	e.tb.Helper()
	e.update(table.NewSetSnapshotRefUpdate("dev", e.head(), table.BranchRef, 0, 0, 0))
	e.load.Branch = "dev"
	for _, n := range days {
		e.replace(mayDay(n), event(int64(n), mayDay(n)+"T01:00:00Z", 1))
	}
	e.load.Branch = ""
	return e.table().SnapshotByName("dev").SnapshotID
}

// pick adds to main a snapshot with the files and the summary of another, as a
// cherry-pick does; without a parent, as another engine's CREATE OR REPLACE.
func (e *events) pick(id int64, source string, orphan bool) {
	e.tb.Helper()
	meta := e.table().Metadata()
	head := meta.CurrentSnapshot()
	picked := *meta.SnapshotByID(id)
	picked.SnapshotID, picked.ParentSnapshotID = 4711, &head.SnapshotID
	picked.SequenceNumber, picked.TimestampMs = meta.LastSequenceNumber()+1, meta.LastUpdatedMillis()
	props := maps.Clone(picked.Summary.Properties)
	if source != "" {
		props["source-snapshot-id"] = source
	} else {
		clear(props)
	}
	picked.Summary = &table.Summary{Operation: table.OpAppend, Properties: props}
	if orphan {
		picked.ParentSnapshotID = nil
	}
	e.update(table.NewAddSnapshotUpdate(&picked), table.NewSetSnapshotRefUpdate("main", picked.SnapshotID, table.BranchRef, 0, 0, 0))
}

// TestRollbackState: whatever others do to a table's history, the state is that
// of the history, or an error says what is wrong, and what it says to do helps.
func TestRollbackState(t *testing.T) {
	t.Parallel()
	const l = "calve.load.state."
	for name, tc := range map[string]struct {
		do   func(e *events)
		want string // the coverage
		err  string // what the error says
	}{
		"rolled back": {want: "2026-05-01/2026-05-03", do: func(e *events) {
			e.rollTo(e.loadDays(1, 2, 3)[1])
		}},
		"rolled back and forth": {want: "2026-05-01/2026-05-04", do: func(e *events) {
			h := e.loadDays(1, 2, 3)
			e.rollTo(h[0])
			e.rollTo(h[2])
		}},
		"rolled back past the first load": {err: "ahead of the table", do: func(e *events) {
			e.loadOther()
			first := e.head()
			e.loadDays(1)
			e.rollTo(first)
		}},
		"rolled back, then written by another engine": {want: "2026-05-01/2026-05-02", do: func(e *events) {
			e.rollTo(e.loadDays(1, 2)[0])
			e.foreignAppend()
			e.foreignAppend()
		}},
		"expired but for one": {want: "2026-05-01/2026-05-03", do: func(e *events) {
			e.loadDays(1, 2)
			e.foreignAppend()
			e.expire(1)
		}},
		"expired but for one, much later": {want: "2026-05-01/2026-05-03", do: func(e *events) {
			e.loadDays(1, 2)
			for range 4 {
				e.foreignAppend()
			}
			e.expire(1)
		}},
		"rolled back, written, expired": {want: "2026-05-01/2026-05-02", do: func(e *events) {
			e.rollTo(e.loadDays(1, 2)[0])
			e.foreignAppend()
			e.foreignAppend()
			e.expire(1)
		}},
		"rolled back, written, expired twice": {want: "2026-05-01/2026-05-02", do: func(e *events) {
			e.rollTo(e.loadDays(1, 2)[0])
			for range 4 {
				e.foreignAppend()
				e.foreignAppend()
				e.expire(1)
			}
		}},
		"rolled back past the first load, written, expired": {err: "ahead of the table", do: func(e *events) {
			e.loadOther()
			first := e.head()
			e.loadDays(1)
			e.rollTo(first)
			e.foreignAppend()
			e.foreignAppend()
			e.expire(1)
		}},
		"rolled back, written once, expired, without a log": {err: "ahead of the table", do: func(e *events) {
			e.shortLog()
			e.rollTo(e.loadDays(1, 2)[0])
			e.foreignAppend()
			e.expire(1)
			e.forgetLog()
		}},
		"rolled back, another load, expired, without a log": {want: "2026-05-01/2026-05-02", do: func(e *events) {
			e.shortLog()
			e.load.TakeOver = true
			e.rollTo(e.loadDays(1, 2)[0])
			e.loadOther()
			for range 4 {
				e.foreignAppend()
			}
			e.expire(1)
			e.forgetLog()
		}},
		"rolled back, expired by calve": {want: "2026-05-01/2026-05-02", do: func(e *events) {
			e.rollTo(e.loadDays(1, 2)[0])
			e.foreignAppend()
			e.maintained(expireAll(e.load.Table))
		}},
		"a tag keeps the load's snapshot while those between expire": {want: "2026-05-01/2026-05-02", do: func(e *events) {
			e.loadDays(1)
			e.update(table.NewSetSnapshotRefUpdate("v1", e.head(), table.TagRef, 0, 0, 0))
			e.foreignAppend()
			e.foreignAppend()
			e.expire(1)
		}},
		"compacted": {want: "2026-05-01/2026-05-02,2026-05-30/2026-05-31", do: func(e *events) {
			e.loadDays(1, 30)
			e.foreignAppend()
			testenv.Compact(e.tb, e.cat, e.load.Table, false)
		}},
		"cherry-picked": {want: "2026-05-01/2026-05-02", do: func(e *events) {
			e.loadDays(1)
			tip := e.onBranch(2, 3)
			e.foreignAppend()
			e.pick(tip, "1", false)
			e.tell()
		}},
		"fast-forwarded to a branch": {want: "2026-05-01/2026-05-04", do: func(e *events) {
			e.loadDays(1)
			e.rollTo(e.onBranch(2, 3))
		}},
		"beside a branch": {want: "2026-05-01/2026-05-02", do: func(e *events) {
			e.loadDays(1)
			e.onBranch(2, 3)
		}},
		"replaced as a whole": {err: "ahead of the table", do: func(e *events) {
			e.loadDays(1, 2)
			e.foreignAppend()
			e.pick(e.head(), "", true)
		}},
		"replaced as a whole, expired": {err: "ahead of the table", do: func(e *events) {
			e.loadDays(1, 2)
			e.foreignAppend()
			e.pick(e.head(), "", true)
			e.expire(1)
		}},
		"made anew with the old properties": {err: "made anew", do: func(e *events) {
			e.loadDays(1, 2)
			e.anew(e.table().Properties())
			for range 4 {
				e.foreignAppend()
			}
		}},
		"made anew with the old properties, expired": {err: "made anew", do: func(e *events) {
			e.loadDays(1, 2)
			e.anew(e.table().Properties())
			for range 4 {
				e.foreignAppend()
			}
			e.expire(1)
		}},
		"made anew with the old properties, empty": {err: "made anew", do: func(e *events) {
			e.loadDays(1, 2)
			e.anew(e.table().Properties())
		}},
		"made anew without": {want: "", do: func(e *events) {
			e.loadDays(1, 2)
			e.anew(nil)
			e.foreignAppend()
		}},
		"properties changed by hand": {want: "2026-05-01/2026-05-02", do: func(e *events) {
			e.loadDays(1)
			e.set(l+"coverage", "2000-01-01/2030-01-01")
		}},
		"properties lost": {want: "2026-05-01/2026-05-02", do: func(e *events) {
			e.loadDays(1)
			e.unset(l+"coverage", l+"at", l+"watermark", l+"claim")
		}},
		"properties lost, expired": {want: "", do: func(e *events) {
			e.loadDays(1)
			e.unset(l + "at")
			e.foreignAppend()
			e.expire(1)
		}},
		"coverage spoilt, expired": {err: l, do: func(e *events) {
			e.loadDays(1)
			e.set(l+"coverage", "2026-05-04/2026-05-02")
			e.foreignAppend()
			e.expire(1)
		}},
		"watermark lost, expired": {err: "without a watermark", do: func(e *events) {
			e.loadDays(1)
			e.unset(l + "watermark")
			e.foreignAppend()
			e.expire(1)
		}},
		"mark spoilt, expired": {err: "SNAPSHOT:SEQUENCE", do: func(e *events) {
			e.loadDays(1)
			e.set(l+"at", "yesterday")
			e.foreignAppend()
			e.expire(1)
		}},
	} {
		t.Run(strings.ReplaceAll(name, ",", ""), func(t *testing.T) {
			t.Parallel()
			e := withoutModel(t, testenv.Catalog(t), "state")
			tc.do(e)
			e.wantState(tc.want, tc.err)
			e.load.TakeOver = true // the scopes of some histories meet
			if tc.err != "" {
				_, err := e.run(mayDay(20), source(t, event(20, mayDay(20)+"T01:00:00Z", 1)))
				want(t, err, lake.ErrRefused)
				e.unset(l+"coverage", l+"at", l+"watermark") // as the error says
			}
			e.replace(mayDay(20), event(20, mayDay(20)+"T01:00:00Z", 1))
			e.wantState(strings.TrimPrefix(coverageWith20(tc.want), ","), "")
		})
	}
}

// shortLog creates the table with a log of one metadata file.
func (e *events) shortLog() {
	e.tb.Helper()
	e.load.Properties = iceberg.Properties{table.MetadataPreviousVersionsMaxKey: "1"}
}

// forgetLog lets the log's metadata files be replaced by some that tell nothing.
func (e *events) forgetLog() {
	e.tb.Helper()
	for _, text := range []string{"a", "b", "c"} {
		e.set("note", text)
	}
}

// coverageWith20 is a coverage with the 20th of May in it.
func coverageWith20(coverage string) string {
	const day = ",2026-05-20/2026-05-21"
	if before, after, ok := strings.Cut(coverage, ",2026-05-30"); ok {
		return before + day + ",2026-05-30" + after
	}
	return coverage + day
}

func (e *events) wantState(coverage, failure string) {
	e.tb.Helper()
	states, err := lake.LoadStates(e.tb.Context(), e.table(), "")
	if err != nil {
		e.tb.Fatal(err)
	}
	for _, s := range states {
		switch {
		case s.Load != "state":
			continue
		case failure != "":
			if s.Err == nil || !strings.Contains(s.Err.Error(), failure) {
				e.tb.Errorf("state: %s, %v, want an error with %q", s.Coverage, s.Err, failure)
			}
		case s.Err != nil || s.Coverage.String() != coverage:
			e.tb.Errorf("coverage = %q, %v, want %q", s.Coverage, s.Err, coverage)
		}
		return
	}
	if coverage != "" || failure != "" {
		e.tb.Errorf("the load is not known, want %q %s", coverage, failure)
	}
}

// loadOther is a load beside the one that is looked at.
func (e *events) loadOther() {
	e.tb.Helper()
	mine := e.load
	e.load.Name, e.load.Scope = "other", map[string]string{"region": "us"}
	e.replace(mayDay(9), testenv.NewEvent(9, mayDay(9)+"T01:00:00Z", "us", 1))
	e.load = mine
	e.load.TakeOver = true
}

// anew makes another table take the place of the one there was: by a name of its
// own, since only that it is another one matters.
func (e *events) anew(properties map[string]string) {
	e.tb.Helper()
	old := e.table()
	spec := old.Spec()
	e.load.Table, e.load.Name = testenv.Ident("anew"), "state"
	testenv.CreateTable(e.tb, e.cat, e.load.Table, old.Schema(), &spec, properties)
	e.check = testenv.Check(e.tb, e.cat, e.load.Table, nil)
}

// TestStateWhileItsPastCannotBeRead: where old metadata files would tell that a
// state was rolled back and just cannot be read, nothing is said of it.
func TestStateWhileItsPastCannotBeRead(t *testing.T) {
	t.Parallel()
	e := withoutModel(t, testenv.Catalog(t), "state")
	e.rollTo(e.loadDays(1, 2)[0])
	e.foreignAppend()
	e.foreignAppend()
	e.expire(1)
	failed := 0
	look := func(at int, more bool) (fired bool) {
		in := testenv.NewInjector(at, testenv.Fail)
		in.StopAfter = more
		tbl, err := in.Catalog(e.cat).LoadTable(t.Context(), e.load.Table)
		if err != nil {
			return true
		}
		states, err := lake.LoadStates(t.Context(), tbl, "")
		if err != nil || len(states) != 1 {
			t.Fatalf("%v, %v", states, err)
		}
		switch s := states[0]; {
		case s.Err != nil && in.Fired():
			failed++
		case s.Err != nil || s.Coverage.String() != "2026-05-01/2026-05-02":
			t.Errorf("effect %d, more after it: %v: coverage %q, %v", at, more, s.Coverage, s.Err)
		}
		return in.Fired()
	}
	for _, more := range []bool{false, true} {
		for at := 0; look(at, more); at++ {
		}
	}
	if failed == 0 {
		t.Error("no failure was seen")
	}
}
