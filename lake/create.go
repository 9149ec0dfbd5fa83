package lake

import (
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// createUpdates returns the updates that, with the requirement that the table
// does not exist, create the table that meta describes. Updates that add the
// first snapshot follow them in the same commit.
//
// The order matters. A catalog builds the table from nothing, one update after
// the other: a partition spec and a sort order need the schema to be current,
// and -1 means the one that was added last. Data files are written before the
// commit with the ids of meta, so the catalog must arrive at the same ids: from
// nothing, every catalog numbers its first schema, spec and unsorted order 0.
// The schema is a copy, for applying an update writes its id into the schema.
func createUpdates(meta table.Metadata) []table.Update {
	spec, order := meta.PartitionSpec(), meta.SortOrder()
	updates := []table.Update{
		table.NewAssignUUIDUpdate(meta.TableUUID()),
		table.NewUpgradeFormatVersionUpdate(meta.Version()),
		table.NewAddSchemaUpdate(copySchema(meta.CurrentSchema())),
		table.NewSetCurrentSchemaUpdate(-1),
		table.NewAddPartitionSpecUpdate(&spec, true),
		table.NewSetDefaultSpecUpdate(-1),
		table.NewAddSortOrderUpdate(&order),
		table.NewSetDefaultSortOrderUpdate(-1),
		table.NewSetLocationUpdate(meta.Location()),
	}
	if properties := meta.Properties(); len(properties) > 0 {
		updates = append(updates, table.NewSetPropertiesUpdate(properties))
	}
	return updates
}

func copySchema(s *iceberg.Schema) *iceberg.Schema {
	return iceberg.NewSchemaWithIdentifiers(s.ID, s.IdentifierFieldIDs, s.Fields()...)
}
