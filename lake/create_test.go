package lake

import (
	"encoding/json"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/go-cmp/cmp"
)

func TestCreateUpdatesRebuildTheDraft(t *testing.T) {
	schema := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true},
		iceberg.NestedField{ID: 2, Name: "at", Type: iceberg.PrimitiveTypes.TimestampTz},
		iceberg.NestedField{ID: 3, Name: "tags", Type: &iceberg.ListType{ElementID: 4, Element: iceberg.PrimitiveTypes.String}},
	)
	day := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1000, Name: "at_day", Transform: iceberg.DayTransform{}})
	for name, spec := range map[string]*iceberg.PartitionSpec{"partitioned": &day, "unpartitioned": iceberg.UnpartitionedSpec} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			draft, err := table.NewMetadata(schema, spec, table.UnsortedSortOrder, "file:///w/a.db/t",
				iceberg.Properties{"format-version": "2", "write.parquet.compression-codec": "zstd"})
			if err != nil {
				t.Fatal(err)
			}
			b, err := table.NewMetadataBuilder(2)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range createUpdates(draft) {
				if err := u.Apply(b); err != nil {
					t.Fatalf("Apply(%s): %v", u.Action(), err)
				}
			}
			built, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(asMap(t, draft), asMap(t, built)); diff != "" {
				t.Errorf("createUpdates built another table (-draft +built):\n%s", diff)
			}
		})
	}
}

func TestCreateUpdatesDoNotShareTheSchema(t *testing.T) {
	draft, err := table.NewMetadata(iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64}),
		nil, table.UnsortedSortOrder, "file:///w", iceberg.Properties{"format-version": "2"})
	if err != nil {
		t.Fatal(err)
	}
	taken, err := table.NewMetadata(iceberg.NewSchema(0), nil, table.UnsortedSortOrder, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	// On a table that has a schema the ids come out higher, as they do in a
	// catalog that does not begin from nothing; the draft must not notice.
	if _, err := table.UpdateTableMetadata(taken, createUpdates(draft), ""); err != nil {
		t.Fatal(err)
	}
	if got := draft.CurrentSchema().ID; got != 0 {
		t.Errorf("applying the updates changed the draft's schema id to %d", got)
	}
}

func asMap(t *testing.T, m table.Metadata) map[string]any {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	delete(out, "last-updated-ms")
	return out
}
