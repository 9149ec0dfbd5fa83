package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/calve-data/calve/lake"
)

// watermarkWord is what --from says in place of a time.
const watermarkWord = "watermark"

// sinceFlags are those of incremental windows.
type sinceFlags struct {
	Overlap string `placeholder:"STEP" group:"window" help:"With --from watermark: how far before the watermark to begin, such as 15m, for rows that the source shows later than their time says."`
}

// window is that of the flags; the zero window where it begins at the watermark,
// which only the table knows.
func (f sinceFlags) window(of windowFlags) func() (lake.Window, *time.Location, error) {
	return func() (w lake.Window, zone *time.Location, err error) {
		if of.From != watermarkWord {
			if f.Overlap != "" {
				return w, nil, usage("--overlap goes with --from watermark")
			}
			return of.required()
		}
		switch {
		case of.Window != "":
			return w, nil, usage("--window and --from/--to are two ways to say the same: give one")
		case of.To == "":
			return w, nil, usage("--from watermark without --to: the window always comes from the caller, never from the clock")
		}
		return windowFlags{Timezone: of.Timezone}.parse()
	}
}

// since gives a selection the window from the watermark, if that is asked for. It
// is zero where nothing is left to load.
func (f sinceFlags) since(ctx context.Context, out io.Writer, of windowFlags, s *selection, loader *lake.Loader) (err error) {
	if of.From != watermarkWord {
		return nil
	}
	overlap := lake.Step{}
	if text := cmp.Or(f.Overlap, s.told.Overlap); text != "" {
		if overlap, err = lake.ParseStep(text); err != nil {
			return fmt.Errorf("overlap: %w", err)
		}
	}
	if overlap.IsZero() {
		fmt.Fprintln(out, "no overlap: a row that the source shows only after its time was loaded, as of a transaction that commits late, will be missed; --overlap 15m reads that long before the watermark again")
	}
	s.window, err = loader.SinceWatermark(ctx, s.load, of.To, overlap, s.load.Zone)
	return err
}
