package arrowio

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
)

func TestNewChoosesTheForm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cfg   Config
		kind  string
		delim byte
	}{
		{Config{Path: "data/*.csv"}, "csv", ','},
		{Config{Path: "data/*.CSV.GZ"}, "csv", ','},
		{Config{Path: "s3://b/x.csv.zst", Delimiter: ";"}, "csv", ';'},
		{Config{Path: "x.tsv.gz"}, "csv", '\t'},
		{Config{Path: "x.parquet"}, "parquet", ','},
		{Config{Path: "x/*.ndjson"}, "ndjson", ','},
		{Config{Path: "x/*.jsonl.gz"}, "ndjson", ','},
		{Config{Path: "x/*.json.zst"}, "ndjson", ','},
		{Config{Path: "x/*", Type: "json"}, "ndjson", ','},
		{Config{Path: "x/*", Type: "parquet"}, "parquet", ','},
		{Config{Path: "x/*.data", Type: "csv", Delimiter: "tab"}, "csv", '\t'},
	} {
		source, err := New(tt.cfg, bytesFiles{})
		if err != nil {
			t.Errorf("New(%+v): %v", tt.cfg, err)
			continue
		}
		if s := source.(*fileSource); s.kind != tt.kind || s.delim != tt.delim {
			t.Errorf("New(%+v) reads %s with %q", tt.cfg, s.kind, s.delim)
		}
	}
	for _, tt := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "source.path"},
		{Config{Path: "x/*"}, "source.type is required"},
		{Config{Path: "x.csv", Type: "xml"}, "source.type"},
		{Config{Path: "x.ndjson", Null: []string{"NULL"}}, "source.null"},
		{Config{Path: "x.ndjson", Delimiter: ";"}, "source.delimiter"},
		{Config{Path: "x.csv", Delimiter: "||"}, "source.delimiter"},
		{Config{Path: "x.csv", Delimiter: `"`}, "source.delimiter"},
	} {
		if _, err := New(tt.cfg, bytesFiles{}); !errors.Is(err, lake.ErrUsage) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("New(%+v) = %v, want ErrUsage with %q", tt.cfg, err, tt.want)
		}
	}
}

func TestOriginTellsWhatWasPinned(t *testing.T) {
	t.Parallel()
	list := []lake.File{{Path: "d", Size: 4, ETag: "4"}, {Path: "a", Size: 1, ETag: "1"}, {Path: "c", Size: 3, ETag: "3"}, {Path: "b", Size: 2, ETag: "2"}}
	got := originOf("csv", "data/*.csv", list)
	want := lake.Origin{Kind: "csv", Path: "data/*.csv", Files: 4, Names: []string{"a", "b", "c"}, Bytes: 10, Fingerprint: got.Fingerprint}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("originOf (-want +got):\n%s", diff)
	}
	if len(got.Fingerprint) != 64 || list[0].Path != "d" {
		t.Errorf("fingerprint %q, list %v", got.Fingerprint, list)
	}
	seen := map[string]bool{got.Fingerprint: true}
	for _, change := range []lake.File{{Path: "e", Size: 4, ETag: "4"}, {Path: "d", Size: 5, ETag: "4"}, {Path: "d", Size: 4, ETag: "5"}} {
		list[0] = change
		print := originOf("csv", "data/*.csv", list).Fingerprint
		if seen[print] {
			t.Errorf("the fingerprint does not change with %v", change)
		}
		seen[print] = true
	}
}

func TestPinningNothingIsNoError(t *testing.T) {
	t.Parallel()
	input := pinParquet(t, bytesFiles{}, Config{})
	if o := input.Origin(); o.Files != 0 || o.Exact || o.Kind != "parquet" {
		t.Errorf("Origin = %+v", o)
	}
	columns, err := input.Columns(t.Context())
	if err != nil || len(columns) != 0 {
		t.Errorf("Columns = %v, %v", columns, err)
	}
	if text, err := readText(t, input, readRequest(fieldsSchema(nullable("c", arrow.PrimitiveTypes.Int32)))); text != "" || err != nil {
		t.Errorf("Read = %q, %v", text, err)
	}
}
