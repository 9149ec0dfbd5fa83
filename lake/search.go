package lake

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// search are the partitions that the keys of a source can be in: by the partition
// fields on a key column, in which a key can never move, and by those of which the
// caller says so.
type search struct {
	spec   int // the files' spec; those of another one are all looked into
	fields []iceberg.PartitionField
	types  []iceberg.Type
	tuples map[string]bool // of the source's rows
}

// newSearch finds the partitions of the source's rows under the table's present
// spec; nil where no field says anything.
func (m *keyed) newSearch(t *table.Table) (*search, error) {
	present := t.Spec()
	s := &search{spec: present.ID(), tuples: map[string]bool{}}
	texts := specText(m.fit.schema, present)
	wanted := map[string]bool{}
	for _, expr := range m.load.SearchIn {
		one, err := partitionSpec(m.fit.schema, []string{expr})
		if err != nil {
			return nil, err
		}
		text := specText(m.fit.schema, one)[0]
		if !slices.Contains(texts, text) {
			return nil, fmt.Errorf("search: the table is not partitioned by %s but by %v: %w", text, texts, ErrUsage)
		}
		wanted[text] = true
	}
	for _, f := range present.Fields() {
		text := specText(m.fit.schema, iceberg.NewPartitionSpec(f))
		onKey := len(f.SourceIDs) == 1 && slices.ContainsFunc(m.key.fields, func(k iceberg.NestedField) bool { return k.ID == f.SourceIDs[0] })
		if len(text) == 1 && (onKey || wanted[text[0]]) {
			s.fields = append(s.fields, f)
		}
	}
	if len(s.fields) == 0 {
		return nil, nil //nolint:nilnil // nothing to search by
	}
	return s, s.add(m)
}

// add notes the partitions of the source's rows.
func (s *search) add(m *keyed) error {
	parts, err := newPartitioner(m.fit.schema, iceberg.NewPartitionSpec(s.fields...))
	if err != nil {
		return err
	}
	for _, f := range parts.fields {
		s.types = append(s.types, f.result)
	}
	for b, err := range m.rows.all() {
		if err != nil {
			return err
		}
		if err := parts.partitionRows(b.memory, make([]*partition, b.rows)); err != nil {
			return err
		}
	}
	for _, p := range parts.all {
		if tuple, ok := s.tuple(p.values); ok {
			s.tuples[tuple] = true
		} else {
			return fmt.Errorf("search: the partition %s has a value without a serialised form: %w", p.path, ErrUsage)
		}
	}
	return nil
}

// tuple is the serialised form of partition values, which are by field id.
func (s *search) tuple(values map[int]any) (string, bool) {
	var out []byte
	for i, f := range s.fields {
		value, present := values[f.FieldID]
		raw, ok := partitionBytes(s.types[i], value)
		if !present || !ok {
			return "", false
		}
		if raw == nil {
			out = append(out, 0)
			continue
		}
		out = append(binary.AppendUvarint(append(out, 1), uint64(len(raw))), raw...)
	}
	return string(out), true
}

// mayHold reports whether a file may hold a key of the source.
func (s *search) mayHold(df iceberg.DataFile) bool {
	if s == nil || int(df.SpecID()) != s.spec {
		return true
	}
	tuple, ok := s.tuple(df.Partition())
	return !ok || s.tuples[tuple]
}
