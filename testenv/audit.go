package testenv

import (
	"context"
	"fmt"
	"path"
	"strconv"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// Audit looks whether a table is whole, and returns what is not:
//
//   - each object that the head names exists, has its size, and can be read;
//   - each data file's rows, null counts and bounds are what its entry says, its
//     rows belong to its partition, and its columns carry field ids;
//   - each manifest's counts and partition summary are those of its entries: a
//     summary without both bounds makes engines skip live rows;
//   - no data file is live twice;
//   - the head's totals, and what it says it added and removed, are those of the
//     entries;
//   - sequence numbers grow along the history.
func Audit(ctx context.Context, t *table.Table) []error {
	fs, err := t.FS(ctx)
	if err != nil {
		return []error{err}
	}
	a := &audit{t: t, fs: fs, live: map[string]bool{}, total: tally{}, added: tally{}, removed: tally{}}
	a.history()
	if head := t.CurrentSnapshot(); head != nil {
		a.head(head)
	}
	return a.findings
}

// tally counts files, rows and bytes under the names of a snapshot's summary,
// without their first word.
type tally map[string]int64

func (n tally) count(df iceberg.DataFile) {
	n["files-size"] += df.FileSizeBytes()
	switch df.ContentType() {
	case iceberg.EntryContentData:
		n["data-files"]++
		n["records"] += df.Count()
	case iceberg.EntryContentPosDeletes:
		n["delete-files"]++
		n["position-deletes"] += df.Count()
	case iceberg.EntryContentEqDeletes:
		n["delete-files"]++
		n["equality-deletes"] += df.Count()
	}
}

type audit struct {
	t        *table.Table
	fs       iceio.IO
	findings []error
	live     map[string]bool

	total, added, removed tally
}

func (a *audit) find(format string, args ...any) {
	a.findings = append(a.findings, fmt.Errorf(format, args...))
}

// history checks all snapshots, those of other branches too.
func (a *audit) history() {
	meta := a.t.Metadata()
	for _, s := range meta.Snapshots() {
		if s.SequenceNumber > meta.LastSequenceNumber() {
			a.find("snapshot %d has sequence number %d, past the table's last, %d", s.SnapshotID, s.SequenceNumber, meta.LastSequenceNumber())
		}
		if s.ParentSnapshotID == nil {
			continue
		}
		if parent := meta.SnapshotByID(*s.ParentSnapshotID); parent != nil && parent.SequenceNumber >= s.SequenceNumber {
			a.find("snapshot %d has sequence number %d, its parent %d", s.SnapshotID, s.SequenceNumber, parent.SequenceNumber)
		}
	}
}

func (a *audit) head(head *table.Snapshot) {
	manifests, err := head.Manifests(a.fs)
	if err != nil {
		a.find("manifest list of snapshot %d: %w", head.SnapshotID, err)
		return
	}
	for _, m := range manifests {
		a.manifest(head, m)
	}
	if head.Summary == nil {
		a.find("snapshot %d has no summary", head.SnapshotID)
		return
	}
	summary := head.Summary.Properties
	for name, n := range a.total {
		a.compare(summary, "total-"+name, n)
	}
	for name, n := range a.added {
		a.compare(summary, "added-"+name, n)
	}
	a.compare(summary, "deleted-data-files", a.removed["data-files"])
	a.compare(summary, "deleted-records", a.removed["records"])
	a.compare(summary, "removed-files-size", a.removed["files-size"])
}

// compare checks a count that the summary has; one that it lacks is no fault.
func (a *audit) compare(summary iceberg.Properties, key string, want int64) {
	text, ok := summary[key]
	if !ok {
		return
	}
	if got, err := strconv.ParseInt(text, 10, 64); err != nil || got != want {
		a.find("summary: %s is %s, the entries say %d", key, text, want)
	}
}

func (a *audit) manifest(head *table.Snapshot, m iceberg.ManifestFile) {
	name := path.Base(m.FilePath())
	spec := a.t.Metadata().PartitionSpecByID(int(m.PartitionSpecID()))
	if spec == nil {
		a.find("manifest %s is of spec %d, which the table has not", name, m.PartitionSpecID())
		return
	}
	var files [3]int32
	var rows [3]int64
	var entries []iceberg.ManifestEntry
	for e, err := range m.Entries(a.fs, false) {
		if err != nil {
			a.find("manifest %s: %w", name, err)
			return
		}
		entries = append(entries, e)
		df := e.DataFile()
		files[e.Status()]++
		rows[e.Status()] += df.Count()
		if (df.ContentType() == iceberg.EntryContentData) != (m.ManifestContent() == iceberg.ManifestContentData) {
			a.find("manifest %s holds %s of the other content", name, path.Base(df.FilePath()))
		}
		a.entry(head, m, e, *spec)
	}
	if want := [3]int32{m.ExistingDataFiles(), m.AddedDataFiles(), m.DeletedDataFiles()}; files != want {
		a.find("manifest %s counts existing, added, deleted files %v, its entries are %v", name, want, files)
	}
	if want := [3]int64{m.ExistingRows(), m.AddedRows(), m.DeletedRows()}; rows != want {
		a.find("manifest %s counts existing, added, deleted rows %v, its entries have %v", name, want, rows)
	}
	a.summaries(m, *spec, entries)
}

func (a *audit) entry(head *table.Snapshot, m iceberg.ManifestFile, e iceberg.ManifestEntry, spec iceberg.PartitionSpec) {
	df := e.DataFile()
	name := path.Base(df.FilePath())
	if e.SnapshotID() == head.SnapshotID {
		switch e.Status() {
		case iceberg.EntryStatusADDED:
			a.added.count(df)
		case iceberg.EntryStatusDELETED:
			a.removed.count(df)
		}
	}
	if e.Status() == iceberg.EntryStatusDELETED {
		return
	}
	if a.live[df.FilePath()] {
		a.find("%s is live twice", name)
	}
	a.live[df.FilePath()] = true
	a.total.count(df)

	seq := e.SequenceNum()
	if seq > head.SequenceNumber || a.t.Metadata().Version() > 1 && seq <= 0 {
		a.find("%s has sequence number %d, the head %d", name, seq, head.SequenceNumber)
	}
	if seq < m.MinSequenceNum() {
		a.find("%s has sequence number %d, its manifest's least is %d", name, seq, m.MinSequenceNum())
	}
	if fileSeq := e.FileSequenceNum(); fileSeq != nil && (*fileSeq > head.SequenceNumber || *fileSeq < seq) {
		a.find("%s has sequence number %d and file sequence number %d, the head %d", name, seq, *fileSeq, head.SequenceNumber)
	}
	if err := auditFile(a.fs, a.t.Schema(), spec, df); err != nil {
		a.find("%s: %w", name, err)
	}
}

// summaries checks the partition summary that engines prune manifests by.
func (a *audit) summaries(m iceberg.ManifestFile, spec iceberg.PartitionSpec, entries []iceberg.ManifestEntry) {
	name, summaries := path.Base(m.FilePath()), m.Partitions()
	if len(summaries) != spec.NumFields() {
		a.find("manifest %s has %d partition summaries, its spec %d fields", name, len(summaries), spec.NumFields())
		return
	}
	for i := range spec.NumFields() {
		field, s := spec.Field(i), summaries[i]
		for _, e := range entries {
			if e.Status() == iceberg.EntryStatusDELETED {
				continue
			}
			v := e.DataFile().Partition()[field.FieldID]
			switch {
			case v == nil && !s.ContainsNull:
				a.find("manifest %s: summary of %s denies a null partition", name, field.Name)
			case v == nil || isNaN(v):
			case s.LowerBound == nil || s.UpperBound == nil:
				a.find("manifest %s: summary of %s lacks a bound, though %v is there", name, field.Name, v)
			default:
				if err := withinSummary(a.t.Schema(), field, v, *s.LowerBound, *s.UpperBound); err != nil {
					a.find("manifest %s: summary of %s: %w", name, field.Name, err)
				}
			}
		}
	}
}

func withinSummary(schema *iceberg.Schema, field iceberg.PartitionField, value any, lower, upper []byte) error {
	source, ok := schema.FindTypeByID(field.SourceID())
	if !ok {
		return nil // the column was dropped
	}
	lit, ok := literalOf(value)
	if !ok {
		return nil
	}
	return within(field.Transform.ResultType(source), lit, lower, upper)
}

func formatID(id int64) string { return strconv.FormatInt(id, 10) }
