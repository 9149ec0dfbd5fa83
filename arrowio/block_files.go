package arrowio

import (
	"context"

	"github.com/calve-data/calve/lake"
)

// readBlocks reads the blocks of all files in order; see [blockWork]. readFile
// opens one file, and lets a function have its blocks.
func readBlocks(
	ctx context.Context, files []lake.File,
	readFile func(context.Context, lake.File, func(*blockReader) error) error,
	get func() (*block, bool), put func(*block) bool,
) error {
	// The block that a file's end left empty is the next file's: there are only
	// so many.
	var b *block
	blocksOf := func(r *blockReader) error {
		for {
			if b == nil {
				var ok bool
				if b, ok = get(); !ok {
					return context.Cause(ctx)
				}
			}
			if more, err := r.next(b); err != nil || !more {
				return err
			}
			if !put(b) {
				return context.Cause(ctx)
			}
			b = nil
		}
	}
	for _, f := range files {
		if err := readFile(ctx, f, blocksOf); err != nil {
			return err
		}
	}
	return nil
}
