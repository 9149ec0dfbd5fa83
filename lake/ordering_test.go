package lake

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/google/uuid"
)

// FuzzOrdering holds the encoding of keys and versions to the order of the values
// that it stands for, each type beside all others in one row.
func FuzzOrdering(f *testing.F) {
	long := bytes.Repeat([]byte{0x80}, 64)
	for _, text := range []string{"", "\x00", "\x00\x00", "\x00\xff", "\xff", "a", "a\x00", "a\x00b", "a\x01", "ab", "ä", string(long)} {
		f.Add([]byte(text), []byte("a"), uint16(0), uint16(0))
		f.Add([]byte(text), append([]byte(text), 0), uint16(0), uint16(1<<8))
		f.Add([]byte("\x80\x00\x00\x00\x00\x00\x00\x00"), []byte(text), uint16(0), uint16(0)) // -0, or NaN
	}
	f.Add([]byte{1, 2, 3}, []byte{1, 2, 3}, uint16(1<<3), uint16(1<<3))
	f.Fuzz(func(t *testing.T, a, b []byte, nullA, nullB uint16) {
		if len(a) > 1<<10 || len(b) > 1<<10 {
			return
		}
		checkOrder(t, orderedRow{a, nullA}, orderedRow{b, nullB})
	})
}

// TestOrdering is the same with random rows, many of them nearly equal.
func TestOrdering(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		a := orderedRow{}
		for column := range 14 {
			if random.IntN(8) == 0 {
				a.null |= 1 << column
			}
		}
		for range random.IntN(40) {
			a.raw = append(a.raw, []byte{0, 1, 0x7f, 0x80, 0xff, byte(random.Uint32())}[random.IntN(6)])
		}
		b := orderedRow{bytes.Clone(a.raw), a.null}
		if len(b.raw) > 0 && random.IntN(4) > 0 {
			b.raw[random.IntN(len(b.raw))] = byte(random.Uint32())
		}
		if random.IntN(4) == 0 {
			b.null ^= 1 << random.IntN(16)
		}
		checkOrder(t, a, b)
	}
}

// orderedRow is a row of all types that an ordering takes, made of some bytes.
type orderedRow struct {
	raw  []byte
	null uint16 // a bit for each column
}

// number is made of the n-th eight bytes, counted round.
func (r orderedRow) number(n int) int64 {
	var word [8]byte
	for i := range word {
		if len(r.raw) > 0 {
			word[i] = r.raw[(8*n+i)%len(r.raw)]
		}
	}
	return int64(binary.BigEndian.Uint64(word[:]))
}

func (r orderedRow) sixteen(n int) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(r.number(n))), uint64(r.number(n+1)))
}

// orderedColumn is one column of an orderedRow.
type orderedColumn struct {
	typ iceberg.Type
	// put appends the value of a row.
	put func(array.Builder, orderedRow)
	// compare orders the values of two rows.
	compare func(a, b orderedRow) int
}

