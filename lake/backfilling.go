package lake

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// backfilling is a backfill under way.
type backfilling struct {
	Backfill
	loader Loader
	plan   *BackfillPlan

	mu sync.Mutex // over what follows, and over Ended
	// ended are the receipts of the windows that were begun and are over.
	ended          []*Receipt
	failed, landed int
	first          error // failure
	skipped        error // the first that was
	// kept is true where the end of the context kept a window from being begun.
	kept bool
}

func (r *backfilling) run(ctx context.Context) {
	next := 0
	for r.plan.Alone && next < len(r.plan.Windows) && r.landed == 0 {
		r.window(ctx, next, r.loader.Memory)
		next++
	}
	var group errgroup.Group
	group.SetLimit(r.plan.Parallel)
	for i := next; i < len(r.plan.Windows); i++ {
		group.Go(func() error {
			r.window(ctx, i, r.plan.Memory)
			return nil
		})
	}
	_ = group.Wait()
}

// window loads a window, unless no more are to be begun.
func (r *backfilling) window(ctx context.Context, i int, memory int64) {
	if !r.mayBegin(ctx) {
		return
	}
	receipt, err := r.load(ctx, i, memory)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended[i] = &receipt
	switch {
	case err == nil:
		r.landed++
	case errors.Is(err, ErrSkipped):
		if r.skipped == nil {
			r.skipped = err
		}
	default:
		r.failed++
		if r.first == nil {
			r.first = err
		}
	}
	r.Ended(i, receipt, err)
}

// mayBegin reports whether windows are still to be begun.
func (r *backfilling) mayBegin(ctx context.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed > 0 && r.OnFailure == StopOnFailure {
		return false
	}
	r.kept = r.kept || ctx.Err() != nil
	return !r.kept
}

// load is one load. A panic in it must not end those beside it, nor the process
// before their outcomes are known.
func (r *backfilling) load(ctx context.Context, i int, memory int64) (receipt Receipt, err error) {
	w := r.plan.Windows[i]
	var sent atomic.Bool
	trace := r.trace(i, &sent)
	bug := func() (bug error) {
		defer Caught(&bug)
		src, e := r.Source(w)
		if e != nil {
			err = r.failure(w, e)
			receipt = r.receipt(w, err)
			return nil
		}
		loader := r.loader
		loader.Memory, loader.Trace = memory, trace
		receipt, err = loader.Load(ctx, r.Load, src, w)
		return nil
	}()
	if bug == nil {
		return receipt, err
	}
	if sent.Load() {
		bug = fmt.Errorf("%w: %w", ErrUnknown, bug)
	}
	err = r.failure(w, bug)
	return r.receipt(w, err), err
}

// trace is a window's, and also notes that a commit was sent.
func (r *backfilling) trace(i int, sent *atomic.Bool) *Trace {
	own := r.loader.Trace
	if r.Began != nil {
		r.mu.Lock()
		own = r.Began(i)
		r.mu.Unlock()
	}
	noting := Trace{}
	if own != nil {
		noting = *own
	}
	told := noting.Sent
	noting.Sent = func() {
		sent.Store(true)
		if told != nil {
			told()
		}
	}
	return &noting
}

func (r *backfilling) failure(w Window, err error) error {
	return &Error{Op: "load", Table: r.Load.TableName(), Window: w, Err: err}
}

// receipt is that of a load which made none itself.
func (r *backfilling) receipt(w Window, err error) Receipt {
	return Receipt{Outcome: outcomeOf(err), Load: r.Load.Name, Table: r.Load.TableName(), Mode: string(r.Load.Mode), Branch: r.Load.Branch, Window: w.JSON()}
}

// outcome says why not all windows were loaded.
func (r *backfilling) outcome(ctx context.Context) error {
	e := &BackfillError{Windows: len(r.plan.Windows), Failed: r.failed}
	for _, receipt := range r.ended {
		if receipt == nil {
			e.Left++
		}
	}
	switch {
	case r.kept:
		e.Err = context.Cause(ctx)
	case r.first != nil:
		e.Err = r.first
	case r.landed == 0 && r.skipped != nil:
		e.Err = r.skipped
	default:
		return nil
	}
	return e
}
