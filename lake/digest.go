package lake

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	"github.com/zeebo/xxh3"
)

// Digest stands for a set of rows, whatever their order and however they are
// split into batches, files and partitions: their number, and the sum modulo
// 2^128 of a 128-bit hash of each. It is a sum and no exclusive or, so that a
// row that is there twice counts twice. Two digests are of the same rows if they
// are equal (==), but for chance, and as long as nobody tries to forge one. The
// zero value is the digest of no rows.
//
// What is hashed of a row is its canonical encoding; see [Digester].
type Digest struct {
	// Rows is the number of rows.
	Rows int64

	hi, lo uint64
}

// digestForm is what a digest begins with. The number is that of the encoding
// of rows: another encoding gets another number, and is never compared.
const digestForm = "calve-digest/1"

// String is the digest as state and receipts keep it: calve-digest/1, the number
// of rows and 32 hex digits, with colons.
func (d Digest) String() string {
	return fmt.Sprintf("%s:%d:%016x%016x", digestForm, d.Rows, d.hi, d.lo)
}

// ParseDigest reads what [Digest.String] prints. Its error wraps [ErrUsage].
func ParseDigest(text string) (Digest, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 || parts[0] != digestForm || len(parts[2]) != 32 {
		return Digest{}, fmt.Errorf("%q is not %s:ROWS: and 32 hex digits: %w", text, digestForm, ErrUsage)
	}
	rows, err := strconv.ParseUint(parts[1], 10, 63)
	d := Digest{Rows: int64(rows)}
	if err == nil {
		d.hi, err = strconv.ParseUint(parts[2][:16], 16, 64)
	}
	if err == nil {
		d.lo, err = strconv.ParseUint(parts[2][16:], 16, 64)
	}
	if err != nil || d.String() != text {
		return Digest{}, fmt.Errorf("%q is not %s:ROWS: and 32 hex digits: %w", text, digestForm, ErrUsage)
	}
	return d, nil
}

// MarshalText is the text of [Digest.String].
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the text of [Digest.String].
func (d *Digest) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDigest(string(text))
	return err
}

// Add is the digest of the rows of d and those of e together.
func (d Digest) Add(e Digest) Digest {
	lo, carry := bits.Add64(d.lo, e.lo, 0)
	hi, _ := bits.Add64(d.hi, e.hi, carry)
	return Digest{Rows: d.Rows + e.Rows, hi: hi, lo: lo}
}

// Digester computes the digest of rows of a table's schema.
//
// A row is hashed as XXH3-128 (seed 0) of its canonical encoding: for each
// top-level field that is not NULL, in ascending field id, the field id as
// uvarint, a tag, and the value:
//
//	01 boolean      1 byte, 0 or 1
//	02 int, long    int64
//	03 float, double  double; one NaN (7ff8000000000000), -0 is +0
//	04 decimal      uvarint scale, uvarint length, shortest two's complement
//	05 date         int32, days
//	06 time         int64, microseconds
//	07 timestamp    floor seconds int64, nanoseconds uint32
//	08 timestamptz  as 07
//	09 string       uvarint length, bytes
//	0a binary, fixed  as 09
//	0b uuid         16 bytes
//	0c struct       its fields as those of a row, then 00
//	0d list         uvarint length; each element 00 if NULL, else 01, tag, value
//	0e map          uvarint length; each entry the key's tag and value, then as an
//	                element of a list; the entries in the order of their bytes
//
// Numbers are big-endian. So a column that is NULL in every row changes nothing,
// nor does an int that became a long, a float that became a double, or a decimal
// that got more digits before the point.
type Digester struct {
	form *structForm
	sum  Digest
	buf  []byte
	// sortable is where the entries of maps are put in order.
	sortable *entries
}

