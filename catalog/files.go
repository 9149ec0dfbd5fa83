package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/calve-data/calve/lake"
)

// Files lists and opens local files and objects in S3. It is safe for
// concurrent use.
type Files struct {
	store *store

	mu     sync.Mutex
	client *s3.Client
}

var _ lake.Files = (*Files)(nil)

// NewFiles returns the files that a store with these settings holds, and the
// local ones. Nothing is contacted before it is needed.
func NewFiles(s S3) (*Files, error) {
	props, err := Config{S3: s}.properties()
	if err != nil {
		return nil, err
	}
	store, err := newStore(props, s)
	if err != nil {
		return nil, err
	}
	return &Files{store: store}, nil
}

// List returns the files that a pattern names, sorted by path: a local path, a
// file:// URL, or s3://bucket/key; s3a:// and s3n:// are the same. A file whose whole name is the pattern is
// found too, whatever characters it has.
func (f *Files) List(ctx context.Context, pattern string) ([]lake.File, error) {
	list, err := f.list(ctx, pattern)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", pattern, err)
	}
	slices.SortFunc(list, func(a, b lake.File) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(list, func(a, b lake.File) bool { return a.Path == b.Path }), nil
}

func (f *Files) list(ctx context.Context, pattern string) ([]lake.File, error) {
	scheme, rest, ok := strings.Cut(pattern, "://")
	switch {
	case !ok:
		return listLocal(ctx, pattern)
	case scheme == "file":
		return listLocal(ctx, rest)
	case isS3(scheme):
		return f.listS3(ctx, scheme, rest)
	}
	return nil, badScheme(scheme)
}

// Open opens a listed file.
func (f *Files) Open(ctx context.Context, file lake.File) (lake.ObjectReader, error) {
	scheme, rest, ok := strings.Cut(file.Path, "://")
	switch {
	case !ok:
		return openLocal(file)
	case isS3(scheme):
		return f.openS3(ctx, file, rest)
	}
	return nil, fmt.Errorf("opening %s: %w", file.Path, badScheme(scheme))
}

func badScheme(scheme string) error {
	return fmt.Errorf("%s:// is not built: there are local paths, file:// and s3://: %w", scheme, lake.ErrUsage)
}

// changed is the error of a file that is not what was listed any more: rows of
// two versions must not be mixed.
func changed(file lake.File, how string) error {
	return fmt.Errorf("reading %s: it %s since it was listed, run again: %w", file.Path, how, lake.ErrInput)
}
