package main

import (
	"fmt"
	"time"

	"github.com/calve-data/calve/lake"
)

// windowFlags are the forms in which a caller gives a window. There is no
// default: the clock is never asked what to load.
type windowFlags struct {
	Window   string `placeholder:"W" group:"window" help:"2026-05-04 (a day), 2026-05-04T10 (an hour), 2026-05 (a month), FROM/TO, or FROM/P1D (a start and an ISO 8601 duration)."`
	From     string `placeholder:"TIME" group:"window" help:"Start of the window, itself inside. With calve load also: watermark, where the last one ended."`
	To       string `placeholder:"TIME" group:"window" help:"End of the window, itself outside."`
	Timezone string `placeholder:"ZONE" group:"window" help:"Zone of a window without an offset, such as Europe/Berlin. Default: UTC for a timestamptz column."`
}

const noWindow = `no window given: the window always comes from the caller, never from the clock; give one of
  --window 2026-05-04                   a day; also 2026-05-04T10, 2026-05
  --window 2026-05-04/P1D               FROM/TO, or FROM and an ISO 8601 duration
  --from 2026-05-04T00:00:00Z --to 2026-05-05T00:00:00Z`

// parse returns the window and its zone; the zero window where none was given.
func (f windowFlags) parse() (w lake.Window, zone *time.Location, err error) {
	if f.Timezone != "" {
		if zone, err = time.LoadLocation(f.Timezone); err != nil {
			return w, nil, usage("--timezone %q is not a zone such as UTC or Europe/Berlin", f.Timezone)
		}
	}
	switch bounds := f.From != "" || f.To != ""; {
	case f.Window != "" && bounds:
		err = usage("--window and --from/--to are two ways to say the same: give one")
	case f.Window != "":
		if w, err = lake.ParseWindow(f.Window, zone); err != nil {
			err = fmt.Errorf("--window: %w", err)
		}
	case f.From != "" && f.To == "":
		err = usage("--from without --to: a window needs both ends")
	case f.To != "" && f.From == "":
		err = usage("--to without --from: a window needs both ends")
	case bounds:
		if w, err = lake.ParseBounds(f.From, f.To, zone); err != nil {
			err = fmt.Errorf("--from/--to: %w", err)
		}
	}
	return w, zone, err
}

// required is parse for a command that does nothing without a window.
func (f windowFlags) required() (lake.Window, *time.Location, error) {
	w, zone, err := f.parse()
	if err == nil && w.IsZero() {
		err = usageError{noWindow}
	}
	return w, zone, err
}
