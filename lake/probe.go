package lake

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"
)

// probed is what a file of the table holds of the source's keys.
type probed struct {
	liveFile

	// key names the file and the deletes that apply to it: what is made of both is
	// the same as long as it is.
	key string
	// matches are its rows of the keys, by pass; nil where they were not looked up.
	matches [][]match
	// live is the number of its rows that are not deleted, once it was read.
	live int64
}

// match is a row of the table that has the key of an entry.
type match struct {
	entry int32
	// order is that of the source's version: 1 newer, 0 equal, -1 older.
	order int8
	// same is true where the versions are equal and all values are.
	same bool
	// row counts the file's rows that are not deleted, from 0.
	row int64
}

// candidates are the files of a survey, those that were looked into before with
// what was found.
func (m *keyed) candidates(t *table.Table, found *survey) ([]*probed, error) {
	where, err := m.newSearch(t)
	if err != nil {
		return nil, err
	}
	var out []*probed
	known := map[string]*probed{}
	for _, e := range slices.Concat(found.inside, found.straddles) {
		if !where.mayHold(e.DataFile()) {
			continue
		}
		positions, equalities := found.deletes.applying(e)
		key := derivedKey(e.DataFile(), positions, equalities, t.Metadata().DefaultPartitionSpec())
		p := m.probed[key]
		if p == nil {
			p = &probed{key: key, matches: make([][]match, m.passes)}
		}
		p.liveFile = liveFile{e, positions, equalities}
		known[key] = p
		out = append(out, p)
	}
	m.probed = known
	return out, nil
}

// mayHold are the files whose bounds do not rule out that they hold a key of the
// table of keys.
func (m *keyed) mayHold(files []*probed) []*probed {
	for column, field := range m.key.fields {
		if len(files) == 0 {
			return nil
		}
		values := m.table.sortedColumn(m.key, column)
		files = slices.DeleteFunc(slices.Clone(files), func(p *probed) bool { return !mayHoldAny(p.entry.DataFile(), field, values) })
	}
	return files
}

// mayHoldAny reports whether a file may hold one of the values, which are
// encoded and in order, in a column.
func mayHoldAny(df iceberg.DataFile, field iceberg.NestedField, values [][]byte) bool {
	if len(values) == 0 {
		return false
	}
	if values[0][0] == orderedNull && !noNulls(df, field.ID) {
		return true
	}
	if allNull(df, field.ID) {
		return false
	}
	low, okLow := orderedBound(field.Type, df.LowerBoundValues()[field.ID])
	high, okHigh := orderedBound(field.Type, df.UpperBoundValues()[field.ID])
	if !okLow || !okHigh || bytes.Compare(low, high) > 0 || signedBounds(df, field.Type) {
		return true
	}
	return anyWithin(values, low, high)
}

// signedBounds reports whether the bounds may be those of another order: Iceberg's
// Java library took UUIDs for pairs of signed numbers when it compared those of
// several row groups (apache/iceberg#14216).
func signedBounds(df iceberg.DataFile, t iceberg.Type) bool {
	_, uuids := t.(iceberg.UUIDType)
	return uuids && !ownFile(df)
}

// probe looks the keys of the present pass up in those files that were not looked
// into before, several at a time.
func (m *keyed) probe(ctx context.Context, t *table.Table, pass int, files []*probed) error {
	files = slices.DeleteFunc(slices.Clone(files), func(p *probed) bool { return p.matches[pass] != nil })
	m.advance(func(p *Progress) { p.FilesToSearch += len(files) })
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(m.Procs)
	for _, p := range files {
		group.Go(func() (err error) {
			defer Caught(&err)
			found, live, err := m.probeFile(ctx, t, p.liveFile)
			if err == nil {
				p.matches[pass], p.live = found, live
				m.advance(func(p *Progress) { p.FilesSearched++ })
			}
			return err
		})
	}
	return group.Wait()
}

// probeFile reads the key and version of every row of a file, and says how many
// there are.
func (m *keyed) probeFile(ctx context.Context, t *table.Table, file liveFile) (found []match, rows int64, err error) {
	f, err := m.probedColumns(t)
	if err != nil {
		return nil, 0, err
	}
	reach, equal := m.reach(), false
	found = []match{}
	buf := make([]byte, 0, 256)
	for rec, err := range m.liveRows(ctx, t, f, file) {
		if err != nil {
			return nil, 0, err
		}
		keys, versions := m.key.bind(f.schema, rec), m.version.bind(f.schema, rec)
		in := reach.rows(f.schema, rec)
		for i := range int(rec.NumRows()) {
			if in != nil && !in[i] {
				continue
			}
			buf = keys.append(buf[:0], i)
			e := m.table.find(xxh3.Hash(buf), buf)
			if e < 0 {
				continue
			}
			buf = versions.append(buf[:0], i)
			order := bytes.Compare(m.table.bytes(m.table.entries[e].version), buf)
			equal = equal || order == 0
			found = append(found, match{entry: int32(e), order: int8(order), row: rows + int64(i)})
		}
		rows += rec.NumRows()
		rec.Release()
	}
	if equal {
		err = m.compare(ctx, t, file, found)
	}
	return found, rows, err
}

// probedColumns are the columns that are read to look keys up.
func (m *keyed) probedColumns(t *table.Table) (*fit, error) {
	names := slices.Concat(m.key.names(), m.version.names())
	reach := m.reach()
	if !reach.always {
		names = append(names, reach.time.Name)
	}
	for _, eq := range reach.scope {
		names = append(names, eq.field.Name)
	}
	sc, err := t.Schema().Select(true, names...)
	if err != nil {
		return nil, fmt.Errorf("read key and version alone: %w", err)
	}
	return fitOf(sc)
}

// compare reads a file whole and notes which of the rows with equal versions have
// equal values too, volatile columns left out.
func (m *keyed) compare(ctx context.Context, t *table.Table, file liveFile, found []match) error {
	f, err := fitOf(t.Schema())
	if err != nil {
		return err
	}
	digester, err := NewDigester(t.Schema(), m.volatile...)
	if err != nil {
		return err
	}
	first, at := int64(0), 0
	for rec, err := range m.liveRows(ctx, t, f, file) {
		if err != nil {
			return err
		}
		err := digester.hashes(rec, func(i int, h xxh3.Uint128) {
			if at < len(found) && found[at].row == first+int64(i) {
				found[at].same = found[at].order == 0 && h == m.table.entries[found[at].entry].content
				at++
			}
		})
		first += rec.NumRows()
		rec.Release()
		if err != nil {
			return err
		}
	}
	if at < len(found) {
		return fmt.Errorf("read %s: it had other rows when it was read before: %w", file.entry.DataFile().FilePath(), ErrBug)
	}
	return nil
}
