package lake_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// gapTexts are the gaps of a load between two bounds, in text.
func gapTexts(tb testing.TB, s lake.LoadState, from, to, every string) (texts []string) {
	tb.Helper()
	w, err := s.Within(from, to, nil)
	if err != nil {
		tb.Fatal(err)
	}
	gaps := s.Coverage.Gaps(w)
	if every != "" {
		step, err := lake.ParseEvery(every)
		if err != nil {
			tb.Fatal(err)
		}
		if gaps, err = lake.Cut(gaps, step, nil); err != nil {
			tb.Fatal(err)
		}
	}
	for _, g := range gaps {
		text := strings.ReplaceAll(strings.NewReplacer("T00:00:00Z", "", ":00:00Z", "").Replace(g.String()), " ", "")
		if g.Unknown {
			text = "?" + text
		}
		texts = append(texts, text)
	}
	return texts
}

func TestGaps(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ coverage, from, to, every, want string }{
		{"", "", "", "", ""},
		{"", "2026-05-01", "2026-05-03", "", "[2026-05-01,2026-05-03)"},
		{"2026-05-01/2026-05-03", "", "", "", ""},
		{"2026-05-01/2026-05-03,2026-05-04/2026-05-05", "", "", "", "[2026-05-03,2026-05-04)"},
		{"2026-05-01/2026-05-03,2026-05-04/2026-05-05", "2026-04-30", "2026-05-06", "", "[2026-04-30,2026-05-01) [2026-05-03,2026-05-04) [2026-05-05,2026-05-06)"},
		{"2026-05-01/2026-05-03,2026-05-04/2026-05-05", "2026-05-02", "2026-05-03T12", "", "[2026-05-03,2026-05-03T12)"},
		{"2026-05-01/2026-05-09", "2026-05-02", "2026-05-03", "", ""},
		{"2026-05-01/2026-05-02", "2026-06-01", "2026-06-02", "", "[2026-06-01,2026-06-02)"},
		{"2026-05-01/2026-05-02", "2026-04-01", "2026-04-02", "", "[2026-04-01,2026-04-02)"},
		// Steps are those of the calendar, whatever a gap begins with.
		{"2026-05-01/2026-05-02T10,2026-05-04T01/2026-05-05", "", "", "1d", "[2026-05-02T10,2026-05-03) [2026-05-03,2026-05-04) [2026-05-04,2026-05-04T01)"},
		{"2026-05-01/2026-05-02T21:30,2026-05-03T00/2026-05-05", "", "", "1h", "[2026-05-02T21:30:00Z,2026-05-02T22) [2026-05-02T22,2026-05-02T23) [2026-05-02T23,2026-05-03)"},
		{"2026-01-01/2026-01-20,2026-03-01/2026-03-02", "", "2026-03-04", "P1M", "[2026-01-20,2026-02-01) [2026-02-01,2026-03-01) [2026-03-02,2026-03-04)"},
		{"2026-01-01/2026-01-02", "", "2026-01-15", "1w", "[2026-01-02,2026-01-05) [2026-01-05,2026-01-12) [2026-01-12,2026-01-15)"},
		{"2024-01-01/2024-01-02", "", "2026-01-15", "1y", "[2024-01-02,2025-01-01) [2025-01-01,2026-01-01) [2026-01-01,2026-01-15)"},
		// What was forgotten is neither claimed nor denied.
		{"?/2026-05-01,2026-05-03/2026-05-04", "", "", "", "[2026-05-01,2026-05-03)"},
		{"?/2026-05-01,2026-05-03/2026-05-04", "2026-04-01", "", "1d", "?[2026-04-01,2026-05-01) [2026-05-01,2026-05-02) [2026-05-02,2026-05-03)"},
		{"?/2026-05-01,2026-04-03/2026-04-04", "2026-04-01", "2026-05-02", "", "?[2026-04-01,2026-04-03) ?[2026-04-04,2026-05-01) [2026-05-01,2026-05-02)"},
		{"?/2026-05-01", "2026-04-01", "2026-04-02", "", "?[2026-04-01,2026-04-02)"},
	} {
		c, err := lake.ParseCoverage(tc.coverage)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(gapTexts(t, lake.LoadState{Coverage: c}, tc.from, tc.to, tc.every), " "); got != tc.want {
			t.Errorf("gaps of %q from %q to %q every %q:\n got %s\nwant %s", tc.coverage, tc.from, tc.to, tc.every, got, tc.want)
		}
	}
}

