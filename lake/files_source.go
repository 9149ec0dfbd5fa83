package lake

import (
	"context"
	"io"
)

// Files is where a source finds its files: local folders, object stores. It is
// declared here because sources and stores do not know each other.
type Files interface {
	// List returns the files that pattern names, sorted by path; none is not an
	// error. In a pattern * and ? match within one folder, ** any number of
	// folders, [a-z] one of some characters and {a,b} one of some texts.
	List(ctx context.Context, pattern string) ([]File, error)
	// Open opens a listed file. If the file is no longer what was listed, the
	// error of Open or of the reading that notices it wraps [ErrInput] and names
	// the file. The caller closes the reader.
	Open(ctx context.Context, f File) (ObjectReader, error)
}

// File is one file as it was listed.
type File struct {
	// Path is the file's full name: a local path or s3://bucket/key, with the
	// characters that it has, never escaped.
	Path string
	// Size is the file's length in bytes as it is stored.
	Size int64
	// ETag changes whenever the content does.
	ETag string
}

// ObjectReader reads one file, from its beginning by Read, or in ranges by
// ReadAt. ReadAt may be called from several goroutines, Read from one.
type ObjectReader interface {
	io.ReadCloser
	io.ReaderAt
	// Size is the length that the file was listed with.
	Size() int64
}
