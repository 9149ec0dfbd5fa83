package arrowio

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// bookRows reads text with encoding/csv and returns a line per row in the form
// of rowsOf, or an error. Both differ where a line ends in quotes by \r\n, and
// in that encoding/csv cannot tell NULL from the empty string.
func bookRows(text string) (names []string, rows []string, err error) {
	if what := notText([]byte(text)); what != "" {
		return nil, nil, errors.New(what)
	}
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\xef\xbb\xbf")))
	records, err := r.ReadAll()
	if err != nil || len(records) == 0 {
		return nil, nil, fmt.Errorf("no records: %w", err)
	}
	names = records[0]
	seen := map[string]bool{}
	// Only the last column may have no name: then nothing may be in it.
	unnamed := len(names) > 1 && names[len(names)-1] == ""
	if unnamed {
		names = names[:len(names)-1]
	}
	for _, n := range names {
		if n == "" || seen[n] || !utf8.ValidString(n) || strings.ContainsAny(n, "\r\x00") {
			return nil, nil, fmt.Errorf("bad name %q", n)
		}
		seen[n] = true
	}
	for i, record := range records[1:] {
		if unnamed && record[len(names)] != "" {
			return nil, nil, fmt.Errorf("column without a name: %q", record)
		}
		record = record[:len(names)]
		cells := make([]string, len(record))
		for j, c := range record {
			cells[j] = fmt.Sprintf("%q", c)
			if !utf8.ValidString(c) {
				return nil, nil, fmt.Errorf("not UTF-8: %q", c)
			}
		}
		rows = append(rows, fmt.Sprintf("a.csv:%d %s", i+1, strings.Join(cells, " | ")))
	}
	return names, rows, nil
}

func FuzzCSVAgainstEncodingCSV(f *testing.F) {
	for _, s := range []string{
		"a,b\n1,2\n", "a\n\n1\n\"\"\n", "\xef\xbb\xbfa,b\r\n\"x\"\"y\",\"z\nw\"\r\n", "a,b\n1\n", "a,b\n1,2\"3\n4,5\n", "a,b\n\"1\"2,3\n",
		"a,b\n1,\"2\n", "a\r\n\r\n\r", "a,b\n,\n,,\n", "a,b\n0123456789abcdef,0123456789abcdefg\n", "a,b,c\n\",\",\"\n\",\"\"\n", "\"a\nb\",c\n1,2\n", "a,a\n",
		"a,b,\r\n1,2,\r\n", "a,\n1,x\n", "a\rb\n", "\"a\r\nb\"\n1\n",
		"a\n\xff\n", "a,b\n\"\r\n\",\r\n", "a\nb\r", "a\n\"b\"\r",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names, want, wantErr := bookRows(text)
		lineEnds := regexp.MustCompile(`\\r\\n`)
		for _, c := range []struct{ block, procs int }{{16, 1}, {19, 2}, {64, 4}, {4096, 1}} {
			in := one(text).input(t, c.block, CSVOptions{})
			if columns, err := in.Columns(t.Context()); err == nil {
				if wantErr == nil && len(columns) != len(names) {
					t.Fatalf("block %d: columns %v, want %q", c.block, columns, names)
				}
				names = nil
				for _, c := range columns {
					names = append(names, c.Name) // encoding/csv writes line ends in names otherwise
				}
			}
			got, err := rowsOf(t, in, texts(names...), c.procs)
			if (err != nil) != (wantErr != nil) {
				t.Fatalf("block %d: error %v, want %v", c.block, err, wantErr)
			}
			if err != nil {
				continue
			}
			for i := range got {
				got[i] = lineEnds.ReplaceAllString(got[i], `\n`)
			}
			for i := range want {
				want[i] = lineEnds.ReplaceAllString(want[i], `\n`)
			}
			if a, b := nullsAsEmpty(got), strings.Join(want, "\n"); a != b {
				t.Fatalf("block %d: rows are\n%s\nwant\n%s", c.block, a, b)
			}
		}
	})
}

// nullsAsEmpty writes NULL, which stands outside quotes, as "".
func nullsAsEmpty(rows []string) string {
	unquoted := regexp.MustCompile(`(^a\.csv:\d+ | \| )NULL( \||$)`)
	for i := range rows {
		for unquoted.MatchString(rows[i]) {
			rows[i] = unquoted.ReplaceAllString(rows[i], `$1""$2`)
		}
	}
	return strings.Join(rows, "\n")
}

// cell reads text, which is no CSV by itself, as one value; quoted or not.
func cell(t *testing.T, text string, typ arrow.DataType, quoted bool) (string, error) {
	if quoted {
		text = `"` + text + `"`
	}
	got, err := rowsOf(t, one("v,w\n"+text+",\n").input(t, 256, CSVOptions{}), fieldsOf("v!", typ), 1)
	if err != nil {
		return "", err
	}
	_, value, _ := strings.Cut(got[0], " ")
	return value, nil
}

