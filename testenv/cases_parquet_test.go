package testenv_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/arrowio"
	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// The tests of this file read Parquet that PyArrow wrote, as calve's users have
// it. Times are those of one window, in the column at.

// parquetLoad loads files, by a pattern of the folder, into a table of its own.
func parquetLoad(t *testing.T, cat *testenv.LocalCatalog, cfg arrowio.Config, load lake.Load) (lake.Receipt, error) {
	t.Helper()
	src, err := arrowio.New(cfg, cat.Files())
	if err != nil {
		t.Fatal(err)
	}
	load.TimeColumn = "at"
	if load.Table == nil {
		load.Table = testenv.Ident("wild")
	}
	testenv.Check(t, cat, load.Table, nil)
	return (&lake.Loader{Catalog: cat}).Load(t.Context(), load, src, parse(t, caseDay))
}

// columnTexts are a table's columns as "type: values in the order of id".
func columnTexts(t *testing.T, cat *testenv.LocalCatalog, name string) map[string]string {
	t.Helper()
	return columnTextsBy(t, cat, name, "id")
}

func columnTextsBy(t *testing.T, cat *testenv.LocalCatalog, name, key string) map[string]string {
	t.Helper()
	tbl := testenv.Load(t, cat, testenv.Ident(name))
	result, err := lake.Rows(t.Context(), tbl, lake.RowsQuery{})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for b, err := range result.Batches {
		if err != nil {
			t.Fatal(err)
		}
		id := b.Column(b.Schema().FieldIndices(key)[0])
		for i, c := range b.Columns() {
			field, _ := tbl.Schema().FindFieldByName(b.ColumnName(i))
			pair := array.NewRecordBatch(fields("id", id.DataType(), "c", c.DataType()), []arrow.Array{id, c}, b.NumRows())
			var values []string
			for _, row := range testenv.Text(pair) {
				_, value, _ := strings.Cut(row, " ")
				values = append(values, value)
			}
			texts[b.ColumnName(i)] = field.Type.Type() + ": " + strings.Join(values, " | ")
		}
		b.Release()
	}
	return texts
}

const wildHead = `
from datetime import datetime as at, timezone
N = None
def table(**columns):
    return pa.table({"id": [1, 2, 3], "at": pa.array([at(2026, 5, 4, 1)] * 3, pa.timestamp("us", tz="UTC"))} | columns)
def write(name, t, **options):
    pq.write_table(t, folder + "/" + name + ".parquet", **options)
`

