package main

import (
	"context"
	"sync/atomic"

	"github.com/calve-data/calve/lake"
)

// countedFiles counts the bytes that are read of files, as they are stored.
type countedFiles struct {
	lake.Files
	read *atomic.Int64
}

// Open implements [lake.Files].
func (c countedFiles) Open(ctx context.Context, f lake.File) (lake.ObjectReader, error) {
	r, err := c.Files.Open(ctx, f)
	if err != nil {
		return nil, err
	}
	return countedReader{r, c.read}, nil
}

type countedReader struct {
	lake.ObjectReader
	read *atomic.Int64
}

func (r countedReader) Read(p []byte) (int, error) {
	n, err := r.ObjectReader.Read(p)
	r.read.Add(int64(n))
	return n, err
}

func (r countedReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.ObjectReader.ReadAt(p, off)
	r.read.Add(int64(n))
	return n, err
}
