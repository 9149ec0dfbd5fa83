package lake

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/apache/iceberg-go/table"
)

// The commit is one compare-and-swap in the catalog. After it, one of three
// things is true, and which one is read from the table, never from an error:
//
//	landed    a snapshot of this load is in the table
//	conflict  the head has moved and no snapshot of this load is there
//	open      the head has not moved, so the call failed before it took effect,
//	          or is still on its way
//
// After a conflict the loop goes round: the fence, a new survey of the new
// head, a new attempt. Source files are staged once; derived files are made
// again only where what they were made from changed. Open is sent again, a few
// times. Where it stays open, or the table cannot be read, the outcome is
// unknown: then every file is kept, and running the load again is safe, for
// whether or not the lost commit landed, the next run replaces the same rows.
//
// This is the only loop that tries again. iceberg-go's own replay stays off,
// whatever the table's properties say, since this package calls CommitTable
// itself: a replayed swap would use a stale list of files, and clean up after
// an attempt that had landed (pitfall L8).

// change is what a commit does to a table: a load, or the expiry of snapshots.
type change interface {
	// draft is the table that the change creates; nil where it exists.
	draft() *table.Table
	// fence says why the change must not be made on a head.
	fence(head *table.Table) error
	// attemptOn makes an attempt on a head, the first one or a later one, which
	// races with others. One without updates means that nothing is left to do.
	attemptOn(ctx context.Context, head *table.Table, first bool) (*attempt, error)
	// shows reports whether a table shows that the attempt landed.
	shows(t *table.Table, a *attempt) bool
	// moved reports whether an attempt made on was can land no more, now that
	// the table is as in is, and certainly has not landed in between.
	moved(was, is *table.Table) bool
	// expired reports whether objects of the head may have been removed while an
	// attempt read them.
	expired(ctx context.Context, head *table.Table) bool
	// discard removes the objects that the change wrote, but for keep.
	discard(ctx context.Context, keep map[string]bool)
}

// landing is how a change landed.
type landing struct {
	*attempt
	attempts         int
	metadataLocation string
}

const (
	// readsAfterError is how often the table is read again after an answer was
	// lost, before the outcome is called unknown.
	readsAfterError = 6
	// openAttempts is how often a commit is sent on one head.
	openAttempts = 5
	firstPause   = 20 * time.Millisecond
	longestPause = 2 * time.Second
)

// commit publishes a change. After an error the table is as it was, unless the
// error is ErrUnknown; files that a late commit could still name are kept.
func (l Loader) commit(ctx context.Context, id table.Identifier, what change) (*landing, error) {
	c := &committing{Loader: l, change: what, table: id}
	var previous error
	for n := 1; n <= c.Attempts; n++ {
		out := &landing{attempts: n}
		c.Trace.attempt(n, previous)
		head, err := c.head(ctx)
		if err != nil {
			return out, c.giveUp(ctx, err)
		}
		if a := c.landed(head); a != nil {
			return c.finish(ctx, a, n, head.Metadata(), head.MetadataLocation()), nil
		}
		if err := c.fence(head); err != nil {
			return out, c.giveUp(ctx, err)
		}
		a, err := c.attemptOn(ctx, head, n == 1)
		if err != nil && n < c.Attempts && c.expired(ctx, head) {
			previous = err // what was read has been removed: go round
			continue
		}
		if err != nil {
			return out, c.giveUp(ctx, err)
		}
		if len(a.updates) == 0 {
			return c.finish(ctx, a, n, head.Metadata(), head.MetadataLocation()), nil
		}
		meta, location, err := c.send(ctx, head, a)
		if err == nil {
			return c.finish(ctx, a, n, meta, location), nil
		}
		previous = err
		won, now, again := c.outcome(ctx, n)
		if won != nil {
			return c.finish(ctx, won, n, now.Metadata(), now.MetadataLocation()), nil
		}
		if again != nil {
			return out, c.giveUp(ctx, fmt.Errorf("%w: %w", again, err))
		}
		if errors.Is(err, ErrDenied) {
			return out, c.giveUp(ctx, err)
		}
	}
	return &landing{attempts: c.Attempts}, c.giveUp(ctx, fmt.Errorf("%d attempts to commit are spent: %w: %w", c.Attempts, previous, ErrTemporary))
}

// committing is a commit under way.
type committing struct {
	Loader
	change

	table table.Identifier
	// sent are the attempts that were given to the catalog and not answered
	// with success; sentOn is the head that the last of them was made on.
	sent   []*attempt
	sentOn *table.Table
	// open is the number of attempts that were sent on the present head: they
	// may still land.
	open int
	// exists is true once the table was seen in the catalog.
	exists bool
}