// Every type that PyArrow writes, or that a program of Arrow's holds otherwise
// than Parquet does.
func TestParquetTypesOfPyArrow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.PyArrow(t, dir, wildHead+`
D = decimal.Decimal
ns = [0, -1, 1999999999]
columns = {
    "ts_s": pa.array([0, -1, N], pa.timestamp("s")),
    "ts_ms": pa.array(ns, pa.timestamp("ms")),
    "ts_us": pa.array([-62135596800000000, 253402300799999999, N], pa.timestamp("us")),
    "ts_ns": pa.array(ns, pa.timestamp("ns")),
    "ts_utc": pa.array(ns, pa.timestamp("ns", tz="UTC")),
    "ts_zone": pa.array(ns, pa.timestamp("us", tz="America/New_York")),
    "f16": pa.array([1.5, N, -2.0], pa.float32()).cast(pa.float16()),
    "dict": pa.array(["a", "b", N]).dictionary_encode(),
    "dict_int": pa.array([1, 2, N]).dictionary_encode(),
    "large": pa.array(["a", "", N], pa.large_string()),
    "view": pa.array(["a", "", N], pa.string_view()),
    "large_bytes": pa.array([b"a", b"", N], pa.large_binary()),
    "byte_view": pa.array([b"a", b"", N], pa.binary_view()),
    "fixed": pa.array([b"ab", b"cd", N], pa.binary(2)),
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0123456789abcdef", N, b"fedcba9876543210"], pa.binary(16))),
    "json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a":1}', N, "2"], pa.string())),
    "dec5": pa.array([D("1.25"), D(-3), N], pa.decimal128(5, 2)),
    "dec38": pa.array([D(10) ** 37, D(-3), N], pa.decimal128(38, 0)),
    "dec256": pa.array([D("1.25"), N, N], pa.decimal256(38, 2)),
    "time_ms": pa.array([0, 1, N], pa.time32("ms")),
    "time_ns": pa.array([0, 1999, N], pa.time64("ns")),
    "date32": pa.array([0, -1, N], pa.date32()),
    "date64": pa.array([0, -86400000, N], pa.date64()),
    "nothing": pa.array([N, N, N], pa.null()),
    "list": pa.array([["a", N], [], N], pa.list_(pa.string())),
    "large_list": pa.array([["a", N], [], N], pa.large_list(pa.large_string())),
    "pairs": pa.array([[1, 2], [3, 4], N], pa.list_(pa.int32(), 2)),
    "list_u32": pa.array([[4294967295, N], [], N], pa.list_(pa.uint32())),
    "list_ns": pa.array([[1], [], N], pa.list_(pa.timestamp("ns"))),
    "deep": pa.array([[{"a": [1], "b": "x"}], [], N], pa.list_(pa.struct([("a", pa.list_(pa.int8())), ("b", pa.dictionary(pa.int8(), pa.string()))]))),
    "struct": pa.array([{"a": 1, "u": 2**64 - 1}, {"a": N, "u": N}, N], pa.struct([("a", pa.int16()), ("u", pa.uint64())])),
    "map": pa.array([[("a", 1)], [], N], pa.map_(pa.large_string(), pa.uint16())),
}
write("types", table(**columns))
write("old", table(**{name: c for name, c in columns.items() if "ns" not in name and name != "ts_utc"}), version="1.0", use_compliant_nested_type=False, store_schema=False, data_page_version="2.0", use_dictionary=False)
for name, decimals in (("d9", (9, 2)), ("d18", (18, 2))):
    write(name, table(c=pa.array([D("1.25"), D(-3), N], pa.decimal128(*decimals))), store_decimal_as_integer=True)
`)
	want := map[string]string{
		"ts_s":    "timestamp: 1970-01-01T00:00:00 | 1969-12-31T23:59:59 | NULL",
		"ts_ms":   "timestamp: 1970-01-01T00:00:00 | 1969-12-31T23:59:59.999 | 1970-01-24T03:33:19.999",
		"ts_us":   "timestamp: 0001-01-01T00:00:00 | 9999-12-31T23:59:59.999999 | NULL",
		"ts_ns":   "timestamp: 1970-01-01T00:00:00 | 1969-12-31T23:59:59.999999 | 1970-01-01T00:00:01.999999",
		"ts_utc":  "timestamptz: 1970-01-01T00:00:00Z | 1969-12-31T23:59:59.999999Z | 1970-01-01T00:00:01.999999Z",
		"ts_zone": "timestamptz: 1970-01-01T00:00:00Z | 1969-12-31T23:59:59.999999Z | 1970-01-01T00:33:19.999999Z",
		"f16":     "float: 1.5 | NULL | -2", "dict": `string: "a" | "b" | NULL`, "dict_int": "long: 1 | 2 | NULL",
		"large": `string: "a" | "" | NULL`, "view": `string: "a" | "" | NULL`, "large_bytes": "binary: 61 |  | NULL", "byte_view": "binary: 61 |  | NULL",
		"fixed": "fixed[2]: 6162 | 6364 | NULL",
		"uuid":  "uuid: 30313233-3435-3637-3839-616263646566 | NULL | 66656463-6261-3938-3736-353433323130",
		"json":  `string: "{\"a\":1}" | NULL | "2"`,
		"dec5":  "decimal(5, 2): 1.25 | -3.00 | NULL", "dec38": "decimal(38, 0): 1" + strings.Repeat("0", 37) + " | -3 | NULL", "dec256": "decimal(38, 2): 1.25 | NULL | NULL",
		"time_ms": "time: 00:00:00.000000 | 00:00:00.001000 | NULL", "time_ns": "time: 00:00:00.000000 | 00:00:00.000001 | NULL",
		"date32": "date: 1970-01-01 | 1969-12-31 | NULL", "date64": "date: 1970-01-01 | 1969-12-31 | NULL",
		"nothing": "string: NULL | NULL | NULL",
		"list":    `list: ["a" NULL] | [] | NULL`, "large_list": `list: ["a" NULL] | [] | NULL`, "pairs": "list: [1 2] | [3 4] | NULL",
		"list_u32": "list: [4294967295 NULL] | [] | NULL", "list_ns": "list: [1970-01-01T00:00:00] | [] | NULL",
		"deep": `list: [{a:[1] b:"x"}] | [] | NULL`, "struct": "struct: {a:1 u:18446744073709551615} | {a:NULL u:NULL} | NULL",
		"map": `map: [{key:"a" value:1}] | [] | NULL`,
		"id":  "long: 1 | 2 | 3", "at": "timestamptz: 2026-05-04T01:00:00Z | 2026-05-04T01:00:00Z | 2026-05-04T01:00:00Z",
	}
	for _, name := range []string{"types", "old", "d9", "d18"} {
		cat := testenv.Catalog(t)
		if _, err := parquetLoad(t, cat, arrowio.Config{Path: filepath.Join(dir, name+".parquet")}, lake.Load{}); err != nil {
			t.Fatal(err)
		}
		got := columnTexts(t, cat, "wild")
		if strings.HasPrefix(name, "d") {
			if got := strings.Split(got["c"], ": ")[1]; got != "1.25 | -3.00 | NULL" {
				t.Errorf("%s: %s", name, got)
			}
			continue
		}
		for column, text := range want {
			if _, ns := got[column]; name == "old" && !ns && (strings.Contains(column, "ns") || column == "ts_utc") {
				continue // which these files cannot hold
			}
			if got[column] != text {
				t.Errorf("%s: %s is %s, want %s", name, column, got[column], text)
			}
		}
		if len(got) < 30 {
			t.Errorf("%s has %d columns", name, len(got))
		}
	}
}

