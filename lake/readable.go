package lake

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// Other engines write files that iceberg-go does not read. Files that lie
// wholly in the window go without being read, whatever they are. One that must
// be read, with the deletes that apply to it, is read or refused at plan; it is
// never skipped, for its rows outside the window would be lost with it.

// legibleTask is a task as iceberg-go reads it. Its error, which wraps
// ErrRefused, says which file cannot be read.
func legibleTask(t table.FileScanTask) (_ table.FileScanTask, err error) {
	if t.File, err = legible(t.File); err != nil {
		return t, err
	}
	if t.DeleteFiles, err = legibleAll(t.DeleteFiles); err != nil {
		return t, err
	}
	t.EqualityDeleteFiles, err = legibleAll(t.EqualityDeleteFiles)
	return t, err
}

func legibleAll(files []iceberg.DataFile) ([]iceberg.DataFile, error) {
	out := make([]iceberg.DataFile, len(files))
	for i, df := range files {
		var err error
		if out[i], err = legible(df); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// legible is a file as iceberg-go reads it: the library takes a format in lower
// case, as DuckDB writes it, for another one (apache/iceberg-go#1983). Manifests
// keep the entry as it was written; every reader takes either.
func legible(df iceberg.DataFile) (iceberg.DataFile, error) {
	if why := illegible(df); why != "" {
		return nil, fmt.Errorf("%s %s: %w", why, df.FilePath(), ErrRefused)
	}
	if df.FileFormat() == iceberg.ParquetFile {
		return df, nil
	}
	return asParquet{df}, nil
}

// asParquet is a Parquet file whose format is spelled otherwise.
type asParquet struct{ iceberg.DataFile }

func (asParquet) FileFormat() iceberg.FileFormat { return iceberg.ParquetFile }

// illegible says why a file's rows cannot be read here; "" where they can.
func illegible(df iceberg.DataFile) string {
	format := strings.ToUpper(string(df.FileFormat()))
	switch {
	case len(df.KeyMetadata()) > 0:
		return "not read here: the encrypted file"
	case format == string(iceberg.PuffinFile) && df.ContentType() == iceberg.EntryContentPosDeletes:
		return "not read here: the deletion vector"
	case format != string(iceberg.ParquetFile):
		return fmt.Sprintf("not read here: the %s file", format)
	}
	return ""
}

// surveyBase surveys the base before the source is opened, so that a file that
// cannot be read ends the load before it has read or written anything. The
// first attempt uses the survey if the head is still the base.
func (j *loading) surveyBase(ctx context.Context) error {
	if j.creates {
		return nil
	}
	s, err := openStore(ctx, j.planned, j.Timeout)
	if err != nil {
		return err
	}
	j.surveyed, err = j.surveyWindow(s, j.planned.Metadata(), j.base)
	if err != nil && j.expired(ctx, j.planned) {
		return fmt.Errorf("snapshot %s expired while it was read: %w: %w", j.baseName(), err, ErrTemporary)
	}
	return err
}

// survey returns what the head holds of the window. The survey of the base
// serves once: writing a manifest changes its entries.
func (j *loading) survey(s *store, meta table.Metadata, head *table.Snapshot) (*survey, error) {
	if v := j.surveyed; v != nil && j.base != nil && head != nil && head.SnapshotID == j.base.SnapshotID {
		j.surveyed = nil
		return v, nil
	}
	return j.surveyWindow(s, meta, head)
}

// check refuses a window that cannot be replaced, before anything is done.
func (v *survey) check(meta table.Metadata) error {
	if err := v.checkSpecs(meta); err != nil {
		return err
	}
	return v.checkReadable(meta)
}

// checkReadable refuses a survey with a straddling file that cannot be read, or
// that has a delete which cannot.
func (v *survey) checkReadable(meta table.Metadata) error {
	for _, e := range v.straddles {
		if why := illegible(e.DataFile()); why != "" {
			return fmt.Errorf("%s %s, written by %s, holds rows in the window and others, which would have to be written again: load windows that cover it whole, or let that engine rewrite it as Parquet: %w",
				why, e.DataFile().FilePath(), writerOf(meta, e.SnapshotID()), ErrRefused)
		}
		for _, d := range v.deletes.entries {
			if why := illegible(d.DataFile()); why != "" && v.deletes.applies(d, e) {
				return fmt.Errorf("%s %s, written by %s, deletes rows of %s, which holds rows in the window and others: let that engine compact the table, or load windows that cover the file whole: %w",
					why, d.DataFile().FilePath(), writerOf(meta, d.SnapshotID()), e.DataFile().FilePath(), ErrRefused)
			}
		}
	}
	return nil
}

// writerOf names who committed a snapshot, as far as its summary tells.
func writerOf(meta table.Metadata, id int64) string {
	s := meta.SnapshotByID(id)
	if s == nil {
		return fmt.Sprintf("someone in snapshot %d, which has expired", id)
	}
	p := summaryOf(s)
	for _, w := range []struct{ key, name string }{
		{"engine-name", strings.TrimSpace(p["engine-name"] + " " + p["engine-version"])},
		{keyLoad, "calve"},
		{"trino_query_id", "Trino"},
		{"flink.job-id", "Flink"},
		{"spark.app.id", "Spark"},
	} {
		if p[w.key] != "" {
			return fmt.Sprintf("%s in snapshot %d", w.name, id)
		}
	}
	return fmt.Sprintf("another engine in snapshot %d", id)
}

// checkSpecs refuses partition field names that manifests cannot be written
// with (pitfall L10), of the spec of new files and of those to be removed.
func (v *survey) checkSpecs(meta table.Metadata) error {
	used := map[int]bool{meta.DefaultPartitionSpec(): true}
	for _, e := range slices.Concat(v.inside, v.straddles) {
		used[int(e.DataFile().SpecID())] = true
	}
	for _, id := range slices.Sorted(maps.Keys(used)) {
		spec := meta.PartitionSpecByID(id)
		if spec == nil {
			continue
		}
		if name := notForAvro(spec); name != "" {
			return fmt.Errorf("partition field %q of spec %d has a name that Avro does not take, and manifests are not written with one here: rename it in another engine, as in ALTER TABLE … REPLACE PARTITION FIELD … AS: %w", name, id, ErrRefused)
		}
	}
	return nil
}

// notForAvro is the first field of a spec whose name Avro does not take; "" if
// there is none.
func notForAvro(spec *iceberg.PartitionSpec) string {
	for _, f := range spec.Fields() {
		if !avroName.MatchString(f.Name) {
			return f.Name
		}
	}
	return ""
}
