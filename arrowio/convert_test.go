package arrowio

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"
)

// wantCells reads each text as a value of type typ, without and within quotes,
// and as the last column of a file with CRLF: quick and exact conversions must
// agree. A want that begins with an exclamation mark is an error's end.
func wantCells(t *testing.T, typ arrow.DataType, opt CSVOptions, tests [][2]string) {
	t.Helper()
	for _, tt := range tests {
		quoted := `"` + strings.ReplaceAll(tt[0], `"`, `""`) + `"`
		for _, text := range []string{
			"v,w\n" + tt[0] + ",\n", "v,w\n" + quoted + ",\n", "w,v\r\n," + tt[0] + "\r\n", "w,v\n," + quoted, "w,v\n," + tt[0] + "\r",
		} {
			got, err := rowsOf(t, one(text).input(t, 1024, opt), fieldsOf("v", typ), 1)
			if reason, isErr := strings.CutPrefix(tt[1], "!"); isErr {
				value := shown([]byte(tt[0]))
				want := `a.csv line 2, column "v": ` + value + " is not " + typeName(typ) + reason
				wantError(t, err, want)
				continue
			}
			if err != nil {
				t.Errorf("%s of %q: %v", typ, text, err)
				continue
			}
			wantRows(t, got, tt[1])
		}
	}
}

func TestIntegers(t *testing.T) {
	wantCells(t, arrow.PrimitiveTypes.Int64, CSVOptions{}, [][2]string{
		{"0", "0"},
		{"-0", "0"},
		{"7", "7"},
		{"007", "7"},
		{"+5", "5"},
		{"-5", "-5"},
		{"12345678", "12345678"},
		{"123456789", "123456789"},
		{"-1234567", "-1234567"},
		{"999999999999999999", "999999999999999999"},
		{"1000000000000000000", "1000000000000000000"},
		{"9223372036854775807", "9223372036854775807"},
		{"-9223372036854775808", "-9223372036854775808"},
		{"0000000000000000000000000001", "1"},
		{"9223372036854775808", "!: out of range"},
		{"-9223372036854775809", "!: out of range"},
		{"99999999999999999999999", "!: out of range"},
		{"1 ", "!"},
		{" 1", "!"},
		{"1.0", "!"},
		{"1_000", "!"},
		{"1e3", "!"},
		{"0x10", "!"},
		{"-", "!"},
		{"+-1", "!"},
		{"--1", "!"},
		{"x", "!"},
		{"1x", "!"},
		{"１", "!"},
	})
	wantCells(t, arrow.PrimitiveTypes.Int32, CSVOptions{}, [][2]string{
		{"2147483647", "2147483647"},
		{"-2147483648", "-2147483648"},
		{"0002147483647", "2147483647"},
		{"2147483648", "!: out of range"},
		{"-2147483649", "!: out of range"},
		{"4294967296", "!: out of range"},
	})
}

func TestDecimals(t *testing.T) {
	wantCells(t, dec18x2, CSVOptions{}, [][2]string{
		{"0", "0.00"},
		{"-0", "0.00"},
		{"1.5", "1.50"},
		{"-1.5", "-1.50"},
		{"+1.50", "1.50"},
		{".5", "0.50"},
		{"-.5", "-0.50"},
		{"5.", "5.00"},
		{"1.500000", "1.50"},
		{"9999999999999999.99", "9999999999999999.99"},
		{"-9999999999999999.99", "-9999999999999999.99"},
		{"0000000000000000000000000000000000000000001.10", "1.10"},
		{"1e3", "1000.00"},
		{"1.5E-1", "0.15"},
		{"1500e-5", "!: it has more digits after the point than the column keeps"},
		{"1500e-4", "0.15"},
		{"0e999999999999999999999", "0.00"},
		{"0.000e-5", "0.00"},
		{"1e15", "1000000000000000.00"},
		{"1e16", "!: out of range"},
		{"1e999999999999999999999999", "!: out of range"},
		{"1e-99999999999999999999999", "!: it has more digits after the point than the column keeps"},
		{"10000000000000000", "!: out of range"},
		{"1.005", "!: it has more digits after the point than the column keeps"},
		{"1 5", "!"},
		{"1.5 ", "!"},
		{"1.2.3", "!"},
		{".", "!"},
		{"-", "!"},
		{"1e", "!"},
		{"e5", "!"},
		{"1e+", "!"},
		{"NaN", "!"},
		{"0x1", "!"},
		{"1_0", "!"},
	})
	nines := strings.Repeat("9", 38)
	wantCells(t, &arrow.Decimal128Type{Precision: 38, Scale: 0}, CSVOptions{}, [][2]string{
		{nines, nines}, {"-" + nines, "-" + nines}, {"1" + nines, "!: out of range"}, {"1e37", "1" + strings.Repeat("0", 37)}, {"1e38", "!: out of range"},
	})
	wantCells(t, &arrow.Decimal128Type{Precision: 38, Scale: 38}, CSVOptions{}, [][2]string{
		{"0." + nines, "0." + nines}, {"-0." + nines, "-0." + nines}, {"1", "!: out of range"},
	})
	wantCells(t, &arrow.Decimal128Type{Precision: 4, Scale: 1}, CSVOptions{}, [][2]string{
		{"999.9", "999.9"}, {"1000", "!: out of range"}, {"1000.0", "!: out of range"},
	})
	_, err := rowsOf(t, one("id,amount\n1,1.00\n2,\"12,5\"\n").input(t, 0, CSVOptions{}), fieldsOf("amount", dec18x2), 1)
	wantError(t, err, `a.csv line 3, column "amount": "12,5" is not a decimal(18, 2)`)
}

