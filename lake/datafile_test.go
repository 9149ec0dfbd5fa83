package lake

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// TestNoCloseDuringAWrite: a write that was left alone, since the load was
// stopped, is still under way when the file is given up. Closing it meanwhile
// would touch what the store's writer is working on.
func TestNoCloseDuringAWrite(t *testing.T) {
	t.Parallel()
	slow := &slowWriter{begun: make(chan struct{}), let: make(chan struct{})}
	ctx, stop := context.WithCancelCause(t.Context())
	c := &countingWriter{ctx: ctx, to: slow, timeout: time.Hour}
	stopped := errors.New("stopped")
	go func() {
		<-slow.begun
		stop(stopped)
	}()
	if _, err := c.Write([]byte("half")); !errors.Is(err, stopped) {
		t.Fatalf("Write = %v, want that it is left alone", err)
	}
	ended := c.end()
	close(slow.let)
	<-ended
	if slow.closed != "after the write" {
		t.Errorf("closed %s", slow.closed)
	}
}

// slowWriter writes when it is let, and is not safe for concurrent use, as
// writers of stores are.
type slowWriter struct {
	io.ReaderFrom

	begun, let chan struct{}
	wrote      bool
	closed     string
}

func (s *slowWriter) Write(p []byte) (int, error) {
	close(s.begun)
	<-s.let
	s.wrote = true
	return len(p), nil
}

func (s *slowWriter) Close() error {
	s.closed = "during the write"
	if s.wrote {
		s.closed = "after the write"
	}
	return nil
}
