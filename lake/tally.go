package lake

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"
)

// buckets is how many parts the rows of a side are tallied in, by their hash.
const buckets = 1 << 14

// tally is the digest of rows, kept by bucket: two sides that differ in a few
// rows differ in a few buckets.
type tally struct{ parts [buckets]Digest }

func bucketOf(h xxh3.Uint128) int { return int(h.Hi >> 50) }

func (t *tally) add(h xxh3.Uint128) {
	part := &t.parts[bucketOf(h)]
	*part = part.Add(Digest{Rows: 1, hi: h.Hi, lo: h.Lo})
}

// sum is the digest of all rows.
func (t *tally) sum() (d Digest) {
	for i := range t.parts {
		d = d.Add(t.parts[i])
	}
	return d
}

// count tallies the rows of a side.
func (v *verifying) count(ctx context.Context, s *reading) error {
	digester, err := NewDigester(s.schema, v.volatile...)
	if err != nil {
		return err
	}
	s.tally = &tally{}
	add := func(rec arrow.RecordBatch) error {
		return digester.hashes(rec, func(_ int, h xxh3.Uint128) { s.tally.add(h) })
	}
	for rec, err := range beside(s.rows(ctx), add) {
		if err != nil {
			return err
		}
		rec.Release()
	}
	return nil
}

// wanted marks the buckets to look into for differing rows.
type wanted struct {
	marked [buckets]bool
	// all is true where these are all that differ.
	all bool
}

// mostLookedInto is how many rows of both sides may lie in the buckets that are
// looked into; a single bucket always is.
const mostLookedInto = 20_000

// differing marks buckets in which two tallies differ.
func differing(a, b *tally) *wanted {
	w := &wanted{all: true}
	rows := int64(0)
	for i := range a.parts {
		if a.parts[i] == b.parts[i] {
			continue
		}
		n := a.parts[i].Rows + b.parts[i].Rows
		if rows > 0 && rows+n > mostLookedInto {
			w.all = false
			continue
		}
		rows += n
		w.marked[i] = true
	}
	return w
}

// lookedInto are the rows of a side that lie in marked buckets.
type lookedInto struct {
	// counts says how often each is there.
	counts map[xxh3.Uint128]int64
	// batches hold each row, but at most limit times: no more is shown of it.
	batches []arrow.RecordBatch
	hashes  [][]xxh3.Uint128
	limit   int64
}

func newLookedInto(limit int64) *lookedInto {
	return &lookedInto{counts: map[xxh3.Uint128]int64{}, limit: limit}
}

func (l *lookedInto) release() { releaseAll(l.batches) }

// take counts the rows of a batch that lie in marked buckets, and copies those
// to keep, so that the batch itself need not be kept.
func (l *lookedInto) take(ctx context.Context, rec arrow.RecordBatch, d *Digester, w *wanted) error {
	var rows []int32
	var hashes []xxh3.Uint128
	err := d.hashes(rec, func(i int, h xxh3.Uint128) {
		if !w.marked[bucketOf(h)] {
			return
		}
		if l.counts[h]++; l.counts[h] <= l.limit {
			rows, hashes = append(rows, int32(i)), append(hashes, h)
		}
	})
	if err != nil || len(rows) == 0 {
		return err
	}
	taken, err := takeRows(ctx, rec, rows)
	if err != nil {
		return fmt.Errorf("keep differing rows: %w", err)
	}
	l.batches, l.hashes = append(l.batches, taken), append(l.hashes, hashes)
	return nil
}
