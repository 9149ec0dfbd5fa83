package lake

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"
)

// Keys that a table holds more than once are found exactly and in bounded memory,
// by reading the key columns twice. The first reading marks the hashes that come
// again, in a table of bits: equal keys always do, others by chance. The second
// compares whole keys, but only of rows whose hash came again.

// repeats says which keys a table holds more than once.
type repeats struct {
	// files and read are what was looked at.
	files int
	read  int64
	// keys are held more than once, in as many rows; beyond of them have rows further
	// apart than the look-back.
	keys, rows, beyond int64
	// widest is the key whose rows are the furthest apart in time.
	widest widest
}

// repeated is how many rows have a key, and when.
type repeated struct {
	rows int64
	// first and last are the least and the greatest time; first > last where no row
	// has one.
	first, last int64
}

// repeatedBytes is what it takes beside a [keyEntry].
const repeatedBytes = 24

func (r repeated) apart() int64 { return r.last - min(r.first, r.last) }

// widest is a key with its rows; the zero value is none.
type widest struct {
	repeated

	key  []byte
	text string
}

// behind reports whether the rows of another key are further apart. It puts keys in
// an order, so that which one is shown does not depend on that of the rows.
func (w widest) behind(r repeated, key []byte) bool {
	if w.key == nil || r.apart() != w.apart() {
		return w.key == nil || r.apart() > w.apart()
	}
	return bytes.Compare(key, w.key) < 0
}

// repeatSearch looks for the keys that a table holds more than once.
type repeatSearch struct {
	*loading // whose reach is rows of any time

	key     *ordering
	columns *fit
	files   []liveFile

	mu sync.Mutex // over what follows
	// seen are the hashes of rows, again those of more than one: of met rows beside the
	// first, with metBytes of keys.
	seen, again   hashBits
	met, metBytes int64
	found         repeats
}

// hashBits is a set of hashes, and of others that share their bits.
type hashBits []uint64

func (b hashBits) place(hash uint64) (word, bit uint64) {
	at := hash & uint64(64*len(b)-1)
	return at / 64, 1 << (at % 64)
}

func (b hashBits) has(hash uint64) bool {
	word, bit := b.place(hash)
	return b[word]&bit != 0
}

func (b hashBits) add(hash uint64) {
	word, bit := b.place(hash)
	b[word] |= bit
}

// newHashBits has 16 bits for each of n hashes, so that few meet by chance, and
// at most a number of bytes.
func newHashBits(n, most int64) hashBits {
	words := max(16, 1<<bits.Len64(uint64(n)/4))
	for words > 16 && int64(8*words) > most {
		words /= 2
	}
	return make(hashBits, words)
}

// repeats looks for keys, or ids of events, that the table holds more than once
// within the load's scope.
func (c *checking) repeats(ctx context.Context) (repeats, error) {
	all := &loading{Loader: c.Loader, load: c.load, planned: c.planned, base: c.base, owned: c.owned, written: map[string]bool{}}
	all.load.Mode = Merge // which reaches rows of any time
	r := &repeatSearch{loading: all}
	if err := r.bind(); err != nil {
		return repeats{}, err
	}
	if err := all.surveyBase(ctx); err != nil {
		return repeats{}, err
	}
	for _, e := range slices.Concat(all.surveyed.inside, all.surveyed.straddles) {
		positions, equalities := all.surveyed.deletes.applying(e)
		r.files = append(r.files, liveFile{e, positions, equalities})
		r.found.read += e.DataFile().Count()
	}
	r.found.files = len(r.files)
	if err := r.mark(ctx); err != nil || r.met == 0 {
		return r.found, err
	}
	return r.found, r.compare(ctx)
}

// bind finds the columns to read.
func (r *repeatSearch) bind() (err error) {
	sc := r.planned.Schema()
	what, names := "event_id", slices.Concat(r.load.EventID, r.load.HashOf)
	if len(names) == 0 {
		what, names = "key", r.load.Key
	}
	if r.key, err = newOrdering(sc, what, names, len(r.load.HashOf) > 0); err != nil {
		return err
	}
	names = append(r.key.names(), r.owned.time.Name)
	for _, eq := range r.owned.scope {
		names = append(names, eq.field.Name)
	}
	if sc, err = sc.Select(true, names...); err != nil {
		return fmt.Errorf("read the key alone: %w", err)
	}
	r.columns, err = fitOf(sc)
	return err
}

