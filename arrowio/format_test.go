package arrowio

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
)

// formatted reads text, quoted and not, as the only value of a column.
func formatted(t *testing.T, text string, typ arrow.DataType, o ColumnOptions) (string, error) {
	t.Helper()
	var value string
	var failed error
	for i, form := range []string{"v;w\n" + text + ";\n", "w;v\n;" + text + "\r\n", "v;w\n\"" + text + "\";\n"} {
		in := one(form).input(t, 256, CSVOptions{Delimiter: ';', Types: map[string]arrow.DataType{"v": typ}, Columns: map[string]ColumnOptions{"v": o}})
		got, err := rowsOf(t, in, fieldsOf("v!", typ), 1)
		cell := ""
		if err == nil {
			_, cell, _ = strings.Cut(got[0], " ")
		}
		if i > 0 && (cell != value || (err == nil) != (failed == nil)) {
			t.Errorf("%q as %s is %s, %v and in another place %s, %v", text, typ, value, failed, cell, err)
		}
		value, failed = cell, err
	}
	return value, failed
}

func wantFormatted(t *testing.T, typ arrow.DataType, o ColumnOptions, cells [][2]string) {
	t.Helper()
	for _, c := range cells {
		got, err := formatted(t, c[0], typ, o)
		if err != nil {
			got = "!"
			errorIsIn(t, err)
		}
		if got != c[1] {
			t.Errorf("%q by %s as %s is %s, %v; want %s", c[0], o.Format, typ, got, err, c[1])
		}
	}
}

func TestTimeFormats(t *testing.T) {
	wantFormatted(t, wallTime, ColumnOptions{Format: "%d.%m.%Y %H:%M:%S"}, [][2]string{
		{"04.05.2026 10:00:00", "2026-05-04 10:00:00"},
		{"4.5.2026 9:5:7", "2026-05-04 09:05:07"},
		{"29.02.2024 23:59:59", "2024-02-29 23:59:59"},
		{"29.02.2026 00:00:00", "!"},
		{"31.04.2026 00:00:00", "!"},
		{"05.13.2026 00:00:00", "!"},
		{"04.05.26 10:00:00", "!"},
		{"04.05.2026 24:00:00", "!"},
		{"04.05.2026 10:60:00", "!"},
		{"04.05.2026 10:00:60", "!"},
		{"04.05.2026 10:00", "!"},
		{"04.05.2026 10:00:00 ", "!"},
		{" 04.05.2026 10:00:00", "!"},
		{"2026-05-04 10:00:00", "!"},
		{"00.05.2026 10:00:00", "!"},
		{"01.01.0000 10:00:00", "!"},
		{"004.05.2026 10:00:00", "!"},
	})
	wantFormatted(t, wallTime, ColumnOptions{Format: "%Y%m%d%H%M%S.%f"}, [][2]string{
		{"20260504100000.1234567899", "2026-05-04 10:00:00.123456"},
		{"19691231235959.9999999", "1969-12-31 23:59:59.999999"},
		{"20260504100000.", "!"},
		{"2026054100000.1", "!"},
	})
	wantFormatted(t, wallTime, ColumnOptions{Format: "%m/%d/%y %I:%M %p"}, [][2]string{
		{"5/4/26 12:30 AM", "2026-05-04 00:30:00"},
		{"5/4/26 12:30 pm", "2026-05-04 12:30:00"},
		{"5/4/68 1:30 PM", "2068-05-04 13:30:00"},
		{"5/4/69 11:30 PM", "1969-05-04 23:30:00"},
		{"5/4/69 13:30 PM", "!"},
		{"5/4/69 0:30 AM", "!"},
	})
	wantFormatted(t, instant, ColumnOptions{Format: "%d/%b/%Y:%T %z"}, [][2]string{
		{"04/May/2026:10:00:00 +0200", "2026-05-04 08:00:00Z"},
		{"04/may/2026:10:00:00 Z", "2026-05-04 10:00:00Z"},
		{"04/MAY/2026:10:00:00 -05:30", "2026-05-04 15:30:00Z"},
		{"04/May/2026:10:00:00 +02", "2026-05-04 08:00:00Z"},
		{"04/Mai/2026:10:00:00 +0200", "!"},
		{"04/May/2026:10:00:00", "!"},
		{"04/May/2026:10:00:00 +2500", "!"},
	})
	wantFormatted(t, arrow.FixedWidthTypes.Date32, ColumnOptions{Format: "%a, %d %B %Y"}, [][2]string{
		{"Mon, 04 May 2026", "2026-05-04"},
		{"thu, 1 january 1970", "1970-01-01"},
		{"Mon, 1 January 0001", "0001-01-01"},
		{"Tue, 04 May 2026", "!"},
		{"Mon, 04 Ma 2026", "!"},
	})
	wantFormatted(t, arrow.FixedWidthTypes.Time64us, ColumnOptions{Format: "%Hh%M"}, [][2]string{{"7h05", "07:05:00.000000"}, {"24h00", "!"}})
	wantFormatted(t, wallTime, ColumnOptions{Format: "100%% %F"}, [][2]string{{"100% 2026-05-04", "2026-05-04 00:00:00"}, {"100 2026-05-04", "!"}})
}

