package lake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// store reads and writes a table's metadata objects whole, each call under a
// deadline of its own: iceberg-go's stores and its REST client have none
// (pitfall L21). It is a [iceio.IO], so that the library reads through it too.
type store struct {
	ctx     context.Context // of the load; the library's IO has no place for one
	io      iceio.WriteFileIO
	timeout time.Duration
}

// openStore opens a table's file system for the time that ctx lives.
func openStore(ctx context.Context, t *table.Table, timeout time.Duration) (*store, error) {
	f, err := t.FS(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the table's store: %w", err)
	}
	w, ok := f.(iceio.WriteFileIO)
	if !ok {
		return nil, fmt.Errorf("the table's store at %s cannot be written: %w", t.Location(), ErrUsage)
	}
	return &store{ctx: ctx, io: w, timeout: timeout}, nil
}

// lingering is how long what an attempt writes may still take once the load was
// stopped.
const lingering = 2 * time.Second

// linger is a context that ends a moment after ctx. What is being written when a
// load is stopped is let end: a request that is cut off may be carried out by the
// store all the same, after the object was looked for to be removed.
func linger(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(lingering, func() { cancel(context.Cause(ctx)) })
	})
	return out, func() { stop(); cancel(nil) }
}

// within runs one call under a deadline. The call may go on in the background
// after it; what it does then is its own matter, never the caller's result.
func within[T any](ctx context.Context, d time.Duration, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %s: %w", d, ErrTemporary))
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		defer cancel()
		var a answer
		defer func() { done <- a }()
		defer Caught(&a.err)
		a.value, a.err = call(ctx)
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		select {
		case a := <-done: // the answer came at the same moment
			return a.value, a.err
		default:
		}
		var none T
		return none, context.Cause(ctx)
	}
}

// watch ends the context where d passes without the returned watchdog having
// been fed: for calls of a library that go on and on and take no deadline.
func watch(ctx context.Context, d time.Duration) (context.Context, *watchdog, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{d: d, timer: time.AfterFunc(d, func() { cancel(fmt.Errorf("no answer within %s: %w", d, ErrTemporary)) })}
	return ctx, w, func() { w.timer.Stop(); cancel(nil) }
}

type watchdog struct {
	d     time.Duration
	timer *time.Timer
}

// rest stops the clock while the caller is busy itself, feed starts it again.
func (w *watchdog) rest() { w.timer.Stop() }
func (w *watchdog) feed() { w.timer.Reset(w.d) }

func (s *store) read(path string) ([]byte, error) {
	return within(s.ctx, s.timeout, func(context.Context) ([]byte, error) {
		f, err := s.io.Open(path)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(f)
		return data, errors.Join(err, f.Close())
	})
}

func (s *store) write(path string, data []byte) error {
	_, err := within(s.ctx, s.timeout, func(context.Context) (struct{}, error) {
		return struct{}{}, s.io.WriteFile(path, data)
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// remove deletes an object; one that is not there is no error.
func (s *store) remove(path string) error {
	_, err := within(s.ctx, s.timeout, func(context.Context) (struct{}, error) {
		return struct{}{}, s.io.Remove(path)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Open reads the whole object, for manifests and manifest lists.
func (s *store) Open(path string) (iceio.File, error) {
	data, err := s.read(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return &object{Reader: bytes.NewReader(data), path: path}, nil
}

// Remove makes the store an [iceio.IO].
func (s *store) Remove(path string) error { return s.remove(path) }

// object is an object in memory.
type object struct {
	*bytes.Reader
	path string
}

func (o *object) Close() error               { return nil }
func (o *object) Stat() (fs.FileInfo, error) { return o, nil }
func (o *object) Name() string               { return o.path }
func (o *object) Mode() fs.FileMode          { return fs.ModeIrregular }
func (o *object) ModTime() time.Time         { return time.Time{} }
func (o *object) IsDir() bool                { return false }
func (o *object) Sys() any                   { return nil }
