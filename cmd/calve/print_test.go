package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/calve-data/calve/lake"
)

// sample has one row of values and one of nulls.
func sample(t *testing.T) (*arrow.Schema, arrow.RecordBatch) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	fields := []arrow.Field{
		{Name: "big", Type: arrow.PrimitiveTypes.Int64},
		{Name: "price", Type: &arrow.Decimal128Type{Precision: 18, Scale: 2}},
		{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
		{Name: "wall", Type: &arrow.TimestampType{Unit: arrow.Microsecond}},
		{Name: "day", Type: arrow.FixedWidthTypes.Date32},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64},
		{Name: "text", Type: arrow.BinaryTypes.String},
		{Name: "raw", Type: arrow.BinaryTypes.Binary},
		{Name: "list", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64)},
		{Name: "ok", Type: arrow.FixedWidthTypes.Boolean},
	}
	for i := range fields {
		fields[i].Nullable = true
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(mem, schema)
	b.Field(0).(*array.Int64Builder).Append(math.MaxInt64)
	b.Field(1).(*array.Decimal128Builder).Append(decimal128.FromI64(-1250))
	b.Field(2).(*array.TimestampBuilder).Append(1356998400000001)
	b.Field(3).(*array.TimestampBuilder).Append(1356998400000000)
	b.Field(4).(*array.Date32Builder).Append(15706)
	b.Field(5).(*array.Float64Builder).Append(math.NaN())
	b.Field(6).(*array.StringBuilder).Append("a\tb\x1b[31m \"é\" <&>")
	b.Field(7).(*array.BinaryBuilder).Append([]byte{0, 255})
	list := b.Field(8).(*array.ListBuilder)
	list.Append(true)
	list.ValueBuilder().(*array.Int64Builder).AppendValues([]int64{1, 2}, []bool{true, false})
	b.Field(9).(*array.BooleanBuilder).Append(true)
	for _, f := range b.Fields() {
		f.AppendNull()
	}
	record := b.NewRecordBatch()
	b.Release()
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return schema, record
}

func resultOf(schema *arrow.Schema, batches ...arrow.RecordBatch) *lake.RowsResult {
	return &lake.RowsResult{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for i, b := range batches {
			if !yield(b, nil) {
				for _, rest := range batches[i+1:] {
					rest.Release()
				}
				return
			}
		}
	}}
}

