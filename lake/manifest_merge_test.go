package lake_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// mergingFrom makes the load's new table merge manifests when it has more than
// n small ones.
func (e *events) mergingFrom(n int) {
	e.load.Properties = iceberg.Properties{table.ManifestMinMergeCountKey: strconv.Itoa(n)}
}

// manifests are the data manifests of the table's head.
func (e *events) manifests() []iceberg.ManifestFile {
	e.tb.Helper()
	t := testenv.Load(e.tb, e.cat, e.load.Table)
	fs, err := t.FS(e.tb.Context())
	if err != nil {
		e.tb.Fatal(err)
	}
	all, err := t.CurrentSnapshot().Manifests(fs)
	if err != nil {
		e.tb.Fatal(err)
	}
	return slices.DeleteFunc(all, func(m iceberg.ManifestFile) bool { return m.ManifestContent() != iceberg.ManifestContentData })
}

func day(n int) string { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly) }

// TestManifestsMerge: the number of manifests stays near-constant however
// often a table is loaded, and each day still lies in one of them (case 119).
func TestManifestsMerge(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "merge")
	e.mergingFrom(10)
	for n := range 40 {
		n = 1 + n*7%40 // in no order
		e.replace(day(n), event(int64(n), day(n)+"T10:00:00Z", 1))
		if got := len(e.manifests()); got > 12 {
			t.Fatalf("after day %d there are %d manifests, want at most 12", n, got)
		}
	}
	for n := 1; n <= 40; n++ {
		plan, err := (&lake.Loader{Catalog: e.cat}).Plan(t.Context(), e.load, source(t, event(1, day(n)+"T10:00:00Z", 1)), window(t, day(n)))
		if err != nil {
			t.Fatal(err)
		}
		if plan.Opened > 2 || len(plan.Inside) != 1 {
			t.Errorf("day %d may lie in %d manifests and has %d files, want at most 2 and 1", n, plan.Opened, len(plan.Inside))
		}
	}
}

// TestMergedManifestsKeepDeletes: a delete applies to what was there before it,
// by sequence numbers, and merging must not make older files newer.
func TestMergedManifestsKeepDeletes(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "mergedeletes")
	e.mergingFrom(1000)
	for n := 1; n <= 6; n++ {
		e.replace(day(n), event(int64(n), day(n)+"T10:00:00Z", 1), event(100, day(n)+"T11:00:00Z", 1))
	}
	testenv.GlobalEqualityDelete(t, e.cat, e.load.Table, testenv.Batch(t, nil, idOnly(), testenv.Row{"id": int64(100)}))
	e.model.Delete(func(ev testenv.Event) bool { return ev.ID == 100 })
	e.set(table.ManifestMinMergeCountKey, "2")
	before := len(e.manifests())
	e.replace(day(20), event(100, day(20)+"T10:00:00Z", 1))
	if after := len(e.manifests()); after >= before {
		t.Fatalf("%d manifests before and %d after, want fewer", before, after)
	}
	e.replace(day(3)+"T10", event(3, day(3)+"T10:30:00Z", 2))
}

// TestManifestsStayApart: manifests of far partitions are not merged, so that
// each window finds the few that it needs; nor are any where the table forbids it.
func TestManifestsStayApart(t *testing.T) {
	t.Parallel()
	t.Run("two regions", func(t *testing.T) {
		t.Parallel()
		e := newEvents(t, "regions")
		e.mergingFrom(8)
		e.load.PartitionBy = []string{"region", "day(event_time)"}
		for n := 1; n <= 20; n++ {
			for _, region := range []string{"eu", "us"} {
				e.load.Name, e.load.Scope = region, map[string]string{"region": region}
				e.replace(day(n), testenv.NewEvent(int64(n), day(n)+"T01:00:00Z", region, 1))
			}
		}
		manifests := e.manifests()
		if len(manifests) > 10 {
			t.Errorf("%d manifests, want at most 10", len(manifests))
		}
		for _, m := range manifests {
			if p := m.Partitions()[0]; !slices.Equal(*p.LowerBound, *p.UpperBound) {
				t.Errorf("a manifest of %d files spans the regions %q to %q", m.AddedDataFiles()+m.ExistingDataFiles(), *p.LowerBound, *p.UpperBound)
			}
		}
	})
	t.Run("forbidden", func(t *testing.T) {
		t.Parallel()
		e := newEvents(t, "forbidden")
		e.load.Properties = iceberg.Properties{table.ManifestMinMergeCountKey: "2", table.ManifestMergeEnabledKey: "false"}
		for n := 1; n <= 5; n++ {
			e.replace(day(n), event(int64(n), day(n)+"T10:00:00Z", 1))
		}
		if n := len(e.manifests()); n != 5 {
			t.Errorf("%d manifests, want 5", n)
		}
	})
}

