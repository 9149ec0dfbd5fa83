package arrowio

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
)

// zoneOf is mustZone, or no zone.
func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	if name == "" {
		return nil
	}
	return mustZone(t, name)
}

// instants is a window as written, on the clock of a zone.
func instants(t *testing.T, window string, zone *time.Location) lake.Window {
	t.Helper()
	w, err := lake.ParseWindow(window, zone)
	if err == nil {
		w, err = w.On(lake.Instants, zone)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestTemplateExpandsOverTheWindow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, path, window, zone, pathZone string
		want                               string
		exact                              bool
	}{
		{"a day", "{day:%Y/%m/%d}", "2026-05-04", "", "", "2026/05/04", true},
		{"an hour of a day", "{day:%Y/%m/%d}", "2026-05-04T10", "", "", "2026/05/04", false},
		{"over midnight", "{day:%Y/%m/%d}", "2026-05-04T12:00Z/2026-05-05T12:00Z", "", "", "2026/05/04 2026/05/05", false},
		{"a month of days", "{day:%d.%m.%Y}", "2026-02", "", "", "01.02.2026 … 28.02.2026", true},
		{"a day of hours", "{hour:%Y%m%d%H}", "2026-05-04", "", "", "2026050400 … 2026050423", true},
		{"a month", "{month:%Y-%m}", "2026-05", "", "", "2026-05", true},
		{"a quarter", "{month:%Y-%m}", "2026-01-01/P3M", "", "", "2026-01 2026-02 2026-03", true},
		{"a year", "{year:%Y}", "2026", "", "", "2026", true},
		{"a microsecond more", "{day:%Y/%m/%d}", "2026-05-04T00:00Z/2026-05-05T00:00:00.000001Z", "", "", "2026/05/04 2026/05/05", false},
		{"parts of several units", "y={year:%Y}/{day:%m-%d}/h{hour:%H}", "2026-05-04T10", "", "", "y=2026/05-04/h10", true},
		{"day of the year", "{day:%Y-%j%%}", "2026-12-31", "", "", "2026-365%", true},
		{"a leap day", "{day:%Y/%m/%d}", "2028-02-29/P2D", "", "", "2028/02/29 2028/03/01", true},
		{"the year 1", "{day:%Y/%m/%d}", "0001-01-01", "", "", "0001/01/01", true},

		{"days of Shanghai", "{day:%m-%d-%Y}", "2026-05-04", "Asia/Shanghai", "Asia/Shanghai", "05-04-2026", true},
		{"a day of Shanghai in UTC folders", "{day:%m-%d-%Y}", "2026-05-04", "Asia/Shanghai", "", "05-03-2026 05-04-2026", false},
		{"23 hours", "{day:%Y/%m/%d}", "2026-03-29", "Europe/Berlin", "Europe/Berlin", "2026/03/29", true},
		{"25 hours", "{day:%Y/%m/%d}", "2026-10-25", "Europe/Berlin", "Europe/Berlin", "2026/10/25", true},
		{"the hours of 23", "{hour:%Y%m%d%H}", "2026-03-29T00:00+01:00/2026-03-29T05:00+02:00", "", "Europe/Berlin", "2026032900 2026032901 2026032903 2026032904", true},
		{"the hours of 25: both are in one folder", "{hour:%Y%m%d%H}", "2026-10-25T01:00+02:00/2026-10-25T04:00+01:00", "", "Europe/Berlin", "2026102501 2026102502 2026102503", true},
		{"the first of two", "{hour:%Y%m%d%H}", "2026-10-25T02:00+02:00/2026-10-25T03:00+02:00", "", "Europe/Berlin", "2026102502", false},
		{"the second of two", "{hour:%Y%m%d%H}", "2026-10-25T02:00+01:00/2026-10-25T03:00+01:00", "", "Europe/Berlin", "2026102502", false},
		{"a day without midnight", "{day:%Y/%m/%d}", "2018-11-04", "America/Sao_Paulo", "America/Sao_Paulo", "2018/11/04", true},
		{"a day with two", "{day:%Y/%m/%d}", "2018-02-17", "America/Sao_Paulo", "America/Sao_Paulo", "2018/02/17", true},
		{"a day that comes back after midnight", "{day:%Y/%m/%d}", "2006-10-29", "America/St_Johns", "America/St_Johns", "2006/10/28 2006/10/29", false},
		{"a day that never was", "{day:%Y/%m/%d}", "2011-12-30T12:00Z/2011-12-31T00:00Z", "", "Pacific/Apia", "2011/12/31", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			template, err := parseTemplate(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			got, exact, err := template.expand(instants(t, tt.window, zoneOf(t, tt.zone)), zoneOf(t, tt.pathZone))
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(got, " ")
			if len(got) > 10 {
				text = got[0] + " … " + got[len(got)-1]
			}
			if text != tt.want || exact != tt.exact {
				t.Errorf("got %s, exact %v; want %s, %v", text, exact, tt.want, tt.exact)
			}
		})
	}
}