// Unsigned numbers get a signed type that holds them all.
func TestCase62_UnsignedIntegers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.PyArrow(t, dir, wildHead+`
columns = {"u%d" % b: pa.array([0, 2**b - 1, N], getattr(pa, "uint%d" % b)()) for b in (8, 16, 32, 64)}
write("new", table(**columns))
write("old", table(**columns), version="1.0", store_schema=False)
`)
	for _, name := range []string{"new", "old"} {
		cat := testenv.Catalog(t)
		if _, err := parquetLoad(t, cat, arrowio.Config{Path: filepath.Join(dir, name+".parquet")}, lake.Load{}); err != nil {
			t.Fatal(err)
		}
		got := columnTexts(t, cat, "wild")
		for column, want := range map[string]string{
			"u8": "int: 0 | 255 | NULL", "u16": "int: 0 | 65535 | NULL", "u32": "long: 0 | 4294967295 | NULL", "u64": "decimal(20, 0): 0 | 18446744073709551615 | NULL",
		} {
			if got[column] != want {
				t.Errorf("%s: %s is %s, want %s", name, column, got[column], want)
			}
		}
		agree(t, cat, lake.Load{Table: testenv.Ident("wild")})
	}
}

// A named zone is an instant, and its partition that of UTC; a time without
// a zone needs one that is declared.
func TestCase67_NamedZonesAndNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.PyArrow(t, dir, `
midnight = datetime.datetime(2026, 5, 4)
for name, zone in (("named", "America/New_York"), ("naive", None)):
    when = pa.array([midnight], pa.timestamp("us")) if zone is None else pa.array([midnight + datetime.timedelta(hours=4)], pa.timestamp("us", tz=zone))
    pq.write_table(pa.table({"id": [1], "at": when}), folder + "/" + name + ".parquet")
`)
	cat := testenv.Catalog(t)
	if _, err := parquetLoad(t, cat, arrowio.Config{Path: filepath.Join(dir, "named.parquet")}, lake.Load{PartitionBy: []string{"hour(at)"}}); err != nil {
		t.Fatal(err)
	}
	if got := columnTexts(t, cat, "wild")["at"]; got != "timestamptz: 2026-05-04T04:00:00Z" {
		t.Errorf("a named zone: %s", got)
	}
	if paths := testenv.DataFiles(t, testenv.Load(t, cat, testenv.Ident("wild"))); len(paths) != 1 || !strings.Contains(paths[0], "2026-05-04-04") {
		t.Errorf("the partition of 04:00 in UTC: %q", paths)
	}
	_, err := parquetLoad(t, cat, arrowio.Config{Path: filepath.Join(dir, "naive.parquet")}, lake.Load{})
	if !errors.Is(err, lake.ErrInput) || !strings.Contains(err.Error(), "timezone") {
		t.Errorf("no zone: %v", err)
	}
}