// head reads the table. One that cannot be read is only temporary while nothing
// that was sent may still land; else the outcome is unknown. Once something was
// sent the table is read with patience, also when the caller has given up. A
// table that was there and is not found then is one that cannot be read: a proxy
// may have answered.
func (c *committing) head(ctx context.Context) (*table.Table, error) {
	sent := len(c.sent) > 0
	if sent {
		ctx = context.WithoutCancel(ctx)
	}
	var err error
	for i := range readsAfterError {
		if i > 0 {
			sleep(ctx, pauseAfter(i))
		}
		var t *table.Table
		t, err = c.loadTable(ctx, c.table)
		missing, denied := errors.Is(err, ErrNoTable), errors.Is(err, ErrDenied)
		switch {
		case err == nil:
			c.exists = true
			if sent && c.moved(c.sentOn, t) {
				c.open = 0
			}
			return t, nil
		case missing && c.draft() != nil && !c.exists:
			return c.draft(), nil
		case (missing || denied) && !sent, ctx.Err() != nil:
			return nil, err
		case !sent:
			return nil, fmt.Errorf("read the table: %w: %w", err, ErrTemporary)
		}
	}
	if c.open == 0 { // all that was sent was lost, or not let in
		return nil, fmt.Errorf("read the table: %w: %w", err, ErrTemporary)
	}
	return nil, fmt.Errorf("the commit was sent and the table cannot be read: %w: %w", err, ErrUnknown)
}

// landed returns the attempt that the table shows.
func (c *committing) landed(head *table.Table) *attempt {
	if head == c.draft() {
		return nil
	}
	for _, a := range c.sent {
		if c.shows(head, a) {
			return a
		}
	}
	return nil
}

// send gives an attempt to the catalog. From here on a cancelled caller waits:
// the swap is short, and its outcome must be known.
func (c *committing) send(ctx context.Context, head *table.Table, a *attempt) (meta table.Metadata, location string, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, "", err
	}
	c.sent, c.sentOn = append(c.sent, a), head
	c.open++
	c.Trace.sent()
	type answer struct {
		meta     table.Metadata
		location string
	}
	got, err := within(context.WithoutCancel(ctx), c.Timeout, func(ctx context.Context) (answer, error) {
		meta, location, err := c.Catalog.CommitTable(ctx, c.table, a.requires, a.updates)
		return answer{meta, location}, err
	})
	if errors.Is(err, ErrDenied) {
		c.open-- // what was not let in is not on its way
	}
	return got.meta, got.location, err
}

// outcome reads from the table what became of the attempts that were sent. It
// returns the one that landed and the table that shows it, or waits before the
// next attempt, or returns an error where there must be no next one.
func (c *committing) outcome(ctx context.Context, n int) (won *attempt, now *table.Table, err error) {
	if len(c.sent) == 0 {
		return nil, nil, context.Cause(ctx)
	}
	if now, err = c.head(ctx); err != nil {
		return nil, nil, err
	}
	if a := c.landed(now); a != nil {
		return a, now, nil
	}
	if c.open >= openAttempts {
		return nil, nil, errors.New("the catalog does not take the commit")
	}
	if err := context.Cause(ctx); err != nil {
		return nil, nil, err
	}
	sleep(ctx, pauseAfter(n))
	return nil, nil, context.Cause(ctx)
}

// giveUp ends a change that did not land. Its files go, unless a commit that was
// sent on the present head could still land and name them: then nobody can say
// that the table is untouched.
func (c *committing) giveUp(ctx context.Context, err error) error {
	if errors.Is(err, ErrUnknown) {
		return err
	}
	if c.open > 0 && !errors.Is(err, ErrSuperseded) {
		return fmt.Errorf("%w: the table did not show the commit when it was last read, and it may still be on its way: %w", err, ErrUnknown)
	}
	c.discard(ctx, nil)
	return err
}

// finish removes what no snapshot names of a change that landed: survivors and
// manifests of attempts that were lost, for the head has moved past all of
// them; and metadata files that are past their time. Nothing here can fail the
// change.
func (c *committing) finish(ctx context.Context, a *attempt, n int, meta table.Metadata, location string) *landing {
	keep := map[string]bool{}
	for _, path := range append(a.objects, a.used...) {
		keep[path] = true
	}
	c.discard(ctx, keep)
	c.dropOldMetadata(ctx, meta)
	return &landing{attempt: a, attempts: n, metadataLocation: location}
}

func pauseAfter(n int) time.Duration {
	d := min(firstPause<<min(n, 10), longestPause)
	return d/2 + rand.N(d/2)
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