func TestUnixTimes(t *testing.T) {
	wantFormatted(t, instant, ColumnOptions{Format: "unix_s"}, [][2]string{
		{"1777888800", "2026-05-04 10:00:00Z"},
		{"1777888800.25", "2026-05-04 10:00:00.25Z"},
		{"-1", "1969-12-31 23:59:59Z"},
		{"-0.0000001", "1969-12-31 23:59:59.999999Z"},
		{"-0.5", "1969-12-31 23:59:59.5Z"},
		{"0.9999999", "1970-01-01 00:00:00.999999Z"},
		{"1.", "!"},
		{"", "!"},
		{"1e3", "!"},
		{"+1", "!"},
		{"1777888800000", "!"},
		{"253402300799", "9999-12-31 23:59:59Z"},
		{"253402300800", "!"},
		{"9223372036854775807", "!"},
		{"9223372036854", "!"},
	})
	wantFormatted(t, instant, ColumnOptions{Format: "unix_ms"}, [][2]string{{"1777888800123", "2026-05-04 10:00:00.123Z"}, {"1777888800123.5", "!"}})
	wantFormatted(t, instant, ColumnOptions{Format: "unix_us"}, [][2]string{{"-1", "1969-12-31 23:59:59.999999Z"}})
	wantFormatted(t, instant, ColumnOptions{Format: "unix_ns"}, [][2]string{{"-1", "1969-12-31 23:59:59.999999Z"}, {"1999", "1970-01-01 00:00:00.000001Z"}})
}

func TestNumberFormats(t *testing.T) {
	double := arrow.PrimitiveTypes.Float64
	wantFormatted(t, dec18x2, ColumnOptions{Format: "1.234,56"}, [][2]string{
		{"1.234,56", "1234.56"},
		{"1234,56", "1234.56"},
		{"-1.234.567,8", "-1234567.80"},
		{"0,5", "0.50"},
		{",5", "0.50"},
		{"7", "7.00"},
		{"1.234", "1234.00"},
		{"1,5e1", "15.00"},
		{"1.5", "!"},
		{"1.23", "!"},
		{"12.34,5", "!"},
		{"1234.567,8", "!"},
		{"1,234.5", "!"},
		{"1,2,3", "!"},
		{".234", "!"},
		{"1..234", "!"},
		{"1.234.", "!"},
		{"1,555", "!"},
		{"", "!"},
		{"-", "!"},
		{" 1", "!"},
		{"1.2345", "!"},
		{"0.001,5", "1.50"},
	})
	wantFormatted(t, double, ColumnOptions{Format: "1234,56"}, [][2]string{
		{"1234,5", "1234.5"}, {"1234.5", "!"}, {"1.234,5", "!"}, {"NaN", "NaN"}, {"12345678901234567,25", "1.2345678901234568e+16"}, {"1,5e300", "1.5e+300"},
	})
	wantFormatted(t, arrow.PrimitiveTypes.Float32, ColumnOptions{Format: "1'234.56"}, [][2]string{{"1'234.5", "1234.5"}, {"1,5", "!"}, {"12'34", "!"}})
	wantFormatted(t, long, ColumnOptions{Format: "1,234.56"}, [][2]string{{"1,234,567", "1234567"}, {"1234567", "1234567"}, {"12,34", "!"}, {"1,234.0", "!"}})
	wantFormatted(t, arrow.PrimitiveTypes.Int32, ColumnOptions{Format: "1 234,56"}, [][2]string{
		{"1 234", "1234"}, {"1\u202f234\u00a0567", "1234567"}, {"3 000 000 000", "!"}, {"1 2", "!"},
	})
}