// mark notes which hashes come again.
func (r *repeatSearch) mark(ctx context.Context) error {
	r.seen, r.again = newHashBits(r.found.read, r.Memory/8), newHashBits(r.found.read, r.Memory/8)
	return r.each(ctx, func(_ arrow.RecordBatch, _ int, hash uint64, key []byte) {
		if r.seen.has(hash) {
			r.again.add(hash)
			r.met++
			r.metBytes += int64(len(key))
		}
		r.seen.add(hash)
	})
}

// compare compares the keys of rows whose hash came again, in as many parts as
// the memory makes needful. Beside the rows that met one there is one that each of
// them met, at most.
func (r *repeatSearch) compare(ctx context.Context) error {
	r.seen = nil
	parts := uint64(2*(r.met*(keyEntryBytes+repeatedBytes)+r.metBytes)/(r.Memory/4)) + 1
	times := r.columns.schema
	for part := range parts {
		var t keyTable
		var found []repeated // by entry
		err := r.each(ctx, func(rec arrow.RecordBatch, i int, hash uint64, key []byte) {
			if !r.again.has(hash) || (hash>>32)%parts != part {
				return
			}
			at := t.find(hash, key)
			if at < 0 {
				at = t.insert(keyEntry{hash: hash}, key, nil)
				found = append(found, repeated{first: math.MaxInt64, last: math.MinInt64})
			}
			x := &found[at]
			x.rows++
			if c := rec.Column(columnIndex(times, r.owned.timeID)); c.IsValid(i) {
				v := timeValues(c)(i)
				x.first, x.last = min(x.first, v), max(x.last, v)
			}
			if x.rows > 1 {
				r.widen(*x, key, rec, i)
			}
		})
		if err != nil {
			return err
		}
		r.count(found)
	}
	return nil
}

// widen notes a key whose rows are further apart than those of the one before.
func (r *repeatSearch) widen(x repeated, key []byte, rec arrow.RecordBatch, row int) {
	if !r.found.widest.behind(x, key) {
		return
	}
	var texts []string
	for _, f := range r.key.fields {
		texts = append(texts, fmt.Sprintf("%s=%s", f.Name, rec.Column(columnIndex(r.columns.schema, f.ID)).ValueStr(row)))
	}
	r.found.widest = widest{x, slices.Clone(key), strings.Join(texts, ", ")}
}

// count adds up the keys of a part.
func (r *repeatSearch) count(found []repeated) {
	for _, x := range found {
		if x.rows < 2 {
			continue
		}
		r.found.keys++
		r.found.rows += x.rows
		if x.first < x.last && r.load.LookBack.After(r.owned.kind.at(x.first)).Before(r.owned.kind.at(x.last)) {
			r.found.beyond++
		}
	}
}

// each calls take, for one row at a time, with the key of each row of the scope.
// Keys with NULL are left out where loads refuse them.
func (r *repeatSearch) each(ctx context.Context, take func(rec arrow.RecordBatch, row int, hash uint64, key []byte)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.Procs)
	for _, file := range r.files {
		group.Go(func() (err error) {
			defer Caught(&err)
			for rec, err := range r.liveRows(ctx, r.planned, r.columns, file) {
				if err != nil {
					return err
				}
				r.eachOf(rec, take)
				rec.Release()
			}
			return nil
		})
	}
	return group.Wait()
}

func (r *repeatSearch) eachOf(rec arrow.RecordBatch, take func(rec arrow.RecordBatch, row int, hash uint64, key []byte)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	keys, in := r.key.bind(r.columns.schema, rec), r.reach().rows(r.columns.schema, rec)
	key := make([]byte, 0, 256)
	for i := range int(rec.NumRows()) {
		if in != nil && !in[i] || r.refused(rec, i) {
			continue
		}
		key = keys.append(key[:0], i)
		take(rec, i, xxh3.Hash(key), key)
	}
}

// refused reports whether a row's key has NULL, and no load stores such.
func (r *repeatSearch) refused(rec arrow.RecordBatch, row int) bool {
	if r.load.NullKeys == MatchNullKeys || len(r.load.HashOf) > 0 {
		return false
	}
	return slices.ContainsFunc(r.key.fields, func(f iceberg.NestedField) bool {
		return rec.Column(columnIndex(r.columns.schema, f.ID)).IsNull(row)
	})
}
