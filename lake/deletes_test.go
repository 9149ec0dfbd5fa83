package lake_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/testenv"
)

// TestDeletesSurvive: rows that another writer deleted by merge-on-read stay
// deleted when a load rewrites their file, and the deletes that still have rows
// to hide go on hiding them (cases 4, L5, L18).
func TestDeletesSurvive(t *testing.T) {
	t.Parallel()
	morning := []testenv.Event{
		event(1, "2026-05-04T09:00:00Z", 1), event(2, "2026-05-04T09:30:00Z", 2), event(3, "2026-05-04T10:30:00Z", 3),
	}
	id := idOnly()
	idTime := arrow.NewSchema(testenv.EventArrow().Fields()[:2], nil)
	for _, tc := range []struct {
		name string
		by   []string
		del  func(e *events)
	}{
		{"position deletes", nil, func(e *events) {
			t := testenv.Load(e.tb, e.cat, e.load.Table)
			for _, path := range testenv.DataFiles(e.tb, t) {
				if e.holds(path, 2) {
					testenv.PositionDelete(e.tb, e.cat, e.load.Table, map[string][]int64{path: {1}})
				}
			}
		}},
		{"one position delete file that covers two data files", []string{}, func(e *events) {
			at := map[string][]int64{}
			for _, path := range testenv.DataFiles(e.tb, testenv.Load(e.tb, e.cat, e.load.Table)) {
				if e.holds(path, 2) {
					at[path] = []int64{1}
				} else {
					at[path] = []int64{0}
				}
			}
			testenv.PositionDelete(e.tb, e.cat, e.load.Table, at)
			e.model.Delete(func(x testenv.Event) bool { return x.ID == 20 })
		}},
		{"equality delete", []string{}, func(e *events) {
			testenv.EqualityDelete(e.tb, e.cat, e.load.Table, []string{"id"}, testenv.Batch(e.tb, nil, id, testenv.Row{"id": 2}))
		}},
		{"equality delete on the time column", []string{}, func(e *events) {
			testenv.EqualityDelete(e.tb, e.cat, e.load.Table, []string{"id", "event_time"},
				testenv.Batch(e.tb, nil, idTime, testenv.Row{"id": 2, "event_time": "2026-05-04T09:30:00Z"}))
		}},
		{"global equality delete in a partitioned table", nil, func(e *events) {
			testenv.GlobalEqualityDelete(e.tb, e.cat, e.load.Table, testenv.Batch(e.tb, nil, id, testenv.Row{"id": 2}))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := newEvents(t, "deletes")
			e.load.PartitionBy = tc.by
			e.replace("2026-05-04", morning...)
			e.replace("2026-05-05", event(20, "2026-05-05T10:00:00Z", 20), event(21, "2026-05-05T11:00:00Z", 21))
			tc.del(e)
			e.model.Delete(func(x testenv.Event) bool { return x.ID == 2 })
			e.load.PartitionBy = nil
			// The hour of row 3: rows 1 and 2 are in its file, row 2 is deleted.
			if r := e.replace("2026-05-04T10", event(33, "2026-05-04T10:15:00Z", 33)); r.Files.Rewritten != 1 {
				t.Errorf("files: %+v", r.Files)
			}
			// A row that is loaded later may have the key that was deleted.
			e.replace("2026-05-06", event(2, "2026-05-06T10:15:00Z", 2))
			e.replace("2026-05-05T10", event(22, "2026-05-05T10:30:00Z", 22))
			e.replace("2026-05-04", morning...)
		})
	}
}

// holds reports whether a data file lies between the bounds of one that was
// written with row id.
func (e *events) holds(path string, id int64) bool {
	e.tb.Helper()
	for _, entry := range testenv.Entries(e.tb, testenv.Load(e.tb, e.cat, e.load.Table), false) {
		if df := entry.DataFile(); df.FilePath() == path {
			lo, hi := df.LowerBoundValues()[1], df.UpperBoundValues()[1]
			return int64(lo[0]) <= id && id <= int64(hi[0])
		}
	}
	return false
}

func idOnly() *arrow.Schema { return arrow.NewSchema(testenv.EventArrow().Fields()[:1], nil) }
