package arrowio

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
)

func timestamp(unit arrow.TimeUnit, zone string) arrow.DataType {
	return &arrow.TimestampType{Unit: unit, TimeZone: zone}
}

func decimalOf(precision, scale int32) arrow.DataType {
	return &arrow.Decimal128Type{Precision: precision, Scale: scale}
}

// Every odd type of a file, the type that a table gets of it, and values.
func TestParquetTypes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		is     arrow.DataType
		want   arrow.DataType
		values string
		read   string // if it differs
	}{
		{"bool", arrow.FixedWidthTypes.Boolean, arrow.FixedWidthTypes.Boolean, `true,null,false`, ""},
		{"int8", arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int32, `-128,null,127`, ""},
		{"int16", arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, `-32768,null`, ""},
		{"uint8", arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int32, `255,null`, ""},
		{"uint16", arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int32, `65535,null`, ""},
		{"uint32", arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int64, `4294967295,null`, ""},
		{"uint64", arrow.PrimitiveTypes.Uint64, decimalOf(20, 0), `18446744073709551615,null,1`, `"18446744073709551615",null,"1"`},
		{"float16", arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, `1.5,null`, ""},
		{"float32", arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float32, `1.5,null`, ""},
		{"float64", arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Float64, `1.5,null`, ""},
		{"string", arrow.BinaryTypes.String, arrow.BinaryTypes.String, `"a",null,"","ü"`, ""},
		{"large string", arrow.BinaryTypes.LargeString, arrow.BinaryTypes.String, `"a",null,"","ü"`, ""},
		{"large binary", arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.Binary, `"YQ==",null`, ""},
		{"dictionary", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, arrow.BinaryTypes.String, `"a",null,"b","a"`, ""},
		{"date32", arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date32, `"1969-12-31",null`, ""},
		{"date64", arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Date32, `"1969-12-31",null`, ""},
		{"time32", arrow.FixedWidthTypes.Time32ms, arrow.FixedWidthTypes.Time64us, `"01:02:03.004",null`, `"01:02:03.004",null`},
		{"time64", arrow.FixedWidthTypes.Time64ns, arrow.FixedWidthTypes.Time64us, `"01:02:03.000004999",null`, `"01:02:03.000004",null`},
		{"timestamp s", timestamp(arrow.Second, ""), timestampType, `"1969-12-31T23:59:59",null`, `"1969-12-31T23:59:59",null`},
		{"timestamp ms", timestamp(arrow.Millisecond, ""), timestampType, `"2001-01-01T00:00:00.001",null`, `"2001-01-01T00:00:00.001",null`},
		{"timestamp ns before 1970", timestamp(arrow.Nanosecond, ""), timestampType, `"1969-12-31T23:59:59.999999999",null`, `"1969-12-31T23:59:59.999999",null`},
		{"timestamp in UTC", timestamp(arrow.Nanosecond, "UTC"), timestamptzType, `"2001-01-01T00:00:00Z",null`, `"2001-01-01T00:00:00Z",null`},
		{"timestamp in a zone", timestamp(arrow.Microsecond, "America/New_York"), timestamptzType, `"2024-01-01T05:00:00Z",null`, `"2024-01-01T05:00:00Z",null`},
		{"decimal", decimalOf(9, 2), decimalOf(9, 2), `"1.25",null`, ""},
		{"uuid", extensions.NewUUIDType(), extensions.NewUUIDType(), `"00112233-4455-6677-8899-aabbccddeeff",null`, ""},
		{"fixed", &arrow.FixedSizeBinaryType{ByteWidth: 2}, &arrow.FixedSizeBinaryType{ByteWidth: 2}, `"YWI=",null`, ""},
		{"null", arrow.Null, arrow.BinaryTypes.String, `null,null`, ""},
		{"list", arrow.ListOf(arrow.PrimitiveTypes.Int32), arrow.ListOf(arrow.PrimitiveTypes.Int32), `[1,2],null,[]`, ""},
		{"struct", arrow.StructOf(nullable("a", arrow.BinaryTypes.String)), arrow.StructOf(nullable("a", arrow.BinaryTypes.String)), `{"a":"x"},null`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := bytesFiles{"a.parquet": parquetBytes(t, fieldsSchema(nullable("c", tt.is)), 10, jsonRows(tt.values))}
			input := pinParquet(t, files, Config{})
			columns, err := input.Columns(t.Context())
			if err != nil || len(columns) != 1 {
				t.Fatalf("Columns = %v, %v", columns, err)
			}
			if !sameShape(columns[0].Type, tt.want) {
				t.Errorf("Columns: type %s, want %s", columns[0].Type, tt.want)
			}
			got, err := readText(t, input, readRequest(fieldsSchema(nullable("c", tt.want))))
			if err != nil {
				t.Fatal(err)
			}
			want := tt.read
			if want == "" {
				want = tt.values
			}
			if diff := cmp.Diff(jsonRows(want), "["+strings.ReplaceAll(strings.TrimSpace(got), "\n", ",")+"]"); diff != "" {
				t.Errorf("Read (-want +got):\n%s", diff)
			}
		})
	}
}

