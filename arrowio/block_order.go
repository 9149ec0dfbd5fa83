package arrowio

import (
	"context"
	"iter"
	"sync"

	"github.com/calve-data/calve/lake"
)

// blockWork reads blocks one after the other, works on several at once, and
// yields the results in the order of the blocks.
type blockWork[T any] struct {
	// procs is the number of goroutines that work.
	procs int
	// inflight bounds the blocks that are read and not yet consumed; with them
	// it bounds the memory.
	inflight int
	// read reads all blocks in order. It takes an empty block from get, fills
	// it, and hands it to put. Both return false when nobody wants more.
	read func(ctx context.Context, get func() (*block, bool), put func(*block) bool) error
	// work turns a block into a result. It may be called concurrently.
	work func(*block) T
	// drop is called for a result, perhaps the zero value, that is not yielded.
	drop func(T)
}

// job is a block on its way. done is sent its result, once.
type job[T any] struct {
	b    *block
	done chan outcome[T]
}

// outcome is what became of a block; err is that the work on it panicked.
type outcome[T any] struct {
	v   T
	err error
}

// results yields the result of every block and at last the error of reading; a
// panic, of either, is an error after the results of the blocks before.
// All goroutines have ended when it returns, however it ends. If ctx is done it
// yields its cause.
func (w blockWork[T]) results(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		inner, cancel := context.WithCancel(ctx)
		free := make(chan *block, w.inflight)
		for range w.inflight {
			free <- &block{}
		}
		// Both channels have room for every block there is, so sends do not block.
		ordered := make(chan job[T], w.inflight)
		todo := make(chan job[T], w.inflight)

		var wg sync.WaitGroup
		var readErr error
		wg.Go(func() {
			defer close(ordered)
			defer close(todo)
			defer lake.Caught(&readErr)
			readErr = w.read(inner, func() (*block, bool) { return receive(inner, free) }, func(b *block) bool {
				j := job[T]{b: b, done: make(chan outcome[T], 1)}
				ordered <- j
				todo <- j
				return inner.Err() == nil
			})
		})
		for range w.procs {
			wg.Go(func() { w.workOn(inner, todo) })
		}

		more, workErr := w.consume(ctx, ordered, free, yield)
		cancel()
		wg.Wait()
		w.dropRest(ordered)
		var none T
		switch {
		case !more:
		case workErr != nil:
			yield(none, workErr)
		case ctx.Err() != nil:
			yield(none, context.Cause(ctx))
		case readErr != nil:
			yield(none, readErr)
		}
	}
}

// workOn works until todo is closed, and answers every job: when ctx is done,
// with the zero value.
func (w blockWork[T]) workOn(ctx context.Context, todo <-chan job[T]) {
	for j := range todo {
		var out outcome[T]
		if ctx.Err() == nil {
			out = w.one(j.b)
		}
		j.done <- out
	}
}

func (w blockWork[T]) one(b *block) (out outcome[T]) {
	defer lake.Caught(&out.err)
	out.v = w.work(b)
	return out
}

// consume yields results in order until there are no more, one has an error,
// which it returns, or ctx is done. more is false if the consumer wants no more.
func (w blockWork[T]) consume(ctx context.Context, ordered <-chan job[T], free chan<- *block, yield func(T, error) bool) (more bool, err error) {
	for j := range ordered {
		out := <-j.done
		if ctx.Err() != nil || out.err != nil {
			w.drop(out.v)
			return true, out.err
		}
		if !yield(out.v, nil) {
			return false, nil
		}
		free <- j.b
	}
	return true, nil
}

// dropRest drops the results that nobody asked for, when all work is done.
func (w blockWork[T]) dropRest(ordered <-chan job[T]) {
	for j := range ordered {
		w.drop((<-j.done).v)
	}
}

// receive receives a block from ch unless ctx is done.
func receive(ctx context.Context, ch <-chan *block) (*block, bool) {
	select {
	case b := <-ch:
		return b, true
	case <-ctx.Done():
		return nil, false
	}
}
