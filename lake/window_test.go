package lake

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/google/go-cmp/cmp"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestParseWindow(t *testing.T) {
	shanghai := zone(t, "Asia/Shanghai")
	for _, tc := range []struct {
		text string
		zone *time.Location
		want string
	}{
		{"2026", nil, "[2026-01-01T00:00:00, 2027-01-01T00:00:00)"},
		{"2026-05", nil, "[2026-05-01T00:00:00, 2026-06-01T00:00:00)"},
		{"2026-05-04", nil, "[2026-05-04T00:00:00, 2026-05-05T00:00:00)"},
		{"2026-05-04T10", nil, "[2026-05-04T10:00:00, 2026-05-04T11:00:00)"},
		{"2026-05-04 10", nil, "[2026-05-04T10:00:00, 2026-05-04T11:00:00)"},
		{"2024-02-29", nil, "[2024-02-29T00:00:00, 2024-03-01T00:00:00)"},
		{"2026-05-04/2026-05-06", nil, "[2026-05-04T00:00:00, 2026-05-06T00:00:00)"},
		{"2026-05-04/P1D", nil, "[2026-05-04T00:00:00, 2026-05-05T00:00:00)"},
		{"2026-01-31/P1M", nil, "[2026-01-31T00:00:00, 2026-03-03T00:00:00)"},
		{"2026-05-04T10:00Z/PT15M", nil, "[2026-05-04T10:00:00Z, 2026-05-04T10:15:00Z)"},
		{"2013-01-02T00:00:00+00:00/2013-01-03T00:00:00+00:00", nil, "[2013-01-02T00:00:00Z, 2013-01-03T00:00:00Z)"},
		{"2013-01-02 00:00:00+00:00/2013-01-03 00:00:00+00:00", nil, "[2013-01-02T00:00:00Z, 2013-01-03T00:00:00Z)"},
		{"2013-01-02T00:00:00.5-05:00/2013-01-03T00:00:00Z", nil, "[2013-01-02T05:00:00.5Z, 2013-01-03T00:00:00Z)"},
		{"2026-01-02/2026-01-03T00:00Z", shanghai, "[2026-01-01T16:00:00Z, 2026-01-03T00:00:00Z)"},
	} {
		got, err := ParseWindow(tc.text, tc.zone)
		if err != nil || got.String() != tc.want {
			t.Errorf("ParseWindow(%q) = %v, %v, want %s", tc.text, got, err, tc.want)
		}
	}
}

func TestParseWindowRefuses(t *testing.T) {
	for _, text := range []string{
		"", "yesterday", "2026-13", "2026-02-30", "2026-05-04T24", "2026-05-04/", "/2026-05-04", "2026-05-04/P",
		"2026-05-04/PT", "2026-05-05/2026-05-04", "2026-05-04/2026-05-04", "2026-05-04/P0D", "26-05-04",
		"9999-12-31", "9999", "2026-05-04T10:00+99:00/P1D", "2026-05-04T10:61/P1D", "0000-01-01/P1D",
	} {
		if w, err := ParseWindow(text, nil); !errors.Is(err, ErrWindow) {
			t.Errorf("ParseWindow(%q) = %v, %v, want ErrWindow", text, w, err)
		}
	}
	_, err := ParseWindow("2026-05-04T00:00Z/2026-05-04T00:00Z", nil)
	if err == nil || !strings.Contains(err.Error(), "CronDataIntervalTimetable") {
		t.Errorf("equal bounds: %v, want the timetable named", err)
	}
}

