package catalog

import (
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	icebergcat "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/catalogtest"
	"github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
)

var (
	paymentsSchema = iceberg.NewSchema(0,
		iceberg.NestedField{ID: 7, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true},
		iceberg.NestedField{ID: 9, Name: "event_time", Type: iceberg.PrimitiveTypes.TimestampTz},
	)
	paymentsSpec = iceberg.NewPartitionSpec(iceberg.PartitionField{
		SourceIDs: []int{9}, FieldID: 1000, Name: "event_time_day", Transform: iceberg.DayTransform{},
	})
)

func openTest(t *testing.T, c Config) *Catalog {
	t.Helper()
	cat, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cat.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return cat
}

func TestSQLiteCatalogConformance(t *testing.T) {
	catalogtest.RunCatalogTests(t, catalogtest.Config{
		NewCatalog: func(t *testing.T) icebergcat.Catalog {
			return openTest(t, Config{Warehouse: t.TempDir()}).cat
		},
		SupportsNamespaceProperties: true,
	})
}

func TestCreateWithFirstSnapshotInOneCommit(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]*iceberg.PartitionSpec{"partitioned": &paymentsSpec, "unpartitioned": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cat := openTest(t, Config{Warehouse: filepath.Join(t.TempDir(), "a b#c%d")})
			exerciseCreate(t, cat, table.Identifier{"sales", "pay ments"}, spec)
		})
	}
}

