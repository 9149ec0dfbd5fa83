package main

import (
	"sync"

	"github.com/calve-data/calve/lake"
)

// backfillAnswer is the receipts of a backfill so far. Windows that were not
// begun have none.
type backfillAnswer struct {
	mu    sync.Mutex
	blank lake.Receipt // of a window whose load is under way
	plan  *lake.BackfillPlan
	// begun and over are the windows whose load has begun, and their receipts
	// once it has ended.
	begun []bool
	over  []*lake.Receipt
}

func (b *backfillAnswer) planned(p *lake.BackfillPlan) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.plan, b.begun, b.over = p, make([]bool, len(p.Windows)), make([]*lake.Receipt, len(p.Windows))
	b.blank = lake.Receipt{Load: p.Load, Table: p.Table, Branch: p.Branch, Mode: string(p.Mode)}
}

func (b *backfillAnswer) began(i int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun[i] = true
}

// ending notes a receipt, as it is told in the end.
func (b *backfillAnswer) ending(i int, r lake.Receipt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over[i] = &r
}

// ended implements [answer]. What has ended was printed then; windows that are
// still under way, as at a second signal, end as the command does. A failure that
// is no window's has a line of its own.
func (b *backfillAnswer) ended(f failure) any {
	b.mu.Lock()
	defer b.mu.Unlock()
	said := severalLines{all: []any{}}
	told := f.code == 0
	for i, begun := range b.begun {
		r := b.over[i]
		switch {
		case !begun:
			continue
		case r == nil:
			r = b.underWay(i, f)
			said.rest = append(said.rest, *r)
		}
		told = told || r.Error != nil && r.Error.Code == f.code
		said.all = append(said.all, *r)
	}
	if !told {
		line := noAnswer{}.ended(f)
		said.all, said.rest = append(said.all, line), append(said.rest, line)
	}
	return said
}

func (b *backfillAnswer) underWay(i int, f failure) *lake.Receipt {
	r := b.blank
	r.Window = b.plan.Windows[i].JSON()
	r, _ = loadAnswer{r}.ended(f).(lake.Receipt)
	return &r
}