// INT96 is exact to the microsecond from year 1 to 9999, in columns, lists and
// structs, and nanoseconds are floored.
func TestCase95_INT96AndSentinelDates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.PyArrow(t, dir, wildHead+`
far = pa.array([at(1, 1, 1), at(9999, 12, 31, 23, 59, 59, 999999), N], pa.timestamp("us"))
columns = {
    "c": far,
    "ns": pa.array([1704067200123456789, -1, N], pa.timestamp("ns")),
    "l": pa.ListArray.from_arrays(pa.array([0, 2, 2, 3]), far),
    "s": pa.StructArray.from_arrays([far], ["a"]),
}
write("a", table(**columns), use_deprecated_int96_timestamps=True)
write("b", table(**columns), use_deprecated_int96_timestamps=True, use_dictionary=False, compression="zstd", data_page_version="2.0", store_schema=False)
`)
	for _, name := range []string{"a", "b"} {
		cat := testenv.Catalog(t)
		naive := parquetColumn(t, cat, dir, name, "c", arrowio.Config{})
		if naive != "timestamp: 0001-01-01T00:00:00 | 9999-12-31T23:59:59.999999 | NULL" {
			t.Errorf("%s: c is %s", name, naive)
		}
		for column, want := range map[string]string{
			"ns": "timestamp: 2024-01-01T00:00:00.123456 | 1969-12-31T23:59:59.999999 | NULL",
			"l":  "list: [0001-01-01T00:00:00 9999-12-31T23:59:59.999999] | [] | [NULL]",
			"s":  "struct: {a:0001-01-01T00:00:00} | {a:9999-12-31T23:59:59.999999} | {a:NULL}",
			"at": "timestamp: 2026-05-04T01:00:00 | 2026-05-04T01:00:00 | 2026-05-04T01:00:00",
		} {
			if got := columnTexts(t, cat, "wild")[column]; got != want {
				t.Errorf("%s: %s is %s, want %s", name, column, got, want)
			}
		}
		// As a timestamptz the times need a zone, for INT96 does not say which.
		cat = testenv.Catalog(t)
		types := map[string]arrow.DataType{"at": instants(), "c": instants()}
		_, err := parquetLoad(t, cat, arrowio.Config{Path: filepath.Join(dir, name+".parquet"), Types: types}, lake.Load{})
		if !errors.Is(err, lake.ErrInput) || !strings.Contains(err.Error(), "timezone") {
			t.Errorf("%s without a zone: %v", name, err)
		}
		if got := parquetColumn(t, cat, dir, name, "c", arrowio.Config{Types: types, Zone: time.UTC}); got != "timestamptz: 0001-01-01T00:00:00Z | 9999-12-31T23:59:59.999999Z | NULL" {
			t.Errorf("%s in UTC: %s", name, got)
		}
	}
}

func parquetColumn(t *testing.T, cat *testenv.LocalCatalog, dir, file, column string, cfg arrowio.Config) string {
	t.Helper()
	cfg.Path = filepath.Join(dir, file+".parquet")
	if _, err := parquetLoad(t, cat, cfg, lake.Load{}); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return columnTexts(t, cat, "wild")[column]
}

