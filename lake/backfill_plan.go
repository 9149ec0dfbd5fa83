package lake

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/iceberg-go/table"
)

// BackfillPlan is what a backfill would do.
type BackfillPlan struct {
	// Load is the load's name.
	Load, Table, Branch string
	Mode                Mode
	// Windows are to be loaded, in order. Where the table exists they are on its
	// time column.
	Windows []Window
	// Loaded are left out: the coverage holds them.
	Loaded []Window
	// Forgotten is how many of Windows are loaded because the coverage does not
	// know any more whether they were.
	Forgotten int
	// Creates is true where the table does not exist.
	Creates bool
	// Alone is true where windows are loaded alone until one has landed.
	Alone bool
	// Parallel is how many windows are loaded at the same time, and Memory, in
	// bytes, what each of these loads may hold.
	Parallel int
	Memory   int64
}

// PlanBackfill says which windows a backfill would load, touching nothing. It
// looks at no source.
func (l *Loader) PlanBackfill(ctx context.Context, b Backfill) (*BackfillPlan, error) {
	b = b.withDefaults()
	k := l.withDefaults()
	p, err := k.planBackfill(ctx, b)
	if err != nil {
		span := Window{}
		if n := len(b.Windows); n > 0 {
			span = Window{From: b.Windows[0].From, To: b.Windows[n-1].To, Wall: b.Windows[0].Wall}
		}
		if unreachable(err) {
			err = fmt.Errorf("%w: %w", err, ErrTemporary)
		}
		return nil, &Error{Op: "plan", Table: b.Load.TableName(), Window: span, Err: err}
	}
	return p, nil
}

func (l *Loader) planBackfill(ctx context.Context, b Backfill) (*BackfillPlan, error) {
	if err := b.validate(l.Memory); err != nil {
		return nil, err
	}
	p := &BackfillPlan{Load: b.Load.Name, Table: b.Load.TableName(), Branch: b.Load.Branch, Mode: b.Load.Mode, Windows: b.Windows}
	t, err := l.loadTable(ctx, b.Load.Table)
	switch {
	case errors.Is(err, ErrNoTable):
		p.Creates, p.Alone = true, true
	case err != nil:
		return nil, err
	default:
		if err := l.planOn(ctx, t, b, p); err != nil {
			return nil, err
		}
	}
	p.Parallel = max(1, min(b.Parallel, len(p.Windows)))
	p.Memory = l.Memory / int64(p.Parallel)
	return p, nil
}

// planOn puts the windows on the time column of a table that exists, and leaves
// out what the coverage holds.
func (l *Loader) planOn(ctx context.Context, t *table.Table, b Backfill, p *BackfillPlan) error {
	meta := t.Metadata()
	head := meta.SnapshotByName(b.Load.Branch)
	if head == nil && b.Load.Branch != table.MainBranch {
		return fmt.Errorf("the table has no branch %q: %w", b.Load.Branch, ErrUsage)
	}
	known, err := stateAt(ctx, t, l.Timeout, b.Load.Branch, head, b.Load.Name)
	if err != nil {
		return err
	}
	p.Alone = known.watermark.IsZero()
	windows := make([]Window, len(b.Windows))
	for i, w := range b.Windows {
		o, err := newOwned(b.Load, w, meta.CurrentSchema())
		if err != nil {
			return err
		}
		windows[i] = o.window
	}
	if err := inOrder(windows); err != nil {
		return err
	}
	p.Windows = nil
	for _, w := range windows {
		gaps := known.coverage.Gaps(w)
		if b.OnlyGaps && len(gaps) == 0 {
			p.Loaded = append(p.Loaded, w)
			continue
		}
		if b.OnlyGaps && gaps[0].Unknown {
			p.Forgotten++
		}
		p.Windows = append(p.Windows, w)
	}
	return nil
}
