package lake_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// mayDays are windows of the first n days of May.
func mayDays(tb testing.TB, n int) []lake.Window {
	tb.Helper()
	windows, err := window(tb, mayDay(1)+"/"+mayDay(n+1)).Grid(lake.Step{Days: 1}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return windows
}

// dayRows are the rows of the days of a backfill: day n has n of them.
func dayRows(day int) (rows []testenv.Event) {
	for i := range day {
		rows = append(rows, event(int64(100*day+i), fmt.Sprintf("%sT%02d:00:00Z", mayDay(day), i), int64(day)))
	}
	return rows
}

// backfill is one of days of May, each from a source of its own.
func (e *events) backfill(days int, b lake.Backfill) lake.Backfill {
	b.Load, b.Windows = e.load, mayDays(e.tb, days)
	if b.Source == nil {
		b.Source = func(w lake.Window) (lake.Source, error) { return source(e.tb, dayRows(w.From.Day())...), nil }
	}
	return b
}

// filled runs a backfill, and notes in the model and for the final check what
// its receipts say.
func (e *events) filled(ctx context.Context, l lake.Loader, b lake.Backfill) ([]lake.Receipt, error) {
	e.tb.Helper()
	l.Catalog = e.cat
	receipts, err := l.Backfill(ctx, b)
	for _, r := range receipts {
		if r.Outcome != lake.Landed && r.Outcome != lake.Unchanged {
			continue
		}
		e.check.Loaded(r)
		w := window(e.tb, r.Window.From+"/"+r.Window.To)
		e.model.Replace(w, "", dayRows(w.From.Day())...)
	}
	return receipts, err
}

// outcomes are what receipts say, by the day of their windows.
func outcomes(receipts []lake.Receipt) string {
	texts := make([]string, len(receipts))
	for i, r := range receipts {
		texts[i] = strings.TrimPrefix(strings.TrimSuffix(r.Window.From, "T00:00:00Z"), "2026-05-") + " " + string(r.Outcome)
	}
	return strings.Join(texts, ", ")
}

// TestBackfillParallel: windows loaded at the same time all land, each in one
// snapshot, and the table is that of serial loads; whether it is there before or
// the first window creates it. Run again, nothing is committed.
func TestBackfillParallel(t *testing.T) {
	t.Parallel()
	for _, exists := range []bool{false, true} {
		t.Run(fmt.Sprintf("exists %v", exists), func(t *testing.T) {
			t.Parallel()
			e, serial := newEvents(t, "parallel"), newEvents(t, "serial")
			if exists {
				old := event(1, "2026-06-01T00:00:00Z", 1)
				e.replace("2026-06-01", old)
				serial.replace("2026-06-01", old)
			}
			const days = 8
			receipts, err := e.filled(t.Context(), lake.Loader{}, e.backfill(days, lake.Backfill{Parallel: 4}))
			if err != nil || len(receipts) != days {
				t.Fatalf("%s, %v", outcomes(receipts), err)
			}
			for n := 1; n <= days; n++ {
				if r := serial.replace(mayDay(n), dayRows(n)...); *r.Digest != *receipts[n-1].Digest {
					t.Errorf("day %d: digest %s, by itself %s", n, *receipts[n-1].Digest, *r.Digest)
				}
			}
			if got, want := e.state("parallel").Coverage.String(), serial.state("serial").Coverage.String(); got != want {
				t.Errorf("coverage %s, of serial loads %s", got, want)
			}
			snapshots := len(e.table().Metadata().Snapshots())
			again, err := e.filled(t.Context(), lake.Loader{}, e.backfill(days, lake.Backfill{Parallel: 4}))
			if err != nil || strings.Count(outcomes(again), "unchanged") != days || len(e.table().Metadata().Snapshots()) != snapshots {
				t.Errorf("again: %s, %v", outcomes(again), err)
			}
		})
	}
}

// meeting counts how many loads read their sources at the same time, and holds
// each of them until so many do.
type meeting struct {
	mu       sync.Mutex
	now, top int
	need     int
	open     chan struct{}
}

func (m *meeting) read() {
	m.mu.Lock()
	m.now++
	m.top = max(m.top, m.now)
	if m.now == m.need {
		close(m.open)
		m.need = 0
	}
	m.mu.Unlock()
	<-m.open
	m.mu.Lock()
	m.now--
	m.mu.Unlock()
}

// memorySource tells what its load may hold.
type memorySource struct {
	lake.Source
	told func(int64)
}

func (s memorySource) Pin(ctx context.Context, w lake.Window) (lake.Input, error) {
	in, err := s.Source.Pin(ctx, w)
	return memoryInput{in, s.told}, err
}

type memoryInput struct {
	lake.Input
	told func(int64)
}

func (in memoryInput) Read(ctx context.Context, r lake.Request) iter.Seq2[lake.Batch, error] {
	in.told(r.Memory)
	return in.Input.Read(ctx, r)
}

// TestBackfillDividesMemory: a window that is loaded alone has the whole budget,
// of which a source may hold a quarter; those beside each other share it.
func TestBackfillDividesMemory(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "memory")
	var mu sync.Mutex
	told := map[int]int64{}
	met := &meeting{need: 3, open: make(chan struct{})}
	b := e.backfill(7, lake.Backfill{Parallel: 3, Source: func(w lake.Window) (lake.Source, error) {
		src := source(t, dayRows(w.From.Day())...)
		if w.From.Day() > 1 {
			src.BeforeRead = met.read
		}
		return memorySource{src, func(memory int64) {
			mu.Lock()
			defer mu.Unlock()
			told[w.From.Day()] = memory
		}}, nil
	}})
	const budget = 600 << 20
	if receipts, err := e.filled(t.Context(), lake.Loader{Memory: budget}, b); err != nil {
		t.Fatalf("%s, %v", outcomes(receipts), err)
	}
	for day := 1; day <= 7; day++ {
		want := int64(budget / 4)
		if day > 1 {
			want = budget / 3 / 4
		}
		if told[day] != want {
			t.Errorf("day %d could hold %d bytes, want %d", day, told[day], want)
		}
	}
	if met.top != 3 {
		t.Errorf("%d windows were loaded at the same time, want 3", met.top)
	}
	_, err := (&lake.Loader{Catalog: e.cat, Memory: budget}).Backfill(t.Context(), e.backfill(7, lake.Backfill{Parallel: 5}))
	want(t, err, lake.ErrUsage)
}

