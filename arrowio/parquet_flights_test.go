package arrowio

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
)

// flights are domestic flights of January to June 2001 (US Bureau of
// Transportation Statistics, from the npm package vega-datasets), in the folder
// that CALVE_FLIGHTS names, with what another engine counted per day.
func flights(t testing.TB) (lake.Input, *arrow.Schema, string) {
	t.Helper()
	dir := os.Getenv("CALVE_FLIGHTS")
	if dir == "" {
		t.Skip("CALVE_FLIGHTS is not set")
	}
	source, err := New(Config{Path: "us-flights-2001-h1.parquet"}, dirFiles(dir))
	if err != nil {
		t.Fatal(err)
	}
	input, err := source.Pin(t.Context(), lake.Window{})
	if err != nil {
		t.Fatal(err)
	}
	columns, err := input.Columns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var fields []arrow.Field
	for _, c := range columns {
		fields = append(fields, nullable(c.Name, c.Type))
	}
	return input, fieldsSchema(fields...), dir
}

func TestFlightsPerDay(t *testing.T) {
	t.Parallel()
	input, schema, dir := flights(t)
	file, err := os.Open(filepath.Join(dir, "us-flights-2001-h1.truth.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	truth, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]int{}, map[string]int{}
	for _, row := range truth[1:] {
		want[row[0]], _ = strconv.Atoi(row[1])
	}
	for batch, err := range input.Read(t.Context(), readRequest(schema)) {
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range batch.Column(0).(*array.Timestamp).TimestampValues() {
			got[time.UnixMicro(int64(v)).UTC().Format("2006-01-02")]++
		}
		batch.Release()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows per day (-want +got):\n%s", diff)
	}
}

func BenchmarkFlights(b *testing.B) {
	for b.Loop() {
		input, schema, _ := flights(b)
		rows := int64(0)
		for batch, err := range input.Read(b.Context(), readRequest(schema)) {
			if err != nil {
				b.Fatal(err)
			}
			rows += batch.NumRows()
			batch.Release()
		}
		b.SetBytes(rows)
	}
}
