package lake

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
)

func TestParseDigest(t *testing.T) {
	t.Parallel()
	d := Digest{Rows: 12, hi: 0x1f, lo: math.MaxUint64}
	text := "calve-digest/1:12:000000000000001fffffffffffffffff"
	if got, err := ParseDigest(text); err != nil || got != d || d.String() != text {
		t.Errorf("ParseDigest(%q) = %v, %v", text, got, err)
	}
	for _, bad := range []string{
		"", "calve-digest/1", "calve-digest/1:1", "calve-digest/2:12:000000000000001fffffffffffffffff",
		"calve-digest/1:-1:000000000000001fffffffffffffffff", "calve-digest/1:012:000000000000001fffffffffffffffff",
		"calve-digest/1:12:000000000000001FFFFFFFFFFFFFFFFF", "calve-digest/1:12:1fffffffffffffffff",
		"calve-digest/1:12:000000000000001ffffffffffffffffg", "calve-digest/1:12:+00000000000001fffffffffffffffff",
		"calve-digest/1:12:000000000000001fffffffffffffffff:", "calve-digest/1:9223372036854775808:000000000000001fffffffffffffffff",
	} {
		if got, err := ParseDigest(bad); !errors.Is(err, ErrUsage) {
			t.Errorf("ParseDigest(%q) = %v, %v", bad, got, err)
		}
	}
	if sum := d.Add(Digest{Rows: 1, lo: 1}); sum != (Digest{Rows: 13, hi: 0x20}) {
		t.Errorf("the carry is lost: %v", sum)
	}
}

// TestDigestOfRandomRows: the digest depends on the rows alone, and on each of
// their values.
func TestDigestOfRandomRows(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		g := &randomRows{random: rand.New(rand.NewPCG(seed, 5))}
		sc := iceberg.NewSchema(0, g.fields(1+g.random.IntN(5), 3)...)
		rows := g.rows(sc, 1+g.random.IntN(40))
		want := digestOf(t, sc, recordOf(t, sc, rows))
		same := func(what string, got Digest) {
			t.Helper()
			if got != want {
				t.Errorf("seed %d: %s: %s, want %s; schema %s", seed, what, got, want, sc)
			}
		}
		rec := recordOf(t, sc, rows)
		same("in parts", digestOf(t, sc, g.parts(rec)...))
		same("in another order", digestOf(t, sc, g.shuffled(t, rec)))
		same("columns in another order", digestOf(t, sc, g.columnsShuffled(rec)))
		same("texts by codes", digestOf(t, sc, coded(rec)))
		more := iceberg.NewSchema(1, append([]iceberg.NestedField{{ID: g.id + 1, Name: "added", Type: iceberg.PrimitiveTypes.Int64}}, sc.Fields()...)...)
		same("with an added column", digestOf(t, more, recordOf(t, more, rows)))
		same("with an added column that the batch lacks", digestOf(t, more, rec))
		half := len(rows) / 2
		a, b := digestOf(t, sc, recordOf(t, sc, rows[:half])), digestOf(t, sc, recordOf(t, sc, rows[half:]))
		same("as a sum", a.Add(b))

		for what, changed := range g.changes(sc, rows) {
			if got := digestOf(t, sc, recordOf(t, sc, changed)); got == want {
				t.Errorf("seed %d: %s does not change the digest; schema %s", seed, what, sc)
			}
		}
	}
}

func digestOf(t *testing.T, sc *iceberg.Schema, batches ...arrow.RecordBatch) Digest {
	t.Helper()
	d, err := NewDigester(sc)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range batches {
		if err := d.Add(rec); err != nil {
			t.Fatal(err)
		}
		rec.Retain() // several digests may be of one batch
		rec.Release()
	}
	return d.Digest()
}

// randomRows makes schemas and rows in Iceberg's single-value serialization.
type randomRows struct {
	random *rand.Rand
	id     int
}

type row = map[string]json.RawMessage

func (g *randomRows) nextID() int {
	g.id += 1 + g.random.IntN(200)
	return g.id
}

func (g *randomRows) fields(n, depth int) (fields []iceberg.NestedField) {
	for range n {
		id := g.nextID()
		fields = append(fields, iceberg.NestedField{ID: id, Name: fmt.Sprintf("f%d", id), Type: g.typ(depth)})
	}
	g.random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	return fields
}