// Files of one window differ in order, types and spelling of their columns:
// they are matched by name and widened, whichever comes first.
func TestCase96_FilesOfDifferentSchemas(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"id_x":   `pa.table({"id": pa.array([1], pa.int32()), "at": when, "x": pa.array([0.5], pa.float32()), "d": pa.array([1], pa.decimal128(5, 1)), "s": pa.array([{"a": 1}], pa.struct([("a", pa.int32())]))})`,
		"x_id":   `pa.table({"x": pa.array([0.1], pa.float64()), "at": when, "id": pa.array([5000000000], pa.int64()), "d": pa.array([decimal.Decimal("12345678.5")], pa.decimal128(9, 1)), "s": pa.array([{"b": "x", "a": 2**40}], pa.struct([("b", pa.string()), ("a", pa.int64())]))})`,
		"ID_y":   `pa.table({"ID": pa.array([3], pa.int64()), "y": pa.array(["y"]), "at": when, "x": pa.array([None], pa.null())})`,
		"no_row": `pa.table({"id": pa.array([], pa.int16()), "at": when.slice(0, 0)})`,
	}
	want := map[string]string{
		"id": "long: 1 | 3 | 5000000000", "x": "double: 0.5 | NULL | 0.1", "d": "decimal(9, 1): 1.0 | NULL | 12345678.5", "y": `string: NULL | "y" | NULL`,
		"s": `struct: {a:1 b:NULL} | NULL | {a:1099511627776 b:"x"}`, "at": "timestamptz: 2026-05-04T01:00:00Z | 2026-05-04T01:00:00Z | 2026-05-04T01:00:00Z",
	}
	for _, order := range [][]string{{"id_x", "x_id", "ID_y", "no_row"}, {"no_row", "ID_y", "x_id", "id_x"}, {"x_id", "id_x", "no_row", "ID_y"}} {
		dir := t.TempDir()
		statements := "when = pa.array([datetime.datetime(2026, 5, 4, 1)], pa.timestamp(\"us\", tz=\"UTC\"))\n"
		for i, name := range order {
			statements += fmt.Sprintf("pq.write_table(%s, folder + \"/%d.parquet\")\n", files[name], i)
		}
		testenv.PyArrow(t, dir, statements)
		cat := testenv.Catalog(t)
		if _, err := parquetLoad(t, cat, arrowio.Config{Path: filepath.Join(dir, "*.parquet")}, lake.Load{}); err != nil {
			t.Fatalf("%q: %v", order, err)
		}
		got := map[string]string{}
		for name, text := range spelledOut(t, cat) {
			got[strings.ToLower(name)] = text
		}
		if s := got["s"]; strings.Contains(s, "{b:") { // the fields come as in the first file
			got["s"] = `struct: {a:1 b:NULL} | NULL | {a:1099511627776 b:"x"}`
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q; -want +got:\n%s", order, diff)
		}
		// On a table that lacks y, that is said, or left out.
		cat = testenv.Catalog(t)
		if _, err := parquetLoad(t, cat, arrowio.Config{Path: filepath.Join(dir, fmt.Sprint(indexOf(order, "x_id"))+".parquet")}, lake.Load{}); err != nil {
			t.Fatal(err)
		}
		_, err := parquetLoad(t, cat, arrowio.Config{Path: filepath.Join(dir, "*.parquet")}, lake.Load{})
		if !errors.Is(err, lake.ErrSchema) || !strings.Contains(err.Error(), `"y"`) {
			t.Errorf("%q into a table without y: %v", order, err)
		}
		r, err := parquetLoad(t, cat, arrowio.Config{Path: filepath.Join(dir, "*.parquet")}, lake.Load{Schema: lake.Ignore})
		if err != nil || strings.Join(r.Ignored, " ") != "y" || r.Rows.Written != 3 {
			t.Errorf("%q: y is ignored: %q, %+v, %v", order, r.Ignored, r.Rows, err)
		}
	}
}

// spelledOut is columnTexts whatever the case of id.
func spelledOut(t *testing.T, cat *testenv.LocalCatalog) map[string]string {
	t.Helper()
	if _, ok := testenv.Load(t, cat, testenv.Ident("wild")).Schema().FindFieldByName("id"); ok {
		return columnTexts(t, cat, "wild")
	}
	return columnTextsBy(t, cat, "wild", "ID")
}

func indexOf(list []string, s string) int {
	for i, x := range list {
		if x == s {
			return i
		}
	}
	return -1
}