// TestBackfillMerge: windows with versions of the same keys, merged at the same
// time, leave the newest of each.
func TestBackfillMerge(t *testing.T) {
	t.Parallel()
	o := newOrders(t, "merged")
	versions := func(day int) (rows []order) {
		for id := range int64(6) {
			if (int(id)+day)%3 > 0 {
				status := fmt.Sprint("of ", day)
				if day == 5 && id == 1 {
					status = "deleted"
				}
				rows = append(rows, placed(id, "01", fmt.Sprintf("%02dT10:00", day), int64(day), status))
			}
		}
		return rows
	}
	b := lake.Backfill{Load: o.load, Windows: mayDays(t, 8), Parallel: 4, Source: func(w lake.Window) (lake.Source, error) {
		return orderSource(t, versions(w.From.Day())...), nil
	}}
	for _, again := range []bool{false, true} {
		receipts, err := o.loader.Backfill(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range receipts {
			o.check.Loaded(r)
			o.note(versions(i + 1)...)
			if n := r.ByKey.Inserted + r.ByKey.Updated + r.ByKey.Deleted; again && n > 0 {
				t.Errorf("%d rows of day %d are written again", n, i+1)
			}
		}
	}
}

// TestBackfillFailure: one window of five fails; the others are left, or loaded,
// as asked, and the failure is told.
func TestBackfillFailure(t *testing.T) {
	t.Parallel()
	broken := errors.New("the tape is torn")
	for _, tc := range []struct {
		how      lake.OnFailure
		parallel int
		outcomes string
		text     string
	}{
		{"", 1, "01 landed, 02 landed, 03 failed", "of 5 windows 1 failed and 2 were not begun: "},
		{lake.FinishOnFailure, 1, "01 landed, 02 landed, 03 failed, 04 landed, 05 landed", "of 5 windows 1 failed: "},
		{lake.FinishOnFailure, 3, "01 landed, 02 landed, 03 failed, 04 landed, 05 landed", "of 5 windows 1 failed: "},
		// Days 2 and 3 are under way together: the one that does not fail is ended.
		{lake.StopOnFailure, 2, "01 landed, 02 landed, 03 failed", "of 5 windows 1 failed and 2 were not begun: "},
	} {
		t.Run(fmt.Sprintf("%s of %d", tc.how, tc.parallel), func(t *testing.T) {
			t.Parallel()
			e := newEvents(t, "failure")
			second, failed := make(chan struct{}), make(chan struct{})
			var told []int
			b := e.backfill(5, lake.Backfill{OnFailure: tc.how, Parallel: tc.parallel, Source: func(w lake.Window) (lake.Source, error) {
				src := source(t, dayRows(w.From.Day())...)
				switch {
				case w.From.Day() == 3:
					src.Err = broken
					if tc.parallel == 2 {
						src.BeforeRead = func() { <-second }
					}
				case w.From.Day() == 2 && tc.parallel == 2:
					src.BeforeRead = func() { close(second); <-failed }
				}
				return src, nil
			}, Ended: func(i int, _ lake.Receipt, err error) {
				told = append(told, i)
				if err != nil {
					close(failed)
				}
			}})
			receipts, err := e.filled(t.Context(), lake.Loader{}, b)
			if got := outcomes(receipts); got != tc.outcomes {
				t.Errorf("outcomes: %s", got)
			}
			var many *lake.BackfillError
			if !errors.As(err, &many) || !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), tc.text) {
				t.Errorf("Backfill = %v, want %s… %v", err, tc.text, broken)
			}
			if slices.Sort(told); len(told) != len(receipts) || len(slices.Compact(told)) != len(receipts) {
				t.Errorf("told of windows %v, want each once", told)
			}
		})
	}
}

