package lake

import (
	"context"
	"slices"

	"github.com/apache/iceberg-go"
)

// Plan is what a load would do: a value that can be printed. See [Loader.Plan].
type Plan struct {
	Load   string
	Mode   Mode
	Table  string
	Branch string
	Window Window
	Origin Origin
	// Creates is true where the table does not exist yet.
	Creates bool
	// Location is where the table's files are, or would be.
	Location string
	// BaseSnapshotID is the head when the plan was made; 0 where there is none.
	BaseSnapshotID int64
	// Columns is the table's schema after the load.
	Columns []PlannedColumn
	// Ignored names the source's columns that are not read. See [Ignore].
	Ignored []string
	// PartitionFields are the fields of the spec that new files are written under.
	PartitionFields []string
	// Manifests is the number of manifests of the base snapshot, Opened how many
	// of them may hold files of the window and were read.
	Manifests, Opened int
	// Inside files are dropped whole, Straddling files are rewritten without
	// the window's rows.
	Inside, Straddling []PlannedFile
	// Searched files are those that a load by keys may look them up in, before their
	// bounds are compared with the keys of the source.
	Searched []PlannedFile
	// Warnings are about other engines that read the table.
	Warnings []Warning
}

// PlannedColumn is a column of the table as the load will leave it.
type PlannedColumn struct {
	Name, Type string
	// Added is true for a column that the load adds, or all columns of a new table.
	Added bool
	// Was is the type before, where the load widens the column.
	Was string
	// Why says what decided the type of a column that the load adds or widens: a
	// value, its file and line, or that it is declared.
	Why string
}

// PlannedFile is a data file that the load would drop or rewrite.
type PlannedFile struct {
	Path      string
	Partition string
	// Rows counts all rows of the file, before deletes. Bytes is its size.
	Rows  int64
	Bytes int64
}

// Plan works out what loading w from src would do. It reads metadata of the
// table and the names of the source's files (and, where types must be inferred,
// the source) and writes nothing.
func (l *Loader) Plan(ctx context.Context, load Load, src Source, w Window) (*Plan, error) {
	j, err := l.prepare(ctx, load, src, w)
	if err != nil {
		return nil, j.failed("plan", w, err)
	}
	if err := j.surveyBase(ctx); err != nil {
		return nil, j.failed("plan", w, err)
	}
	p := j.plan(j.surveyed)
	j.Trace.planned(p)
	return p, nil
}

// plan prints the loading as a value; found is nil where the table was not
// looked into.
func (j *loading) plan(found *survey) *Plan {
	sc := j.fit.schema
	p := &Plan{
		Load: j.load.Name, Mode: j.load.Mode, Table: j.load.TableName(), Branch: j.load.Branch, Window: j.owned.window, Origin: j.origin,
		Creates: j.creates, Location: j.planned.Location(), Columns: j.plannedColumns(), Ignored: j.fit.ignored,
		PartitionFields: specText(sc, j.planned.Spec()), Warnings: j.warnings(found),
	}
	if j.base != nil {
		p.BaseSnapshotID = j.base.SnapshotID
	}
	if found == nil {
		return p
	}
	p.Manifests, p.Opened = len(found.manifests), len(found.opened)
	file := func(e iceberg.ManifestEntry) PlannedFile {
		df := e.DataFile()
		return PlannedFile{Path: df.FilePath(), Partition: j.partitionText(df), Rows: df.Count(), Bytes: df.FileSizeBytes()}
	}
	if j.load.Mode != Replace {
		for _, e := range slices.Concat(found.inside, found.straddles) {
			p.Searched = append(p.Searched, file(e))
		}
		return p
	}
	for _, e := range found.inside {
		p.Inside = append(p.Inside, file(e))
	}
	for _, e := range found.straddles {
		p.Straddling = append(p.Straddling, file(e))
	}
	return p
}

func (j *loading) plannedColumns() (out []PlannedColumn) {
	why := map[string]string{}
	for _, c := range j.fit.columns {
		why[c.Name] = c.Why
	}
	for _, f := range j.fit.schema.Fields() {
		before, had := j.planned.Schema().FindFieldByID(f.ID)
		c := PlannedColumn{Name: f.Name, Type: f.Type.String(), Added: j.creates || !had}
		if !c.Added && !before.Type.Equals(f.Type) {
			c.Was = before.Type.String()
		}
		if c.Added || c.Was != "" {
			c.Why = why[j.fit.sourceName(f.ID)]
		}
		out = append(out, c)
	}
	return out
}

// partitionText prints a file's partition for people.
func (j *loading) partitionText(df iceberg.DataFile) string {
	spec := j.planned.Metadata().PartitionSpecByID(int(df.SpecID()))
	if spec == nil || spec.IsUnpartitioned() {
		return ""
	}
	text := ""
	for _, f := range spec.Fields() {
		source, ok := j.planned.Schema().FindFieldByID(f.SourceID())
		if !ok {
			continue
		}
		if text != "" {
			text += "/"
		}
		text += f.Name + "=" + f.Transform.ToHumanStrType(f.Transform.ResultType(source.Type), df.Partition()[f.FieldID])
	}
	return text
}