func orderedColumns() []orderedColumn {
	whole := func(n int, cut int64) (func(orderedRow) int64, func(a, b orderedRow) int) {
		value := func(r orderedRow) int64 { return r.number(n) / cut }
		return value, func(a, b orderedRow) int { return cmp.Compare(value(a), value(b)) }
	}
	of := func(text func(orderedRow) []byte) func(a, b orderedRow) int {
		return func(a, b orderedRow) int { return bytes.Compare(text(a), text(b)) }
	}
	truth := func(r orderedRow) bool { return r.number(0)&1 == 1 }
	all := func(r orderedRow) []byte { return r.raw }
	rest := func(r orderedRow) []byte { return r.raw[min(2, len(r.raw)):] }
	fixed := func(r orderedRow) []byte { return r.sixteen(1)[:5] }
	id := func(r orderedRow) []byte { return r.sixteen(2) }
	decimal := func(r orderedRow) decimal128.Num {
		return decimal128.New(r.number(1)/(1<<20), uint64(r.number(0))) // of at most 33 digits
	}
	double := func(r orderedRow) float64 { return math.Float64frombits(uint64(r.number(1))) }
	float := func(r orderedRow) float32 { return math.Float32frombits(uint32(r.number(0))) }
	small, bySmall := whole(0, 1<<32)
	date, byDate := whole(1, 1<<32)
	long, byLong := whole(0, 1)
	clock, byClock := whole(1, 1)
	wall, byWall := whole(2, 1)
	instant, byInstant := whole(1, 1)
	return []orderedColumn{
		{iceberg.PrimitiveTypes.Bool, func(b array.Builder, r orderedRow) { b.(*array.BooleanBuilder).Append(truth(r)) }, func(a, b orderedRow) int {
			return cmp.Compare(a.number(0)&1, b.number(0)&1)
		}},
		{iceberg.PrimitiveTypes.String, func(b array.Builder, r orderedRow) { b.(*array.StringBuilder).Append(string(all(r))) }, of(all)},
		{iceberg.PrimitiveTypes.Int32, func(b array.Builder, r orderedRow) { b.(*array.Int32Builder).Append(int32(small(r))) }, bySmall},
		{iceberg.PrimitiveTypes.Binary, func(b array.Builder, r orderedRow) { b.(*array.BinaryBuilder).Append(rest(r)) }, of(rest)},
		{iceberg.DecimalTypeOf(38, 4), func(b array.Builder, r orderedRow) { b.(*array.Decimal128Builder).Append(decimal(r)) }, func(a, b orderedRow) int {
			return decimal(a).BigInt().Cmp(decimal(b).BigInt())
		}},
		{iceberg.PrimitiveTypes.Int64, func(b array.Builder, r orderedRow) { b.(*array.Int64Builder).Append(long(r)) }, byLong},
		{iceberg.PrimitiveTypes.Date, func(b array.Builder, r orderedRow) { b.(*array.Date32Builder).Append(arrow.Date32(date(r))) }, byDate},
		{iceberg.PrimitiveTypes.Time, func(b array.Builder, r orderedRow) { b.(*array.Time64Builder).Append(arrow.Time64(clock(r))) }, byClock},
		{iceberg.PrimitiveTypes.Timestamp, func(b array.Builder, r orderedRow) { b.(*array.TimestampBuilder).Append(arrow.Timestamp(wall(r))) }, byWall},
		{iceberg.PrimitiveTypes.TimestampTz, func(b array.Builder, r orderedRow) {
			b.(*array.TimestampBuilder).Append(arrow.Timestamp(instant(r)))
		}, byInstant},
		{iceberg.PrimitiveTypes.Float64, func(b array.Builder, r orderedRow) { b.(*array.Float64Builder).Append(double(r)) }, func(a, b orderedRow) int {
			return compareFloats(double(a), double(b))
		}},
		{iceberg.PrimitiveTypes.Float32, func(b array.Builder, r orderedRow) { b.(*array.Float32Builder).Append(float(r)) }, func(a, b orderedRow) int {
			return compareFloats(float64(float(a)), float64(float(b)))
		}},
		{iceberg.FixedTypeOf(5), func(b array.Builder, r orderedRow) { b.(*array.FixedSizeBinaryBuilder).Append(fixed(r)) }, of(fixed)},
		{iceberg.PrimitiveTypes.UUID, func(b array.Builder, r orderedRow) { b.(*extensions.UUIDBuilder).Append(uuid.UUID(id(r))) }, of(id)},
	}
}

// compareFloats has one NaN, above all numbers, and one zero.
func compareFloats(a, b float64) int {
	if a != a || b != b {
		return -cmp.Compare(a, b) // which has it below them
	}
	return cmp.Compare(a, b)
}