func TestWindowOn(t *testing.T) {
	newYork := zone(t, "America/New_York")
	for _, tc := range []struct {
		name, text string
		kind       TimeKind
		zone       *time.Location
		want       string
	}{
		{"a day is UTC by default", "2026-03-08", Instants, nil, "[2026-03-08T00:00:00Z, 2026-03-09T00:00:00Z)"},
		{"a local day of 23 hours", "2026-03-08", Instants, newYork, "[2026-03-08T05:00:00Z, 2026-03-09T04:00:00Z)"},
		{"a local day of 25 hours", "2026-11-01", Instants, newYork, "[2026-11-01T04:00:00Z, 2026-11-02T05:00:00Z)"},
		{"an hour that the clock skips begins at the change", "2026-03-08T02/2026-03-08T03", Instants, newYork, ""},
		{"an hour that the clock shows twice is both", "2026-11-01T01/2026-11-01T02", Instants, newYork, "[2026-11-01T05:00:00Z, 2026-11-01T07:00:00Z)"},
		{"a naive column keeps the wall clock", "2026-03-08", WallClock, newYork, "[2026-03-08T00:00:00, 2026-03-09T00:00:00)"},
		{"an offset on a naive column needs the zone", "2026-05-04T00:00-04:00/P1D", WallClock, newYork, "[2026-05-04T00:00:00, 2026-05-05T00:00:00)"},
		{"a date column takes whole days", "2026-05", Days, nil, "[2026-05-01T00:00:00, 2026-06-01T00:00:00)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, err := ParseWindow(tc.text, tc.zone)
			if err != nil {
				t.Fatal(err)
			}
			got, err := w.On(tc.kind, tc.zone)
			if tc.want == "" {
				if !errors.Is(err, ErrWindow) {
					t.Fatalf("On = %v, %v, want ErrWindow", got, err)
				}
				return
			}
			if err != nil || got.String() != tc.want {
				t.Fatalf("On = %v, %v, want %s", got, err, tc.want)
			}
		})
	}
	w, _ := ParseWindow("2026-05-04T00:00Z/P1D", nil)
	if _, err := w.On(WallClock, nil); err == nil || !strings.Contains(err.Error(), "--timezone") {
		t.Errorf("On(WallClock) without a zone = %v, want the flag named", err)
	}
	w, _ = ParseWindow("2026-05-04T10", nil)
	if _, err := w.On(Days, nil); !errors.Is(err, ErrWindow) {
		t.Errorf("On(Days) of an hour = %v, want ErrWindow", err)
	}
}

func TestWindowSplitAndAlign(t *testing.T) {
	w, _ := ParseWindow("2026-01-31T12:00Z/2026-03-02T00:00Z", nil)
	month, _ := ParseStep("P1M")
	parts, err := w.Split(month, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range parts {
		got = append(got, p.String())
	}
	if diff := cmp.Diff([]string{"[2026-01-31T12:00:00Z, 2026-03-02T00:00:00Z)"}, got); diff != "" {
		t.Errorf("Split: %s", diff)
	}
	day, _ := ParseStep("P1D")
	newYork := zone(t, "America/New_York")
	local, _ := Window{From: time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC), Wall: true}.On(Instants, newYork)
	parts, _ = local.Split(day, newYork)
	if len(parts) != 3 || parts[1].To.Sub(parts[1].From) != 23*time.Hour {
		t.Errorf("Split by local days = %v, want three, the second of 23 hours", parts)
	}
	if got := w.Align(iceberg.DayTransform{}).String(); got != "[2026-01-31T00:00:00Z, 2026-03-02T00:00:00Z)" {
		t.Errorf("Align(day) = %s", got)
	}
	if got := w.Align(iceberg.YearTransform{}).String(); got != "[2026-01-01T00:00:00Z, 2027-01-01T00:00:00Z)" {
		t.Errorf("Align(year) = %s", got)
	}
}

func FuzzParseWindow(f *testing.F) {
	for _, s := range []string{"2026-05-04", "2026-05-04T10", "2026-05", "2026-05-04/P1D", "2026-05-04T00:00:00.123456789+02:00/2026-05-05 00:00Z", "P1D/P1D"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, err := ParseWindow(text, nil)
		if err != nil {
			if !errors.Is(err, ErrWindow) {
				t.Fatalf("ParseWindow(%q): %v, not ErrWindow", text, err)
			}
			return
		}
		if !w.From.Before(w.To) {
			t.Fatalf("ParseWindow(%q) = %v", text, w)
		}
		printed, _ := w.MarshalText()
		var again Window
		if err := again.UnmarshalText(printed); err != nil || !again.From.Equal(w.From) || !again.To.Equal(w.To) || again.Wall != w.Wall {
			t.Fatalf("%q printed as %s reads back as %v, %v", text, printed, again, err)
		}
	})
}