// TestBackfillFirstWindow: where the first window fails, the next one creates the
// table, still alone.
func TestBackfillFirstWindow(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "first")
	met := &meeting{need: 2, open: make(chan struct{})}
	b := e.backfill(4, lake.Backfill{OnFailure: lake.FinishOnFailure, Parallel: 2, Source: func(w lake.Window) (lake.Source, error) {
		src := source(t, dayRows(w.From.Day())...)
		switch w.From.Day() {
		case 1:
			return nil, errors.New("no such source")
		case 2:
			src.BeforeRead = func() {
				if met.top > 0 {
					t.Error("another window is loaded beside the one that creates the table")
				}
			}
		default:
			src.BeforeRead = met.read
		}
		return src, nil
	}})
	receipts, err := e.filled(t.Context(), lake.Loader{}, b)
	if got := outcomes(receipts); got != "01 failed, 02 landed, 03 landed, 04 landed" || err == nil {
		t.Errorf("%s, %v", got, err)
	}
}

// TestBackfillWatermark: windows land in any order, and the watermark begins at
// the first all the same: what a killed backfill leaves out is never below it.
func TestBackfillWatermark(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "marks")
	e.load.Scope, e.load.Name = map[string]string{"region": "us"}, "other"
	e.replace("2026-05-01") // a table that knows nothing of the load
	e.load.Scope, e.load.Name = map[string]string{"region": "eu"}, "mine"
	third := make(chan struct{})
	var first atomic.Bool // has ended
	b := e.backfill(3, lake.Backfill{OnFailure: lake.FinishOnFailure, Parallel: 3, Source: func(w lake.Window) (lake.Source, error) {
		src := source(t, dayRows(w.From.Day())...)
		if w.From.Day() > 1 && !first.Load() {
			t.Errorf("%s is loaded beside the first window", w)
		}
		if w.From.Day() == 2 {
			src.BeforeRead = func() { <-third }
			src.Err = errors.New("killed")
		}
		return src, nil
	}, Ended: func(i int, _ lake.Receipt, _ error) {
		switch i {
		case 0:
			first.Store(true)
		case 2:
			close(third)
		}
	}})
	receipts, _ := e.filled(t.Context(), lake.Loader{}, b)
	if got := outcomes(receipts); got != "01 landed, 02 failed, 03 landed" {
		t.Fatal(got)
	}
	if got := e.state("mine").Watermark.Format("2006-01-02"); got != "2026-05-02" {
		t.Errorf("watermark %s, want the end of the first day", got)
	}
}