// Every codec and encoding reads as the same rows.
func TestParquetCodecsAndEncodings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.PyArrow(t, dir, `
n = 3000
t = pa.table({
    "id": pa.array(range(n), pa.int64()),
    "at": pa.array([datetime.datetime(2026, 5, 4) + datetime.timedelta(seconds=i) for i in range(n)], pa.timestamp("us", tz="UTC")),
    "small": pa.array([None if i % 7 == 0 else i - 1500 for i in range(n)], pa.int32()),
    "text": pa.array([None if i % 11 == 0 else "text %d" % (i // 3) for i in range(n)]),
    "ratio": pa.array([i / 3 for i in range(n)], pa.float64()),
    "part": pa.array([i / 4 for i in range(n)], pa.float32()),
    "flag": pa.array([None if i % 5 == 0 else i % 2 == 0 for i in range(n)]),
    "price": pa.array([decimal.Decimal(i) / 4 for i in range(n)], pa.decimal128(12, 2)),
})
def write(name, **options):
    pq.write_table(t, folder + "/" + name + ".parquet", row_group_size=1000, **options)
for codec in ("none", "snappy", "gzip", "zstd", "brotli", "lz4"):
    write(codec, compression=codec)
    write(codec + "_v2", compression=codec, data_page_version="2.0", write_page_index=True, write_page_checksum=True, data_page_size=2000)
plain = {c: "PLAIN" for c in t.column_names}
def encoded(name, **columns):
    write(name, use_dictionary=False, column_encoding=plain | columns)
encoded("plain")
encoded("delta", id="DELTA_BINARY_PACKED", small="DELTA_BINARY_PACKED", at="DELTA_BINARY_PACKED", text="DELTA_LENGTH_BYTE_ARRAY", flag="RLE")
encoded("delta_text", text="DELTA_BYTE_ARRAY")
encoded("split", ratio="BYTE_STREAM_SPLIT", part="BYTE_STREAM_SPLIT", id="BYTE_STREAM_SPLIT", small="BYTE_STREAM_SPLIT", price="BYTE_STREAM_SPLIT")
`)
	paths, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil || len(paths) != 16 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	var want []string
	for _, path := range paths {
		cat := testenv.Catalog(t)
		if _, err := parquetLoad(t, cat, arrowio.Config{Path: path}, lake.Load{}); err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
			continue
		}
		got := testenv.ReadAll(t, testenv.Load(t, cat, testenv.Ident("wild")))
		if want == nil {
			want = got
			py := testenv.PyIceberg(t, testenv.Load(t, cat, testenv.Ident("wild")).MetadataLocation(), nil, testenv.PyScan{Sum: []string{"id", "small", "price", "null(text)", "null(flag)"}})
			sums := map[string]string{"id": "4498500", "small": "-642", "price": "1124625.00", "null(text)": "273", "null(flag)": "600"}
			if diff := cmp.Diff(sums, py.Sums); diff != "" || py.Count != 3000 {
				t.Errorf("%s: %d rows; -want +got:\n%s", filepath.Base(path), py.Count, diff)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s reads as other rows (-want +got):\n%.2000s", filepath.Base(path), diff)
		}
	}
}