// A comma that separates and is a decimal point as well needs quotes.
func TestDecimalCommaBetweenCommas(t *testing.T) {
	in := one("a,b\n\"1,5\",\"2,25\"\n3,4\n").input(t, 0, CSVOptions{Numbers: "1234,56"})
	got, err := rowsOf(t, in, fieldsOf("a", dec18x2, "b", arrow.PrimitiveTypes.Float64), 1)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, got, "1.50 | 2.25", "3.00 | 4")
}

func TestInferenceHeedsNumbers(t *testing.T) {
	comma := CSVOptions{Delimiter: ';', Numbers: "1.234,56"}
	wantInferred(t, one("v\n1.234\n2,5\n"), comma, "v", "decimal(18, 1)", `"2,5" at a.csv line 3`)
	wantInferred(t, one("v\n1.234\n"), comma, "v", "int64", `"1.234" at a.csv line 2`)
	wantInferred(t, one("v\n1,5\n1.5\n"), comma, "v", "utf8", `"1.5" at a.csv line 3`)
	wantInferred(t, one("v\n2026-05-04\n"), comma, "v", "date32", `"2026-05-04" at a.csv line 2`)
	wantInferred(t, one("v\n007\n"), comma, "v", "utf8", `"007" at a.csv line 2`)
	plain := comma
	plain.Columns = map[string]ColumnOptions{"v": {Format: "1234.56"}}
	wantInferred(t, one("v\n1.234\n"), plain, "v", "decimal(18, 3)", `"1.234" at a.csv line 2`)
}

func TestFormatMistakes(t *testing.T) {
	berlin := mustZone(t, "Europe/Berlin")
	date := arrow.FixedWidthTypes.Date32
	for _, tt := range []struct {
		typ  arrow.DataType
		o    ColumnOptions
		want string
	}{
		{nil, ColumnOptions{Format: "%d.%m"}, "a date needs a year, a month and a day"},
		{nil, ColumnOptions{Format: "%Y-%m-%d %M"}, "needs the hour before the minute"},
		{nil, ColumnOptions{Format: "%Y-%m-%d %I"}, "%I and %p belong together"},
		{nil, ColumnOptions{Format: "%Y-%m-%d %H %p"}, "%I and %p belong together"},
		{nil, ColumnOptions{Format: "%Y-%m-%d %y"}, "%y or the like twice"},
		{nil, ColumnOptions{Format: "%Y-%m-%d %"}, "ends in a single %"},
		{nil, ColumnOptions{Format: "%Y-%m-%d %Q"}, "it has %Q, and there are %Y %y"},
		{nil, ColumnOptions{Format: "%H:%M:%S.%f%d%m%Y"}, "follows %f at once"},
		{nil, ColumnOptions{Format: "%a"}, "neither a date nor a time of day"},
		{nil, ColumnOptions{Format: "%H %z"}, "an offset belongs to a date"},
		{date, ColumnOptions{Format: "%Y-%m-%d %H"}, "must have a date, and nothing else"},
		{wallTime, ColumnOptions{Format: "%F %T %z"}, "neither an offset nor a zone"},
		{wallTime, ColumnOptions{Format: "unix_ms"}, "neither an offset nor a zone"},
		{instant, ColumnOptions{Format: "%F %T"}, "an offset (%z) unless the time zone is declared"},
		{arrow.FixedWidthTypes.Time64us, ColumnOptions{Format: "%F"}, "a time of day, and nothing else"},
		{str, ColumnOptions{Format: "%F"}, "is for times and numbers, and the type is string"},
		{long, ColumnOptions{Format: "%F"}, "say how 1234.56 is written"},
		{nil, ColumnOptions{Format: "1,234,56"}, "say how 1234.56 is written"},
		{nil, ColumnOptions{Format: "decimal_comma"}, "say how 1234.56 is written"},
		{wallTime, ColumnOptions{Zone: berlin}, "it must be timestamptz"},
		{instant, ColumnOptions{Fold: EarlierFold}, "fold earlier needs the time zone"},
		{instant, ColumnOptions{Zone: berlin, Fold: "first"}, "there are earlier and later"},
	} {
		_, err := newCSV(nil, nil, lake.Origin{}, CSVOptions{Types: map[string]arrow.DataType{"v": tt.typ}, Columns: map[string]ColumnOptions{"v": tt.o}})
		if !errors.Is(err, lake.ErrUsage) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), `column "v"`) {
			t.Errorf("%v as %v: %v, want %s", tt.o, tt.typ, err, tt.want)
		}
	}
}

