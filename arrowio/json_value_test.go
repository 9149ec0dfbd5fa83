package arrowio

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"
)

const (
	stringIn = " is a string, and the column takes "
	numberIn = " is a number, and the column takes "
)

func TestNDJSONIntegers(t *testing.T) {
	t.Parallel()
	wantValues(t, long, NDJSONOptions{}, [][2]string{
		{"0", "0"},
		{"-0", "0"},
		{"-5", "-5"},
		{"12345678", "12345678"},
		{"123456789012345678", "123456789012345678"},
		{"9007199254740993", "9007199254740993"},
		{"9223372036854775807", "9223372036854775807"},
		{"-9223372036854775808", "-9223372036854775808"},
		{"null", "(null)"},
		{"9223372036854775808", "!9223372036854775808 is not a long: out of range"},
		{"1.0", "!1.0 is not a long"},
		{"1e3", "!1e3 is not a long"},
		{`"12"`, `!"12"` + stringIn + "a long, written without quotes"},
		{"true", "!true is a boolean, and the column takes a long, written without quotes"},
		{`{"x":1}`, `!{"x":1} is an object, and the column takes a long, written without quotes`},
		{"007", "!007: this is no number of JSON"},
		{"-01", "!-01: this is no number of JSON"},
		{"1.", "!1.: this is no number of JSON"},
		{"-", "!-: this is no number of JSON"},
		{"1x", "!1x: this is no number of JSON"},
		{"1_000", "!1_000: this is no number of JSON"},
		{"0x10", "!0x10: this is no number of JSON"},
		{"+5", "!+5: this is no value of JSON"},
		{"NaN", "!NaN: this is no value of JSON"},
		{"Infinity", "!Infinity: this is no value of JSON"},
		{"-Infinity", "!-Infinity: this is no number of JSON"},
		{"nul", "!nul: this is no value of JSON"},
		{"'5'", "!'5': this is no value of JSON"},
	})
	wantValues(t, arrow.PrimitiveTypes.Int32, NDJSONOptions{}, [][2]string{
		{"2147483647", "2147483647"}, {"-2147483648", "-2147483648"}, {"2147483648", "!2147483648 is not an int: out of range"},
	})
}

func TestNDJSONDecimalsAndFloats(t *testing.T) {
	t.Parallel()
	wantValues(t, dec18x2, NDJSONOptions{}, [][2]string{
		{"1.5", "1.50"},
		{"-0.05", "-0.05"},
		{`"1.5"`, "1.50"},
		{`"-9999999999999999.99"`, "-9999999999999999.99"},
		{"9007199254740993.01", "9007199254740993.01"},
		{"1e3", "1000.00"},
		{`"1e3"`, "1000.00"},
		{"1500e-4", "0.15"},
		{"1.500", "1.50"},
		{"1.005", "!1.005 is not a decimal(18, 2): it has more digits after the point than the column keeps"},
		{"1e16", "!1e16 is not a decimal(18, 2): out of range"},
		{`"x"`, `!"x" is not a decimal(18, 2)`},
		{"00.5", "!00.5: this is no number of JSON"},
		{".5", "!.5: this is no value of JSON"},
		{"5.", "!5.: this is no number of JSON"},
		{"true", "!true is a boolean, and the column takes a decimal(18, 2), written as a number or in quotes"},
	})
	nines := strings.Repeat("9", 38)
	wantValues(t, &arrow.Decimal128Type{Precision: 38}, NDJSONOptions{}, [][2]string{{nines, nines}, {`"-` + nines + `"`, "-" + nines}})
	wantValues(t, arrow.PrimitiveTypes.Float64, NDJSONOptions{}, [][2]string{
		{"0.1", "0.1"},
		{"-0.0", "-0"},
		{"5", "5"},
		{"1E3", "1000"},
		{"1.7976931348623157e308", "1.7976931348623157e+308"},
		{"0.30000000000000004", "0.30000000000000004"},
		{"1e999", "!1e999 is not a double: out of range"},
		{`"1.5"`, `!"1.5"` + stringIn + "a double, written without quotes"},
		{`"NaN"`, `!"NaN"` + stringIn + "a double, written without quotes"},
		{"01.5", "!01.5: this is no number of JSON"},
	})
	wantValues(t, arrow.PrimitiveTypes.Float32, NDJSONOptions{}, [][2]string{{"0.1", "0.1"}, {"1e39", "!1e39 is not a float: out of range"}})
	wantValues(t, arrow.FixedWidthTypes.Boolean, NDJSONOptions{}, [][2]string{
		{"true", "true"},
		{"false", "false"},
		{"null", "(null)"},
		{"1", "!1" + numberIn + "a boolean, written true or false, without quotes"},
		{`"true"`, `!"true"` + stringIn + "a boolean, written true or false, without quotes"},
		{"True", "!True: this is no value of JSON"},
	})
}

