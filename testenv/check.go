package testenv

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/apache/iceberg-go/table"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
)

// Checker is the check that a test ends with. See [Check].
type Checker struct {
	mu      sync.Mutex
	loads   map[string]int
	expired bool
}

// Check lets the test end with a check of the table: [Audit] finds nothing, and
// the rows are those of model, if there is one, such as [Model.Strings]. A table
// that does not exist holds no rows. A test calls it once, at its beginning, so
// that no path through the test is without it.
func Check(tb testing.TB, cat lake.Catalog, id table.Identifier, model func() []string) *Checker {
	tb.Helper()
	c := &Checker{}
	tb.Cleanup(func() {
		if tb.Skipped() {
			return
		}
		c.check(tb, cat, id, model)
	})
	return c
}

// Loaded tells the check of a load's receipt. Once told of one it also checks
// that each snapshot that calve made is that of exactly one receipt, and that
// each receipt's snapshot is there: one load, one snapshot.
func (c *Checker) Loaded(r lake.Receipt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loads == nil {
		c.loads = map[string]int{}
	}
	if r.Outcome == lake.Landed {
		c.loads[r.SnapshotID]++
	}
}

// Expired tells the check that snapshots of receipts may have expired.
func (c *Checker) Expired() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expired = true
}

// Untold returns the snapshots of the table that calve made and that no
// receipt told of: those of commits whose answer was lost.
func (c *Checker) Untold(t *table.Table) (ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range t.Metadata().Snapshots() {
		if s.Summary != nil && s.Summary.Properties["calve.load"] != "" && c.loads[formatID(s.SnapshotID)] == 0 {
			ids = append(ids, formatID(s.SnapshotID))
		}
	}
	return ids
}

func (c *Checker) check(tb testing.TB, cat lake.Catalog, id table.Identifier, model func() []string) {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	t, err := cat.LoadTable(ctx, id)
	if errors.Is(err, lake.ErrNoTable) {
		if model != nil && len(model()) > 0 {
			tb.Errorf("%v does not exist and should hold %d rows", id, len(model()))
		}
		return
	}
	if err != nil {
		tb.Errorf("check %v: %v", id, err)
		return
	}
	for _, finding := range Audit(ctx, t) {
		tb.Errorf("%v: %v", id, finding)
	}
	c.compareSnapshots(tb, t)
	if model == nil {
		return
	}
	got, err := readAll(ctx, t)
	if err != nil {
		tb.Errorf("read %v: %v", id, err)
		return
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(model())), got); diff != "" {
		tb.Errorf("%v differs from the model; -model +table:\n%s", id, diff)
	}
}

func (c *Checker) compareSnapshots(tb testing.TB, t *table.Table) {
	tb.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loads == nil {
		return
	}
	made := map[string]bool{}
	for _, s := range t.Metadata().Snapshots() {
		if s.Summary == nil || s.Summary.Properties["calve.load"] == "" {
			continue
		}
		name := formatID(s.SnapshotID)
		made[name] = true
		if c.loads[name] != 1 {
			tb.Errorf("%v: snapshot %s is that of %d receipts, want 1", t.Identifier(), name, c.loads[name])
		}
	}
	for name := range c.loads {
		if !made[name] && !c.expired {
			tb.Errorf("%v: snapshot %s of a receipt is not there", t.Identifier(), name)
		}
	}
}