// TestBackfillGaps: only what the coverage lacks is loaded, a window that it
// holds in part as a whole.
func TestBackfillGaps(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "gapsonly")
	e.replace(mayDay(2), dayRows(2)...)
	e.replace(mayDay(4)+"T00", dayRows(4)[0])
	var plan *lake.BackfillPlan
	b := e.backfill(4, lake.Backfill{OnlyGaps: true, Planned: func(p *lake.BackfillPlan) { plan = p }})
	receipts, err := e.filled(t.Context(), lake.Loader{}, b)
	if got := outcomes(receipts); got != "01 landed, 03 landed, 04 landed" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if len(plan.Windows) != 3 || len(plan.Loaded) != 1 || plan.Forgotten != 0 || plan.Alone || plan.Creates {
		t.Errorf("plan: %+v", plan)
	}
	receipts, err = e.filled(t.Context(), lake.Loader{}, b)
	if len(receipts) != 0 || err != nil || len(plan.Loaded) != 4 {
		t.Errorf("again: %s, %v, plan %+v", outcomes(receipts), err, plan)
	}
}

// TestBackfillInterrupted: no window is begun once the context has ended, and
// those under way end as a load does.
func TestBackfillInterrupted(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	quit := errors.New("asked to quit")
	b := e.backfill(4, lake.Backfill{OnFailure: lake.FinishOnFailure, Source: func(w lake.Window) (lake.Source, error) {
		src := source(t, dayRows(w.From.Day())...)
		if w.From.Day() == 2 {
			src.BeforeRead = func() { cancel(quit) }
		}
		return src, nil
	}})
	receipts, err := e.filled(ctx, lake.Loader{}, b)
	var many *lake.BackfillError
	if !errors.Is(err, quit) || !errors.As(err, &many) || many.Left != 2 || many.Failed != 1 {
		t.Errorf("Backfill = %v", err)
	}
	if got := outcomes(receipts); !strings.HasPrefix(got, "01 landed, 02 ") || len(receipts) != 2 {
		t.Errorf("outcomes: %s", got)
	}
}

// TestBackfillSkips: skipped windows are no failures, unless all are.
func TestBackfillSkips(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "skips")
	e.load.OnEmpty = lake.SkipEmpty
	from := 1
	b := e.backfill(3, lake.Backfill{Source: func(w lake.Window) (lake.Source, error) {
		if w.From.Day() >= from {
			return &testenv.Source{Schema: testenv.EventArrow(), Files: -1}, nil
		}
		return source(t, dayRows(w.From.Day())...), nil
	}})
	receipts, err := e.filled(t.Context(), lake.Loader{}, b)
	if got := outcomes(receipts); got != "01 skipped, 02 skipped, 03 skipped" || !errors.Is(err, lake.ErrSkipped) || !strings.HasPrefix(err.Error(), "all of 3 windows were skipped: ") {
		t.Errorf("%s, %v", got, err)
	}
	from = 3
	receipts, err = e.filled(t.Context(), lake.Loader{}, b)
	if got := outcomes(receipts); got != "01 landed, 02 landed, 03 skipped" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// TestBackfillBug: a panic in one window's load does not end the others, or the
