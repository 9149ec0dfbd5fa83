package lake

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go/table"
	"github.com/zeebo/xxh3"
)

// Difference is how two sides of a comparison differ.
type Difference struct {
	// Source and Other name the sides.
	Source, Other string
	// OnlySource and OnlyOther are rows that one side has more often than the
	// other.
	OnlySource, OnlyOther DifferingRows
	// Columns are the sums of the columns that differ, in the table's order.
	Columns []ColumnDifference
}

// DifferingRows are rows that one side has and the other lacks.
type DifferingRows struct {
	// Count is their number; at least that many where AtLeast is true, for not
	// all differing buckets were looked into.
	Count   int64
	AtLeast bool
	// Rows are the first of them, whole, with the columns of the table.
	Rows []arrow.RecordBatch
}

// ColumnDifference is a column whose values differ, whatever the rows they are in.
type ColumnDifference struct {
	Name          string
	Source, Other ColumnSum
}

func (d *Difference) release() {
	releaseAll(d.OnlySource.Rows)
	releaseAll(d.OnlyOther.Rows)
}

// difference reads two sides again and finds rows and columns that differ.
func (v *verifying) difference(ctx context.Context, source, other *reading) (*Difference, error) {
	w := differing(source.tally, other.tally)
	a, err := v.lookInto(ctx, source, w)
	if err != nil {
		return nil, err
	}
	defer a.rows.release()
	b, err := v.lookInto(ctx, other, w)
	if err != nil {
		return nil, err
	}
	defer b.rows.release()
	left := map[xxh3.Uint128]int64{}
	for h, n := range a.rows.counts {
		left[h] += n
	}
	for h, n := range b.rows.counts {
		left[h] -= n
	}
	d := &Difference{Source: source.name, Other: other.name, Columns: columnDifferences(a.columns, b.columns)}
	if d.OnlySource, err = a.rows.surplus(ctx, left, 1); err == nil {
		d.OnlyOther, err = b.rows.surplus(ctx, left, -1)
	}
	d.OnlySource.AtLeast, d.OnlyOther.AtLeast = !w.all, !w.all
	if err != nil {
		d.release()
		return nil, err
	}
	return d, nil
}

// looked is what a second reading of a side found.
type looked struct {
	rows    *lookedInto
	columns []*columnSummer
}

func (v *verifying) lookInto(ctx context.Context, s *reading, w *wanted) (*looked, error) {
	digester, err := NewDigester(s.schema, v.volatile...)
	if err != nil {
		return nil, err
	}
	limit := v.opt.Rows
	if limit <= 0 {
		limit = 10
	}
	l := &looked{rows: newLookedInto(int64(limit))}
	if l.columns, err = newColumnSummers(s.schema, v.volatile); err != nil {
		return nil, err
	}
	add := func(rec arrow.RecordBatch) error {
		defer rec.Release()
		for _, c := range l.columns {
			if err := c.add(rec); err != nil {
				return err
			}
		}
		return l.rows.take(ctx, rec, digester, w)
	}
	for rec, err := range s.rows(ctx) {
		if err == nil {
			err = add(rec)
		}
		if err != nil {
			l.rows.release()
			return nil, fmt.Errorf("read the %s again: %w", s.name, err)
		}
	}
	return l, nil
}

// surplus finds the rows whose hash is left over on this side, sign 1 for the
// source and -1 for the other, and copies the first of them. A row that is left
// over twice is there twice.
func (l *lookedInto) surplus(ctx context.Context, left map[xxh3.Uint128]int64, sign int64) (DifferingRows, error) {
	var out DifferingRows
	surplus := map[xxh3.Uint128]int64{}
	for h, n := range left {
		if n*sign > 0 {
			surplus[h] = n * sign
			out.Count += n * sign
		}
	}
	room := min(l.limit, out.Count)
	for i, hashes := range l.hashes {
		var rows []int32
		for row, h := range hashes {
			if surplus[h] > 0 && room > 0 {
				surplus[h]--
				room--
				rows = append(rows, int32(row))
			}
		}
		if len(rows) == 0 {
			continue
		}
		taken, err := takeRows(ctx, l.batches[i], rows)
		if err != nil {
			releaseAll(out.Rows)
			return DifferingRows{}, err
		}
		out.Rows = append(out.Rows, taken)
	}
	return out, nil
}