// jsonRows makes rows of one column c of values, which are JSON without spaces.
func jsonRows(values string) string {
	var rows []string
	depth, start := 0, 0
	for i, r := range values + "," {
		switch r {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 0 {
				rows = append(rows, `{"c":`+values[start:i]+`}`)
				start = i + 1
			}
		}
	}
	return "[" + strings.Join(rows, ",") + "]"
}

func TestParquetRefusesTypesThatTablesLack(t *testing.T) {
	t.Parallel()
	wide := &arrow.Decimal256Type{Precision: 40, Scale: 2}
	files := bytesFiles{"a.parquet": parquetBytes(t, fieldsSchema(nullable("c", wide)), 10, `[{"c":"1.25"}]`)}
	_, err := pinParquet(t, files, Config{}).Columns(t.Context())
	wantInputError(t, err, "a.parquet", `"c"`, "decimal")
}

func wantInputError(t *testing.T, err error, words ...string) {
	t.Helper()
	if !errors.Is(err, lake.ErrInput) {
		t.Errorf("error %v is not ErrInput", err)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not say %q", err, word)
		}
	}
}

func TestParquetColumnsOfSeveralFiles(t *testing.T) {
	t.Parallel()
	files := bytesFiles{
		"1.parquet": parquetBytes(t, fieldsSchema(nullable("b", arrow.PrimitiveTypes.Int32), nullable("p", decimalOf(5, 2)), nullable("n", arrow.Null)), 10, `[{"b":1,"p":"1.10","n":null}]`),
		"2.parquet": parquetBytes(t, fieldsSchema(nullable("a", arrow.BinaryTypes.String), nullable("b", arrow.PrimitiveTypes.Int64), nullable("n", arrow.PrimitiveTypes.Float32)), 10, `[{"a":"x","b":5000000000,"n":1}]`),
		"3.parquet": parquetBytes(t, fieldsSchema(nullable("p", decimalOf(9, 2)), nullable("b", arrow.PrimitiveTypes.Int32)), 10, `[{"p":"1234567.00","b":3}]`),
	}
	input := pinParquet(t, files, Config{Types: map[string]arrow.DataType{"n": arrow.PrimitiveTypes.Float64}})
	columns, err := input.Columns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var fields []arrow.Field
	var text []string
	for _, c := range columns {
		fields = append(fields, nullable(c.Name, c.Type))
		text = append(text, c.Name+" "+icebergWord(c.Type))
	}
	if diff := cmp.Diff([]string{"b long", "p decimal(9,2)", "n double", "a string"}, text); diff != "" {
		t.Errorf("Columns (-want +got):\n%s", diff)
	}
	got, err := readText(t, input, readRequest(fieldsSchema(fields...)))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"a":null,"b":1,"n":null,"p":"1.1"}
{"a":"x","b":5000000000,"n":1,"p":null}
{"a":null,"b":3,"n":null,"p":"1234567"}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Read (-want +got):\n%s", diff)
	}
}

func TestParquetColumnsThatDoNotFitEachOther(t *testing.T) {
	t.Parallel()
	files := bytesFiles{
		"1.parquet": parquetBytes(t, fieldsSchema(nullable("c", arrow.PrimitiveTypes.Int32)), 10, `[{"c":1}]`),
		"2.parquet": parquetBytes(t, fieldsSchema(nullable("c", arrow.BinaryTypes.String)), 10, `[{"c":"1"}]`),
	}
	_, err := pinParquet(t, files, Config{}).Columns(t.Context())
	wantInputError(t, err, "1.parquet", "2.parquet", `"c"`, "int", "string")
}