func TestNDJSONStrings(t *testing.T) {
	t.Parallel()
	const notEscape = ": it has an escape that JSON does not know, or half of a surrogate pair"
	const control = ": it has a control character, which JSON writes as \\n, \\t or \\u0000"
	wantValues(t, str, NDJSONOptions{}, [][2]string{
		{`""`, `""`},
		{`"a"`, `"a"`},
		{`"0123456789abcdef"`, `"0123456789abcdef"`},
		{`"0123456789abcdefg"`, `"0123456789abcdefg"`},
		{`"},\":[{"`, `"},\":[{"`},
		{`"\"\\\/\b\f\n\r\t"`, `"\"\\/\b\f\n\r\t"`},
		{`"\u0000\u00e9\u20AC"`, `"\x00é€"`},
		{`"\ud83d\ude00"`, `"😀"`},
		{"\"é日本\u2028\x7f\"", "\"é日本\\u2028\\x7f\""},
		{`"007"`, `"007"`},
		{"null", "NULL"},
		{"5", "!5" + numberIn + "a string, written in quotes"},
		{"true", "!true is a boolean, and the column takes a string, written in quotes"},
		{"[]", "![] is a list, and the column takes a string, written in quotes"},
		{`"\ud83d"`, `!"\ud83d"` + notEscape},
		{`"\ude00\ud83d"`, `!"\ude00\ud83d"` + notEscape},
		{`"\ud83dx"`, `!"\ud83dx"` + notEscape},
		{`"\x41"`, `!"\x41"` + notEscape},
		{`"\u12g4"`, `!"\u12g4"` + notEscape},
		{"\"a\tb\"", `!"a\tb"` + control},
		{"\"a\x00b\"", `!"a\x00b"` + control},
		{"\"a\xffb\"", "!\"a\\xffb\": " + errNotUTF8.Error()},
		{"\"\xc3\"", "!\"\\xc3\": " + errNotUTF8.Error()},
		{"\"\xed\xa0\xbd\"", "!\"\\xed\\xa0\\xbd\": " + errNotUTF8.Error()},
		{"\"\\n\xff\"", "!\"\\n\\xff\": " + errNotUTF8.Error()},
	})
}

func TestNDJSONTimesAndBytes(t *testing.T) {
	t.Parallel()
	wantValues(t, arrow.FixedWidthTypes.Date32, NDJSONOptions{}, [][2]string{
		{`"2026-05-04"`, "2026-05-04"}, {`"2026-02-30"`, `!"2026-02-30" is not a date`}, {"20260504", "!20260504" + numberIn + "a date, written in quotes"},
	})
	wantValues(t, wallTime, NDJSONOptions{}, [][2]string{
		{`"2026-05-04T10:00:00.5"`, "2026-05-04 10:00:00.5"},
		{`"2026-05-04 10:00"`, "2026-05-04 10:00:00"},
		{`"2026-05-04T10:00:00Z"`, `!"2026-05-04T10:00:00Z" is not a timestamp: it has an offset, and the column has no time zone`},
	})
	wantValues(t, instant, NDJSONOptions{}, [][2]string{
		{`"2026-05-04T10:00:00Z"`, "2026-05-04 10:00:00Z"},
		{`"2026-05-04T10:00:00.1234567+02:00"`, "2026-05-04 08:00:00.123456Z"},
		{`"2026-05-04T10:00:00"`, `!"2026-05-04T10:00:00" is not a timestamptz: it has no offset; declare the time zone it is in, or write one`},
		{"1777888800", "!1777888800" + numberIn + "a timestamptz, written in quotes"},
	})
	wantValues(t, instant, NDJSONOptions{Zone: time.FixedZone("x", 3600)}, [][2]string{{`"2026-05-04T10:00:00"`, "2026-05-04 09:00:00Z"}})
	wantValues(t, arrow.FixedWidthTypes.Time64us, NDJSONOptions{}, [][2]string{{`"10:20:30.5"`, "10:20:30.500000"}, {`"24:00"`, `!"24:00" is not a time`}})
	wantValues(t, extensions.NewUUIDType(), NDJSONOptions{}, [][2]string{
		{`"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"`, "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"}, {`"f81d"`, `!"f81d" is not a uuid`},
	})
	wantValues(t, arrow.BinaryTypes.Binary, NDJSONOptions{}, [][2]string{
		{`"00ff7A"`, "AP96"},
		{`""`, ""},
		{"null", "(null)"},
		{`"0"`, `!"0" is not binary in hexadecimal digits`},
		{`"AP96/w=="`, `!"AP96/w==" is not binary in hexadecimal digits`},
		{"1", "!1" + numberIn + "binary in hexadecimal digits, written in quotes"},
	})
	wantValues(t, &arrow.FixedSizeBinaryType{ByteWidth: 2}, NDJSONOptions{}, [][2]string{
		{`"00ff"`, "AP8="}, {`"00"`, `!"00" is not fixed[2] in hexadecimal digits: it has 1 bytes`},
	})
}
