package arrowio

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/calve-data/calve/lake"
)

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
	budget := max(r.Memory/2, 1)
	o := groupOpener{p: p, r: r, budget: budget, bytes: semaphore.NewWeighted(budget), out: make(chan *openedGroup, max(r.Procs, 1))}
	go func() {
		defer close(o.out)
		if err := o.openFiles(ctx); err != nil {
			o.send(ctx, failedGroup(err))
		}
	}()
	return o.out
}

type groupOpener struct {
	p      *parquetInput
	r      lake.Request
	budget int64
	bytes  *semaphore.Weighted
	out    chan *openedGroup
}

// openFiles opens the row groups of all files, until it is stopped.
func (o *groupOpener) openFiles(ctx context.Context) (err error) {
	defer lake.Caught(&err)
	for i := range o.p.list {
		f, err := o.p.footer(ctx, i)
		if err != nil {
			return err
		}
		if !o.openFile(ctx, f) {
			return nil
		}
	}
	return nil
}

// openFile opens those row groups of a file that may hold rows of the window;
// false if it was stopped.
func (o *groupOpener) openFile(ctx context.Context, f *footer) bool {
	for g := range f.meta.NumRowGroups() {
		if !o.p.origin.Exact && !f.mayHold(g, o.r.Time, o.r.Window) {
			continue
		}
		// A group larger than the budget waits for all of it and is read in
		// pieces.
		stored, _ := f.weight(g, o.r.Schema)
		cost := min(max(stored, 1), o.budget)
		if o.bytes.Acquire(ctx, cost) != nil {
			return false
		}
		opened := &openedGroup{done: make(chan struct{}), free: func() { o.bytes.Release(cost) }}
		go func() {
			defer close(opened.done)
			defer lake.Caught(&opened.err)
			opened.rg, opened.err = o.p.openGroup(ctx, f, g, o.r)
		}()
		if !o.send(ctx, opened) {
			return false
		}
	}
	return true
}

func (o *groupOpener) send(ctx context.Context, g *openedGroup) bool {
	select {
	case o.out <- g:
		return true
	case <-ctx.Done():
		_ = g.end()
		return false
	}
}

func failedGroup(err error) *openedGroup {
	g := &openedGroup{done: make(chan struct{}), err: err, free: func() {}}
	close(g.done)
	return g
}

func (p *parquetInput) footer(ctx context.Context, i int) (*footer, error) {
	if f := p.footers[i]; f != nil {
		return f, nil
	}
	f, err := readFooter(ctx, p.files, p.list[i])
	if err == nil {
		p.names.apply(f)
	}
	return f, err
}