// On a wall clock the folders are by the same clock, whatever their zone.
func TestTemplateOnAWallClock(t *testing.T) {
	t.Parallel()
	template, err := parseTemplate("{day:%Y/%m/%d}")
	if err != nil {
		t.Fatal(err)
	}
	w, err := lake.ParseWindow("2026-10-25", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, exact, err := template.expand(w, zoneOf(t, "Asia/Tokyo"))
	if err != nil || !exact {
		t.Errorf("exact %v, %v", exact, err)
	}
	if diff := cmp.Diff([]string{"2026/10/25"}, got); diff != "" {
		t.Errorf("expand (-want +got):\n%s", diff)
	}
}

// Every moment is in a folder that a window with it reads.
func TestTemplateMissesNoMoment(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Europe/Berlin", "America/Sao_Paulo", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Beirut"} {
		zone := zoneOf(t, name)
		for _, path := range []string{"{hour:%Y%m%d%H}", "{day:%Y%m%d}", "{month:%Y%m}"} {
			template, err := parseTemplate(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, year := range []int{2006, 2011, 2018} {
				for at := time.Date(year, 1, 1, 0, 7, 0, 0, time.UTC); at.Year() == year; at = at.Add(31 * time.Minute) {
					patterns, _, err := template.expand(lake.Window{From: at, To: at.Add(time.Minute)}, zone)
					if err != nil {
						t.Fatal(err)
					}
					want := formatTime(strings.TrimSuffix(path[strings.Index(path, ":")+1:], "}"), at.In(zone))
					if !strings.Contains(strings.Join(patterns, " "), want) {
						t.Fatalf("%s: %s is in folder %s, read is %v", name, at, want, patterns)
					}
				}
			}
		}
	}
}

func TestTemplateMistakes(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"x/{week:%Y/%V}/*.csv":                "{week:%Y/%V} is no template",
		"x/{day:%m/%d}/*.csv":                 "it does not say the year (%Y)",
		"x/{hour:%Y/%m/%d}/*.csv":             "it does not say the hour (%H)",
		"x/{day:%Y/%m/%d}/{hour:}/*.csv":      `"" says no field`,
		"x/{day:%Y/%B/%d}/*.csv":              "%B is unknown",
		"x/{day:%Y/%m/%}/*.csv":               "ends in the middle",
		"x/{day:%Y}/*.csv":                    "it does not say the month (%m)",
		"x/{day:}/*.csv":                      "says no field",
		"{month:%m}/{year:%Y}-{day:%Y}/*.csv": "it does not say the day",
	} {
		if _, err := New(Config{Path: path}, bytesFiles{}); !errors.Is(err, lake.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%s) = %v, want %q", path, err, want)
		}
	}
	_, err := New(Config{Path: "x/*.csv", Arrival: Arrival{After: lake.Step{Days: 1}}}, bytesFiles{})
	if !errors.Is(err, lake.ErrUsage) {
		t.Errorf("an arrival without a template: %v", err)
	}
	template, err := parseTemplate("{hour:%Y%m%d%H}")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := template.expand(lake.Window{From: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}, nil); !errors.Is(err, lake.ErrUsage) {
		t.Errorf("20 years of hours: %v", err)
	}
}