// NewDigester returns a digester of rows of sc without the columns whose field
// ids are volatile. Its error wraps [ErrSchema] where sc has a type that has no
// encoding, or a field id below 1.
func NewDigester(sc *iceberg.Schema, volatile ...int) (*Digester, error) {
	fields := slices.DeleteFunc(slices.Clone(sc.Fields()), func(f iceberg.NestedField) bool { return slices.Contains(volatile, f.ID) })
	form, err := newStructForm(fields)
	if err != nil {
		return nil, fmt.Errorf("digest: %w", err)
	}
	for _, f := range sc.Fields() {
		if slices.Contains(volatile, f.ID) {
			form.ignored = append(form.ignored, f.Name)
		}
	}
	return &Digester{form: form, sortable: &entries{}}, nil
}

// Add adds the rows of a batch, which it does not keep. Its columns are matched
// by name and may come in any order; a column of the schema that is missing is
// NULL. Texts may be dictionaries of strings. The error wraps [ErrSchema] where
// a column is not of the schema, or of another type than Iceberg's Arrow form,
// and [ErrInput] where the key of a map is NULL; then the digest is not to be
// used.
func (d *Digester) Add(rec arrow.RecordBatch) error {
	rows, err := d.form.bind(rec.Schema().Fields(), rec.Column, d.sortable)
	if err != nil {
		return fmt.Errorf("digest: %w", err)
	}
	hi, lo, carry := d.sum.hi, d.sum.lo, uint64(0)
	buf := d.buf
	for i := range int(rec.NumRows()) {
		buf = rows.appendFields(buf[:0], i)
		h := xxh3.Hash128(buf)
		lo, carry = bits.Add64(lo, h.Lo, 0)
		hi, _ = bits.Add64(hi, h.Hi, carry)
	}
	d.buf = buf
	d.sum = Digest{Rows: d.sum.Rows + rec.NumRows(), hi: hi, lo: lo}
	return nil
}

// hashes calls each with the hash of every row of a batch, in their order. The
// digest stays as it is; errors are those of [Digester.Add].
func (d *Digester) hashes(rec arrow.RecordBatch, each func(row int, h xxh3.Uint128)) error {
	rows, err := d.form.bind(rec.Schema().Fields(), rec.Column, d.sortable)
	if err != nil {
		return fmt.Errorf("digest: %w", err)
	}
	for i := range int(rec.NumRows()) {
		d.buf = rows.appendFields(d.buf[:0], i)
		each(i, xxh3.Hash128(d.buf))
	}
	return nil
}

// Digest is the digest of all rows added so far.
func (d *Digester) Digest() Digest { return d.sum }

// beside lets use have batches on their way to someone else, in a goroutine that
// ends before the iteration does. It holds at most two batches more than are under
// way; where it falls behind, the batches wait for it.
func beside(batches iter.Seq2[arrow.RecordBatch, error], use func(arrow.RecordBatch) error) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		queue, done := make(chan arrow.RecordBatch, 1), make(chan error, 1)
		go func() { done <- useAll(queue, use) }()
		all := true
		func() {
			defer close(queue)
			for rec, err := range batches {
				if err == nil {
					countNulls(rec)
					rec.Retain()
					queue <- rec
				}
				if all = yield(rec, err); !all {
					return
				}
			}
		}()
		if err := <-done; err != nil && all {
			yield(nil, err)
		}
	}
}

// countNulls makes a batch safe to be read by two goroutines. Arrow counts the
// nulls of an array when they are first asked for, and notes them in what both
// would share.
func countNulls(rec arrow.RecordBatch) {
	for _, c := range rec.Columns() {
		countNullsOf(c)
	}
}

func countNullsOf(a arrow.Array) {
	a.NullN()
	inner := a.Data().Children()
	if d, ok := a.(*array.Dictionary); ok {
		inner = []arrow.ArrayData{d.Dictionary().Data()}
	}
	for _, data := range inner {
		part := array.MakeFromData(data)
		countNullsOf(part)
		part.Release()
	}
}

// useAll uses and releases every batch of a queue, also after an error.
func useAll(queue <-chan arrow.RecordBatch, use func(arrow.RecordBatch) error) (err error) {
	one := func(rec arrow.RecordBatch) (err error) {
		defer Caught(&err)
		defer rec.Release()
		return use(rec)
	}
	for rec := range queue {
		if e := one(rec); err == nil {
			err = e
		}
	}
	return err
}
