package lake

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// SinceWatermark is the window of an incremental load: from the load's watermark,
// or to, if that is earlier, moved back by overlap, to a bound as [ParseBounds]
// reads it, in zone. Loading it moves the watermark there in the commit of the
// data; a load that fails leaves it. The window is zero where nothing is left to
// load: the watermark is there already, and overlap is zero.
//
// The overlap is for sources that show a row later than its time says, such as a
// database whose transactions commit after they have written the time: it is to be
// longer than the longest of them. Mode replace or merge takes the rows in it for
// what they are now, mode append drops those that are there.
//
// Its error wraps [ErrUsage] where the load has no watermark yet: the first load
// says itself where it begins.
func (l *Loader) SinceWatermark(ctx context.Context, load Load, to string, overlap Step, zone *time.Location) (Window, error) {
	k, load := l.withDefaults(), load.withDefaults()
	end, err := parseBound(to)
	if err != nil {
		return Window{}, err
	}
	mark, wall, err := k.watermark(ctx, load)
	if err != nil {
		return Window{}, err
	}
	w := Window{From: mark, Wall: wall}
	switch {
	case !wall:
		w.To = end.instant(zone)
	case !end.offset:
		w.To = end.at
	case zone == nil:
		return Window{}, fmt.Errorf("%s has an offset but the load's windows are on a wall clock: say whose is meant with --timezone: %w", to, ErrWindow)
	default:
		w.To = OnWall(end.at, zone)
	}
	if w.To.Before(w.From) {
		w.From = w.To
	}
	if !wall && zone != nil {
		w.From = w.From.In(zone) // a day back is the same clock reading
	}
	if w.From = overlap.Before(w.From).UTC(); w.From.Equal(w.To) {
		return Window{}, nil
	}
	return w, w.validate()
}

// watermark reads a load's watermark, and whether it is on a wall clock.
func (l *Loader) watermark(ctx context.Context, load Load) (at time.Time, wall bool, err error) {
	none := fmt.Errorf("load %q has no watermark in %s yet: the first load says where to begin: give --from TIME: %w", load.Name, load.TableName(), ErrUsage)
	t, err := l.loadTable(ctx, load.Table)
	if errors.Is(err, ErrNoTable) {
		return at, false, none
	}
	if err != nil {
		return at, false, err
	}
	head := t.Metadata().SnapshotByName(load.Branch)
	known, err := stateAt(ctx, t, l.Timeout, load.Branch, head, load.Name)
	if err != nil {
		return at, false, err
	}
	if known.watermark.IsZero() {
		return at, false, none
	}
	return known.watermark, wallClock(t.Metadata(), head, load.Name), nil
}