func TestCoverage(t *testing.T) {
	day := func(a, b int) Window {
		return Window{From: time.Date(2026, 1, a, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 1, b, 0, 0, 0, 0, time.UTC)}
	}
	var c Coverage
	for _, w := range []Window{day(5, 6), day(1, 2), day(2, 3), day(5, 6)} {
		c = c.Add(w)
	}
	if got, want := c.String(), "2026-01-01/2026-01-03,2026-01-05/2026-01-06"; got != want {
		t.Fatalf("String = %s, want %s", got, want)
	}
	back, err := ParseCoverage(c.String())
	if err != nil || back.String() != c.String() {
		t.Fatalf("ParseCoverage = %v, %v", back, err)
	}
	if !c.Holds(day(1, 3)) || c.Holds(day(2, 4)) {
		t.Error("Holds: [1, 3) is covered, [2, 4) is not")
	}
	// A watermark never jumps a gap, never moves back.
	s := state{}
	for _, step := range []struct {
		w    Window
		want string
	}{
		{day(1, 2), "2026-01-02"},
		{day(5, 6), "2026-01-02"},
		{day(2, 3), "2026-01-03"},
		{day(1, 2), "2026-01-03"},
		{day(3, 5), "2026-01-06"},
	} {
		if s = s.add(step.w); shortTime(s.watermark) != step.want {
			t.Errorf("after %v the watermark is %s, want %s", step.w, shortTime(s.watermark), step.want)
		}
	}
}

func TestCoverageForgetsTheOldest(t *testing.T) {
	var c Coverage
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 1000 {
		from := at.Add(time.Duration(i) * 2 * time.Hour)
		c = c.Add(Window{From: from, To: from.Add(time.Hour)})
	}
	text := c.String()
	if len(text) > coverageBytes || !strings.HasPrefix(text, "?/") {
		t.Fatalf("String has %d bytes and begins %q", len(text), text[:20])
	}
	back, err := ParseCoverage(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range back.Windows {
		if !c.Holds(w) {
			t.Errorf("%v is claimed and was not loaded", w)
		}
	}
	last := c.Windows[len(c.Windows)-1]
	if !back.Holds(last) || back.Before.IsZero() || back.Windows[0].From.Before(back.Before) {
		t.Errorf("newest kept: %v, unknown before %v", back.Holds(last), back.Before)
	}
	if again := back.Add(last).String(); again != text {
		t.Error("a coverage that has forgotten does not print the same after it was read")
	}
}

// FuzzCoverage: what can be read prints the same once it was printed, and a
// window that is added is held, with all that was held before.
func FuzzCoverage(f *testing.F) {
	for _, text := range []string{"", "2026-01-01/2026-05-03,2026-05-04T10/2026-05-05", "?/2026-01-01,2026-01-02/2026-01-03", "?/2026-01-01", "2026-01-02/2026-01-01"} {
		f.Add(text, int64(0), int64(3600))
	}
	f.Fuzz(func(t *testing.T, text string, from, seconds int64) {
		c, err := ParseCoverage(text)
		if err != nil || from < 0 || from > 1<<37 || seconds <= 0 || seconds > 1<<37 {
			return
		}
		w := Window{From: time.Unix(from, 0).UTC(), To: time.Unix(from+seconds, 0).UTC()}
		all := c.Add(w)
		for _, o := range append(c.Windows, w) {
			if !all.Holds(o) {
				t.Fatalf("%q with %v is %q, which does not hold %v", text, w, all, o)
			}
		}
		once := all.String()
		back, err := ParseCoverage(once)
		if err != nil || back.String() != once || len(once) > coverageBytes+100 {
			t.Fatalf("%q is read as %q, %v", once, back, err)
		}
		for _, g := range back.Gaps(Window{From: w.From.Add(-time.Hour), To: w.To.Add(time.Hour)}) {
			if !g.Unknown && g.Overlaps(w) {
				t.Fatalf("%q with %v has the gap %v", text, w, g)
			}
		}
	})
}