func TestParquetRequiredColumnMissing(t *testing.T) {
	t.Parallel()
	files := bytesFiles{"a.parquet": parquetBytes(t, fieldsSchema(nullable("c", arrow.PrimitiveTypes.Int32)), 10, `[{"c":1}]`)}
	_, err := readText(t, pinParquet(t, files, Config{}), readRequest(fieldsSchema(arrow.Field{Name: "d", Type: arrow.PrimitiveTypes.Int32})))
	wantInputError(t, err, "a.parquet", `"d"`, "missing")
}

func TestParquetBadValueIsNamed(t *testing.T) {
	t.Parallel()
	files := bytesFiles{"a.parquet": parquetBytes(t, fieldsSchema(nullable("c", arrow.PrimitiveTypes.Int64)), 2, jsonRows(`1,2,3,2147483648`))}
	_, err := readText(t, pinParquet(t, files, Config{}), readRequest(fieldsSchema(nullable("c", arrow.PrimitiveTypes.Int32))))
	wantInputError(t, err, "a.parquet", "row 4", `"c"`, "2147483648", "int")
}

// Case 67: naive input for an instant needs a zone, and nothing is guessed.
func TestCase67_ParquetTimesWithoutAZone(t *testing.T) {
	t.Parallel()
	files := bytesFiles{"a.parquet": parquetBytes(t, fieldsSchema(nullable("c", timestamp(arrow.Microsecond, ""))), 10,
		jsonRows(`"2024-01-01T00:00:00","2024-07-01T00:00:00","2024-11-03T01:30:00"`))}
	want := readRequest(fieldsSchema(nullable("c", timestamptzType)))
	_, err := readText(t, pinParquet(t, files, Config{}), want)
	wantInputError(t, err, "a.parquet", `"c"`, "timezone")
	_, err = readText(t, pinParquet(t, files, Config{Zone: mustZone(t, "America/New_York")}), want)
	wantInputError(t, err, "row 3", `"c"`, "2024-11-03", "show it twice", "fold: earlier")
	for fold, third := range map[Fold]string{EarlierFold: "05:30", LaterFold: "06:30"} {
		zoned := ColumnOptions{Zone: mustZone(t, "America/New_York"), Fold: fold}
		got, err := readText(t, pinParquet(t, files, Config{Columns: map[string]ColumnOptions{"c": zoned}}), want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(`{"c":"2024-01-01T05:00:00Z"}
{"c":"2024-07-01T04:00:00Z"}
{"c":"2024-11-03T`+third+`:00Z"}
`, got); diff != "" {
			t.Errorf("Read (-want +got):\n%s", diff)
		}
	}
	skipped := bytesFiles{"a.parquet": parquetBytes(t, fieldsSchema(nullable("c", timestamp(arrow.Microsecond, ""))), 10, jsonRows(`"2024-03-10T02:30:00"`))}
	_, err = readText(t, pinParquet(t, skipped, Config{Zone: mustZone(t, "America/New_York")}), want)
	wantInputError(t, err, "row 1", `"c"`, "2024-03-10", "skip it", "to 2024-03-10 03:00:00")
}

func TestParquetSkipsRowGroupsOutsideTheWindow(t *testing.T) {
	t.Parallel()
	var rows []string
	for h := range 24 {
		rows = append(rows, fmt.Sprintf(`{"at":"2024-01-01T%02d:30:00","n":%d}`, h, h))
	}
	text := "[" + strings.Join(rows, ",") + "]"
	instants, wall := hours("2024-01-01T06:00Z", "2024-01-01T09:00Z"), hours("2024-01-01T06:00", "2024-01-01T09:00")
	for name, tt := range map[string]struct {
		kind   arrow.DataType
		want   arrow.DataType
		window lake.Window
		zone   *time.Location
		rows   int64
		first  int64
	}{
		"naive s":    {timestamp(arrow.Second, ""), timestampType, wall, nil, 4, 6},
		"naive ms":   {timestamp(arrow.Millisecond, ""), timestampType, wall, nil, 4, 6},
		"naive us":   {timestamp(arrow.Microsecond, ""), timestampType, wall, nil, 4, 6},
		"naive ns":   {timestamp(arrow.Nanosecond, ""), timestampType, wall, nil, 4, 6},
		"UTC us":     {timestamp(arrow.Microsecond, "UTC"), timestamptzType, instants, nil, 4, 6},
		"in a zone":  {timestamp(arrow.Microsecond, ""), timestamptzType, instants, mustZone(t, "Asia/Tokyo"), 24, 0},
		"no window":  {timestamp(arrow.Microsecond, ""), timestampType, lake.Window{}, nil, 24, 0},
		"day before": {timestamp(arrow.Microsecond, ""), timestampType, hours("2023-12-31", "2024-01-01"), nil, 0, 0},
		"date":       {arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date32, hours("2023-12-31", "2024-01-01"), nil, 0, 0},
		"same date":  {arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date32, hours("2024-01-01", "2024-01-02"), nil, 24, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := text
			switch {
			case tt.kind.ID() == arrow.DATE32:
				text = datesOnly(text)
			case !naive(tt.kind):
				text = strings.ReplaceAll(text, `:00"`, `:00Z"`)
			}
			schema := fieldsSchema(nullable("at", tt.kind), nullable("n", arrow.PrimitiveTypes.Int32))
			files := bytesFiles{"a.parquet": parquetBytes(t, schema, 2, text)}
			r := readRequest(fieldsSchema(nullable("at", tt.want), nullable("n", arrow.PrimitiveTypes.Int32)))
			r.Time, r.Window = "at", tt.window
			var rows, first int64
			for batch, err := range pinParquet(t, files, Config{Zone: tt.zone}).Read(t.Context(), r) {
				if err != nil {
					t.Fatal(err)
				}
				if rows == 0 {
					first = batch.FirstRow - 1
				}
				if n := batch.Column(1).(*array.Int32).Value(0); int64(n) != batch.FirstRow-1 {
					t.Errorf("batch of row %d begins with %d", batch.FirstRow, n)
				}
				rows += batch.NumRows()
				batch.Release()
			}
			if rows != tt.rows || first != tt.first {
				t.Errorf("read %d rows from row %d, want %d from %d", rows, first, tt.rows, tt.first)
			}
		})
	}
}