func checkOrder(t *testing.T, a, b orderedRow) {
	t.Helper()
	columns := orderedColumns()
	var fields []iceberg.NestedField
	var names []string
	for i, c := range columns {
		fields = append(fields, iceberg.NestedField{ID: i + 1, Name: c.typ.String(), Type: c.typ})
		names = append(names, c.typ.String())
	}
	f, err := fitOf(iceberg.NewSchema(0, fields...))
	if err != nil {
		t.Fatal(err)
	}
	build := array.NewRecordBuilder(memory.DefaultAllocator, f.arrow)
	want := 0
	for i, c := range columns {
		mask := uint16(1) << i
		for _, r := range []orderedRow{a, b} {
			if r.null&mask != 0 {
				build.Field(i).AppendNull()
			} else {
				c.put(build.Field(i), r)
			}
		}
		if want != 0 {
			continue
		}
		switch nullA, nullB := a.null&mask != 0, b.null&mask != 0; {
		case nullA || nullB:
			want = cmp.Compare(b.null&mask, a.null&mask) // NULL first
		default:
			want = c.compare(a, b)
		}
	}
	rec := build.NewRecordBatch()
	defer rec.Release()
	o, err := newOrdering(f.schema, "event_id", names, true)
	if err != nil {
		t.Fatal(err)
	}
	bound := o.bind(f.schema, rec)
	x, y := bound.append(nil, 0), bound.append(nil, 1)
	if got := bytes.Compare(x, y); got != want {
		t.Fatalf("%x and %x of %v compare as %d, want %d", x, y, rec, got, want)
	}
	checkColumns(t, o, rec, x)
}

// checkColumns holds each column of an encoded row, and the bound that a manifest
// has of such a value, to the encoding of the column alone.
func checkColumns(t *testing.T, o *ordering, rec arrow.RecordBatch, row []byte) {
	t.Helper()
	for i, field := range o.fields {
		c := rec.Column(i)
		alone := []byte{orderedNull}
		if c.IsValid(0) {
			alone = orderedValues(c)([]byte{orderedValue}, 0)
		}
		if got := o.column(row, i); !bytes.Equal(got, alone) {
			t.Fatalf("column %d of %x is cut as %x, want %x", i, row, got, alone)
		}
		if c.IsNull(0) {
			continue
		}
		if c.DataType().ID() == arrow.FLOAT64 || c.DataType().ID() == arrow.FLOAT32 {
			continue // their bounds say nothing of NaN
		}
		if got, ok := orderedBound(field.Type, rawValues(c)(0)); !ok || !bytes.Equal(got, alone) {
			t.Fatalf("the %s bound %x is %x (%v), want %x", field.Type, rawValues(c)(0), got, ok, alone)
		}
	}
}

// TestOrderedBoundsOfOthers: bounds of a column that was widened since, and those
// that are no values.
func TestOrderedBoundsOfOthers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		typ  iceberg.Type
		raw  []byte
		want []byte // nil: unknown
	}{
		"an int of a long":          {iceberg.PrimitiveTypes.Int64, []byte{0xfe, 0xff, 0xff, 0xff}, appendOrderedInt([]byte{1}, -2)},
		"a short decimal":           {iceberg.DecimalTypeOf(38, 2), []byte{0xff}, appendOrderedDecimal([]byte{1}, decimal128.FromI64(-1))},
		"a long decimal":            {iceberg.DecimalTypeOf(38, 2), bytes.Repeat([]byte{0}, 16), appendOrderedDecimal([]byte{1}, decimal128.FromI64(0))},
		"no decimal":                {iceberg.DecimalTypeOf(38, 2), []byte{}, nil},
		"too long a decimal":        {iceberg.DecimalTypeOf(38, 2), make([]byte, 17), nil},
		"the empty text":            {iceberg.PrimitiveTypes.String, []byte{}, []byte{1, 0, 0}},
		"none":                      {iceberg.PrimitiveTypes.String, nil, nil},
		"half a long":               {iceberg.PrimitiveTypes.Int64, []byte{1, 2}, nil},
		"half a uuid":               {iceberg.PrimitiveTypes.UUID, make([]byte, 8), nil},
		"a fixed of another length": {iceberg.FixedTypeOf(4), make([]byte, 3), nil},
		"an empty bool":             {iceberg.PrimitiveTypes.Bool, []byte{}, nil},
	} {
		got, ok := orderedBound(tc.typ, tc.raw)
		if ok != (tc.want != nil) || ok && !bytes.Equal(got, tc.want) {
			t.Errorf("%s: %x, %v, want %x", name, got, ok, tc.want)
		}
	}
}