func TestFloats(t *testing.T) {
	wantCells(t, arrow.PrimitiveTypes.Float64, CSVOptions{}, [][2]string{
		{"0", "0"},
		{"-0", "-0"},
		{"-0.0", "-0"},
		{"0.1", "0.1"},
		{"1.7976931348623157e308", "1.7976931348623157e+308"},
		{"5e-324", "5e-324"},
		{"123456789.123456", "1.23456789123456e+08"},
		{"0.30000000000000004", "0.30000000000000004"},
		{"+1", "1"},
		{".5", "0.5"},
		{"5.", "5"},
		{"1E3", "1000"},
		{"NaN", "NaN"},
		{"nan", "NaN"},
		{"inf", "+Inf"},
		{"-Infinity", "-Inf"},
		{"1e999", "!: out of range"},
		{"0x1p-2", "!"},
		{"1_0", "!"},
		{"1 ", "!"},
		{"x", "!"},
	})
	wantCells(t, arrow.PrimitiveTypes.Float32, CSVOptions{}, [][2]string{
		{"0.1", "0.1"}, {"16777217", "1.6777216e+07"}, {"1e39", "!: out of range"}, {"NaN", "NaN"},
	})
}

func TestBooleansAndUUIDs(t *testing.T) {
	wantCells(t, arrow.FixedWidthTypes.Boolean, CSVOptions{}, [][2]string{
		{"true", "true"},
		{"TRUE", "true"},
		{"t", "true"},
		{"1", "true"},
		{"False", "false"},
		{"F", "false"},
		{"0", "false"},
		{"yes", "!"},
		{"2", "!"},
		{"true ", "!"},
		{"tru", "!"},
	})
	wantCells(t, extensions.NewUUIDType(), CSVOptions{}, [][2]string{
		{"f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"},
		{"F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"},
		{"f81d4fae7dec11d0a76500a0c91e6bf6", "!"},
		{"g81d4fae-7dec-11d0-a765-00a0c91e6bf6", "!"},
		{"f81d4fae-7dec-11d0-a765-00a0c91e6bf", "!"},
	})
}

func TestDatesAndTimes(t *testing.T) {
	wantCells(t, arrow.FixedWidthTypes.Date32, CSVOptions{}, [][2]string{
		{"1970-01-01", "1970-01-01"},
		{"1969-12-31", "1969-12-31"},
		{"0001-01-01", "0001-01-01"},
		{"9999-12-31", "9999-12-31"},
		{"2024-02-29", "2024-02-29"},
		{"2000-02-29", "2000-02-29"},
		{"1900-02-29", "!"},
		{"2023-02-29", "!"},
		{"2026-04-31", "!"},
		{"0000-01-01", "!"},
		{"2026-13-01", "!"},
		{"2026-00-01", "!"},
		{"2026-01-00", "!"},
		{"2026-1-1", "!"},
		{"20260101", "!"},
		{"2026-01-01 00:00:00", "!"},
		{"2026/01/01", "!"},
		{"2026-01-01 ", "!"},
		{"-2026-01-0", "!"},
	})
	wantCells(t, arrow.FixedWidthTypes.Time64us, CSVOptions{}, [][2]string{
		{"00:00", "00:00:00.000000"},
		{"10:20:30", "10:20:30.000000"},
		{"23:59:59.9999999", "23:59:59.999999"},
		{"10:20:30.5", "10:20:30.500000"},
		{"24:00:00", "!"},
		{"10:60", "!"},
		{"10:20:60", "!"},
		{"10:20:30.", "!"},
		{"1:20", "!"},
		{"10:20:3", "!"},
		{"10", "!"},
		{"10:20:30Z", "!"},
		{"10:20:", "!"},
	})
	zoned := "!: it has an offset, and the column has no time zone"
	wantCells(t, wallTime, CSVOptions{}, [][2]string{
		{"2026-01-02 03:04:05", "2026-01-02 03:04:05"},
		{"2026-01-02T03:04:05.123456", "2026-01-02 03:04:05.123456"},
		{"2026-01-02T03:04:05.1", "2026-01-02 03:04:05.1"},
		{"2026-01-02T03:04:05.1234567899999", "2026-01-02 03:04:05.123456"},
		{"2026-01-02", "2026-01-02 00:00:00"},
		{"2026-01-02 03:04", "2026-01-02 03:04:00"},
		{"1969-12-31 23:59:59.9999999", "1969-12-31 23:59:59.999999"},
		{"0001-01-01 00:00:00", "0001-01-01 00:00:00"},
		{"9999-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999"},
		{"2026-01-02 24:00:00", "!"},
		{"2026-01-02 03:04:60", "!"},
		{"2026-01-02 03:04:05.", "!"},
		{"2026-01-02  03:04:05", "!"},
		{"2026-01-02t03:04:05", "!"},
		{"2026-02-30 03:04:05", "!"},
		{"2026-01-02 0a:04:05", "!"},
		{"2026-01-02 03:04:05Z", zoned},
		{"2026-01-02 03:04:05+01:00", zoned},
		{"2026-01-02 03:04Z", zoned},
	})
}