// columnDifferences pairs the columns of two sides by field id. A column that
// one side lacks is one without values.
func columnDifferences(source, other []*columnSummer) (out []ColumnDifference) {
	byID := map[int]*columnSummer{}
	for _, c := range other {
		byID[c.field.ID] = c
	}
	for _, c := range source {
		o := byID[c.field.ID]
		if o == nil {
			o = &columnSummer{field: c.field}
		}
		if a, b := c.digest(), o.digest(); a != b {
			out = append(out, ColumnDifference{Name: c.field.Name, Source: c.sum(), Other: o.sum()})
		}
	}
	return out
}

// causes say, as sentences for people, why the sides differ.
func (v *verifying) causes(out *Verification) []string {
	source, inTable := out.Sides[0].Digest, out.Sides[len(out.Sides)-1].Digest
	var why []string
	for _, s := range out.Sides[1 : len(out.Sides)-1] {
		if s.Digest != source && s.Name == "staged files" {
			why = append(why, "what is read back from staged files is not what was written: do not load with this program")
		} else if s.Digest != source {
			why = append(why, "the source is not repeatable: it gives other rows each time that it is read")
		}
	}
	was := out.Loaded
	switch {
	case was != nil && was.Digest != nil:
	case source == inTable:
		return why
	case was == nil:
		return append(why, fmt.Sprintf("no snapshot is kept of a load %q of exactly this window, so which side changed cannot be said", out.Load))
	default:
		return append(why, "the digest of the load counts other columns than can be compared now, so which side changed cannot be said")
	}
	if source != *was.Digest {
		switch {
		case !was.SameSource:
			why = append(why, "the source changed since the load: its files are others, or were written again")
		case !was.SameSettings:
			why = append(why, "the load's settings changed since: the same files are read otherwise")
		default:
			why = append(why, "the load is not repeatable: of the same files it makes other rows now; the table's columns changed, or the program")
		}
	}
	if inTable != *was.Digest {
		why = append(why, v.changedBy(was.SnapshotID)...)
	}
	return why
}

// changedBy names the snapshots since a load that can have changed its window: a
// merge finds its keys in any.
func (v *verifying) changedBy(loaded int64) []string {
	var names []string
	for s := range ancestors(v.planned.Metadata(), v.base) {
		if s.SnapshotID == loaded {
			break
		}
		p := summaryOf(s)
		load, window, overlaps := overlapping(p, v.owned)
		switch {
		case load == "":
			names = append(names, fmt.Sprintf("%d (%s, by another writer)", s.SnapshotID, historyEntry(s).Operation))
		case overlaps, p[keyMode] == string(Merge) && !scopesDisjoint(p[keyScope], v.owned.scopeText()):
			names = append(names, fmt.Sprintf("%d (load %q of %s)", s.SnapshotID, load, window))
		}
	}
	if len(names) == 0 {
		return []string{"the table does not hold what the load says that it wrote, and no snapshot since says why"}
	}
	slices.Reverse(names)
	return []string{"the table changed since the load, by snapshot " + joinSome(names, 5)}
}

func joinSome(names []string, most int) string {
	text := ""
	for i, n := range names {
		switch {
		case i == most:
			return text + fmt.Sprintf(" and %d more", len(names)-most)
		case i > 0:
			text += ", "
		}
		text += n
	}
	return text
}

// lastLoaded is what the newest load of exactly this window said.
func (v *verifying) lastLoaded() *Loaded {
	window, _ := v.owned.window.MarshalText()
	for s := range ancestors(v.planned.Metadata(), v.base) {
		p := summaryOf(s)
		if p[keyLoad] != v.load.Name || p[keyWindow] != string(window) || p[keyScope] != v.owned.scopeText() || p[keyMode] != string(Replace) {
			continue
		}
		return v.loaded(s)
	}
	return nil
}

func (v *verifying) loaded(s *table.Snapshot) *Loaded {
	p := summaryOf(s)
	l := &Loaded{
		SnapshotID: s.SnapshotID, At: time.UnixMilli(s.TimestampMs).UTC(), Run: p[keyRun],
		SameSource: p[keySource] == sourceText(v.origin), SameSettings: p[keySettings] == v.load.Settings,
	}
	if d, err := ParseDigest(p[keyDigest]); err == nil && p[keyVolatile] == idList(v.volatile) && v.hasColumnsOf(s) {
		l.Digest = &d
	}
	return l
}

// hasColumnsOf reports whether the table still has every column that it had at a
// snapshot, at every depth.
func (v *verifying) hasColumnsOf(s *table.Snapshot) bool {
	meta := v.planned.Metadata()
	for _, was := range meta.Schemas() {
		if s.SchemaID == nil || was.ID != *s.SchemaID {
			continue
		}
		for _, id := range was.FieldIDs() {
			if _, has := meta.CurrentSchema().FindFieldByID(id); !has {
				return false
			}
		}
	}
	return true
}
