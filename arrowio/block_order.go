package arrowio

import (
	"context"
	"iter"
	"sync"
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
	done chan T
}

// results yields the result of every block and at last the error of reading.
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
			readErr = w.read(inner, func() (*block, bool) { return receive(inner, free) }, func(b *block) bool {
				j := job[T]{b: b, done: make(chan T, 1)}
				ordered <- j
				todo <- j
				return inner.Err() == nil
			})
		})
		for range w.procs {
			wg.Go(func() { w.workOn(inner, todo) })
		}

		more := w.consume(ctx, ordered, free, yield)
		cancel()
		wg.Wait()
		w.dropRest(ordered)
		var none T
		switch {
		case !more:
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
		var v T
		if ctx.Err() == nil {
			v = w.work(j.b)
		}
		j.done <- v
	}
}

// consume yields results in order until there are no more or ctx is done. It
// returns false if the consumer wants no more.
func (w blockWork[T]) consume(ctx context.Context, ordered <-chan job[T], free chan<- *block, yield func(T, error) bool) bool {
	for j := range ordered {
		v := <-j.done
		if ctx.Err() != nil {
			w.drop(v)
			return true
		}
		if !yield(v, nil) {
			return false
		}
		free <- j.b
	}
	return true
}

// dropRest drops the results that nobody asked for, when all work is done.
func (w blockWork[T]) dropRest(ordered <-chan job[T]) {
	for j := range ordered {
		w.drop(<-j.done)
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
