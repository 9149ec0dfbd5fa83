package lake_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// TestClaims: what one load owns, no other may, nor may it own something else
// from one day to the next, unless that is said.
func TestClaims(t *testing.T) {
	t.Parallel()
	eu, us := map[string]string{"region": "eu"}, map[string]string{"region": "us"}
	for name, tc := range map[string]struct {
		first, second lake.Load // by name, scope and time column
		words         []string  // of the error; none where both may load
	}{
		"the same load":                 {first: lake.Load{Name: "a"}, second: lake.Load{Name: "a"}},
		"disjoint scopes":               {first: lake.Load{Name: "a", Scope: eu}, second: lake.Load{Name: "b", Scope: us}},
		"all rows":                      {first: lake.Load{Name: "a"}, second: lake.Load{Name: "b"}, words: []string{`"a"`, `"b"`, "all rows by event_time", "--take-over"}},
		"a part of them":                {first: lake.Load{Name: "a"}, second: lake.Load{Name: "b", Scope: eu}, words: []string{`"a"`, `"b"`, "region=eu"}},
		"the same scope":                {first: lake.Load{Name: "a", Scope: eu}, second: lake.Load{Name: "b", Scope: eu}, words: []string{`"a"`, `"b"`}},
		"scopes on other columns":       {first: lake.Load{Name: "a", Scope: eu}, second: lake.Load{Name: "b", Scope: map[string]string{"id": "2"}}, words: []string{`"a"`, `"b"`}},
		"another time column":           {first: lake.Load{Name: "a"}, second: lake.Load{Name: "b", TimeColumn: "received"}, words: []string{`"a"`, `"b"`, "by received"}},
		"another time column and scope": {first: lake.Load{Name: "a", Scope: eu}, second: lake.Load{Name: "b", Scope: us, TimeColumn: "received"}},
		"its own, with another column":  {first: lake.Load{Name: "a"}, second: lake.Load{Name: "a", TimeColumn: "received"}, words: []string{`"a"`, "by event_time", "by received"}},
		"its own, with another scope":   {first: lake.Load{Name: "a", Scope: eu}, second: lake.Load{Name: "a", Scope: us}, words: []string{`"a"`, "region=eu", "region=us"}},
		"its own, without its scope":    {first: lake.Load{Name: "a", Scope: eu}, second: lake.Load{Name: "a"}, words: []string{`"a"`, "region=eu", "all rows"}},
		"the column in other letters":   {first: lake.Load{Name: "a"}, second: lake.Load{Name: "a", TimeColumn: "EVENT_TIME"}},
		"the scope's columns in another order": {
			first:  lake.Load{Name: "a", Scope: map[string]string{"region": "eu", "value": "1"}},
			second: lake.Load{Name: "a", Scope: map[string]string{"region": "eu", "VALUE": "1"}},
		},
		"the scope's column in other too": {first: lake.Load{Name: "a", Scope: eu}, second: lake.Load{Name: "a", Scope: map[string]string{"REGION": "eu"}}},
	} {
		t.Run(strings.ReplaceAll(name, ",", ""), func(t *testing.T) {
			t.Parallel()
			e := withoutModel(t, testenv.Catalog(t), "claims")
			table := e.load.Table
			load := func(l lake.Load) error {
				if l.Table = table; l.TimeColumn == "" {
					l.TimeColumn = "event_time"
				}
				e.load = l
				region := l.Scope["region"] + l.Scope["REGION"]
				row := testenv.NewEvent(2, mayDay(1)+"T01:00:00Z", region, 1).Row()
				row["received"] = row["event_time"]
				_, err := e.run(mayDay(1), testenv.Rows(t, received(), row))
				return err
			}
			if err := load(tc.first); err != nil {
				t.Fatal(err)
			}
			before := e.table().MetadataLocation()
			err := load(tc.second)
			if len(tc.words) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			want(t, err, lake.ErrClaim)
			want(t, err, lake.ErrRefused)
			for _, word := range tc.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("the error lacks %q: %v", word, err)
				}
			}
			if e.table().MetadataLocation() != before {
				t.Error("the table was changed")
			}
			tc.second.TakeOver = true
			if err := load(tc.second); err != nil {
				t.Fatal(err)
			}
			tc.second.TakeOver = false
			if err := load(tc.second); err != nil {
				t.Errorf("after it took over: %v", err)
			}
			want(t, load(tc.first), lake.ErrClaim)
		})
	}
}

// TestClaimsRace: two first loads of two names, at the same time.
func TestClaimsRace(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]bool{"into a new table": true, "into one that is there": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEvents(t, "race")
			if !first {
				testenv.CreateTable(t, e.cat, e.load.Table, testenv.EventSchema(), nil, nil)
			}
			e.load.Name = "slow"
			src := source(t, event(1, mayDay(1)+"T01:00:00Z", 1))
			src.BeforeRead = func() {
				e.load.Name = "quick"
				e.replace(mayDay(2), event(2, mayDay(2)+"T01:00:00Z", 2))
			}
			_, err := e.run(mayDay(1), src)
			want(t, err, lake.ErrClaim)
			if text := err.Error(); !strings.Contains(text, `"slow"`) || !strings.Contains(text, `"quick"`) {
				t.Errorf("the error names not both: %v", err)
			}
			if got := e.table().Properties()["calve.load.quick.claim"]; got != "mode=replace&scope=&time_column=event_time" {
				t.Errorf("claim = %q", got)
			}
			if left := unneeded(t, e.table()); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// A load on a branch claims nothing, but respects what is claimed.
func TestClaimsOnABranch(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "branch")
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 1))
	e.update(table.NewSetSnapshotRefUpdate("dev", e.head(), table.BranchRef, 0, 0, 0))
	e.load.Name, e.load.Branch = "other", "dev"
	_, err := e.run(mayDay(2), source(t, event(2, mayDay(2)+"T01:00:00Z", 1)))
	want(t, err, lake.ErrClaim)
	e.load.TakeOver = true
	if _, err := e.run(mayDay(2), source(t, event(2, mayDay(2)+"T01:00:00Z", 1))); err != nil {
		t.Fatal(err)
	}
	p := e.table().Properties()
	if _, there := p["calve.load.other.claim"]; there || p["calve.load.branch.claim"] == "" {
		t.Errorf("properties: %v", p)
	}
}