// Days are those of the zone: one of 23 hours is a whole one.
func TestGapsInAZone(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	w, err := lake.LoadState{}.Within("2026-03-28", "2026-03-31", berlin)
	if err != nil {
		t.Fatal(err)
	}
	day, _ := lake.ParseEvery("1d")
	cut, err := lake.Cut(lake.Coverage{}.Gaps(w), day, berlin)
	if err != nil {
		t.Fatal(err)
	}
	var hours []float64
	for _, g := range cut {
		hours = append(hours, g.To.Sub(g.From).Hours())
	}
	if want := []float64{24, 23, 24}; !slices.Equal(hours, want) {
		t.Errorf("hours %v, want %v: %v", hours, want, cut)
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "1", "d", "1min", "0d", "0", "-1d", "P", "P0D", "P1M2D", "1.5h", "99999999d", "1 d"} {
		if _, err := lake.ParseEvery(text); err == nil {
			t.Errorf("ParseEvery(%q): no error", text)
		}
	}
	for _, text := range []string{"1h", "1d", "2w", "1mo", "1y", "15m", "30s", "P1D", "PT15M", "P3M"} {
		if _, err := lake.ParseEvery(text); err != nil {
			t.Error(err)
		}
	}
}

// TestGapsAfterExpiry: the gaps are in the coverage, which outlives the
// snapshots; there are 100,000 of them, and as many windows that were loaded.
func TestGapsAfterExpiry(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "gaps")
	for _, n := range []int{1, 2, 4, 7} {
		e.replace(mayDay(n), event(int64(n), mayDay(n)+"T01:00:00Z", 1))
	}
	mine := e.load
	e.load.Name, e.load.Scope, e.load.TakeOver = "other", map[string]string{"region": "us"}, true
	e.replace(mayDay(1), testenv.NewEvent(20, mayDay(1)+"T01:00:00Z", "us", 1))
	e.load = mine
	look := func(from, to, every string) []string { return gapTexts(t, e.state("gaps"), from, to, every) }
	want := []string{"[2026-05-03,2026-05-04)", "[2026-05-05,2026-05-06)", "[2026-05-06,2026-05-07)", "[2026-05-08,2026-05-09)"}
	if got := look("", mayDay(9), "1d"); !slices.Equal(got, want) {
		t.Errorf("before expiry: %v, want %v", got, want)
	}
	if r := e.maintained(expireAll(e.load.Table)); r.Snapshots.Kept != 1 {
		t.Fatalf("receipt: %+v", r)
	}
	if got := look("", mayDay(9), "1d"); !slices.Equal(got, want) {
		t.Errorf("after expiry: %v, want %v", got, want)
	}
	state := e.state("gaps")
	w, err := state.Within("2014-12-01", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	gaps, err := lake.Cut(state.Coverage.Gaps(w), lake.Step{Time: time.Hour}, nil)
	took := time.Since(began)
	if err != nil {
		t.Fatal(err)
	}
	if len(gaps) < 100_000 {
		t.Errorf("%d gaps, want 100,000 at least", len(gaps))
	}
	t.Logf("%d gaps in %s", len(gaps), took)

	began = time.Now()
	from := time.Date(2014, 12, 1, 0, 0, 0, 0, time.UTC)
	var c lake.Coverage
	for i := range 100_000 {
		if i%1000 != 7 {
			c = c.Add(lake.Window{From: from.Add(time.Duration(i) * time.Hour), To: from.Add(time.Duration(i+1) * time.Hour)})
		}
	}
	text := c.String()
	if c, _ = lake.ParseCoverage(text); len(c.Gaps(lake.Window{From: c.Before, To: c.Windows[len(c.Windows)-1].To})) < 50 || len(text) > 3500 {
		t.Errorf("coverage of %d bytes: %s", len(text), text)
	}
	t.Logf("100000 windows are added, printed and read in %s", time.Since(began))
}

// state is what the table says of a load.
func (e *events) state(load string) lake.LoadState {
	e.tb.Helper()
	states, err := lake.LoadStates(e.tb.Context(), e.table(), "")
	if err != nil {
		e.tb.Fatal(err)
	}
	i := slices.IndexFunc(states, func(s lake.LoadState) bool { return s.Load == load })
	if i < 0 {
		e.tb.Fatalf("load %q is not among %v", load, states)
	}
	if states[i].Err != nil {
		e.tb.Fatal(states[i].Err)
	}
	return states[i]
}

// A load's state that cannot be told does not hide the others'.
func TestStatesBesideOneThatIsWrong(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "beside")
	e.replace(mayDay(1), event(1, mayDay(1)+"T01:00:00Z", 1))
	e.update(table.NewSetPropertiesUpdate(map[string]string{"calve.load.wrong.at": "1:9", "calve.load.wrong.coverage": "2026-01-01/2026-02-01"}))
	states, err := lake.LoadStates(e.tb.Context(), e.table(), "")
	if err != nil || len(states) != 2 || states[0].Err != nil || states[1].Err == nil {
		t.Errorf("states: %+v, %v", states, err)
	}
	if text := fmt.Sprint(states[1].Err); !strings.Contains(text, "calve.load.wrong.") {
		t.Errorf("the error does not say which properties: %s", text)
	}
}
