package arrowio

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
)

func TestPinFollowsTheTemplate(t *testing.T) {
	t.Parallel()
	files := bytesFiles{}
	for _, name := range []string{"05-03/a", "05-04/a", "05-04/b", "05-06/a", "05-07/a", "04-30/a"} {
		files["2026-"+name+".csv"] = []byte("n\n1\n")
	}
	day := lake.Step{Days: 1}
	for _, tt := range []struct {
		name, window  string
		arrival       Arrival
		want, missing string
		exact         bool
	}{
		{"a day", "2026-05-04", Arrival{}, "05-04/a 05-04/b", "", true},
		{"two days", "2026-05-03/P2D", Arrival{}, "05-03/a 05-04/a 05-04/b", "", true},
		{"with a gap", "2026-05-04/P3D", Arrival{}, "05-04/a 05-04/b 05-06/a", "05-05", true},
		{"nothing", "2026-05-05", Arrival{}, "", "05-05", true},
		{"an hour", "2026-05-04T10", Arrival{}, "05-04/a 05-04/b", "", false},
		{"late rows", "2026-05-04", Arrival{After: lake.Step{Days: 2}}, "05-04/a 05-04/b 05-06/a", "", false},
		{"early and late rows", "2026-05-04", Arrival{Before: day, After: day}, "05-03/a 05-04/a 05-04/b", "", false},
		{"late rows of a day without", "2026-05-05", Arrival{After: day}, "05-06/a", "05-05", false},
		{"late by hours", "2026-05-06T20", Arrival{After: lake.Step{Time: 5 * 3600e9}}, "05-06/a 05-07/a", "", false},
		{"early over a month", "2026-05-03", Arrival{Before: lake.Step{Months: 1}}, "04-30/a 05-03/a", "", false},
	} {
		source, err := New(Config{Path: "{day:%Y-%m-%d}/*.csv", Arrival: tt.arrival}, files)
		if err != nil {
			t.Fatal(err)
		}
		input, err := source.Pin(t.Context(), instants(t, tt.window, nil))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		o := input.Origin()
		short := func(list []string) string {
			return strings.NewReplacer("2026-", "", "/*.csv", "", ".csv", "").Replace(strings.Join(list, " "))
		}
		if short(o.Names) != tt.want || o.Exact != tt.exact || short(o.Missing) != tt.missing {
			t.Errorf("%s: files %v, exact %v, missing %v; want %s, %v, %s", tt.name, o.Names, o.Exact, o.Missing, tt.want, tt.exact, tt.missing)
		}
	}
}

// Where the patterns of two units meet in one file, it is read once.
func TestPinReadsAFileOnce(t *testing.T) {
	t.Parallel()
	files := bytesFiles{"2026-05-04_to_2026-05-05.csv": []byte("n\n1\n")}
	source, err := New(Config{Path: "*{day:%Y-%m-%d}*.csv"}, files)
	if err != nil {
		t.Fatal(err)
	}
	input, err := source.Pin(t.Context(), instants(t, "2026-05-04/P2D", nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2026-05-04_to_2026-05-05.csv"}, input.Origin().Names); diff != "" || input.Origin().Files != 1 {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}
