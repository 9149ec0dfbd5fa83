package lake

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
)

// partition is one tuple of partition values. Identity is in the values: NULL
// and the text "null" are two partitions, though a path may look the same.
type partition struct {
	// order is the number of partitions seen before this one.
	order int
	// values holds the tuple by partition field id; NULL is a nil entry.
	values map[int]any
	// path is the folder for people, such as event_time_day=2026-05-04. Several
	// partitions may have one.
	path string
}

// partitioner tells the partitions of rows under one spec. It remembers the
// partitions it has met, so that each tuple is one *partition.
type partitioner struct {
	fields []*partitionField
	known  map[string]*partition
	all    []*partition
}

// partitionField gives each row a small code for its value of one field.
type partitionField struct {
	spec   iceberg.PartitionField
	column int
	source iceberg.Type
	result iceberg.Type
	values []iceberg.Optional[iceberg.Literal] // by code; code 0 is NULL
	codes  map[string]int32                    // serialised partition value → code
	memo   map[string]int32                    // serialised source value → code
}

// memoLimit bounds what a field remembers of source values, so that a bucket
// of unique ids does not grow with the load.
const memoLimit = 1 << 16

func newPartitioner(sc *iceberg.Schema, spec iceberg.PartitionSpec) (*partitioner, error) {
	p := &partitioner{known: map[string]*partition{}}
	for _, f := range spec.Fields() {
		field, ok := iceberg.NestedField{}, false
		if len(f.SourceIDs) == 1 {
			field, ok = sc.FindFieldByID(f.SourceIDs[0])
		}
		column := columnIndex(sc, field.ID)
		if _, void := f.Transform.(iceberg.VoidTransform); !void && (!ok || column < 0) {
			return nil, fmt.Errorf("the table is partitioned by %q, whose source is not a top-level column: that is not written yet: %w", f.Name, ErrRefused)
		}
		if !writable(f.Transform) {
			return nil, fmt.Errorf("the table is partitioned by %q with the transform %s, which is not known here: %w", f.Name, f.Transform, ErrRefused)
		}
		p.fields = append(p.fields, &partitionField{
			spec: f, column: column, source: field.Type, result: f.Transform.ResultType(field.Type),
			values: make([]iceberg.Optional[iceberg.Literal], 1), codes: map[string]int32{}, memo: map[string]int32{},
		})
	}
	return p, nil
}

func writable(t iceberg.Transform) bool {
	switch t.(type) {
	case iceberg.IdentityTransform, iceberg.YearTransform, iceberg.MonthTransform, iceberg.DayTransform,
		iceberg.HourTransform, iceberg.BucketTransform, iceberg.TruncateTransform, iceberg.VoidTransform:
		return true
	}
	return false
}

// split divides a batch by partition, keeping the order of rows. The parts are
// released by the caller.
func (p *partitioner) split(ctx context.Context, rec arrow.RecordBatch) ([]part, error) {
	n := int(rec.NumRows())
	of := make([]*partition, n)
	if err := p.partitionRows(rec, of); err != nil {
		return nil, err
	}
	if runs := runsOf(of); len(runs) <= 64 || len(runs)*64 <= n {
		return sliceRuns(rec, runs), nil
	}
	return gather(ctx, rec, of)
}

// part is some rows of a batch that are in one partition.
type part struct {
	partition *partition
	rows      arrow.RecordBatch
}

type run struct {
	partition *partition
	from, to  int
}

func runsOf(of []*partition) (runs []run) {
	for i := 0; i < len(of); {
		j := i + 1
		for j < len(of) && of[j] == of[i] {
			j++
		}
		runs = append(runs, run{of[i], i, j})
		i = j
	}
	return runs
}

func sliceRuns(rec arrow.RecordBatch, runs []run) []part {
	parts := make([]part, len(runs))
	for i, r := range runs {
		parts[i] = part{r.partition, rec.NewSlice(int64(r.from), int64(r.to))}
	}
	return parts
}

// gather sorts the rows by partition, once and without changing their order
// within one, and slices the result.
func gather(ctx context.Context, rec arrow.RecordBatch, of []*partition) ([]part, error) {
	last := 0
	for _, p := range of {
		last = max(last, p.order)
	}
	start := make([]int32, last+2)
	for _, p := range of {
		start[p.order+1]++
	}
	for i := range last + 1 {
		start[i+1] += start[i]
	}
	rows, sorted := make([]int32, len(of)), make([]*partition, len(of))
	for i, p := range of {
		at := start[p.order]
		start[p.order]++
		rows[at], sorted[at] = int32(i), p
	}
	taken, err := takeRows(ctx, rec, rows)
	if err != nil {
		return nil, err
	}
	defer taken.Release()
	return sliceRuns(taken, runsOf(sorted)), nil
}

