package arrowio

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/calve-data/calve/lake"
)

// text is one source file, opened and decompressed by the suffix of its name.
type text struct {
	file lake.File
	raw  *countingReader
	r    io.Reader
	done []func() error
}

// openText opens f. The caller closes it.
func openText(ctx context.Context, open opener, f lake.File) (*text, error) {
	body, err := open(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Path, err)
	}
	t := &text{file: f, raw: &countingReader{r: body}, done: []func() error{body.Close}}
	if err := t.decompress(); err != nil {
		err = t.explain(err)
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *text) decompress() error {
	switch {
	case strings.HasSuffix(t.file.Path, ".gz"):
		z, err := gzip.NewReader(bufio.NewReaderSize(t.raw, 256<<10))
		if err != nil {
			return err
		}
		t.r, t.done = z, append(t.done, z.Close)
	case strings.HasSuffix(t.file.Path, ".zst"):
		z, err := zstd.NewReader(t.raw, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return err
		}
		t.r, t.done = z, append(t.done, func() error { z.Close(); return nil })
	default:
		t.r = t.raw
	}
	return nil
}

// Read ends with io.EOF only if the file had as many bytes as when it was
// listed.
func (t *text) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	switch {
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF) || t.raw.err != nil:
		return n, t.explain(err)
	case t.file.Size > 0 && t.raw.n != t.file.Size:
		return n, inputErrorf("%s changed since it was listed: it had %d bytes, and %d were read", t.file.Path, t.file.Size, t.raw.n)
	}
	return n, io.EOF
}

// explain names the file in an error, and tells a store that fails from a file
// that is damaged.
func (t *text) explain(err error) error {
	if t.raw.err != nil {
		return fmt.Errorf("read %s: %w", t.file.Path, t.raw.err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read %s: the compressed data is cut off: %w: %w", t.file.Path, lake.ErrInput, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("read %s: the compressed data is damaged: %w: %w", t.file.Path, lake.ErrInput, err)
}

func (t *text) Close() error {
	var errs []error
	for i := len(t.done) - 1; i >= 0; i-- {
		errs = append(errs, t.done[i]())
	}
	return errors.Join(errs...)
}

// countingReader counts what the store delivered and keeps its error.
type countingReader struct {
	r   io.Reader
	n   int64
	err error
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}
