package main

import (
	"time"

	"github.com/calve-data/calve/arrowio"
	"github.com/calve-data/calve/lake"
)

// template reads what a templated path needs besides the window: the zone of its
// units, which is the window's unless given, and how late rows arrive.
func (s sourceConfig) template(windowZone *time.Location) (zone *time.Location, late arrowio.Arrival, err error) {
	zone = windowZone
	if s.PathTimezone != "" {
		if zone, err = time.LoadLocation(s.PathTimezone); err != nil {
			return nil, late, usage("source.path_timezone: %q is not a zone such as UTC or Europe/Berlin", s.PathTimezone)
		}
	}
	for _, side := range []struct {
		key, text string
		to        *lake.Step
	}{{"before", s.Arrival.Before, &late.Before}, {"after", s.Arrival.After, &late.After}} {
		if side.text == "" {
			continue
		}
		if *side.to, err = lake.ParseStep(side.text); err != nil {
			return nil, late, usage("source.arrival.%s: %q is not a length such as 2d, 12h or 0", side.key, side.text)
		}
	}
	return zone, late, nil
}