// compare checks both ways of writing text against a reference.
func compare(t *testing.T, text string, typ arrow.DataType, want string, ok bool) {
	if strings.ContainsAny(text, "\",\r\n") || len(text) > 200 {
		return
	}
	for _, quoted := range []bool{false, true} {
		if got, err := cell(t, text, typ, quoted); (err == nil) != ok || got != want {
			t.Errorf("%q (quoted: %v) as %s is %s, %v; want %s, %v", text, quoted, typ, got, err, want, ok)
		}
	}
}

func FuzzInteger(f *testing.F) {
	for _, s := range []string{"0", "-1", "+1", "12345678", "123456789012345678", "9223372036854775807", "-9223372036854775809", "2147483648", "00000000000000000000001", "1:", "1/", "-", "1_0", "\x001", "１"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := strconv.ParseInt(text, 10, 64)
		want := ""
		if err == nil {
			want = strconv.FormatInt(v, 10)
		}
		compare(t, text, arrow.PrimitiveTypes.Int64, want, err == nil)
		small := err == nil && v == int64(int32(v))
		if !small {
			want = ""
		}
		compare(t, text, arrow.PrimitiveTypes.Int32, want, small)
	})
}

func FuzzDecimal(f *testing.F) {
	for _, s := range []string{"0", "-1.5", "+.5", "5.", "1e3", "1.25e-1", "99999999999999999999999999999999999999", "0.001", "1.000000000000000", "-0", "1e-400", "123456789012345678.12"} {
		f.Add(s, uint8(18), uint8(2))
		f.Add(s, uint8(38), uint8(10))
	}
	form := regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$`)
	f.Fuzz(func(t *testing.T, text string, precision, scale uint8) {
		typ := &arrow.Decimal128Type{Precision: int32(precision%38) + 1}
		typ.Scale = int32(scale) % (typ.Precision + 1)
		if regexp.MustCompile(`[eE][+-]?\d{4}`).MatchString(text) {
			return
		}
		want, ok := "", false
		if form.MatchString(text) {
			r, isNumber := new(big.Rat).SetString(text)
			if !isNumber {
				t.Fatalf("big.Rat refuses %q", text)
			}
			unit := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(typ.Scale)), nil))
			limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(typ.Precision)), nil)
			units := new(big.Rat).Mul(r, unit)
			if ok = units.IsInt() && units.Num().CmpAbs(limit) < 0; ok {
				want = r.FloatString(int(typ.Scale))
			}
		}
		compare(t, text, typ, want, ok)
	})
}

func FuzzTimestamp(f *testing.F) {
	for _, s := range []string{"2026-01-02 03:04:05", "2026-01-02T03:04:05.123456Z", "1969-12-31T23:59:59.9999999Z", "2024-02-29 00:00", "2026-01-02", "2026-01-02 03:04:05+05:30", "0001-01-01 00:00:00-0130", "9999-12-31T23:59:59+01", "2026-02-30", "2026-01-02 24:00:00", "2026-01-02 03:04:60", "2026-01-02 03:04:05.Z"} {
		f.Add(s)
	}
	form := regexp.MustCompile(`^\d{4}-\d\d-\d\d(?:[T ](\d\d:\d\d(:\d\d(\.\d+)?)?)(Z|[+-]\d\d(:?\d\d)?)?)?$`)
	f.Fuzz(func(t *testing.T, text string) {
		m := form.FindStringSubmatch(text)
		var want time.Time
		var err error
		if m != nil {
			want, err = byTheBook(text, m[1], m[3], m[4])
		}
		ok := m != nil && err == nil && !strings.HasPrefix(text, "0000") && (m[4] == "" || m[4] == "Z" || (m[4][1:3] <= "23" && (len(m[4]) == 3 || m[4][len(m[4])-2:] <= "59")))
		for _, c := range []struct {
			typ  arrow.DataType
			ok   bool
			tail string
		}{{wallTime, ok && m[4] == "", ""}, {instant, ok && m[4] != "", "Z"}} {
			value := ""
			if c.ok {
				value = want.UTC().Truncate(time.Microsecond).Format("2006-01-02 15:04:05.999999") + c.tail
			}
			if c.ok && (want.UTC().Year() < 1 || want.UTC().Year() > 9999) {
				continue // Arrow cannot print it
			}
			compare(t, text, c.typ, value, c.ok)
		}
	})
}

// byTheBook parses text by time.Parse, given its time of day, fraction and
// offset.
func byTheBook(text, clock, fraction, offset string) (time.Time, error) {
	if len(fraction) > 7 {
		text = strings.Replace(text, fraction, fraction[:7], 1) // floor to microseconds
	}
	layout := "2006-01-02"
	if clock != "" {
		layout += text[10:11] + "15:04"
		if len(clock) > 5 {
			layout += ":05"
		}
		layout += map[int]string{0: "", 1: "Z07", 3: "Z07", 5: "Z0700", 6: "Z07:00"}[len(offset)]
	}
	return time.Parse(layout, text)
}
