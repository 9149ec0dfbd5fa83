package arrowio

import (
	"context"
	"io"
)

// File is one source file.
type File struct {
	Path string
	Size int64
	ETag string
}

// Files is where source files are.
type Files interface {
	List(ctx context.Context, pattern string) ([]File, error)
	Open(ctx context.Context, f File) (io.ReadCloser, error)
}
