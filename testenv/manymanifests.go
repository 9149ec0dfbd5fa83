package testenv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

// ManyManifests gives the table, which must be partitioned by the day of
// event_time and have no snapshot, one snapshot that lists a manifest for each
// of n days from 1970-01-01 on, each with one data file. The data files do not
// exist: such a table is for counting what a load reads of its metadata.
func ManyManifests(tb testing.TB, cat lake.Catalog, id table.Identifier, n int) *table.Table {
	tb.Helper()
	t := Load(tb, cat, id)
	fs, err := t.FS(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	out := fs.(iceio.WriteFileIO)
	const snapshotID = int64(1)
	put := func(name string, content []byte) string {
		location := t.Location() + "/metadata/" + name
		if err := out.WriteFile(location, content); err != nil {
			tb.Fatal(err)
		}
		return location
	}
	manifests := make([]iceberg.ManifestFile, n)
	for day := range n {
		var buf bytes.Buffer
		w, err := iceberg.NewManifestWriter(2, &buf, t.Spec(), t.Schema(), snapshotID)
		if err != nil {
			tb.Fatal(err)
		}
		own := snapshotID
		if err := w.Add(iceberg.NewManifestEntry(iceberg.EntryStatusADDED, &own, nil, nil, dayFile(tb, t, day))); err != nil {
			tb.Fatal(err)
		}
		if err := w.Close(); err != nil {
			tb.Fatal(err)
		}
		location := put(fmt.Sprintf("many-%d.avro", day), buf.Bytes())
		if manifests[day], err = w.ToManifestFile(location, int64(buf.Len())); err != nil {
			tb.Fatal(err)
		}
	}
	var list bytes.Buffer
	sequence := int64(1)
	if err := iceberg.WriteManifestList(2, &list, snapshotID, nil, &sequence, 0, manifests); err != nil {
		tb.Fatal(err)
	}
	schemaID := t.Schema().ID
	snapshot := &table.Snapshot{
		SnapshotID: snapshotID, SequenceNumber: sequence, TimestampMs: t.Metadata().LastUpdatedMillis(), SchemaID: &schemaID,
		ManifestList: put("snap-many.avro", list.Bytes()),
		Summary:      &table.Summary{Operation: table.OpAppend, Properties: iceberg.Properties{"total-records": fmt.Sprint(n), "total-data-files": fmt.Sprint(n)}},
	}
	_, _, err = cat.CommitTable(tb.Context(), id, nil, []table.Update{
		table.NewAddSnapshotUpdate(snapshot), table.NewSetSnapshotRefUpdate(table.MainBranch, snapshotID, table.BranchRef, 0, 0, 0),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return Load(tb, cat, id)
}

// dayFile describes a data file of one row at noon of a day.
func dayFile(tb testing.TB, t *table.Table, day int) iceberg.DataFile {
	tb.Helper()
	spec := t.Spec()
	field := spec.Field(0).FieldID
	b, err := iceberg.NewDataFileBuilder(spec, iceberg.EntryContentData, fmt.Sprintf("%s/data/many-%d.parquet", t.Location(), day),
		iceberg.ParquetFile, map[int]any{field: iceberg.Date(day)}, map[int]string{field: "date"}, nil, 1, 1000)
	if err != nil {
		tb.Fatal(err)
	}
	noon := binary.LittleEndian.AppendUint64(nil, uint64(int64(day)*86_400_000_000+43_200_000_000))
	bounds := map[int][]byte{2: noon}
	return b.LowerBoundValues(bounds).UpperBoundValues(bounds).NullValueCounts(map[int]int64{2: 0}).ValueCounts(map[int]int64{2: 1}).Build()
}
