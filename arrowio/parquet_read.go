package arrowio

import (
	"context"
	"iter"

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
	send := func(b decodedBatch) bool {
		select {
		case batches <- b:
			return true
		case <-ctx.Done():
			b.release()
			return false
		}
	}
	if err := p.decodeGroups(ctx, r, send); err != nil {
		send(decodedBatch{err: err})
	}
}

func (p *parquetInput) decodeGroups(ctx context.Context, r lake.Request, send func(decodedBatch) bool) (err error) {
	defer lake.Caught(&err)
	ctx, stop := context.WithCancel(ctx)
	groups := p.openAll(ctx, r)
	defer func() {
		stop()
		for g := range groups {
			_ = g.end()
		}
	}()
	for g := range groups {
		if err := p.decodeGroup(g, r, send); err != nil || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

func (p *parquetInput) decodeGroup(g *openedGroup, r lake.Request, send func(decodedBatch) bool) (err error) {
	defer func() {
		if closed := g.end(); err == nil {
			err = closed
		}
	}()
	rg, err := g.wait()
	if err != nil {
		return err
	}
	at := place{zone: p.cfg.Zone, options: p.cfg.Columns, mem: p.cfg.Allocator}
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