func TestFormatsImplyTypes(t *testing.T) {
	for format, want := range map[string]string{
		"%d.%m.%Y": "date32", "%H:%M": "time64[us]", "%F %T": "timestamp[us]", "%F %T %z": "timestamp[us, tz=UTC]", "unix_s": "timestamp[us, tz=UTC]",
	} {
		in := one("v\n").input(t, 0, CSVOptions{Columns: map[string]ColumnOptions{"v": {Format: format}}})
		columns, err := in.Columns(t.Context())
		if err != nil || columns[0].Type == nil || columns[0].Type.String() != want {
			t.Errorf("%s: Columns() = %v, %v, want %s", format, columns, err, want)
		}
	}
}

// Two columns of one file may be in two zones, and one set back its clocks
// while the other did not.
func TestColumnsInTwoZones(t *testing.T) {
	options := map[string]ColumnOptions{
		"b": {Zone: mustZone(t, "Europe/Berlin"), Fold: LaterFold, Format: "%d.%m.%Y %H:%M"},
		"s": {Zone: mustZone(t, "Asia/Shanghai")},
	}
	text := "b,s\n25.10.2026 02:30,2026-10-25 02:30:00\n25.10.2026 01:30,2026-10-25 02:30:00.1234567\n"
	got, err := rowsOf(t, one(text).input(t, 0, CSVOptions{Columns: options}), fieldsOf("b", instant, "s", instant), 1)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, got, "2026-10-25 01:30:00Z | 2026-10-24 18:30:00Z", "2026-10-24 23:30:00Z | 2026-10-24 18:30:00.123456Z")

	options["b"] = ColumnOptions{Zone: mustZone(t, "Europe/Berlin"), Format: "%d.%m.%Y %H:%M"}
	_, err = rowsOf(t, one(text).input(t, 0, CSVOptions{Columns: options}), fieldsOf("b", instant, "s", instant), 1)
	wantError(t, err, `a.csv line 2, column "b": "25.10.2026 02:30" is not a timestamptz: clocks in Europe/Berlin show it twice, at 2026-10-25T00:30:00Z and at 2026-10-25T01:30:00Z: say which with fold: earlier or fold: later, or write offsets`)
	_, err = rowsOf(t, one("b,s\n29.03.2026 02:30,\n").input(t, 0, CSVOptions{Columns: options}), fieldsOf("b", instant, "s", instant), 1)
	wantError(t, err, `a.csv line 2, column "b": "29.03.2026 02:30" is not a timestamptz: clocks in Europe/Berlin skip it: they go from 2026-03-29 02:00:00 to 2026-03-29 03:00:00`)
}

// Clocks in Samoa once skipped a whole day.
func TestASkippedDay(t *testing.T) {
	clock := localClock{zone: mustZone(t, "Pacific/Apia")}
	_, err := clock.parse([]byte("2011-12-30 12:00:00"))
	if err == nil || !strings.Contains(err.Error(), "they go from 2011-12-30 00:00:00 to 2011-12-31 00:00:00") {
		t.Errorf("parse: %v", err)
	}
	got, err := parseInstant([]byte("2011-12-31 00:00:00"), clock.zone)
	if want := time.Date(2011, 12, 30, 10, 0, 0, 0, time.UTC).UnixMicro(); err != nil || got != want {
		t.Errorf("parse = %d, %v, want %d", got, err, want)
	}
}