func (g *randomRows) typ(depth int) iceberg.Type {
	simple := []iceberg.Type{
		iceberg.PrimitiveTypes.Bool, iceberg.PrimitiveTypes.Int32, iceberg.PrimitiveTypes.Int64, iceberg.PrimitiveTypes.Float32,
		iceberg.PrimitiveTypes.Float64, iceberg.PrimitiveTypes.Date, iceberg.PrimitiveTypes.Time, iceberg.PrimitiveTypes.Timestamp,
		iceberg.PrimitiveTypes.TimestampTz, iceberg.PrimitiveTypes.String, iceberg.PrimitiveTypes.UUID, iceberg.PrimitiveTypes.Binary,
		iceberg.FixedTypeOf(3), iceberg.DecimalTypeOf(38, 5),
	}
	if n := g.random.IntN(len(simple) + 3); depth == 0 || n < len(simple) {
		return simple[n%len(simple)]
	}
	switch g.random.IntN(3) {
	case 0:
		return &iceberg.StructType{FieldList: g.fields(1+g.random.IntN(3), depth-1)}
	case 1:
		return &iceberg.ListType{ElementID: g.nextID(), Element: g.typ(depth - 1)}
	}
	key := []iceberg.Type{iceberg.PrimitiveTypes.String, iceberg.PrimitiveTypes.Int64, iceberg.PrimitiveTypes.Date}[g.random.IntN(3)]
	return &iceberg.MapType{KeyID: g.nextID(), KeyType: key, ValueID: g.nextID(), ValueType: g.typ(depth - 1)}
}

func (g *randomRows) rows(sc *iceberg.Schema, n int) (rows []row) {
	for range n {
		r := row{}
		for _, f := range sc.Fields() {
			r[fmt.Sprint(f.ID)] = g.value(f.Type)
		}
		rows = append(rows, r)
	}
	return rows
}

// value is a random value of few, so that rows that are equal occur; often NULL.
func (g *randomRows) value(typ iceberg.Type) json.RawMessage {
	if g.random.IntN(4) == 0 {
		return json.RawMessage("null")
	}
	return g.present(typ)
}

func (g *randomRows) present(typ iceberg.Type) json.RawMessage {
	n := g.random.IntN(1000) - 500
	at := time.Unix(int64(n)*86_413, int64(g.random.IntN(1_000_000))*1000).UTC()
	text := ""
	switch typ := typ.(type) {
	case iceberg.BooleanType:
		return json.RawMessage(fmt.Sprint(n > 0))
	case iceberg.DecimalType, iceberg.Int32Type, iceberg.Int64Type, iceberg.Float32Type, iceberg.Float64Type:
		return json.RawMessage(fmt.Sprint(n))
	case iceberg.DateType:
		text = at.Format("2006-01-02")
	case iceberg.TimeType:
		text = at.Format("15:04:05.000000")
	case iceberg.TimestampType:
		text = at.Format("2006-01-02T15:04:05.000000")
	case iceberg.TimestampTzType:
		text = at.Format("2006-01-02T15:04:05.000000-07:00")
	case iceberg.StringType:
		text = strings.Repeat("ü", g.random.IntN(3)) + fmt.Sprint(n)
	case iceberg.UUIDType:
		text = fmt.Sprintf("f79c3e09-677c-4bbd-a479-3f349cb7%04x", n+500)
	case iceberg.BinaryType, iceberg.FixedType:
		text = fmt.Sprintf("%06x", n+500)
	default:
		return g.nested(typ)
	}
	raw, _ := json.Marshal(text)
	return raw
}

func (g *randomRows) nested(typ iceberg.Type) json.RawMessage {
	var value any
	switch typ := typ.(type) {
	case *iceberg.StructType:
		r := row{}
		for _, f := range typ.FieldList {
			r[fmt.Sprint(f.ID)] = g.value(f.Type)
		}
		value = r
	case *iceberg.ListType:
		list := []json.RawMessage{}
		for range g.random.IntN(4) {
			list = append(list, g.value(typ.Element))
		}
		value = list
	case *iceberg.MapType:
		var m struct {
			Keys, Values []json.RawMessage
		}
		for range g.random.IntN(4) {
			m.Keys, m.Values = append(m.Keys, g.present(typ.KeyType)), append(m.Values, g.value(typ.ValueType))
		}
		value = m
	}
	raw, _ := json.Marshal(value)
	return raw
}

// changes are other rows: one more, one less, one twice, one value changed.
func (g *randomRows) changes(sc *iceberg.Schema, rows []row) map[string][]row {
	i := g.random.IntN(len(rows))
	out := map[string][]row{
		"an added row":       append(slices.Clone(rows), row{}),
		"a row that is gone": slices.Delete(slices.Clone(rows), i, i+1),
		"a row twice":        append(slices.Clone(rows), rows[i]),
	}
	f := sc.Fields()[g.random.IntN(sc.NumFields())]
	id := fmt.Sprint(f.ID)
	other := row{}
	for k, v := range rows[i] {
		other[k] = v
	}
	if other[id] = json.RawMessage("null"); string(rows[i][id]) == "null" {
		other[id] = g.present(f.Type)
	}
	changed := slices.Clone(rows)
	changed[i] = other
	out["a changed value of "+f.Type.String()] = changed
	return out
}

