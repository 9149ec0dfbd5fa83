package lake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	iceio "github.com/apache/iceberg-go/io"
)

// listed is an object of a listing, with the time at which the store says it
// was written.
type listed struct {
	path     string
	bytes    int64
	modified time.Time
}

// list lists all objects below a folder, orders/ and not orders2. A folder that
// is not there has none. The listing ends with an error where nothing new comes
// for five times the deadline of a call.
func (s *store) list(folder string) ([]listed, error) {
	walker, ok := s.io.(iceio.ListableIO)
	if !ok {
		return nil, fmt.Errorf("the table's store at %s cannot be listed: %w", folder, ErrUsage)
	}
	ctx, dog, stop := watch(s.ctx, 5*s.timeout)
	defer stop()
	type answer struct {
		objects []listed
		err     error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() { done <- a }()
		defer Caught(&a.err)
		a.err = walker.WalkDir(strings.TrimRight(folder, "/"), func(path string, d fs.DirEntry, err error) error {
			dog.feed()
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil // another program removed it meanwhile
			}
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil {
				a.objects = append(a.objects, listed{path, info.Size(), info.ModTime()})
			}
			return err
		})
	}()
	select {
	case a := <-done:
		if a.err != nil {
			return nil, fmt.Errorf("list %s: %w", folder, a.err)
		}
		return a.objects, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("list %s: %w", folder, context.Cause(ctx))
	}
}

// itself is the store as iceberg-go asks for it.
func (s *store) itself(context.Context) (iceio.IO, error) { return s, nil }
