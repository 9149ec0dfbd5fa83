package lake

import (
	"context"
	"slices"
	"time"

	"github.com/apache/iceberg-go/table"
)

// metadataGrace is how long a metadata file stays after another has taken its
// place, for readers that were given its name: calve connect prints it.
const metadataGrace = time.Hour

// dropOldMetadata removes metadata files that the commit has pushed out of the
// table's log of metadata files, which keeps the last
// write.metadata.previous-versions-max, where the property
// write.metadata.delete-after-commit.enabled says so. iceberg-go does this only
// in a commit of its own (pitfall L20). Younger ones than [metadataGrace] are
// left to maintenance.
func (c *committing) dropOldMetadata(ctx context.Context, landed table.Metadata) {
	enabled := landed.Properties().GetBool(table.MetadataDeleteAfterCommitEnabledKey, table.MetadataDeleteAfterCommitEnabledDefault)
	if !enabled || c.sentOn == nil || !c.Catalog.WritesMetadata() {
		return
	}
	kept := map[string]bool{}
	for entry := range landed.PreviousFiles() {
		kept[entry.MetadataFile] = true
	}
	log := slices.Collect(c.sentOn.Metadata().PreviousFiles())
	var old []string
	for i, entry := range log {
		replaced := c.sentOn.Metadata().LastUpdatedMillis()
		if i+1 < len(log) {
			replaced = log[i+1].TimestampMs
		}
		if !kept[entry.MetadataFile] && c.Now().Sub(time.UnixMilli(replaced)) >= metadataGrace {
			old = append(old, entry.MetadataFile)
		}
	}
	if len(old) > 0 {
		c.removeAll(ctx, c.sentOn, old, nil)
	}
}
