package arrowio

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
)

func TestDerivedColumns(t *testing.T) {
	t.Parallel()
	files := bytesFiles{"a.csv": []byte("n\n1\n2\n"), "b.csv": []byte("n\n3\n")}
	cfg := Config{
		Path: "*.csv", Run: "nightly",
		Derived: map[string]Derivation{"file": SourceFile, "at": WindowStart, "run": RunLabel},
	}
	input := pinned1(t, cfg, files)
	columns, err := input.Columns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, c := range columns {
		names += c.Name + " " + c.Why + "; "
	}
	if want := "n ; at derived: window_start; file derived: source_file; run derived: run; "; names != want {
		t.Errorf("Columns = %s, want %s", names, want)
	}
	r := readRequest(fieldsSchema(
		nullable("file", arrow.BinaryTypes.String), nullable("n", arrow.PrimitiveTypes.Int64),
		nullable("at", arrow.FixedWidthTypes.Timestamp_us), nullable("run", arrow.BinaryTypes.String)))
	r.Time, r.Window = "at", instants(t, "2026-05-04", nil)
	got, err := readText(t, input, r)
	want := `{"at":"2026-05-04T00:00:00Z","file":"a.csv","n":1,"run":"nightly"}
{"at":"2026-05-04T00:00:00Z","file":"a.csv","n":2,"run":"nightly"}
{"at":"2026-05-04T00:00:00Z","file":"b.csv","n":3,"run":"nightly"}
`
	if got != want || err != nil {
		t.Errorf("Read = %s, %v, want %s", got, err, want)
	}
}

// pinned1 is the input of a source for a day.
func pinned1(t *testing.T, cfg Config, files lake.Files) lake.Input {
	t.Helper()
	source, err := New(cfg, files)
	if err != nil {
		t.Fatal(err)
	}
	input, err := source.Pin(t.Context(), instants(t, "2026-05-04", nil))
	if err != nil {
		t.Fatal(err)
	}
	return input
}

func TestDerivedStartFitsItsType(t *testing.T) {
	t.Parallel()
	wall, err := lake.ParseWindow("2026-05-04T10", nil)
	if err != nil {
		t.Fatal(err)
	}
	naive := &arrow.TimestampType{Unit: arrow.Microsecond}
	for _, tt := range []struct {
		name   string
		as     arrow.DataType
		window lake.Window
		want   string // the value, or a part of the error
		bad    bool
	}{
		{"an instant", arrow.FixedWidthTypes.Timestamp_us, instants(t, "2026-05-04", zoneOf(t, "Asia/Shanghai")), "2026-05-03T16:00:00Z", false},
		{"a wall clock", naive, wall, "2026-05-04T10:00:00", false},
		{"a date", arrow.FixedWidthTypes.Date32, instants(t, "2026-05-04", nil), "2026-05-04", false},
		{"no midnight", arrow.FixedWidthTypes.Date32, instants(t, "2026-05-04", zoneOf(t, "Asia/Shanghai")), "it is not midnight", true},
		{"a clock without its zone", arrow.FixedWidthTypes.Timestamp_us, wall, "one has a zone", true},
		{"a zone without its clock", naive, instants(t, "2026-05-04", nil), "one has a zone", true},
		{"nanoseconds", naive, lake.Window{From: wall.From.Add(1), To: wall.To, Wall: true}, "no whole microsecond", true},
	} {
		input := pinned1(t, Config{Path: "*.csv", Derived: map[string]Derivation{"at": WindowStart}}, bytesFiles{"a.csv": []byte("n\n1\n")})
		r := readRequest(fieldsSchema(nullable("at", tt.as), nullable("n", arrow.PrimitiveTypes.Int64)))
		r.Time, r.Window = "at", tt.window
		got, err := readText(t, input, r)
		if tt.bad {
			if !errors.Is(err, lake.ErrUsage) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want ErrUsage with %q", tt.name, err, tt.want)
			}
			continue
		}
		if err != nil || !strings.Contains(got, `"at":"`+tt.want+`"`) {
			t.Errorf("%s: %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
}

func TestDerivedMistakes(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"unknown":      {Derived: map[string]Derivation{"x": "window_end"}},
		"a wrong type": {Derived: map[string]Derivation{"x": WindowStart}, Types: map[string]arrow.DataType{"x": arrow.BinaryTypes.String}},
		"another one":  {Derived: map[string]Derivation{"x": RunLabel}, Types: map[string]arrow.DataType{"x": arrow.PrimitiveTypes.Int64}},
	} {
		cfg.Path = "*.csv"
		if _, err := New(cfg, bytesFiles{}); !errors.Is(err, lake.ErrUsage) {
			t.Errorf("%s: %v, want ErrUsage", name, err)
		}
	}
	for _, only := range []bool{false, true} {
		cfg := Config{Path: "*.csv", Derived: map[string]Derivation{"n": RunLabel}, OnlyListed: only}
		input := pinned1(t, cfg, bytesFiles{"a.csv": []byte("n\n1\n")})
		if _, err := input.Columns(t.Context()); !errors.Is(err, lake.ErrUsage) {
			t.Errorf("a column of the file, only_listed %v: %v, want ErrUsage", only, err)
		}
	}
}
