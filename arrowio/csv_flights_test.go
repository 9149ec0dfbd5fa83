package arrowio

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/calve-data/calve/lake"
)

// CALVE_FLIGHTS names a folder with the CSV files of the nycflights13 data set,
// plain or compressed.
func TestCSVFlights(t *testing.T) {
	dir := os.Getenv("CALVE_FLIGHTS")
	if dir == "" {
		t.Skip("CALVE_FLIGHTS does not name a folder with the flights of 2013 as CSV")
	}
	paths, err := filepath.Glob(filepath.Join(dir, "nyc-flights-2013.csv*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no *flights*.csv* in %s: %v", dir, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { readFlights(t, path) })
	}
}

func readFlights(t *testing.T, path string) {
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	open := func(_ context.Context, f lake.File) (io.ReadCloser, error) { return os.Open(f.Path) }
	in, err := newCSV([]lake.File{{Path: path, Size: info.Size()}}, open, lake.Origin{}, CSVOptions{Null: []string{"NA"}})
	if err != nil {
		t.Fatal(err)
	}
	columns, err := in.Columns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	columns, err = in.Infer(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	var types []any
	var words []string
	for _, c := range columns {
		types = append(types, c.Name, c.Type)
		words = append(words, c.Name+" "+typeText(c.Type))
	}
	const want = "year int64, month int64, day int64, dep_time int64, sched_dep_time int64, dep_delay int64, " +
		"arr_time int64, sched_arr_time int64, arr_delay int64, carrier utf8, flight int64, tailnum utf8, " +
		"origin utf8, dest utf8, air_time int64, distance int64, hour int64, minute int64, time_hour timestamptz"
	if got := strings.Join(words, ", "); got != want {
		t.Errorf("types are %s\nwant %s", got, want)
	}
	rows, late := int64(0), 0
	for b, err := range in.Read(t.Context(), lake.Request{Schema: fieldsOf(types...), Procs: 2, Memory: 256 << 20}) {
		if err != nil {
			t.Fatal(err)
		}
		rows += b.NumRows()
		late += b.Column(5).NullN()
		b.Release()
	}
	if rows != 336_776 || late != 8_255 {
		t.Errorf("%d rows, %d without a departure delay; want 336776 and 8255", rows, late)
	}
}