func datesOnly(text string) string {
	for h := range 24 {
		text = strings.ReplaceAll(text, fmt.Sprintf("T%02d:30:00", h), "")
	}
	return text
}

func TestParquetWithoutStatisticsIsReadWhole(t *testing.T) {
	t.Parallel()
	schema := fieldsSchema(nullable("c", timestamp(arrow.Microsecond, "")))
	files := bytesFiles{"a.parquet": parquetBytes(t, schema, 1, jsonRows(`"2024-01-01T00:00:00",null`), parquet.WithStats(false))}
	r := readRequest(schema)
	r.Time, r.Window = "c", hours("2030-01-01", "2030-01-02")
	got, err := readText(t, pinParquet(t, files, Config{}), r)
	if err != nil || strings.Count(got, "\n") != 2 {
		t.Errorf("Read = %q, %v", got, err)
	}
}

func TestParquetFilesThatAreNotWhole(t *testing.T) {
	t.Parallel()
	schema := fieldsSchema(nullable("c", arrow.BinaryTypes.String), nullable("n", arrow.PrimitiveTypes.Int64))
	var rows []string
	for i := range 2000 {
		rows = append(rows, fmt.Sprintf(`{"c":"value %d","n":%d}`, i, i*i))
	}
	whole := parquetBytes(t, schema, 1000, "["+strings.Join(rows, ",")+"]")
	encrypted := append(append([]byte{}, whole[:len(whole)-4]...), "PARE"...)
	for name, data := range map[string][]byte{
		"empty": {}, "short": []byte("PAR1"), "text": []byte(strings.Repeat("id,name\n", 100)),
		"truncated": whole[:len(whole)-100], "encrypted": encrypted,
	} {
		_, err := pinParquet(t, bytesFiles{"bad.parquet": data}, Config{}).Columns(t.Context())
		wantInputError(t, err, "bad.parquet")
		if name == "encrypted" {
			wantInputError(t, err, "encrypted")
		}
	}
	// A byte changed anywhere is an error or a value, never a crash, and leaks
	// nothing.
	for at := 4; at < len(whole); at += 211 {
		data := append([]byte{}, whole...)
		data[at] ^= 0xff
		input := pinParquet(t, bytesFiles{"bad.parquet": data}, Config{})
		if _, err := readText(t, input, readRequest(schema)); err != nil {
			wantInputError(t, err, "bad.parquet")
		}
	}
}

func TestParquetStoreErrorsAreNotInputErrors(t *testing.T) {
	t.Parallel()
	schema := fieldsSchema(nullable("c", arrow.BinaryTypes.String))
	files := bytesFiles{"a.parquet": parquetBytes(t, schema, 1000, jsonRows(`"a","b"`))}
	_, err := readText(t, pinParquet(t, brokenFiles{files, errStore}, Config{}), readRequest(schema))
	if !errors.Is(err, lake.ErrTemporary) || errors.Is(err, lake.ErrInput) {
		t.Errorf("Read = %v, want the store's error", err)
	}
}