func TestRowsAsJSON(t *testing.T) {
	schema, batch := sample(t)
	var out bytes.Buffer
	if err := (&rowsCommand{JSON: true}).print(&app{stdout: &out}, resultOf(schema, batch), 0); err != nil {
		t.Fatal(err)
	}
	want := `{"big":9223372036854775807,"price":"-12.50","at":"2013-01-01T00:00:00.000001Z","wall":"2013-01-01T00:00:00","day":"2013-01-01","x":"NaN",` +
		`"text":"a\tb\u001b[31m \"é\" <&>","raw":"AP8=","list":[1,null],"ok":true}` + "\n" +
		`{"big":null,"price":null,"at":null,"wall":null,"day":null,"x":null,"text":null,"raw":null,"list":null,"ok":null}` + "\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

func TestRowsAsTable(t *testing.T) {
	schema, batch := sample(t)
	var out bytes.Buffer
	if err := (&rowsCommand{}).print(&app{stdout: &out}, resultOf(schema, batch), 100); err != nil {
		t.Fatal(err)
	}
	want := `big                  price   at                           wall                 day         x     text                      raw   list      ok
9223372036854775807  -12.50  2013-01-01T00:00:00.000001Z  2013-01-01T00:00:00  2013-01-01  NaN   a\tb\x1b[31m "é" <&>  00ff  [1,null]  true
NULL                 NULL    NULL                         NULL                 NULL        NULL  NULL                      NULL  NULL      NULL
(2 rows)
`
	if squeeze(out.String()) != squeeze(want) {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestDecimalText(t *testing.T) {
	for _, tc := range []struct {
		unscaled int64
		scale    int32
		want     string
	}{{0, 2, "0.00"}, {5, 2, "0.05"}, {-5, 2, "-0.05"}, {12345, 2, "123.45"}, {-7, 0, "-7"}} {
		if got := decimalText(big.NewInt(tc.unscaled), &arrow.Decimal128Type{Precision: 18, Scale: tc.scale}); got != tc.want {
			t.Errorf("decimalText(%d, %d) = %s, want %s", tc.unscaled, tc.scale, got, tc.want)
		}
	}
}

func squeeze(s string) string {
	for strings.Contains(s, "  ") {
		s = strings.ReplaceAll(s, "  ", " ")
	}
	return s
}

func TestRowsSayWhereTheyWereCut(t *testing.T) {
	schema, batch := sample(t)
	batch.Retain()
	var out bytes.Buffer
	if err := (&rowsCommand{}).print(&app{stdout: &out}, resultOf(schema, batch, batch), 3); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "(the first 3 rows; there are more: --limit 0 prints all)\n") || strings.Count(out.String(), "\n") != 5 {
		t.Errorf("got\n%s", out.String())
	}
	out.Reset()
	schema, batch = sample(t)
	if err := (&rowsCommand{Count: true, JSON: true}).print(&app{stdout: &out}, resultOf(schema, batch), 0); err != nil || out.String() != "{\"rows\":2}\n" {
		t.Errorf("count: %v %q", err, out.String())
	}
}

func TestReceiptForPeople(t *testing.T) {
	mark := "2013-01-03T00:00:00Z"
	r := lake.Receipt{
		Outcome: lake.Landed, Load: "flights", Table: "demo.flights", Branch: "main",
		Window:     &lake.WindowJSON{From: "2013-01-02T00:00:00Z", To: "2013-01-03T00:00:00Z"},
		SnapshotID: "7", BaseSnapshotID: "3", Watermark: &mark, Attempts: 2, Seconds: 0.44,
		Rows:    lake.RowCounts{Read: 1200, Outside: 270, Written: 930, Replaced: 930, ReplacedAtMost: true, Foreign: 2},
		Ignored: []string{"wind"},
		Files:   lake.FileCounts{Read: 1, Added: 1, Removed: 2, Rewritten: 1},
		Bytes:   lake.ByteCounts{Read: 90000, Written: 4096},
	}
	var out bytes.Buffer
	printReceipt(&out, r)
	want := `landed     demo.flights [2013-01-02T00:00:00Z, 2013-01-03T00:00:00Z)
rows       930 written, at most 930 replaced; 1,200 read, of which 270 outside the window
foreign    2 of the replaced rows were committed by others since this load began
ignored    "wind" of the source, which the table lacks
files      1 added, 2 removed (1 of them rewritten); 1 read
bytes      4.0 KiB written; 88 KiB read
snapshot   7 on 3
watermark  2013-01-03T00:00:00Z
took       0.4 s, 2 attempts to commit
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestProgressIsALineNowAndThen(t *testing.T) {
	var out bytes.Buffer
	p, at := progressOf(&out)
	for range 25 {
		*at = at.Add(time.Second)
		p.bytes.Add(1 << 20)
		p.progress(lake.Progress{RowsRead: 1000 * int64(at.Sub(p.begun)/time.Second), FilesStaged: 1})
	}
	p.attempt(1, nil)
	*at = at.Add(10 * time.Second)
	p.progress(lake.Progress{RowsRead: 25_000, FilesSearched: 3, FilesToSearch: 12})
	p.attempt(2, errors.New("the head moved"))
	p.end()
	want := "read   10,000 rows (10 MiB of 40 MiB), staged 0 rows in 1 file, 0 B, 1,000 rows/s, 30s left\n" +
		"read   20,000 rows (20 MiB of 40 MiB), staged 0 rows in 1 file, 0 B, 1,000 rows/s, 20s left\n" +
		"search 25,000 rows, whose keys are looked up: 3 of 12 files read\n" +
		"commit attempt 2: the head moved\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// progressOf is the progress of a load of 40 MiB that has been planned, with its
// clock.
func progressOf(out *bytes.Buffer) (*progress, *time.Time) {
	p := newProgress(out, false)
	at := p.begun
	p.now = func() time.Time { return at }
	p.bytes.Add(7 << 20) // to infer types
	p.planned(&lake.Plan{Origin: lake.Origin{Bytes: 40 << 20}})
	out.Reset()
	return p, &at
}

func TestProgressIsABarOnATerminal(t *testing.T) {
	var out bytes.Buffer
	p, at := progressOf(&out)
	p.every = 200 * time.Millisecond
	for _, tt := range []struct {
		width int
		read  int64
		want  string
	}{
		{120, 0, "  0 % [                              ] 0 B of 40 MiB, 1,000 rows, 1,000 rows/s"},
		{120, 10 << 20, " 25 % [=======                       ] 10 MiB of 40 MiB, 2,000 rows, 1,000 rows/s, 6s left"},
		{80, 20 << 20, " 50 % [=====     ] 20 MiB of 40 MiB, 3,000 rows, 1,000 rows/s, 3s left"},
		{60, 20 << 20, " 50 % 20 MiB of 40 MiB, 4,000 rows, 1,000 rows/s, 4s left"},
		{20, 20 << 20, " 50 % 20 MiB of 40 "},
		{120, 41 << 20, "100 % [==============================] 41 MiB of 40 MiB, 6,000 rows, 1,000 rows/s"},
	} {
		*at = at.Add(time.Second)
		p.width = tt.width
		p.bytes.Store(p.skipped + tt.read)
		p.progress(lake.Progress{RowsRead: 1000 * int64(at.Sub(p.begun)/time.Second)})
		if got, want := out.String(), "\r"+tt.want+"\x1b[K"; got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		if len(tt.want) >= tt.width {
			t.Errorf("%q is wider than %d", tt.want, tt.width)
		}
		out.Reset()
	}
	p.attempt(1, nil)
	if got := out.String(); got != "\r\x1b[K" {
		t.Errorf("before the commit: %q", got)
	}
}

func TestPlanForPeopleAndMachines(t *testing.T) {
	w, err := lake.ParseWindow("2013-01-02T00:00:00Z/P1D", nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &lake.Plan{
		Load: "flights", Table: "demo.flights", Branch: "main", Location: "file:///lakehouse/demo.db/flights",
		Window: w, Origin: lake.Origin{Kind: "csv", Files: 3, Names: []string{"a.csv", "b.csv"}, Bytes: 2048},
		BaseSnapshotID: math.MaxInt64, Manifests: 5, Opened: 1, PartitionFields: []string{"day(time_hour)"},
		Inside:     []lake.PlannedFile{{Path: "x/1.parquet", Partition: "time_hour_day=2013-01-02", Rows: 930, Bytes: 1024}},
		Straddling: []lake.PlannedFile{{Path: "x/2.parquet", Rows: 1, Bytes: 10}},
		Columns:    []lake.PlannedColumn{{Name: "legacy", Type: "long"}, {Name: "gate", Type: "string", Added: true, Why: `"A7" at b.csv line 2`}, {Name: "delay", Type: "long", Was: "int", Why: `"3000000000" at b.csv line 3`}},
		Ignored:    []string{"wind", "rain"},
		Warnings:   []lake.Warning{{Engines: []string{"Spark", "Trino"}, Column: "gate", Text: "is not read"}},
	}
	var out bytes.Buffer
	if err := printPlan(&out, p, "time_hour"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"window      [2013-01-02T00:00:00Z, 2013-01-03T00:00:00Z) on time_hour\n",
		"source      3 csv files, 2.0 KiB; the window's rows are selected\n", "and 1 more\n",
		"base        9223372036854775807\n", "manifests   5, 1 can hold rows of the window\n",
		"inside      1 file (930 rows, 1.0 KiB): dropped whole\n", "straddling  1 file (1 row, 10 B): rewritten",
		"columns to add:\n  gate  string  because of \"A7\" at b.csv line 2\n",
		"columns to widen:\n  delay  int to long  \"3000000000\" at b.csv line 3\n",
		"\nignored: \"wind\", \"rain\", which the table lacks\n",
		"\nother engines:\n  Spark, Trino: column \"gate\": is not read\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "legacy") {
		t.Errorf("a column that is there already is shown:\n%s", out.String())
	}
	line, err := jsonLine(planAnswer(p).ended(failure{}))
	if err != nil || !strings.Contains(string(line), `"base_snapshot_id":"9223372036854775807"`) ||
		!strings.Contains(string(line), `"was":"int"`) || !strings.Contains(string(line), `"ignored_columns":["wind","rain"]`) || !strings.Contains(string(line), `"error":null`) ||
		!strings.Contains(string(line), `"warnings":[{"engines":["Spark","Trino"],"column":"gate","text":"is not read"}]`) {
		t.Errorf("%v %s", err, line)
	}
}