// parts slices a batch, so that arrays have offsets.
func (g *randomRows) parts(rec arrow.RecordBatch) (parts []arrow.RecordBatch) {
	for from := int64(0); from < rec.NumRows(); {
		to := min(rec.NumRows(), from+g.random.Int64N(9))
		parts = append(parts, rec.NewSlice(from, to))
		from = to
	}
	g.random.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return parts
}

func (g *randomRows) shuffled(t *testing.T, rec arrow.RecordBatch) arrow.RecordBatch {
	t.Helper()
	var order []int32
	for _, i := range g.random.Perm(int(rec.NumRows())) {
		order = append(order, int32(i))
	}
	out, err := takeRows(t.Context(), rec, order)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (g *randomRows) columnsShuffled(rec arrow.RecordBatch) arrow.RecordBatch {
	var fields []arrow.Field
	var columns []arrow.Array
	for _, i := range g.random.Perm(int(rec.NumCols())) {
		fields, columns = append(fields, rec.Schema().Field(i)), append(columns, rec.Column(i))
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, rec.NumRows())
}

// coded has the texts of a batch as dictionaries, whose first word is not used.
func coded(rec arrow.RecordBatch) arrow.RecordBatch {
	fields, columns := slices.Clone(rec.Schema().Fields()), slices.Clone(rec.Columns())
	for i, c := range columns {
		texts, ok := c.(*array.String)
		if !ok {
			continue
		}
		b := array.NewDictionaryBuilder(memory.DefaultAllocator, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder)
		for k := range texts.Len() {
			if texts.IsNull(k) {
				b.AppendNull()
			} else if err := b.AppendString(texts.Value(k)); err != nil {
				panic(err)
			}
		}
		columns[i] = b.NewArray()
		fields[i].Type = columns[i].DataType()
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, rec.NumRows())
}

// TestDigestOfWidenedColumns: what a table may become without a change of its
// rows changes nothing, and what it may not does.
func TestDigestOfWidenedColumns(t *testing.T) {
	t.Parallel()
	one := func(typ iceberg.Type, v string) Digest {
		sc := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "v", Type: typ})
		return digestOf(t, sc, recordOf(t, sc, []row{{"1": json.RawMessage(v)}}))
	}
	types := iceberg.PrimitiveTypes
	for _, same := range [][2]Digest{
		{one(types.Int32, "-7"), one(types.Int64, "-7")},
		{one(types.Float32, "0.5"), one(types.Float64, "0.5")},
		{one(iceberg.DecimalTypeOf(9, 2), `"1.50"`), one(iceberg.DecimalTypeOf(38, 2), `"1.50"`)},
	} {
		if same[0] != same[1] {
			t.Errorf("%s and %s differ", same[0], same[1])
		}
	}
	for _, other := range [][2]Digest{
		{one(types.Int64, "1"), one(types.Float64, "1")},
		{one(types.String, `"1"`), one(types.Binary, `"31"`)},
		{one(types.Timestamp, `"2026-05-04T00:00:00"`), one(types.TimestampTz, `"2026-05-04T00:00:00+00:00"`)},
		{one(iceberg.DecimalTypeOf(9, 2), `"1.50"`), one(iceberg.DecimalTypeOf(9, 3), `"1.50"`)},
	} {
		if other[0] == other[1] {
			t.Errorf("both are %s", other[0])
		}
	}
}

// TestDigestOfEveryNaN: NaN has many bit patterns, and which one a row has is
// an accident of who wrote it.
func TestDigestOfEveryNaN(t *testing.T) {
	t.Parallel()
	sc := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "v", Type: iceberg.PrimitiveTypes.Float64})
	arrowSchema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Float64, Nullable: true}}, nil)
	of := func(bits uint64) Digest {
		b := array.NewRecordBuilder(memory.DefaultAllocator, arrowSchema)
		defer b.Release()
		b.Field(0).(*array.Float64Builder).Append(math.Float64frombits(bits))
		return digestOf(t, sc, b.NewRecordBatch())
	}
	for _, nan := range []uint64{0xfff8 << 48, 0x7ff0<<48 + 1, math.MaxUint64} {
		if of(nan) != of(0x7ff8<<48) {
			t.Errorf("NaN %x has a digest of its own", nan)
		}
	}
	if of(1<<63) != of(0) || of(0x7ff0<<48) == of(0x7ff8<<48) {
		t.Error("-0 is not 0, or infinity is NaN")
	}
}