func TestParquetStopsWhenTheReaderDoes(t *testing.T) {
	schema := fieldsSchema(nullable("n", arrow.PrimitiveTypes.Int64))
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range 300_000 {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	files := bytesFiles{"a.parquet": parquetOf(t, batch, 10_000), "b.parquet": parquetOf(t, batch, 100_000)}
	before := runtime.NumGoroutine()
	for batch, err := range pinParquet(t, files, Config{}).Read(t.Context(), readRequest(schema)) {
		if err != nil {
			t.Fatal(err)
		}
		batch.Release()
		break
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var last error
	for batch, err := range pinParquet(t, files, Config{}).Read(ctx, readRequest(schema)) {
		stop()
		if last = err; err == nil {
			batch.Release()
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("Read ended with %v, want context.Canceled", last)
	}
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		runtime.Gosched()
	}
}

func TestParquetRowsDoNotDependOnCoresOrMemory(t *testing.T) {
	t.Parallel()
	schema := fieldsSchema(nullable("s", arrow.BinaryTypes.String), nullable("n", arrow.PrimitiveTypes.Int64), nullable("d", arrow.BinaryTypes.String))
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range 4_000 {
		b.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("%d %s", i, strings.Repeat("x", i%50)))
		b.Field(1).(*array.Int64Builder).Append(int64(i))
		b.Field(2).(*array.StringBuilder).Append(fmt.Sprint("d", i%7))
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	files := bytesFiles{"a.parquet": parquetOf(t, batch, 700), "b.parquet": parquetOf(t, batch, 50_000, parquet.WithDictionaryDefault(false))}
	var want string
	for _, procs := range []int{1, 4} {
		for _, mem := range []int64{1, 1 << 20, 1 << 30} {
			r := readRequest(schema)
			r.Procs, r.Memory = procs, mem
			got, err := readText(t, pinParquet(t, files, Config{}), r)
			if err != nil {
				t.Fatal(err)
			}
			if want == "" {
				want = got
			}
			if got != want || strings.Count(got, "\n") != 8_000 {
				t.Errorf("%d cores and %d bytes of memory read other rows", procs, mem)
			}
		}
	}
}

func TestParquetKeepsDictionaries(t *testing.T) {
	t.Parallel()
	for _, kind := range []arrow.DataType{arrow.BinaryTypes.LargeString, arrow.BinaryTypes.String} {
		schema := fieldsSchema(nullable("c", kind))
		rows := jsonRows(strings.Repeat(`"abcdefgh","abcdefghi",null,`, 1000) + `"abcdefgh"`)
		files := bytesFiles{"a.parquet": parquetBytes(t, schema, 1<<20, rows)}
		for batch, err := range pinParquet(t, files, Config{}).Read(t.Context(), readRequest(fieldsSchema(nullable("c", arrow.BinaryTypes.String)))) {
			if err != nil {
				t.Fatal(err)
			}
			d, ok := batch.Column(0).(*array.Dictionary)
			if !ok || d.Dictionary().DataType().ID() != arrow.STRING || d.Dictionary().Len() != 2 || d.NullN() != 1000 {
				t.Errorf("column is %s", batch.Column(0).DataType())
			}
			batch.Release()
		}
	}
}

// A writer leaves the dictionary in the middle of a row group when it has grown
// too large.
func TestParquetDictionaryThatIsGivenUp(t *testing.T) {
	t.Parallel()
	schema := fieldsSchema(nullable("c", arrow.BinaryTypes.String))
	var values []string
	for i := range 3000 {
		values = append(values, fmt.Sprintf(`"value %d"`, i/3))
	}
	text := strings.Join(values, ",")
	data := parquetBytes(t, schema, 1<<20, jsonRows(text), parquet.WithDictionaryPageSizeLimit(1000), parquet.WithDataPageSize(500))
	got, err := readText(t, pinParquet(t, bytesFiles{"a.parquet": data}, Config{}), readRequest(schema))
	if err != nil {
		t.Fatal(err)
	}
	if want := jsonRows(text); "["+strings.ReplaceAll(strings.TrimSpace(got), "\n", ",")+"]" != want {
		t.Error("Read returned other values")
	}
}