func TestInstants(t *testing.T) {
	unzoned := "!: it has no offset; declare the time zone it is in, or write one"
	wantCells(t, instant, CSVOptions{}, [][2]string{
		{"2026-01-02T03:04:05Z", "2026-01-02 03:04:05Z"},
		{"2026-01-02 03:04:05.25+00", "2026-01-02 03:04:05.25Z"},
		{"2026-01-02 03:04Z", "2026-01-02 03:04:00Z"},
		{"2026-01-02T03:04:05+05:30", "2026-01-01 21:34:05Z"},
		{"2026-01-02T03:04:05-0800", "2026-01-02 11:04:05Z"},
		{"1969-12-31T23:59:59.9999999Z", "1969-12-31 23:59:59.999999Z"},
		{"2026-01-02T03:04:05", unzoned},
		{"2026-01-02", unzoned},
		{"2026-01-02T03:04:05z", "!"},
		{"2026-01-02T03:04:05 Z", "!"},
		{"2026-01-02T03:04:05+5", "!"},
		{"2026-01-02T03:04:05+24:00", "!"},
		{"2026-01-02T03:04:05+01:60", "!"},
		{"2026-01-02T03:04:05+01:0", "!"},
		{"2026-01-02Z", "!"},
		{"2026-01-02T03:04:05ZZ", "!"},
	})
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	wantCells(t, instant, CSVOptions{Zone: berlin}, [][2]string{
		{"2026-01-02 03:04:05", "2026-01-02 02:04:05Z"},
		{"2026-07-02 03:04:05", "2026-07-02 01:04:05Z"},
		{"2026-07-02 03:04:05Z", "2026-07-02 03:04:05Z"},
		{"2026-01-02", "2026-01-01 23:00:00Z"},
		{"2026-03-29 01:59:59", "2026-03-29 00:59:59Z"},
		{"2026-03-29 02:30:00", "!: clocks in Europe/Berlin skip it: they go from 2026-03-29 02:00:00 to 2026-03-29 03:00:00"},
		{"2026-03-29 03:00:00", "2026-03-29 01:00:00Z"},
		{"2026-10-25 02:30:00", "!: clocks in Europe/Berlin show it twice, at 2026-10-25T00:30:00Z and at 2026-10-25T01:30:00Z: say which with fold: earlier or fold: later, or write offsets"},
		{"2026-10-25 03:00:00", "2026-10-25 02:00:00Z"},
	})
	wantCells(t, instant, CSVOptions{Zone: time.UTC}, [][2]string{
		{"2026-01-02 03:04:05", "2026-01-02 03:04:05Z"}, {"2026-01-02 03:04:05.5Z", "2026-01-02 03:04:05.5Z"}, {"2026-01-02 03:04:05+01", "2026-01-02 02:04:05Z"},
	})
}

func TestCalendarAgainstTime(t *testing.T) {
	day := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	for ; day.Year() < 10000; day = day.AddDate(0, 0, 1) {
		got, ok := dateAt([]byte(day.Format("2006-01-02")))
		if want := day.Unix() / 86400; !ok || int64(got) != want {
			t.Fatalf("dateAt(%s) = %d, %v, want %d", day.Format("2006-01-02"), got, ok, want)
		}
	}
}
