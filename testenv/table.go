package testenv

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

// CreateTable makes an empty table by iceberg-go's own means. spec and
// properties may be nil.
func CreateTable(tb testing.TB, cat lake.Catalog, id table.Identifier, schema *iceberg.Schema, spec *iceberg.PartitionSpec, properties iceberg.Properties) *table.Table {
	tb.Helper()
	if spec == nil {
		spec = iceberg.UnpartitionedSpec
	}
	draft, err := cat.Draft(tb.Context(), id, schema, spec, properties)
	if err != nil {
		tb.Fatalf("draft %v: %v", id, err)
	}
	meta := draft.Metadata()
	drafted, order := meta.PartitionSpec(), meta.SortOrder()
	updates := []table.Update{
		table.NewAssignUUIDUpdate(meta.TableUUID()),
		table.NewUpgradeFormatVersionUpdate(meta.Version()),
		table.NewSetLocationUpdate(meta.Location()),
		table.NewAddSchemaUpdate(meta.CurrentSchema()),
		table.NewSetCurrentSchemaUpdate(-1),
		table.NewAddPartitionSpecUpdate(&drafted, true),
		table.NewSetDefaultSpecUpdate(-1),
		table.NewAddSortOrderUpdate(&order),
		table.NewSetDefaultSortOrderUpdate(-1),
	}
	if len(meta.Properties()) > 0 {
		updates = append(updates, table.NewSetPropertiesUpdate(meta.Properties()))
	}
	if _, _, err := cat.CommitTable(tb.Context(), id, []table.Requirement{table.AssertCreate()}, updates); err != nil {
		tb.Fatalf("create %v: %v", id, err)
	}
	return Load(tb, cat, id)
}

// Load returns the table as it is now.
func Load(tb testing.TB, cat lake.Catalog, id table.Identifier) *table.Table {
	tb.Helper()
	// Not tb.Context itself: checks load tables in clean-ups, after its end.
	t, err := cat.LoadTable(context.WithoutCancel(tb.Context()), id)
	if err != nil {
		tb.Fatalf("load %v: %v", id, err)
	}
	return t
}

// Exists reports whether the table exists.
func Exists(tb testing.TB, cat lake.Catalog, id table.Identifier) bool {
	tb.Helper()
	_, err := cat.LoadTable(context.WithoutCancel(tb.Context()), id)
	if err != nil && !errors.Is(err, lake.ErrNoTable) {
		tb.Fatalf("load %v: %v", id, err)
	}
	return err == nil
}

// ReadAll returns all rows of the table's head as text, sorted, by iceberg-go's
// own scan without a filter. It also reads files whose format is spelled in
// lower case, which iceberg-go alone does not.
func ReadAll(tb testing.TB, t *table.Table) []string {
	tb.Helper()
	rows, err := readAll(context.WithoutCancel(tb.Context()), t)
	if err != nil {
		tb.Fatalf("read %v: %v", t.Identifier(), err)
	}
	return rows
}

func readAll(ctx context.Context, t *table.Table) ([]string, error) {
	var rows []string
	for b, err := range batches(ctx, t) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, Text(b)...)
		b.Release()
	}
	slices.Sort(rows)
	return rows, nil
}

// batches reads the table's head; the caller releases each batch.
func batches(ctx context.Context, t *table.Table) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		scan := t.Scan()
		tasks, err := scan.PlanFiles(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for i := range tasks {
			tasks[i].File = upperCased{tasks[i].File}
			tasks[i].DeleteFiles = allUpperCased(tasks[i].DeleteFiles)
			tasks[i].EqualityDeleteFiles = allUpperCased(tasks[i].EqualityDeleteFiles)
		}
		_, all, err := scan.ReadTasks(ctx, tasks)
		if err != nil {
			yield(nil, err)
			return
		}
		for b, err := range all {
			if !yield(b, err) {
				return
			}
		}
	}
}

// upperCased is a file with its format as iceberg-go spells it.
type upperCased struct{ iceberg.DataFile }

func (f upperCased) FileFormat() iceberg.FileFormat {
	return iceberg.FileFormat(strings.ToUpper(string(f.DataFile.FileFormat())))
}

func allUpperCased(files []iceberg.DataFile) []iceberg.DataFile {
	out := make([]iceberg.DataFile, len(files))
	for i, f := range files {
		out[i] = upperCased{f}
	}
	return out
}

// ArrowSchema is the schema of the table's rows as Arrow.
func ArrowSchema(tb testing.TB, t *table.Table) *arrow.Schema {
	tb.Helper()
	schema, err := table.SchemaToArrowSchema(t.Schema(), nil, false, false)
	if err != nil {
		tb.Fatalf("schema of %v: %v", t.Identifier(), err)
	}
	return schema
}

// Entries returns the live entries of the table's head: data files where
// deletes is false, else delete files.
func Entries(tb testing.TB, t *table.Table, deletes bool) []iceberg.ManifestEntry {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	fs, err := t.FS(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	entries, err := liveEntries(t, fs, deletes)
	if err != nil {
		tb.Fatalf("entries of %v: %v", t.Identifier(), err)
	}
	return entries
}

func liveEntries(t *table.Table, fs iceio.IO, deletes bool) ([]iceberg.ManifestEntry, error) {
	head := t.CurrentSnapshot()
	if head == nil {
		return nil, nil
	}
	manifests, err := head.Manifests(fs)
	if err != nil {
		return nil, err
	}
	var entries []iceberg.ManifestEntry
	for _, m := range manifests {
		if (m.ManifestContent() == iceberg.ManifestContentDeletes) != deletes {
			continue
		}
		for e, err := range m.Entries(fs, true) {
			if err != nil {
				return nil, err
			}
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// DataFiles returns the paths of the live data files of the table's head, sorted.
func DataFiles(tb testing.TB, t *table.Table) []string {
	tb.Helper()
	var paths []string
	for _, e := range Entries(tb, t, false) {
		paths = append(paths, e.DataFile().FilePath())
	}
	slices.Sort(paths)
	return paths
}
