package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/calve-data/calve/lake"
)

// drawn is a page of made-up loads: its cells by kind are known.
func drawn(tb testing.TB, loads ...loadGaps) page {
	tb.Helper()
	p, err := newPage("demo.events", "main", loads, entriesOf(loads), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// dailyLoad has a year and a half of days: 10 missing, 5 loaded twice, one half.
func dailyLoad(name string) loadGaps {
	from := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	var c lake.Coverage
	for i := range 540 {
		w := lake.Window{From: from.AddDate(0, 0, i), To: from.AddDate(0, 0, i+1)}
		switch {
		case i >= 100 && i < 107 || i >= 400 && i < 403:
			continue
		case i == 450:
			w.To = w.From.Add(12 * time.Hour)
		}
		c = c.Add(w)
	}
	return gapsIn(lake.LoadState{Load: name, Coverage: c, Watermark: c.Windows[0].To, Claim: lake.Claim{TimeColumn: "event_time", Scope: "region=eu", Mode: "replace"}})
}

func gapsIn(s lake.LoadState) loadGaps {
	return loadGaps{state: s, in: s.Range(), gaps: s.Coverage.Gaps(s.Range())}
}

// hourlyLoad has two weeks of hours, of which 20 are missing.
func hourlyLoad(name string) loadGaps {
	from := time.Date(2026, 3, 25, 0, 0, 0, 0, time.UTC)
	var c lake.Coverage
	for i := range 14 * 24 {
		if i < 50 || i >= 70 {
			c = c.Add(lake.Window{From: from.Add(time.Duration(i) * time.Hour), To: from.Add(time.Duration(i+1) * time.Hour)})
		}
	}
	return gapsIn(lake.LoadState{Load: name, Coverage: c})
}

// entriesOf are snapshots of the last days of daily loads; five days twice.
func entriesOf(loads []loadGaps) (entries []lake.HistoryEntry) {
	id := int64(1_000_000)
	for _, l := range loads {
		windows := l.state.Coverage.Windows
		if len(windows) == 0 {
			continue
		}
		last := windows[len(windows)-1].To
		for i := range 35 {
			n := i
			if i >= 30 {
				n = i - 25 // once more, as older snapshots
			}
			w := lake.Window{From: last.AddDate(0, 0, -n-1), To: last.AddDate(0, 0, -n)}
			text, _ := w.MarshalText()
			id--
			entries = append(entries, lake.HistoryEntry{
				SnapshotID: id, At: w.To.Add(time.Duration(60-i) * time.Minute), Operation: "overwrite", Load: l.state.Load, Window: string(text),
				Rows: int64(1000 + 37*n), Run: fmt.Sprintf("scheduled__%s", w.From.Format("2006-01-02")),
			})
		}
	}
	return entries
}

func htmlOf(tb testing.TB, p page) []byte {
	tb.Helper()
	b, err := p.html()
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// kinds counts the cells of a page by kind.
func kinds(html []byte) map[string]int {
	count := map[string]int{}
	for _, m := range regexp.MustCompile(`<td class="([a-z]+)"( tabindex)?`).FindAllSubmatch(html, -1) {
		count[string(m[1])]++
	}
	return count
}

func TestHistoryPage(t *testing.T) {
	t.Parallel()
	html := htmlOf(t, drawn(t, dailyLoad("events")))
	got := kinds(html)
	// 540 days; the hours of the days are there too, since one is loaded by half.
	want := map[string]int{"loaded": 540 - 10 - 1 - 5 + (540-10)*24 - 12 - 5*24, "missing": 10 + 10*24 + 12, "partly": 1, "again": 5 + 5*24}
	for kind, n := range want {
		if got[kind] != n {
			t.Errorf("%d cells are %s, want %d", got[kind], kind, n)
		}
	}
	for _, text := range []string{
		"<caption>2025 <span class=\"soft\">7 days missing</span></caption>", "<caption>2026 <span class=\"soft\">3 days missing</span></caption>",
		`aria-label="Fri 11 April 2025: missing"`, "scheduled__2026-06-20", "10 days 12 h in 3 gaps", "<dd>region=eu</dd>", `<th scope="col" colspan="5">Jan</th>`,
	} {
		if !bytes.Contains(html, []byte(text)) {
			t.Errorf("the page lacks %s", text)
		}
	}
	hours := kinds(htmlOf(t, drawn(t, hourlyLoad("hourly"))))
	if hours["missing"] != 20 || hours["partly"] != 1 {
		t.Errorf("hours: %v", hours)
	}
}

// TestHistoryPageIsWhole: a page asks for nothing else, whatever names it shows.
func TestHistoryPageIsWhole(t *testing.T) {
	t.Parallel()
	evil := `<script>alert("x")</script>' onfocus='y`
	d := dailyLoad(evil)
	d.state.Claim.Scope = evil
	p := drawn(t, d, loadGaps{state: lake.LoadState{Load: "wrong", Err: fmt.Errorf("state %s", evil)}}, loadGaps{state: lake.LoadState{Load: "empty"}})
	p.Table = evil
	p.Loads[0].Windows[0].Run = evil
	html := htmlOf(t, p)
	if n := bytes.Count(html, []byte("<script")); n != 1 {
		t.Errorf("%d scripts, want that of the template alone", n)
	}
	for _, bad := range []string{"http:", "https:", "//cdn", "src=", "href=", "url(", "@import", "' onfocus", "alert(\""} {
		if bytes.Contains(html, []byte(bad)) {
			t.Errorf("the page has %s", bad)
		}
	}
	html = regexp.MustCompile(`(?s)<script>.*</script>|<!DOCTYPE html>`).ReplaceAll(html, nil) // no XML
	dec := xml.NewDecoder(bytes.NewReader(html))
	dec.Strict, dec.AutoClose, dec.Entity = false, []string{"meta"}, xml.HTMLEntity
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not well formed: %v", err)
		}
	}
	if got := htmlOf(t, drawn(t)); !bytes.Contains(got, []byte("No load of calve is known")) {
		t.Error("a page without loads does not say so")
	}
}

// TestHistoryPageInABrowser looks at a screenshot: the cells are there, in their
// colours, and nothing is cut off.
func TestHistoryPageInABrowser(t *testing.T) {
	t.Parallel()
	p := drawn(t, dailyLoad("events"))
	p.Loads[0].Months = nil
	file := filepath.Join(t.TempDir(), "history.html")
	if err := os.WriteFile(file, htmlOf(t, p), 0o600); err != nil {
		t.Fatal(err)
	}
	for scheme, want := range map[string]struct {
		page   color.NRGBA
		loaded color.NRGBA
		again  color.NRGBA
	}{
		"light": {color.NRGBA{0xf6, 0xf8, 0xfa, 255}, color.NRGBA{0x2f, 0x9e, 0x62, 255}, color.NRGBA{0x1f, 0x6f, 0xc4, 255}},
		"dark":  {color.NRGBA{0x0d, 0x11, 0x17, 255}, color.NRGBA{0x3a, 0xa7, 0x6d, 255}, color.NRGBA{0x58, 0xa1, 0xf0, 255}},
	} {
		shot := screenshot(t, file, scheme, 1100, 900)
		if b := shot.Bounds(); b.Dx() != 1100 || b.Dy() != 900 || nrgba(shot, 2, 2) != want.page {
			t.Fatalf("%s: %v, the page is %v", scheme, b, nrgba(shot, 2, 2))
		}
		count := map[color.NRGBA]int{}
		for y := range 900 {
			for x := range 1100 {
				count[nrgba(shot, x, y)]++
			}
		}
		// A cell of 13 by 13 pixels, its corners rounded; of one loaded again the middle is white.
		// One more of each is in the legend, and half a cell of the day loaded by half.
		for name, tc := range map[string]struct{ pixels, cells int }{"loaded": {count[want.loaded], 540 - 16 + 1}, "again": {count[want.again], 5 + 1}} {
			if low, high := 130*tc.cells, 169*(tc.cells+1); tc.pixels < low || tc.pixels > high {
				t.Errorf("%s: %d pixels are of %s cells, want %d to %d", scheme, tc.pixels, name, low, high)
			}
		}
	}
}

func nrgba(img image.Image, x, y int) color.NRGBA {
	return color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
}

// screenshot draws a file in a browser without a window.
func screenshot(tb testing.TB, file, scheme string, width, height int) image.Image {
	tb.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatal("chromium is missing: apt-get install chromium")
		}
		tb.Skip("chromium is missing: apt-get install chromium")
	}
	out := filepath.Join(tb.TempDir(), scheme+".png")
	args := []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1", "--force-color-profile=srgb",
		"--user-data-dir=" + tb.TempDir(), fmt.Sprintf("--window-size=%d,%d", width, height), "--screenshot=" + out,
	}
	if scheme == "dark" {
		args = append(args, "--blink-settings=preferredColorScheme=0")
	} else {
		args = append(args, "--blink-settings=preferredColorScheme=1")
	}
	if text, err := exec.CommandContext(tb.Context(), browser, append(args, "file://"+file)...).CombinedOutput(); err != nil {
		tb.Fatalf("chromium: %v\n%s", err, text)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		tb.Fatal(err)
	}
	if dir := os.Getenv("CALVE_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(tb.Name(), "/", "_")+"_"+scheme+".png"), raw, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		tb.Fatal(err)
	}
	return img
}