// TestDigesterRefuses: what is not of the schema is no row of it.
func TestDigesterRefuses(t *testing.T) {
	t.Parallel()
	sc := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "v", Type: iceberg.PrimitiveTypes.TimestampTz},
		iceberg.NestedField{ID: 2, Name: "m", Type: &iceberg.MapType{KeyID: 3, KeyType: iceberg.PrimitiveTypes.Int64, ValueID: 4, ValueType: iceberg.PrimitiveTypes.Int64}},
		iceberg.NestedField{ID: 5, Name: "d", Type: iceberg.DecimalTypeOf(9, 2)})
	field := func(name string, typ arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: typ, Nullable: true}
	}
	instant, wall := arrow.FixedWidthTypes.Timestamp_us, &arrow.TimestampType{Unit: arrow.Microsecond}
	for text, fields := range map[string][]arrow.Field{
		`column "other" is not one of the table`: {field("v", instant), field("other", instant)},
		`column "v" is there twice`:              {field("v", instant), field("v", instant)},
		"it came as timestamp[us]":               {field("v", wall)},
		"it came as timestamp[ms, tz=UTC]":       {field("v", arrow.FixedWidthTypes.Timestamp_ms)},
		"it came as utf8":                        {field("v", arrow.BinaryTypes.String)},
		"it came as int64":                       {field("m", arrow.PrimitiveTypes.Int64)},
		"it came as decimal(9, 3)":               {field("d", &arrow.Decimal128Type{Precision: 9, Scale: 3})},
	} {
		b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
		for i := range fields {
			b.Field(i).AppendEmptyValue()
		}
		d, err := NewDigester(sc)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Add(b.NewRecordBatch()); !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), text) {
			t.Errorf("Add(%s) = %v, want %q", fields, err, text)
		}
	}
	for _, ids := range [][2]int{{0, 1}, {-1, 1}} {
		_, err := NewDigester(iceberg.NewSchema(0,
			iceberg.NestedField{ID: ids[0], Name: "a", Type: iceberg.PrimitiveTypes.Int64}, iceberg.NestedField{ID: ids[1], Name: "b", Type: iceberg.PrimitiveTypes.Int64}))
		if !errors.Is(err, ErrSchema) {
			t.Errorf("field ids %d: %v", ids, err)
		}
	}
}

// TestDigestBesideHoldsNoMemory: the batches are released by both, also where
// one of them stops, fails or panics.
func TestDigestBesideHoldsNoMemory(t *testing.T) {
	t.Parallel()
	sc := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "v", Type: iceberg.PrimitiveTypes.Int64})
	arrowSchema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Int64}}, nil)
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		stop, fail int
		digester   func() *Digester
		want       error
	}{
		"all":              {stop: -1, fail: -1},
		"the stage stops":  {stop: 2, fail: -1},
		"the source fails": {stop: -1, fail: 3, want: broken},
		"wrong columns": {stop: -1, fail: -1, want: ErrSchema, digester: func() *Digester {
			d, _ := NewDigester(iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "other", Type: iceberg.PrimitiveTypes.Int64}))
			return d
		}},
		"a panic": {stop: -1, fail: -1, want: ErrBug, digester: func() *Digester { return &Digester{} }},
	} {
		t.Run(name, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			defer mem.AssertSize(t, 0)
			d, err := NewDigester(sc)
			if c.digester != nil {
				d, err = c.digester(), nil
			}
			if err != nil {
				t.Fatal(err)
			}
			source := func(yield func(arrow.RecordBatch, error) bool) {
				for i := range 5 {
					if i == c.fail {
						yield(nil, broken)
						return
					}
					b := array.NewRecordBuilder(mem, arrowSchema)
					b.Field(0).(*array.Int64Builder).Append(int64(i))
					rec := b.NewRecordBatch()
					b.Release()
					if !yield(rec, nil) {
						return
					}
				}
			}
			n := 0
			var got error
			for rec, err := range beside(source, d.Add) {
				if got = err; err != nil {
					break
				}
				rec.Release()
				if n++; n == c.stop {
					break
				}
			}
			if !errors.Is(got, c.want) || (c.want == nil && got != nil) {
				t.Errorf("error %v, want %v", got, c.want)
			}
			if c.want == nil && d.Digest().Rows != int64(n) {
				t.Errorf("%d rows digested, %d passed on", d.Digest().Rows, n)
			}
		})
	}
}
