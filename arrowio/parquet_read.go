package arrowio

import (
	"context"
	"iter"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/semaphore"

	"github.com/calve-data/calve/lake"
)

// Read implements [lake.Input].
func (p *parquetInput) Read(ctx context.Context, r lake.Request) iter.Seq2[lake.Batch, error] {
	return func(yield func(lake.Batch, error) bool) {
		inner, stop := context.WithCancel(ctx)
		batches := make(chan decodedBatch, 1)
		go p.decodeAll(inner, r, batches)
		defer func() {
			stop()
			for b := range batches {
				b.release()
			}
		}()
		for b := range batches {
			if !yield(b.Batch, b.err) || b.err != nil {
				return
			}
		}
		if err := context.Cause(ctx); err != nil {
			yield(lake.Batch{}, err)
		}
	}
}

type decodedBatch struct {
	lake.Batch
	err error
}

func (b decodedBatch) release() {
	if b.RecordBatch != nil {
		b.Release()
	}
}

// decodeAll sends all batches in order, an error last, and closes the channel
// when everything that it started has ended.
func (p *parquetInput) decodeAll(ctx context.Context, r lake.Request, batches chan<- decodedBatch) {
	defer close(batches)
	ctx, stop := context.WithCancel(ctx)
	groups := p.openAll(ctx, r)
	defer func() {
		stop()
		for g := range groups {
			g.end()
		}
	}()
	send := func(b decodedBatch) bool {
		select {
		case batches <- b:
			return true
		case <-ctx.Done():
			b.release()
			return false
		}
	}
	for g := range groups {
		err := p.decodeGroup(g, r, send)
		if closed := g.end(); err == nil {
			err = closed
		}
		if err != nil {
			send(decodedBatch{err: err})
			return
		}
		if ctx.Err() != nil {
			return
		}
	}
}

func (p *parquetInput) decodeGroup(g *openedGroup, r lake.Request, send func(decodedBatch) bool) error {
	rg, err := g.wait()
	if err != nil {
		return err
	}
	at := place{zone: p.cfg.Zone, mem: p.cfg.Allocator}
	for rg.left > 0 {
		batch, err := rg.next(r.Schema, r.Procs, at)
		if err != nil {
			return err
		}
		if !send(decodedBatch{Batch: batch}) {
			return nil
		}
	}
	return nil
}

// openedGroup is a row group that is being opened in the background.
type openedGroup struct {
	done chan struct{}
	rg   *rowGroup
	err  error
	once sync.Once
	free func()
}

func (g *openedGroup) wait() (*rowGroup, error) {
	<-g.done
	return g.rg, g.err
}

// end closes the group and gives its memory back. Further calls do nothing.
func (g *openedGroup) end() (err error) {
	<-g.done
	g.once.Do(func() {
		if g.rg != nil {
			err = g.rg.close()
		}
		g.free()
	})
	return err
}

// openAll opens the row groups in order, ahead of their use as far as half of
// the memory goes, so that a store's latency is not paid one file after the
// other. Whoever receives a group ends it.
func (p *parquetInput) openAll(ctx context.Context, r lake.Request) <-chan *openedGroup {
	groups := make(chan *openedGroup, max(r.Procs, 1))
	go func() {
		defer close(groups)
		budget := max(r.Memory/2, 1)
		bytes := semaphore.NewWeighted(budget)
		send := func(g *openedGroup) bool {
			select {
			case groups <- g:
				return true
			case <-ctx.Done():
				g.end()
				return false
			}
		}
		for i := range p.list {
			f, err := p.footer(ctx, i)
			if err != nil {
				send(failedGroup(err))
				return
			}
			for g := range f.meta.NumRowGroups() {
				if !p.origin.Exact && !f.mayHold(g, r.Time, r.Window) {
					continue
				}
				cost := groupCost(f, g, r.Schema, budget)
				if bytes.Acquire(ctx, cost) != nil {
					return
				}
				opened := &openedGroup{done: make(chan struct{}), free: func() { bytes.Release(cost) }}
				go func() {
					defer close(opened.done)
					opened.rg, opened.err = p.openGroup(ctx, f, g, r)
				}()
				if !send(opened) {
					return
				}
			}
		}
	}()
	return groups
}

func failedGroup(err error) *openedGroup {
	g := &openedGroup{done: make(chan struct{}), err: err, free: func() {}}
	close(g.done)
	return g
}

// groupCost is what an open group holds: its columns' bytes as they are stored.
// One that is larger than the budget waits for all of it and is read in pieces.
func groupCost(f *footer, g int, want *arrow.Schema, budget int64) int64 {
	stored, _ := f.weight(g, want)
	return min(max(stored, 1), budget)
}

func (p *parquetInput) footer(ctx context.Context, i int) (*footer, error) {
	if f := p.footers[i]; f != nil {
		return f, nil
	}
	return readFooter(ctx, p.files, p.list[i])
}