// exerciseCreate creates a table with its first snapshot in one commit and
// checks that it is what was drafted, and that it happens once.
func exerciseCreate(t *testing.T, cat *Catalog, id table.Identifier, spec *iceberg.PartitionSpec) {
	t.Helper()
	ctx, namespace := t.Context(), id[:len(id)-1]
	if _, err := cat.Draft(ctx, id, paymentsSchema, spec, nil); !errors.Is(err, lake.ErrNoNamespace) {
		t.Errorf("Draft without the namespace: %v, want ErrNoNamespace", err)
	}
	if _, err := cat.LoadTable(ctx, id); !errors.Is(err, lake.ErrNoTable) || !errors.Is(err, lake.ErrNoNamespace) || !errors.Is(err, icebergcat.ErrNoSuchTable) {
		t.Errorf("LoadTable without the namespace: %v, want ErrNoTable and ErrNoNamespace", err)
	}
	for range 2 {
		if err := cat.CreateNamespace(ctx, namespace); err != nil {
			t.Fatal(err)
		}
	}
	if ok, err := cat.NamespaceExists(ctx, namespace); !ok || err != nil {
		t.Errorf("NamespaceExists = %v, %v", ok, err)
	}
	draft, err := cat.Draft(ctx, id, paymentsSchema, spec, iceberg.Properties{"calve.test": "1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cat.LoadTable(ctx, id); !errors.Is(err, lake.ErrNoTable) || errors.Is(err, lake.ErrNoNamespace) {
		t.Errorf("LoadTable after Draft: %v, want ErrNoTable", err)
	}
	list := writeEmptyList(t, draft)
	updates := append(createUpdates(draft.Metadata()),
		table.NewAddSnapshotUpdate(firstSnapshot(list)),
		table.NewSetSnapshotRefUpdate("main", 4711, table.BranchRef, 0, 0, 0))
	meta, location, err := cat.CommitTable(ctx, id, []table.Requirement{table.AssertCreate()}, updates)
	if err != nil {
		t.Fatal(err)
	}
	got, err := cat.LoadTable(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if got.MetadataLocation() != location || meta.TableUUID() != draft.Metadata().TableUUID() {
		t.Errorf("CommitTable returned %s of table %s, the catalog has %s", location, meta.TableUUID(), got.MetadataLocation())
	}
	compareCreated(t, draft.Metadata(), got.Metadata())
	if _, _, err := cat.CommitTable(ctx, id, []table.Requirement{table.AssertCreate()}, updates); err == nil {
		t.Error("CommitTable created the table a second time")
	}
}

func compareCreated(t *testing.T, draft, got table.Metadata) {
	t.Helper()
	want, have := metadataMap(t, draft), metadataMap(t, got)
	for _, key := range []string{
		"format-version", "table-uuid", "location", "current-schema-id", "schemas", "last-column-id",
		"default-spec-id", "partition-specs", "last-partition-id", "default-sort-order-id", "sort-orders",
	} {
		if diff := cmp.Diff(want[key], have[key]); diff != "" {
			t.Errorf("%s differs (-draft +table):\n%s", key, diff)
		}
	}
	for key, value := range draft.Properties() {
		if got.Properties()[key] != value {
			t.Errorf("property %s is %q, want %q", key, got.Properties()[key], value)
		}
	}
	snapshot := got.CurrentSnapshot()
	if snapshot == nil || snapshot.SnapshotID != 4711 || *snapshot.SchemaID != got.CurrentSchema().ID {
		t.Errorf("current snapshot is %v", snapshot)
	}
}

// createUpdates are those of lake, which does not export them.
func createUpdates(meta table.Metadata) []table.Update {
	spec, order := meta.PartitionSpec(), meta.SortOrder()
	return []table.Update{
		table.NewAssignUUIDUpdate(meta.TableUUID()),
		table.NewUpgradeFormatVersionUpdate(meta.Version()),
		table.NewAddSchemaUpdate(iceberg.NewSchema(0, meta.CurrentSchema().Fields()...)),
		table.NewSetCurrentSchemaUpdate(-1),
		table.NewAddPartitionSpecUpdate(&spec, true),
		table.NewSetDefaultSpecUpdate(-1),
		table.NewAddSortOrderUpdate(&order),
		table.NewSetDefaultSortOrderUpdate(-1),
		table.NewSetLocationUpdate(meta.Location()),
		table.NewSetPropertiesUpdate(meta.Properties()),
	}
}

func firstSnapshot(list string) *table.Snapshot {
	schemaID := 0
	return &table.Snapshot{
		SnapshotID: 4711, SequenceNumber: 1, TimestampMs: time.Now().UnixMilli() + 1, ManifestList: list,
		SchemaID: &schemaID, Summary: &table.Summary{Operation: table.OpAppend},
	}
}

func writeEmptyList(t *testing.T, draft *table.Table) string {
	t.Helper()
	fs, err := draft.FS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := draft.Location() + "/metadata/snap-4711.avro"
	out, err := fs.(io.WriteFileIO).Create(path)
	if err != nil {
		t.Fatal(err)
	}
	seq := int64(1)
	if err := iceberg.WriteManifestList(2, out, 4711, nil, &seq, 0, nil); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func metadataMap(t *testing.T, m table.Metadata) map[string]any {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDraftIsWhereTheTableWillBe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cat := openTest(t, Config{Warehouse: dir})
	if err := cat.CreateNamespace(t.Context(), table.Identifier{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	draft, err := cat.Draft(t.Context(), table.Identifier{"a", "b", "t"}, paymentsSchema, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "file://" + dir + "/a.b.db/t"; draft.Location() != want {
		t.Errorf("Draft is at %s, want %s", draft.Location(), want)
	}
	if draft.Metadata().Version() != 2 || !strings.HasPrefix(draft.MetadataLocation(), draft.Location()+"/metadata/00000-") {
		t.Errorf("Draft has version %d and metadata %s", draft.Metadata().Version(), draft.MetadataLocation())
	}
	if err := cat.cat.CreateNamespace(t.Context(), table.Identifier{"own"}, iceberg.Properties{"location": "file:///elsewhere/"}); err != nil {
		t.Fatal(err)
	}
	own, err := cat.Draft(t.Context(), table.Identifier{"own", "t"}, paymentsSchema, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if own.Location() != "file:///elsewhere/t" {
		t.Errorf("Draft is at %s, want the namespace's location", own.Location())
	}
}

func TestManyProgramsShareOneSQLiteCatalog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var group sync.WaitGroup
	for n := range 5 {
		group.Go(func() {
			cat, err := Open(t.Context(), Config{Warehouse: dir})
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			defer func() { _ = cat.Close() }()
			if err := cat.CreateNamespace(t.Context(), table.Identifier{"n"}); err != nil {
				t.Errorf("CreateNamespace: %v", err)
				return
			}
			id := table.Identifier{"n", string(rune('a' + n))}
			draft, err := cat.Draft(t.Context(), id, paymentsSchema, nil, nil)
			if err != nil {
				t.Errorf("Draft: %v", err)
				return
			}
			if _, _, err := cat.CommitTable(t.Context(), id, []table.Requirement{table.AssertCreate()}, createUpdates(draft.Metadata())[:9]); err != nil {
				t.Errorf("CommitTable: %v", err)
				return
			}
			for range 10 {
				step := []table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{"n": time.Now().String()})}
				if _, _, err := cat.CommitTable(t.Context(), id, nil, step); err != nil {
					t.Errorf("CommitTable: %v", err)
				}
			}
		})
	}
	group.Wait()
}

func TestFileURLsAreReadBack(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/a b/c", "/a%20b", "/ü#?"} {
		u, err := url.Parse(fileURL(path))
		if err != nil || u.Path != path {
			t.Errorf("fileURL(%q) = %s, read back as %q, %v", path, fileURL(path), u.Path, err)
		}
	}
}
