package lake

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"
)

// keysOf makes the table of the keys of a pass, each with its newest row.
func (m *keyed) keysOf(pass int) error {
	if m.inTable == pass {
		return nil
	}
	digester, err := NewDigester(m.fit.schema, m.volatile...)
	if err != nil {
		return err
	}
	r := &reduction{keyed: m, table: &keyTable{}, pass: uint64(pass), ties: map[int]int64{}}
	for b, err := range m.rows.all() {
		if err != nil {
			return err
		}
		if err := r.add(b, digester); err != nil {
			return err
		}
	}
	if err := r.noTies(); err != nil {
		return err
	}
	m.table, m.inTable = r.table, pass
	return nil
}

// reduction reduces the rows of a source to the newest of each key.
type reduction struct {
	*keyed

	table *keyTable
	pass  uint64
	// ties are rows, by entry, that have the entry's version and other values.
	ties map[int]int64
}

func (r *reduction) add(b heldBatch, digester *Digester) error {
	rec, sc := b.memory, r.fit.schema
	if err := r.complete(b); err != nil {
		return err
	}
	keys, versions, deleted := r.key.bind(sc, rec), r.version.bind(sc, rec), r.deletion.bind(sc, rec)
	key, version := make([]byte, 0, 256), make([]byte, 0, 256)
	return digester.hashes(rec, func(i int, content xxh3.Uint128) {
		key = keys.append(key[:0], i)
		hash := xxh3.Hash(key)
		if (hash>>32)%uint64(r.passes) != r.pass {
			return
		}
		version = versions.append(version[:0], i)
		r.table.rows++
		r.meet(keyEntry{hash: hash, row: b.first + int64(i), content: content, deleted: deleted(i)}, key, version)
	})
}

// complete refuses NULL in a version, and, unless they are to match, in a key.
func (r *reduction) complete(b heldBatch) error {
	fields, what := r.version.fields, "version"
	if r.load.NullKeys != MatchNullKeys && len(r.load.HashOf) == 0 {
		fields, what = slices.Concat(fields, r.key.fields), r.load.settingsOfMode()
	}
	for _, f := range fields {
		c := b.memory.Column(columnIndex(r.fit.schema, f.ID))
		if row, missing := firstNull(c); missing {
			return fmt.Errorf("%s: column %q, which %s is on, is NULL: %w", r.rows.where(b.first+int64(row)), f.Name, what, ErrInput)
		}
	}
	return nil
}

func firstNull(a arrow.Array) (row int, found bool) {
	if a.NullN() == 0 {
		return 0, false
	}
	for i := range a.Len() {
		if a.IsNull(i) {
			return i, true
		}
	}
	return 0, false
}

// meet keeps the newer of a row and the one that is kept of its key; in mode
// append the first.
func (r *reduction) meet(e keyEntry, key, version []byte) {
	i := r.table.find(e.hash, key)
	if i < 0 {
		r.table.insert(e, key, version)
		return
	}
	old := &r.table.entries[i]
	if r.load.Mode == Append {
		if e.content != old.content {
			r.table.conflicts = append(r.table.conflicts, conflict{e.row, i})
		}
		return
	}
	switch order := bytes.Compare(version, r.table.bytes(old.version)); {
	case order > 0:
		r.table.renew(i, e, version)
		delete(r.ties, i)
	case order == 0 && e.content != old.content:
		r.ties[i] = e.row
	}
}

// noTies refuses a source that does not say which of two rows is right.
func (r *reduction) noTies() error {
	first := -1
	for i, row := range r.ties {
		if first < 0 || row < r.ties[first] {
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	e := r.table.entries[first]
	return fmt.Errorf("%s and %s have the same key and version, %s, and other values: add a column to version that says which came later: %w",
		r.rows.where(e.row), r.rows.where(r.ties[first]), r.describe(e.row), ErrTie)
}

// describe prints key and version of a row of the source.
func (m *keyed) describe(row int64) string {
	for b, err := range m.rows.all() {
		if err != nil || row >= b.first+b.rows {
			continue
		}
		text := ""
		for _, f := range slices.Concat(m.key.fields, m.version.fields) {
			if text != "" {
				text += ", "
			}
			text += fmt.Sprintf("%s=%s", f.Name, b.memory.Column(columnIndex(m.fit.schema, f.ID)).ValueStr(int(row-b.first)))
		}
		return text
	}
	return "which cannot be read again"
}