// A claim that cannot be read is not taken for none.
func TestClaimSpoilt(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "spoilt")
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 1))
	for _, text := range []string{"", "scope=%zz", "scope=region%3Deu"} {
		e.set("calve.load.gone.claim", text)
		_, err := e.run(mayDay(1), source(t, event(1, mayDay(1)+"T01:00:00Z", 2)))
		want(t, err, lake.ErrClaim)
		if !strings.Contains(err.Error(), "calve.load.gone.claim") {
			t.Errorf("the error does not name the property: %v", err)
		}
	}
	e.load.TakeOver = true
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 2))
	if _, there := e.table().Properties()["calve.load.gone.claim"]; there {
		t.Error("the spoilt claim is still there")
	}
}

// received are events with a second time column.
func received() *arrow.Schema {
	fields := testenv.EventArrow().Fields()
	at := fields[1]
	at.Name = "received"
	return arrow.NewSchema(append(fields, at), nil)
}

// TestTakeOverBeginsAnew: what a load has loaded of other rows, or by another
// column, says nothing of those that it claims now.
func TestTakeOverBeginsAnew(t *testing.T) {
	t.Parallel()
	eu, us := map[string]string{"region": "eu"}, map[string]string{"region": "us"}
	for name, tc := range map[string]struct {
		was, is lake.Load
		branch  string
		want    string
	}{
		"without its scope":   {was: lake.Load{Scope: eu}, want: "2026-05-03/2026-05-04"},
		"another scope":       {was: lake.Load{Scope: eu}, is: lake.Load{Scope: us}, want: "2026-05-03/2026-05-04"},
		"another time column": {is: lake.Load{TimeColumn: "received"}, want: "2026-05-03/2026-05-04"},
		"the same":            {was: lake.Load{Scope: eu}, is: lake.Load{Scope: eu}, want: "2026-05-01/2026-05-04"},
		"on a branch":         {was: lake.Load{Scope: eu}, branch: "dev", want: "2026-05-03/2026-05-04"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := withoutModel(t, testenv.Catalog(t), "anew")
			id := e.load.Table
			load := func(l lake.Load, branch string, day int, takeOver bool) {
				t.Helper()
				if l.TimeColumn == "" {
					l.TimeColumn = "event_time"
				}
				l.Table, l.Branch, l.TakeOver = id, branch, takeOver
				e.load = l
				region := l.Scope["region"]
				row := testenv.NewEvent(int64(day), mayDay(day)+"T01:00:00Z", region, 1).Row()
				row["received"] = row["event_time"]
				if _, err := e.run(mayDay(day), testenv.Rows(t, received(), row)); err != nil {
					t.Fatal(err)
				}
			}
			wants := func(want string) {
				t.Helper()
				states, err := lake.LoadStates(t.Context(), e.table(), tc.branch)
				if err != nil || len(states) != 1 || states[0].Err != nil || states[0].Coverage.String() != want {
					t.Errorf("states: %+v, %v, want the coverage %s", states, err, want)
				}
			}
			load(tc.was, "", 1, false)
			load(tc.was, "", 2, false)
			if tc.branch != "" {
				e.update(table.NewSetSnapshotRefUpdate(tc.branch, e.head(), table.BranchRef, 0, 0, 0))
			}
			load(tc.is, tc.branch, 3, true)
			wants(tc.want)
			load(tc.is, tc.branch, 3, tc.branch != "")
			wants(tc.want)
		})
	}
}

// TestClaimsOfNamesWithEquals: a column's name may hold what joins a scope's parts.
func TestClaimsOfNamesWithEquals(t *testing.T) {
	t.Parallel()
	e := withoutModel(t, testenv.Catalog(t), "names")
	fields := testenv.EventArrow().Fields()
	for _, name := range []string{"region=b", "region&id"} {
		at := fields[2]
		at.Name = name
		fields = append(fields, at)
	}
	row := event(1, mayDay(1)+"T01:00:00Z", 1).Row()
	row["region=b"], row["region&id"] = "x", "x"
	load := func(name string, scope map[string]string) error {
		e.load.Name, e.load.Scope = name, scope
		_, err := e.run(mayDay(1), testenv.Rows(t, arrow.NewSchema(fields, nil), row))
		return err
	}
	if err := load("first", map[string]string{"region": "eu"}); err != nil {
		t.Fatal(err)
	}
	for _, column := range []string{"region=b", "region&id"} {
		if err := load("second", map[string]string{column: "x"}); !errors.Is(err, lake.ErrClaim) {
			t.Errorf("scope on %q: %v, want %v", column, err, lake.ErrClaim)
		}
	}
}