// partitionRows fills of with the partition of each row.
func (p *partitioner) partitionRows(rec arrow.RecordBatch, of []*partition) error {
	codes := make([][]int32, len(p.fields))
	for i, f := range p.fields {
		c, err := f.rowCodes(rec, len(of))
		if err != nil {
			return err
		}
		codes[i] = c
	}
	key := make([]byte, 4*len(p.fields))
	var last *partition
	for row := range of {
		changed := last == nil
		for i, c := range codes {
			if row == 0 || c[row] != c[row-1] {
				binary.LittleEndian.PutUint32(key[4*i:], uint32(c[row]))
				changed = true
			}
		}
		if changed {
			last = p.lookUp(key)
		}
		of[row] = last
	}
	return nil
}

// lookUp returns the partition whose fields have these codes.
func (p *partitioner) lookUp(key []byte) *partition {
	if found, ok := p.known[string(key)]; ok {
		return found
	}
	made := &partition{order: len(p.all), values: map[int]any{}}
	var path []string
	for i, f := range p.fields {
		v := f.values[binary.LittleEndian.Uint32(key[4*i:])]
		var value any
		if v.Valid {
			value = v.Val.Any()
		}
		made.values[f.spec.FieldID] = value
		path = append(path, folder(f.spec.Name)+"="+folder(f.spec.Transform.ToHumanStrType(f.result, value)))
	}
	made.path = strings.Join(path, "/")
	p.known[string(key)] = made
	p.all = append(p.all, made)
	return made
}

// folder is a text as a part of a path: for people, so it may lose characters.
// What is left has the same meaning as a path, as a URL and as an object's key;
// escaped characters have not, and .. would lead out of the table.
func folder(text string) string {
	name := []byte(text[:min(len(text), 64)])
	for i, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
			name[i] = '_'
		}
	}
	return string(name)
}

// rowCodes gives each row the code of its value of this field.
func (f *partitionField) rowCodes(rec arrow.RecordBatch, n int) ([]int32, error) {
	out := make([]int32, n)
	if _, void := f.spec.Transform.(iceberg.VoidTransform); void {
		return out, nil
	}
	a := rec.Column(f.column)
	if d, ok := a.(*array.Dictionary); ok {
		return out, f.dictionaryCodes(d, out)
	}
	raw := f.sourceKey(a)
	var last []byte
	lastCode := int32(-1)
	for i := range n {
		if a.IsNull(i) {
			continue
		}
		key := raw(i)
		if lastCode < 0 || string(key) != string(last) {
			code, err := f.code(key)
			if err != nil {
				return nil, err
			}
			last, lastCode = key, code
		}
		out[i] = lastCode
	}
	return out, nil
}

func (f *partitionField) dictionaryCodes(d *array.Dictionary, out []int32) error {
	words := rawValues(d.Dictionary())
	codes := make([]int32, d.Dictionary().Len())
	for i := range out {
		if d.IsNull(i) {
			continue
		}
		w := d.GetValueIndex(i)
		if codes[w] == 0 {
			code, err := f.code(words(w))
			if err != nil {
				return err
			}
			codes[w] = code
		}
		out[i] = codes[w]
	}
	return nil
}

// sourceKey is the serialised source value. For the time transforms it is cut
// to the hour, which all of them are coarser than, so that few are distinct.
func (f *partitionField) sourceKey(a arrow.Array) func(int) []byte {
	switch f.spec.Transform.(type) {
	case iceberg.YearTransform, iceberg.MonthTransform, iceberg.DayTransform, iceberg.HourTransform:
	default:
		return rawValues(a)
	}
	t, ok := a.(*array.Timestamp)
	if !ok {
		return rawValues(a)
	}
	var key []byte
	lastHour := int64(0)
	return func(i int) []byte {
		if hour := floorDiv(int64(t.Value(i)), microsPerHour); key == nil || hour != lastHour {
			key, lastHour = binary.LittleEndian.AppendUint64(nil, uint64(hour*microsPerHour)), hour
		}
		return key
	}
}

// code is the code of the partition value of a serialised source value.
func (f *partitionField) code(key []byte) (int32, error) {
	if c, ok := f.memo[string(key)]; ok {
		return c, nil
	}
	lit, err := iceberg.LiteralFromBytes(f.source, bytes.Clone(key)) // the batch's memory is not ours to keep
	if err != nil {
		return 0, fmt.Errorf("partition field %q: %w", f.spec.Name, err)
	}
	v := f.spec.Transform.Apply(iceberg.Optional[iceberg.Literal]{Val: lit, Valid: true})
	if !v.Valid {
		return 0, fmt.Errorf("partition field %q: %s does not take %s", f.spec.Name, f.spec.Transform, lit)
	}
	raw, err := v.Val.MarshalBinary()
	if err != nil {
		return 0, fmt.Errorf("partition field %q: %w", f.spec.Name, err)
	}
	c, ok := f.codes[string(raw)]
	if !ok {
		c = int32(len(f.values))
		f.values = append(f.values, v)
		f.codes[string(raw)] = c
	}
	if len(f.memo) >= memoLimit {
		clear(f.memo)
	}
	f.memo[string(key)] = c
	return c, nil
}
