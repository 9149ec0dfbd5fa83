package arrowio

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/calve-data/calve/lake"
)

// pinned is what the files of a source are for one window.
type pinned struct {
	list []lake.File
	// exact is true where the files claim to be exactly the window.
	exact bool
	// missing are the patterns of the window itself that matched no file.
	missing []string
}

// pin lists the files for w. Each file stands once in the list, however many
// patterns match it, in the order of the patterns and then of the names.
func (s *fileSource) pin(ctx context.Context, w lake.Window) (pinned, error) {
	if s.template == nil {
		list, err := s.files.List(ctx, s.cfg.Path)
		return pinned{list: list}, err
	}
	of, exact, err := s.template.expand(w, s.cfg.PathZone)
	if err != nil {
		return pinned{}, err
	}
	patterns := of
	if s.cfg.Arrival != (Arrival{}) {
		exact = false
		wide := w.Widen(s.cfg.Arrival.Before, s.cfg.Arrival.After, s.cfg.PathZone)
		if patterns, _, err = s.template.expand(wide, s.cfg.PathZone); err != nil {
			return pinned{}, err
		}
	}
	lists, err := s.listAll(ctx, patterns)
	if err != nil {
		return pinned{}, err
	}
	p := pinned{exact: exact}
	seen := map[string]bool{}
	for i, list := range lists {
		if len(list) == 0 && slices.Contains(of, patterns[i]) {
			p.missing = append(p.missing, patterns[i])
		}
		for _, f := range list {
			if !seen[f.Path] {
				seen[f.Path] = true
				p.list = append(p.list, f)
			}
		}
	}
	return p, nil
}

// listings is how many patterns are listed at the same time.
const listings = 8

func (s *fileSource) listAll(ctx context.Context, patterns []string) ([][]lake.File, error) {
	lists := make([][]lake.File, len(patterns))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listings)
	for i, pattern := range patterns {
		group.Go(func() (err error) {
			defer lake.Caught(&err)
			lists[i], err = s.files.List(ctx, pattern)
			return err
		})
	}
	return lists, group.Wait()
}

// Arrival says when the rows of a window arrive, where the folders of a template
// are named by the time of arrival: up to Before earlier and up to After later
// than their own time. The folders of that span are read too, and the window's
// rows selected from all of them.
type Arrival struct{ Before, After lake.Step }

func (a Arrival) validate(path string, t *pathTemplate) error {
	if a != (Arrival{}) && t == nil {
		return templateError(path, "arrival needs a template such as {day:%%Y/%%m/%%d}, which says when files arrive")
	}
	return nil
}