// process.
func TestBackfillBug(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "bug")
	e.replace(mayDay(1), dayRows(1)...)
	sent := false
	b := e.backfill(3, lake.Backfill{OnFailure: lake.FinishOnFailure, Parallel: 2, Source: func(w lake.Window) (lake.Source, error) {
		if w.From.Day() == 2 {
			panic("no")
		}
		return source(t, dayRows(w.From.Day())...), nil
	}, Began: func(i int) *lake.Trace {
		if i != 2 {
			return nil
		}
		return &lake.Trace{Sent: func() { sent = true; panic("no") }}
	}})
	receipts, err := e.filled(t.Context(), lake.Loader{}, b)
	if got := outcomes(receipts); got != "01 unchanged, 02 failed, 03 unknown" || !errors.Is(err, lake.ErrBug) {
		t.Errorf("%s, %v", got, err)
	}
	if !sent {
		t.Error("the window's own trace was not told")
	}
}

// TestBackfillRefuses: what cannot be right is refused before anything is loaded.
func TestBackfillRefuses(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "refuses")
	e.replace(mayDay(9), dayRows(9)...)
	days := mayDays(t, 3)
	hard := func(b *lake.Backfill) {
		b.Load.Mode, b.Load.Key, b.Load.VersionBy = lake.Merge, []string{"id"}, []string{"event_time"}
		b.Load.DeleteWhen, b.Load.Deletes = "value = 0", lake.HardDeletes
	}
	for name, tc := range map[string]struct {
		change func(*lake.Backfill)
		err    error
	}{
		"two windows that overlap": {func(b *lake.Backfill) {
			b.Windows = []lake.Window{days[0], {From: days[0].From.Add(1), To: days[2].To}}
		}, lake.ErrWindow},
		"windows in no order":      {func(b *lake.Backfill) { slices.Reverse(b.Windows) }, lake.ErrWindow},
		"an empty window":          {func(b *lake.Backfill) { b.Windows[1].To = b.Windows[1].From }, lake.ErrWindow},
		"evolve in parallel":       {func(b *lake.Backfill) { b.Load.Schema, b.Parallel = lake.Evolve, 2 }, lake.ErrUsage},
		"hard deletes in parallel": {func(b *lake.Backfill) { hard(b); b.Parallel = 2 }, lake.ErrUsage},
		"hard deletes in no order": {func(b *lake.Backfill) { hard(b); b.OnFailure = lake.FinishOnFailure }, lake.ErrUsage},
		"fewer than one":           {func(b *lake.Backfill) { b.Parallel = -1 }, lake.ErrUsage},
		"no such way":              {func(b *lake.Backfill) { b.OnFailure = "shrug" }, lake.ErrUsage},
		"no such column":           {func(b *lake.Backfill) { b.Load.TimeColumn = "at" }, lake.ErrUsage},
		"no such branch":           {func(b *lake.Backfill) { b.Load.Branch = "twig" }, lake.ErrUsage},
	} {
		t.Run(name, func(t *testing.T) {
			b := e.backfill(3, lake.Backfill{Planned: func(*lake.BackfillPlan) { t.Error("it was planned") }})
			tc.change(&b)
			receipts, err := (&lake.Loader{Catalog: e.cat}).Backfill(t.Context(), b)
			want(t, err, tc.err)
			if len(receipts) > 0 {
				t.Error(outcomes(receipts))
			}
		})
	}
}

// TestBackfillCatalogs: loads at the same time share one open catalog, of any
// kind, and its store.
func TestBackfillCatalogs(t *testing.T) {
	t.Parallel()
	s3 := testenv.MinIO(t)
	for _, kind := range testenv.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			cat := kind.New(t, s3)
			e := &events{tb: t, cat: cat, model: &testenv.Model{}, load: lake.Load{Table: cat.Ident("backfilled"), TimeColumn: "event_time"}}
			e.check = testenv.Check(t, cat, e.load.Table, e.model.Strings)
			receipts, err := e.filled(t.Context(), lake.Loader{}, e.backfill(8, lake.Backfill{Parallel: 4}))
			if err != nil || strings.Count(outcomes(receipts), "landed") != 8 {
				t.Errorf("%s, %v", outcomes(receipts), err)
			}
		})
	}
}
