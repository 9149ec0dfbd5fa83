package arrowio

import (
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// FuzzTimeFormat compares formats with regular expressions and package time.
func FuzzTimeFormat(f *testing.F) {
	for _, s := range []string{
		"04.05.2026 10:00:00", "4.5.2026 9:5:7.25", "29.02.2023 00:00:00", "31.12.9999 23:59:59.9999999", "05/04/26 12:30 AM",
		"5/4/69 1:2 pm", "20260504101112", "2026050410111", "04/May/2026:10:00:00 +0200", "4/dec/0001:00:00:00 Z", "04/Jun/2026:1:2:3 -23:59",
	} {
		f.Add(s)
	}
	type form struct{ format, form, layout string }
	forms := []form{
		{"%d.%m.%Y %H:%M:%S", `^\d\d?\.\d\d?\.\d{4} \d\d?:\d\d?:\d\d?$`, "2.1.2006 15:4:5"},
		{"%d.%m.%Y %H:%M:%S.%f", `^\d\d?\.\d\d?\.\d{4} \d\d?:\d\d?:\d\d?(\.\d+)$`, "2.1.2006 15:4:5"},
		{"%Y%m%d%H%M%S", `^\d{13,14}$`, ""},
		{"%m/%d/%y %I:%M %p", `^\d\d?/\d\d?/\d\d \d\d?:\d\d? (?i:am|pm)$`, "1/2/06 3:4 PM"},
		{"%d/%b/%Y:%T %z", `^\d\d?/[A-Za-z]{3}/\d{4}:\d\d?:\d\d?:\d\d? (Z|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)$`, "2/Jan/2006:15:4:5 Z0700"},
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range forms {
			compiled, err := compileTime(c.format)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := compiled.parse([]byte(text))
			want, wantOK := bySpelling(text, regexp.MustCompile(c.form), c.layout)
			wall := time.UnixMicro(got.wall - got.offset*microsPerSecond).UTC()
			if ok != wantOK || ok && !wall.Equal(want) {
				t.Fatalf("%q by %s is %s, %v; want %s, %v", text, c.format, wall, ok, want, wantOK)
			}
		}
	})
}

// bySpelling parses text of the given form by time.Parse.
func bySpelling(text string, form *regexp.Regexp, layout string) (time.Time, bool) {
	m := form.FindStringSubmatch(text)
	switch {
	case m == nil:
		return time.Time{}, false
	case layout == "" && len(text) == 13: // the last number alone may be short
		layout, text = "20060102150405", text[:12]+"0"+text[12:]
	case layout == "":
		layout = "20060102150405"
	case strings.HasSuffix(layout, "PM"):
		text = strings.ToUpper(text)
		if regexp.MustCompile(` 0?0:`).MatchString(text) { // package time takes 0 for 12
			return time.Time{}, false
		}
	case strings.HasSuffix(layout, "Z0700"):
		text = strings.TrimSuffix(text, m[1]) + map[int]string{1: "Z", 3: m[1] + "00", 5: m[1], 6: strings.Replace(m[1], ":", "", 1)}[len(m[1])]
	case len(m) > 1 && len(m[1]) > 7:
		text = strings.Replace(text, m[1], m[1][:7], 1) // floor to microseconds
	}
	at, err := time.Parse(layout, text)
	return at, err == nil && at.Year() > 0 || err == nil && strings.HasSuffix(layout, "Z0700") && !strings.Contains(text, "/0000:")
}

// FuzzNumberFormat compares numbers in a format with the same in the plain form.
func FuzzNumberFormat(f *testing.F) {
	for _, s := range []string{"1.234,56", "1,234.56", "1 234,5", "-1'234", "1.5", "12.34", "1.2345", ",5", "5,", "1,5e3", "NaN", "0.001,5", "1\u202f234", "+1.000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, ";\"\r\n") || len(text) > 100 || regexp.MustCompile(`[eE][+-]?\d{4}`).MatchString(text) {
			return
		}
		typ := &arrow.Decimal128Type{Precision: 30, Scale: 6}
		for example, marks := range map[string][2]string{
			"1.234,56": {`\.`, ","}, "1,234.56": {",", `\.`}, "1 234,56": {"[ \u00a0\u202f]", ","}, "1'234.56": {"'", `\.`}, "1234,56": {"x{9}", ","},
		} {
			whole := `(?:\d{1,3}(?:` + marks[0] + `\d{3})+|\d+)`
			form := regexp.MustCompile(`^([+-]?)(` + whole + `)?(?:(` + marks[1] + `)(\d*))?([eE][+-]?\d{1,3})?$`)
			want, ok := "", false
			if m := form.FindStringSubmatch(text); m != nil && m[2]+m[4] != "" {
				plain := m[1] + regexp.MustCompile(`\D`).ReplaceAllString(m[2], "") + "." + m[4] + m[5]
				want, ok = decimalText(plain, typ)
			}
			got, err := formatted(t, text, typ, ColumnOptions{Format: example})
			if (err == nil) != ok || got != want {
				t.Fatalf("%q by %s is %s, %v; want %s, %v", text, example, got, err, want, ok)
			}
		}
	})
}

// decimalText is a number in the plain form as a decimal, if it is one exactly.
func decimalText(plain string, typ *arrow.Decimal128Type) (string, bool) {
	r, ok := new(big.Rat).SetString(plain)
	if !ok {
		return "", false
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(typ.Scale)), nil)
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(typ.Precision)), nil)
	units := new(big.Rat).Mul(r, new(big.Rat).SetInt(unit))
	if !units.IsInt() || units.Num().CmpAbs(limit) >= 0 {
		return "", false
	}
	return r.FloatString(int(typ.Scale)), true
}
