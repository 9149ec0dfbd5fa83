package arrowio

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/calve-data/calve/lake"
)

// readFile opens a file, looks at how it begins, and lets read have it.
func (in *ndjsonInput) readFile(ctx context.Context, f lake.File, read func(*blockReader) error) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("read %s: %w", f.Path, err)
	}
	t, err := openText(ctx, in.open, f)
	if err != nil {
		return err
	}
	r := &blockReader{
		file:   f.Path,
		r:      t,
		size:   min(in.blockBytes, in.opt.MaxRecord),
		limit:  in.opt.MaxRecord,
		lines:  true,
		header: &header{file: f.Path},
		line:   1,
	}
	err = r.skipMark()
	if err == nil {
		err = read(r)
	}
	// Closing cannot lose anything that was read.
	_ = t.Close()
	return err
}

// skipMark leaves out a byte-order mark, and refuses text that is not UTF-8.
func (r *blockReader) skipMark() error {
	buf := make([]byte, 4)
	n, err := r.fill(buf, 0)
	if err != nil {
		return err
	}
	start := buf[:n]
	for _, wide := range []string{"\xff\xfe", "\xfe\xff", "{\x00", "\x00{", "[\x00", "\x00[", "\x00\x00"} {
		if bytes.HasPrefix(start, []byte(wide)) {
			return inputErrorf("%s is not UTF-8: it looks like UTF-16 or UTF-32; convert it, as by: iconv -f UTF-16 -t UTF-8", r.file)
		}
	}
	start = bytes.TrimPrefix(start, []byte("\xef\xbb\xbf"))
	rest := io.Reader(bytes.NewReader(start))
	if !r.eof {
		rest = io.MultiReader(rest, r.r)
	}
	r.r, r.eof = rest, false
	return nil
}

// scanWork looks at all files' blocks on all cores.
func scanWork[T any](in *ndjsonInput, look func(*block) T) blockWork[T] {
	procs := runtime.GOMAXPROCS(0)
	return blockWork[T]{
		procs:    procs,
		inflight: procs + 2,
		read:     in.readBlocks,
		work:     look,
		drop:     func(T) {},
	}
}

// readBlocks reads the blocks of all files in order; see [blockWork].
func (in *ndjsonInput) readBlocks(ctx context.Context, get func() (*block, bool), put func(*block) bool) error {
	return readBlocks(ctx, in.files, in.readFile, get, put)
}
