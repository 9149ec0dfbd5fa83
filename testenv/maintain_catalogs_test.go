package testenv_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// beforeCommit is a catalog before whose first commit something happens.
type beforeCommit struct {
	lake.Catalog
	once *sync.Once
	do   func()
}

func (c beforeCommit) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	c.once.Do(c.do)
	return c.Catalog.CommitTable(ctx, id, reqs, updates)
}

// On every kind of catalog an expiry removes what it says, keeps what branches
// and tags need, and leaves no object behind. A tag that another program makes
// in the same moment is kept where the requirements are checked in this process;
// a REST server removes it with its snapshot, and then its files stay.
func TestMaintenanceOnEveryCatalog(t *testing.T) {
	t.Parallel()
	for _, kind := range testenv.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			cat := kind.New(t, testenv.MinIO(t))
			load := lake.Load{Table: cat.Ident("kept"), TimeColumn: "event_time"}
			model := &testenv.Model{}
			check := testenv.Check(t, cat, load.Table, model.Strings)
			check.Expired()
			var ids []int64
			replace := func(day string, value int64) {
				t.Helper()
				row := testenv.NewEvent(value, day+"T01:00:00Z", "eu", value)
				r, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), load, testenv.Rows(t, testenv.EventArrow(), row.Row()), parse(t, day))
				if err != nil {
					t.Fatal(err)
				}
				check.Loaded(r)
				model.Replace(parse(t, day), "", row)
				ids = append(ids, testenv.Load(t, cat, load.Table).CurrentSnapshot().SnapshotID)
			}
			update := func(updates ...table.Update) {
				t.Helper()
				if _, _, err := cat.CommitTable(t.Context(), load.Table, nil, updates); err != nil {
					t.Fatal(err)
				}
			}
			for i := range int64(6) {
				replace("2026-05-04", i)
			}
			update(
				table.NewSetSnapshotRefUpdate("release", ids[1], table.TagRef, 0, 0, 0),
				table.NewSetSnapshotRefUpdate("short", ids[2], table.TagRef, 1, 0, 0),
			)
			now := time.Duration(0)
			everything := lake.Maintenance{Table: load.Table, Expire: &lake.Expiry{OlderThan: &now}, Orphans: true, Metadata: true, NoLoadRuns: true}
			later := func() time.Time { return time.Now().Add(time.Second) }
			l := &lake.Loader{Catalog: cat, Now: later}
			r, err := l.Maintain(t.Context(), everything)
			if err != nil || r.Snapshots != (lake.SnapshotCounts{Expired: 4, Kept: 2}) || !slices.Equal(r.Refs, []string{"short"}) || len(r.LostRefs) > 0 {
				t.Fatalf("receipt: %+v, %v", r, err)
			}
			tbl := testenv.Load(t, cat, load.Table)
			if tbl.SnapshotByName("release") == nil || tbl.SnapshotByName("short") != nil {
				t.Error("the tags are not those that should be left")
			}
			left := func() []string {
				plan, err := testenv.Load(t, cat, load.Table).PlanOrphanFiles(t.Context(), table.WithFilesOlderThan(0))
				if err != nil {
					t.Fatal(err)
				}
				return plan.Files()
			}
			if files := left(); len(files) > 0 {
				t.Errorf("left behind: %v", files)
			}
			var duck []string
			for _, row := range testenv.DuckDB(t, tbl.MetadataLocation(), cat.S3, "SELECT id, event_time, region, value FROM {table}") {
				duck = append(duck, strings.Join(row, " "))
			}
			if diff := cmp.Diff(model.Strings(), duck); diff != "" {
				t.Errorf("DuckDB; -model +got:\n%s", diff)
			}

			replace("2026-05-04", 7)
			replace("2026-05-05", 8)
			var tagged *table.Table
			l.Catalog = beforeCommit{cat, &sync.Once{}, func() {
				update(table.NewSetSnapshotRefUpdate("v1", ids[6], table.TagRef, 0, 0, 0))
				tagged = testenv.Load(t, cat, load.Table)
			}}
			r, err = l.Maintain(t.Context(), everything)
			if err != nil {
				t.Fatal(err)
			}
			kept := testenv.Load(t, cat, load.Table).SnapshotByName("v1") != nil
			if lost := slices.Equal(r.LostRefs, []string{"v1"}); lost == kept {
				t.Errorf("the tag is kept: %v; receipt: %+v", kept, r)
			}
			if rest := kind.Name == "rest"; kept == rest {
				t.Errorf("the tag is kept: %v", kept)
			}
			_, batches, err := tagged.Scan(table.WithSnapshotID(ids[6])).ToArrowRecords(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for b, err := range batches {
				if err != nil {
					t.Fatalf("the tag's rows cannot be read: %v", err)
				}
				b.Release()
			}
			replace("2026-05-04", 9)
		})
	}
}
