package testenv_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/calve-data/calve/arrowio"
	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// One row of a day of real flights is changed, removed, added or doubled: in the
// table, by another engine, and in the source. Each time it is named, on the
// right side, with who is to blame; and after a load nothing differs.
func TestVerifyFlights(t *testing.T) {
	t.Parallel()
	f := openFlights(t, "nyc-flights-2013", ".csv.gz")
	f.splitCSV(t)
	cat := testenv.Catalog(t)
	files, err := catalog.NewFiles(catalog.S3{})
	if err != nil {
		t.Fatal(err)
	}
	day := f.truth[len(f.truth)/2]
	content, err := os.ReadFile(filepath.Join(f.months, day.day[:7]+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	v := &verifiedFlights{t: t, cat: cat, files: files, day: day, path: filepath.Join(t.TempDir(), "flights.csv")}
	v.load = lake.Load{Table: testenv.Ident("flights"), TimeColumn: "time_hour"}
	v.check = testenv.Check(t, cat, v.load.Table, nil)
	v.write(string(content))
	v.replace()
	v.want("", 0, 0)
	for _, tt := range []struct {
		how                   string
		inSource, inTable     int64
		sourceOnly, tableOnly int64 // where the source is altered
	}{
		{"change", 1, 1, 1, 1},
		{"remove", 1, 0, 0, 1},
		{"add", 0, 1, 1, 0},
		{"double", 0, 1, 1, 0},
	} {
		filter := "time_hour >= '" + day.day + "T00:00:00+00:00' and time_hour < '" + v.window().To.Format("2006-01-02T15:04:05+00:00") + "'"
		testenv.PyIcebergAlter(t, cat, "test.flights", filter, tt.how, "flight", 99999)
		v.want("the table changed since the load, by snapshot ", tt.inSource, tt.inTable)
		v.replace()
		v.want("", 0, 0)

		v.write(altered(string(content), day.day, tt.how))
		v.want("the source changed since the load", tt.sourceOnly, tt.tableOnly)
		v.replace()
		v.want("", tt.sourceOnly-tt.tableOnly, 0)
		v.write(string(content))
		v.replace()
	}
}

// altered is the content of a file with one row of a day altered.
func altered(content, day, how string) string {
	lines := strings.SplitAfter(content, "\n")
	at := slices.IndexFunc(lines, func(line string) bool {
		return strings.Contains(line, ","+day+"T12:") || strings.Contains(line, ","+day+" 12:")
	})
	row := lines[at]
	cells := strings.Split(row, ",")
	cells[slices.Index(strings.Split(strings.TrimSpace(lines[0]), ","), "flight")] = "99999"
	other := strings.Join(cells, ",")
	switch how {
	case "change":
		lines[at] = other
	case "remove":
		lines[at] = ""
	case "add":
		lines[at] += other
	case "double":
		lines[at] += row
	}
	return strings.Join(lines, "")
}

// verifiedFlights is a table of flights with the file that it is loaded from.
type verifiedFlights struct {
	t     *testing.T
	cat   *testenv.LocalCatalog
	files lake.Files
	load  lake.Load
	check *testenv.Checker
	day   flightDay
	path  string
}

func (v *verifiedFlights) window() lake.Window { return parse(v.t, v.day.day) }

func (v *verifiedFlights) write(content string) {
	v.t.Helper()
	if err := os.WriteFile(v.path, []byte(content), 0o644); err != nil {
		v.t.Fatal(err)
	}
}

func (v *verifiedFlights) source() lake.Source {
	v.t.Helper()
	src, err := arrowio.New(arrowio.Config{Path: v.path, Null: []string{"NA"}}, v.files)
	if err != nil {
		v.t.Fatal(err)
	}
	return src
}

func (v *verifiedFlights) replace() {
	v.t.Helper()
	r, err := (&lake.Loader{Catalog: v.cat}).Load(v.t.Context(), v.load, v.source(), v.window())
	if err != nil {
		v.t.Fatal(err)
	}
	v.check.Loaded(r)
}

// want verifies the day, and wants so many rows on one side alone, and a cause;
// without a cause, that the sides are equal, with so many rows more than the truth.
func (v *verifiedFlights) want(cause string, source, inTable int64) {
	v.t.Helper()
	found, err := (&lake.Loader{Catalog: v.cat}).Verify(v.t.Context(), v.load, v.source(), v.window(), lake.VerifyOptions{})
	if err != nil {
		v.t.Fatal(err)
	}
	defer found.Release()
	if cause == "" {
		if !found.Equal() || found.Sides[0].Digest.Rows != v.day.rows+source {
			v.t.Errorf("%d rows, want %d; differ because %q", found.Sides[0].Digest.Rows, v.day.rows+source, found.Causes)
		}
		return
	}
	if found.Equal() || len(found.Causes) != 1 || !strings.HasPrefix(found.Causes[0], cause) {
		v.t.Errorf("causes %q, want %q", found.Causes, cause)
		return
	}
	if d := found.Difference; d.OnlySource.Count != source || d.OnlyOther.Count != inTable || d.OnlySource.AtLeast {
		v.t.Errorf("%d rows in the source alone, %d in the table, want %d and %d", d.OnlySource.Count, d.OnlyOther.Count, source, inTable)
	}
}