// Files that hold nothing, or that cannot be read, are named before anything is
// committed.
func TestParquetThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.PyArrow(t, dir, wildHead+`
import base64
import pyarrow.parquet.encryption as pe
class Keys(pe.KmsClient):
    def __init__(self, config):
        pe.KmsClient.__init__(self)
    def wrap_key(self, key, master):
        return base64.b64encode(key)
    def unwrap_key(self, wrapped, master):
        return base64.b64decode(wrapped)
good = table(c=[1, 2, 3])
write("good", good)
write("twice", pa.Table.from_arrays([good["id"], good["at"], good["c"], good["c"]], names=["id", "at", "c", "c"]))
write("twins", pa.Table.from_arrays([good["id"], good["at"], good["c"], good["c"]], names=["id", "at", "c", "C"]))
write("far", table(f=pa.array([0, 1, 2**62], pa.timestamp("ms"))))
write("encoding", table(f=pa.array([decimal.Decimal(1)] * 3, pa.decimal128(9, 2))), use_dictionary=False, column_encoding={"id": "PLAIN", "at": "PLAIN", "f": "DELTA_BYTE_ARRAY"})
write("duration", table(c=pa.array([0, 1, N], pa.duration("us"))))
factory, kms = pe.CryptoFactory(Keys), pe.KmsConnectionConfig()
for name, plain in (("footer", False), ("column", True)):
    config = pe.EncryptionConfiguration(footer_key="f", column_keys={"k": ["c"]}, plaintext_footer=plain)
    write("encrypted_" + name, good, encryption_properties=factory.file_encryption_properties(kms, config))
`)
	good, err := os.ReadFile(filepath.Join(dir, "good.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"empty": nil, "cut": good[:len(good)-50], "head": good[:100], "csv": []byte("id,at\n1,2026-05-04\n")} {
		if err := os.WriteFile(filepath.Join(dir, name+".parquet"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, words := range map[string][]string{
		"empty": nil, "cut": nil, "head": nil, "csv": nil, "encrypted_footer": {"encrypted"}, "encrypted_column": {"encrypted"},
		"twice": {`two columns named "c"`}, "far": {"row 3", `"f"`, "timestamp"}, "encoding": {`not read here`, "encoding"}, "duration": {`"c"`, "duration"},
	} {
		cat := testenv.Catalog(t)
		_, err := parquetLoad(t, cat, arrowio.Config{Path: filepath.Join(dir, "{good,"+name+"}.parquet")}, lake.Load{})
		if !errors.Is(err, lake.ErrInput) || testenv.Exists(t, cat, testenv.Ident("wild")) {
			t.Errorf("%s: %v, want an error of the input and no table", name, err)
			continue
		}
		for _, word := range append(words, name+".parquet") {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v, which does not say %q", name, err, word)
			}
		}
	}
	cat := testenv.Catalog(t)
	if _, err := parquetLoad(t, cat, arrowio.Config{Path: filepath.Join(dir, "twins.parquet")}, lake.Load{}); !errors.Is(err, lake.ErrSchema) {
		t.Errorf("twins: %v", err)
	}
}

// A file that is replaced or removed after it was pinned ends the load, with
// its name and nothing changed; the load is just run again.
func TestSourceFileReplacedUnderALoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.PyArrow(t, dir, wildHead+`
write("a", table(c=[1, 2, 3]))
write("b", table(c=[4, 5, 6]))
`)
	data := map[string][]byte{}
	for _, name := range []string{"a", "b"} {
		raw, err := os.ReadFile(filepath.Join(dir, name+".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		data[name+".parquet"] = raw
		data[name+".csv"] = fmt.Appendf(nil, "id,at,c\n1,2026-05-04T01:00:00Z,%s\n", name)
	}
	for _, kind := range []string{".parquet", ".csv"} {
		for how, change := range map[string]func(path string) error{
			"replaced": func(path string) error { return os.WriteFile(path, data["b"+kind], 0o600) },
			"removed":  os.Remove,
		} {
			path := filepath.Join(t.TempDir(), "f"+kind)
			if err := os.WriteFile(path, data["a"+kind], 0o600); err != nil {
				t.Fatal(err)
			}
			cat := testenv.Catalog(t)
			src, err := arrowio.New(arrowio.Config{Path: path}, cat.Files())
			if err != nil {
				t.Fatal(err)
			}
			load := lake.Load{Table: testenv.Ident("wild"), TimeColumn: "at"}
			testenv.Check(t, cat, load.Table, nil)
			var changed error
			l := lake.Loader{Catalog: cat, Trace: &lake.Trace{Planned: func(*lake.Plan) { changed = change(path) }}}
			_, err = l.Load(t.Context(), load, src, parse(t, caseDay))
			if changed != nil || !errors.Is(err, lake.ErrInput) || !strings.Contains(err.Error(), path) || testenv.Exists(t, cat, load.Table) {
				t.Errorf("%s %s: %v, %v", kind, how, err, changed)
			}
			if err := os.WriteFile(path, data["b"+kind], 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), load, src, parse(t, caseDay))
			if err != nil || r.Rows.Written == 0 {
				t.Errorf("%s %s, run again: %+v, %v", kind, how, r.Rows, err)
			}
		}
	}
}
