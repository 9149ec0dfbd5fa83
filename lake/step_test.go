package lake

import (
	"errors"
	"testing"
	"time"
)

func TestParseStep(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Step{
		"P1D": {Days: 1}, "1d": {Days: 1}, "P2W": {Days: 14}, "2w": {Days: 14}, "P1M": {Months: 1}, "1mo": {Months: 1},
		"PT1M": {Time: time.Minute}, "1m": {Time: time.Minute}, "PT36H": {Time: 36 * time.Hour}, "36h": {Time: 36 * time.Hour},
		"90s": {Time: 90 * time.Second}, "1y": {Years: 1}, "P1Y2M": {Years: 1, Months: 2}, "0": {}, "0d": {},
	} {
		if got, err := ParseStep(text); got != want || err != nil {
			t.Errorf("ParseStep(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "1", "1D", "1M", "P", "P1", "PT", "1d2h", "-1d", "1 d", "1000001d", "99999999999999999999d", "P1000001D"} {
		if got, err := ParseStep(text); !errors.Is(err, ErrWindow) {
			t.Errorf("ParseStep(%q) = %v, %v, want ErrWindow", text, got, err)
		}
	}
}

func TestStepAfterAndBefore(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)
	s := Step{Months: 1, Days: 1, Time: time.Hour}
	if got := s.Before(s.After(at)); !got.Equal(at) {
		t.Errorf("there and back is %s", got)
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	w := Window{From: InZone(time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC), zone), To: InZone(time.Date(2026, 3, 30, 0, 0, 0, 0, time.UTC), zone)}
	wide := w.Widen(Step{Days: 1}, Step{Days: 1}, zone)
	if got, want := wide.String(), "[2026-03-27T23:00:00Z, 2026-03-30T22:00:00Z)"; got != want {
		t.Errorf("Widen = %s, want %s", got, want)
	}
}