// TestMergesWhateverThePartitioning: runs are found for every kind of
// partition value, NULL and the empty text among them.
func TestMergesWhateverThePartitioning(t *testing.T) {
	t.Parallel()
	for i, by := range [][]string{{}, {"region"}, {"bucket(3, id)"}, {"truncate(1, region)", "month(event_time)"}, {"event_time"}} {
		t.Run(fmt.Sprint(by), func(t *testing.T) {
			t.Parallel()
			e := newEvents(t, fmt.Sprint("by", i))
			e.mergingFrom(6)
			e.load.PartitionBy = by
			for n := 1; n <= 20; n++ {
				region := []string{"eu", "us", "", "null"}[n%4]
				row := testenv.NewEvent(int64(n), day(n)+"T10:00:00Z", region, 1)
				if n%5 == 0 {
					row.Region = nil
				}
				e.replace(day(n), row)
			}
			if n := len(e.manifests()); n > 9 {
				t.Errorf("%d manifests, want at most 9", n)
			}
		})
	}
}

// TestMergeIsNoCondition: manifests that cannot be read for merging, or be
// written merged, leave the load as it is.
func TestMergeIsNoCondition(t *testing.T) {
	t.Parallel()
	row := event(9, day(9)+"T10:00:00Z", 1)
	load := func(at int) (effects []string) {
		e := newEvents(t, "nocondition")
		e.mergingFrom(1000)
		for n := 1; n <= 3; n++ {
			e.replace(day(n), event(int64(n), day(n)+"T10:00:00Z", 1))
		}
		e.set(table.ManifestMinMergeCountKey, "2")
		in := testenv.NewInjector(at, testenv.Fail)
		r, err := (&lake.Loader{Catalog: in.Catalog(e.cat)}).Load(t.Context(), e.load, source(t, row), window(t, day(9)))
		if err != nil {
			t.Fatalf("at %d: %v", at, err)
		}
		e.check.Loaded(r)
		e.model.Append(row)
		return in.Effects()
	}
	effects := load(-1)
	// A new day needs no manifest, so the first that is read is read to be merged.
	read := slices.Index(effects, "read manifest")
	written := read + slices.Index(effects[max(read, 0):], "write manifest")
	if read < 0 || written < read {
		t.Fatalf("nothing is merged: %v", effects)
	}
	load(read)
	load(written)
}

// set sets a property of the table as another program would.
func (e *events) set(key, value string) {
	e.tb.Helper()
	e.update(table.NewSetPropertiesUpdate(iceberg.Properties{key: value}))
}

// TestOldMetadataFilesGo: a commit removes the metadata files that it pushed
// out of the log, if the table says so and nobody can have been given their
// names lately (pitfall L20).
func TestOldMetadataFilesGo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		enabled string
		later   time.Duration
		gone    bool
	}{
		"after an hour": {"true", 2 * time.Hour, true},
		"at once":       {"true", 0, false},
		"not enabled":   {"false", 2 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEvents(t, "oldmetadata")
			e.load.Properties = iceberg.Properties{table.MetadataPreviousVersionsMaxKey: "2", table.MetadataDeleteAfterCommitEnabledKey: tc.enabled}
			var locations []string
			for n := 1; n <= 6; n++ {
				now := func() time.Time { return time.Now().Add(time.Duration(n) * tc.later) }
				row := event(int64(n), day(n)+"T10:00:00Z", 1)
				r, err := (&lake.Loader{Catalog: e.cat, Now: now}).Load(t.Context(), e.load, source(t, row), window(t, day(n)))
				if err != nil {
					t.Fatal(err)
				}
				e.check.Loaded(r)
				e.model.Append(row)
				locations = append(locations, r.MetadataLocation)
			}
			head := testenv.Load(t, e.cat, e.load.Table)
			fs, err := head.FS(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, location := range locations {
				f, err := fs.Open(location)
				if err == nil {
					_ = f.Close()
				}
				if gone := tc.gone && i < 3; (err != nil) != gone {
					t.Errorf("metadata file %d of %d: open = %v, want it gone: %v", i+1, len(locations), err, gone)
				}
			}
		})
	}
}
