package lake_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/calve-data/calve/lake"
)

// A grid begins where its window does and makes it up without a rest, by the
// clock of the zone.
func TestBackfillGrid(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ from, to, every, zone, want string }{
		{"2026-05-01", "2026-05-03", "1d", "", "2026-05-01 2026-05-02 2026-05-03"},
		{"2026-05-01T06:00", "2026-05-02T06:00", "12h", "", "2026-05-01T06:00 2026-05-01T18:00 2026-05-02T06:00"},
		{"2026-01-28", "2026-04-28", "P1M", "", "2026-01-28 2026-02-28 2026-03-28 2026-04-28"},
		{"2024-02-28", "2026-02-28", "1y", "", "2024-02-28 2025-02-28 2026-02-28"},
		{"2026-05-01", "2026-05-02", "1d", "", "2026-05-01 2026-05-02"},
		// Readings of the clock stay as they are given: the column's kind says later
		// which instants they are.
		{"2026-03-29", "2026-03-31", "1d", "Europe/Berlin", "2026-03-29 2026-03-30 2026-03-31"},
		{"2026-10-25T01", "2026-10-25T04", "1h", "Europe/Berlin", "2026-10-25T01:00 2026-10-25T02:00 2026-10-25T03:00 2026-10-25T04:00"},
		// 02:00 is shown by no clock of that day.
		{"2026-03-29T01", "2026-03-29T04", "1h", "Europe/Berlin", "2026-03-29T01:00 2026-03-29T03:00 2026-03-29T04:00"},
		{"2026-03-29T02", "2026-03-29T04", "1h", "Europe/Berlin", "2026-03-29T02:00 2026-03-29T04:00"},
		{"2026-03-29T01", "2026-03-29T02", "1h", "Europe/Berlin", "2026-03-29T01:00 2026-03-29T02:00"},
		// A day that begins in a gap begins when the gap ends, and the days after it
		// at midnight again.
		{"2018-11-03", "2018-11-06", "1d", "America/Sao_Paulo", "2018-11-03 2018-11-04 2018-11-05 2018-11-06"},
		{"2018-11-03T00:00-03:00", "2018-11-06T00:00-02:00", "1d", "America/Sao_Paulo", "2018-11-03T03:00Z 2018-11-04T03:00Z 2018-11-05T02:00Z 2018-11-06T02:00Z"},
		// A day that was left out.
		{"2011-12-29", "2012-01-01", "1d", "Pacific/Apia", "2011-12-29 2011-12-31 2012-01-01"},
		// Instants: days of the zone, of 23 and 25 hours.
		{"2026-03-28T23:00Z", "2026-03-30T22:00Z", "1d", "Europe/Berlin", "2026-03-28T23:00Z 2026-03-29T22:00Z 2026-03-30T22:00Z"},
		{"2026-10-24T22:00Z", "2026-10-26T23:00Z", "1d", "Europe/Berlin", "2026-10-24T22:00Z 2026-10-25T23:00Z 2026-10-26T23:00Z"},
		// The hour that is shown twice is in one window, also at the ends.
		{"2026-10-24T23:00Z", "2026-10-25T03:00Z", "1h", "Europe/Berlin", "2026-10-24T23:00Z 2026-10-25T00:00Z 2026-10-25T02:00Z 2026-10-25T03:00Z"},
		{"2026-10-24T23:00Z", "2026-10-25T01:30Z", "30m", "Europe/Berlin", "2026-10-24T23:00Z 2026-10-24T23:30Z 2026-10-25T00:00Z 2026-10-25T01:30Z"},
		{"2026-10-25T01:15Z", "2026-10-25T02:15Z", "15m", "Europe/Berlin", "2026-10-25T01:15Z 2026-10-25T02:00Z 2026-10-25T02:15Z"},
		// What is refused.
		{"2026-05-01", "2026-05-02T12", "1d", "", "from 2026-05-02 to 2026-05-03, and the end is 2026-05-02T12"},
		{"2026-05-01", "2026-05-02", "1w", "", "from 2026-05-01 to 2026-05-08, and the end is 2026-05-02"},
		{"2026-01-31", "2026-03-31", "1mo", "", "a day that not every month has"},
		{"2024-02-29", "2025-02-28", "1y", "", "a day that not every month has"},
		{"2026-05-01", "2026-05-02", "0", "", "longer than nothing"},
		{"2026-05-01", "2026-05-01", "1d", "", "is empty"},
		{"2020-01-01", "2026-01-01", "1m", "", "more than 100000 windows"},
	} {
		t.Run(tc.from+" "+tc.to+" "+tc.every+" "+tc.zone, func(t *testing.T) {
			t.Parallel()
			var zone *time.Location
			if tc.zone != "" {
				var err error
				if zone, err = time.LoadLocation(tc.zone); err != nil {
					t.Fatal(err)
				}
			}
			step, err := lake.ParseStep(tc.every)
			if err != nil {
				t.Fatal(err)
			}
			w, err := lake.ParseBounds(tc.from, tc.to, zone)
			var windows []lake.Window
			if err == nil {
				windows, err = w.Grid(step, zone)
			}
			if err != nil {
				if !errors.Is(err, lake.ErrWindow) || !strings.Contains(err.Error(), tc.want) {
					t.Fatalf("Grid = %v, want %s", err, tc.want)
				}
				return
			}
			if got := boundsText(windows); got != tc.want {
				t.Errorf("bounds %s\n  want %s", got, tc.want)
			}
			for _, kind := range []lake.TimeKind{lake.Instants, lake.WallClock} {
				wholeOn(t, w, windows, kind, zone)
			}
		})
	}
}

// boundsText are the bounds of windows that follow each other.
func boundsText(windows []lake.Window) string {
	short := func(text string) string {
		return strings.Replace(strings.Replace(strings.TrimSuffix(text, "T00:00:00"), ":00Z", "Z", 1), ":00:00", ":00", 1)
	}
	first, _ := windows[0].Bounds()
	texts := []string{short(first)}
	for _, w := range windows {
		_, to := w.Bounds()
		texts = append(texts, short(to))
	}
	return strings.Join(texts, " ")
}

// wholeOn expects that windows make up w on a column of a kind, each a window
// that can be loaded.
func wholeOn(t *testing.T, w lake.Window, windows []lake.Window, kind lake.TimeKind, zone *time.Location) {
	t.Helper()
	whole, err := w.On(kind, zone)
	if err != nil {
		return // an instant on a wall whose zone is not known
	}
	at := whole.From
	for _, part := range windows {
		on, err := part.On(kind, zone)
		if err != nil {
			t.Fatalf("%s on %s: %v", part, kind, err)
		}
		if !on.From.Equal(at) {
			t.Errorf("%s: %s begins at %s, the one before ends at %s", kind, part, on.From, at)
		}
		at = on.To
	}
	if !at.Equal(whole.To) {
		t.Errorf("%s: the windows end at %s, not %s", kind, at, whole.To)
	}
}
