package lake

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// OnFailure says what a failed window means for those that have not begun.
type OnFailure string

const (
	// StopOnFailure begins no other window; those under way are ended as they
	// would have been. The default.
	StopOnFailure OnFailure = "stop"
	// FinishOnFailure loads all other windows.
	FinishOnFailure OnFailure = "finish"
)

// Backfill is many windows, each of which is loaded by a load of its own. Load,
// Windows and Source are required.
type Backfill struct {
	Load Load
	// Windows are in order, and no two overlap. [Window.Grid] makes them.
	Windows []Window
	// Source returns the source of a window, when its load begins. It may be
	// called from several goroutines.
	Source func(Window) (Source, error)
	// OnlyGaps leaves out the windows that the coverage holds. One that it holds
	// in part is loaded whole.
	OnlyGaps bool
	// Parallel is how many windows are loaded at the same time, which share
	// [Loader.Memory]. They land in any order, which makes a difference only to a
	// merge in which two windows have a key in one version with other values.
	// Default: 1.
	Parallel int
	// OnFailure says how to go on after a failure. Default: [StopOnFailure].
	OnFailure OnFailure

	// Planned is called once, before anything is loaded. Optional.
	Planned func(*BackfillPlan)
	// Began is called when the load of a window begins, with the window's index in
	// [BackfillPlan.Windows], and returns the hooks that observe the load, or nil;
	// those of several loads are called at the same time. Default: [Loader.Trace]
	// for all.
	Began func(i int) *Trace
	// Ended is called when a load that was begun is over, in the order in which
	// they are. No two calls of Began and Ended are made at the same time.
	// Optional.
	Ended func(i int, r Receipt, err error)
}

// leastMemory is the least share of the budget that windows are loaded with in
// parallel. With less, what a load holds besides the parts that it divides takes
// more than the share: four with 64 MiB each took half as much again.
const leastMemory = 128 << 20

func (b Backfill) withDefaults() Backfill {
	b.Load = b.Load.withDefaults()
	if b.Parallel == 0 {
		b.Parallel = 1
	}
	if b.OnFailure == "" {
		b.OnFailure = StopOnFailure
	}
	if b.Planned == nil {
		b.Planned = func(*BackfillPlan) {}
	}
	if b.Ended == nil {
		b.Ended = func(int, Receipt, error) {}
	}
	return b
}

func (b Backfill) validate(memory int64) error {
	switch {
	case b.Parallel < 1:
		return fmt.Errorf("parallel must be at least 1, not %d: %w", b.Parallel, ErrUsage)
	case b.Parallel > 1 && b.Load.Schema == Evolve:
		return fmt.Errorf("schema evolve changes the columns under other loads, so windows are loaded one after another: leave parallel out, or give schema strict once the table has the columns: %w", ErrUsage)
	case b.Load.Deletes == HardDeletes && (b.Parallel > 1 || b.OnFailure == FinishOnFailure):
		return fmt.Errorf("deletes: hard needs windows that land in order, since it leaves no trace of what it deleted: leave parallel out, and stop on failure: %w", ErrUsage)
	case b.Parallel > 1 && memory/int64(b.Parallel) < leastMemory:
		return fmt.Errorf("%d loads at the same time share a memory of %d MiB, and each needs %d MiB at least: allow fewer, or more memory: %w", b.Parallel, memory>>20, leastMemory>>20, ErrUsage)
	case !slices.Contains([]OnFailure{StopOnFailure, FinishOnFailure}, b.OnFailure):
		return fmt.Errorf("on failure %q must be stop or finish: %w", b.OnFailure, ErrUsage)
	}
	for _, w := range b.Windows {
		if err := w.validate(); err != nil {
			return err
		}
	}
	if err := inOrder(b.Windows); err != nil {
		return err
	}
	return b.Load.validate()
}

func inOrder(windows []Window) error {
	for i, w := range windows[min(1, len(windows)):] {
		if w.From.Before(windows[i].To) || w.Wall != windows[i].Wall {
			return fmt.Errorf("the window %s does not begin at the end of %s or after it: %w", w, windows[i], ErrWindow)
		}
	}
	return nil
}

// BackfillError says that not every window was loaded, and wraps why: the first
// failure, or the end of the context where that kept windows from being begun.
type BackfillError struct {
	// Windows is how many were to be loaded, Failed how many of them failed, and
	// Left how many were not begun.
	Windows, Failed, Left int
	Err                   error
}

func (e *BackfillError) Error() string {
	text := fmt.Sprintf("of %d windows %d failed", e.Windows, e.Failed)
	if errors.Is(e.Err, ErrSkipped) {
		text = fmt.Sprintf("all of %d windows were skipped", e.Windows)
	}
	if e.Left > 0 {
		text += fmt.Sprintf(" and %d were not begun", e.Left)
	}
	return fmt.Sprintf("%s: %v", text, e.Err)
}

func (e *BackfillError) Unwrap() error { return e.Err }

// Backfill loads many windows. Each lands by itself, or leaves its window as it
// was: whatever becomes of the process, running the backfill again is right, and
// with OnlyGaps it loads what is left. A skipped window is no failure, unless
// all are skipped.
//
// A window is loaded alone, before all others, until one has landed, where the
// table does not exist or knows nothing of the load: so the table's columns are
// those of the first window, and the watermark begins there.
//
// It returns the receipts of the windows that were begun, in order. The error is
// a [*BackfillError] once windows were begun.
func (l *Loader) Backfill(ctx context.Context, b Backfill) ([]Receipt, error) {
	b = b.withDefaults()
	plan, err := l.PlanBackfill(ctx, b)
	if err != nil {
		return nil, err
	}
	b.Planned(plan)
	r := &backfilling{Backfill: b, loader: l.withDefaults(), plan: plan, ended: make([]*Receipt, len(plan.Windows))}
	r.run(ctx)
	var receipts []Receipt
	for _, receipt := range r.ended {
		if receipt != nil {
			receipts = append(receipts, *receipt)
		}
	}
	return receipts, r.outcome(ctx)
}
