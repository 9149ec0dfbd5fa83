package lake

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/iceberg-go"
)

// bind binds the fields of a row or a struct to the columns that have their
// names; those that have none are NULL.
func (f *structForm) bind(names []arrow.Field, column func(int) arrow.Array, sortable *entries) (fields, error) {
	index := make(map[string]int, len(names))
	for i, n := range names {
		if _, twice := index[n.Name]; twice {
			return nil, fmt.Errorf("column %q is there twice: %w", n.Name, ErrSchema)
		}
		index[n.Name] = i
	}
	out := make(fields, 0, len(f.fields))
	for k := range f.fields {
		field := &f.fields[k]
		i, ok := index[field.name]
		if !ok {
			continue
		}
		delete(index, field.name)
		v, err := field.bind(column(i), sortable)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", field.name, err)
		}
		v.head = field.head
		out = append(out, *v)
	}
	for name := range index {
		if !slices.Contains(f.ignored, name) {
			return nil, fmt.Errorf("column %q is not one of the table: %w", name, ErrSchema)
		}
	}
	return out, nil
}

// bind binds an array. What stands before a value is the caller's to set.
func (f *valueForm) bind(a arrow.Array, sortable *entries) (*values, error) {
	v := &values{offset: a.Data().Offset(), sortable: sortable}
	if a.Len() == 0 {
		return v, nil // it may have no buffers
	}
	if a.NullN() > 0 {
		v.valid = a.NullBitmapBytes()
	}
	if d, ok := a.(*array.Dictionary); ok && f.tag == tagString {
		return v, v.bindDictionary(d)
	}
	bound := false
	switch f.tag {
	case tagStruct:
		if s, ok := a.(*array.Struct); ok {
			return v, v.bindStruct(f, s)
		}
	case tagList:
		if l, ok := a.(array.ListLike); ok {
			return v, v.bindList(f, l)
		}
	case tagMap:
		if m, ok := a.(*array.Map); ok {
			return v, v.bindMap(f, m)
		}
	default:
		bound = v.bindPlain(f, a)
	}
	if !bound {
		return nil, fmt.Errorf("it came as %s, which is not how %s is stored: %w", a.DataType(), f.typ, ErrSchema)
	}
	return v, nil
}

// bindPlain binds an array of single values; false where it is not of the type
// that f has in Arrow.
func (v *values) bindPlain(f *valueForm, a arrow.Array) bool {
	want := byte(0)
	switch a := a.(type) {
	case *array.Boolean:
		want, v.kind = tagBool, kindBool
		v.bools = a.Data().Buffers()[1].Bytes()
	case *array.Int32:
		want, v.kind, v.int32s = tagInt, kindInt32, a.Int32Values()
	case *array.Int64:
		want, v.kind, v.int64s = tagInt, kindInt64, a.Int64Values()
	case *array.Float32:
		want, v.kind, v.float32s = tagFloat, kindFloat32, a.Float32Values()
	case *array.Float64:
		want, v.kind, v.float64s = tagFloat, kindFloat64, a.Float64Values()
	case *array.Date32:
		want, v.kind, v.int32s = tagDate, kindDate, arrow.Int32Traits.CastFromBytes(arrow.Date32Traits.CastToBytes(a.Date32Values()))
	case *array.Time64:
		want, v.kind, v.int64s = tagTime, kindInt64, arrow.Int64Traits.CastFromBytes(arrow.Time64Traits.CastToBytes(a.Time64Values()))
		if a.DataType().(*arrow.Time64Type).Unit != arrow.Microsecond {
			return false
		}
	case *array.Timestamp:
		return v.bindTimestamp(f, a)
	case *array.String:
		want, v.kind, v.ends, v.bytes = tagString, kindText, a.ValueOffsets(), a.ValueBytes()
	case *array.Binary:
		want, v.kind, v.ends, v.bytes = tagBinary, kindText, a.ValueOffsets(), a.ValueBytes()
	case *array.FixedSizeBinary:
		want, v.kind = tagBinary, kindFixed
		v.bindFixed(a)
	case *extensions.UUIDArray:
		want, v.kind = tagUUID, kindUUID
		v.bindFixed(a.Storage().(*array.FixedSizeBinary))
	case *array.Decimal128:
		return v.bindDecimal(f, a)
	}
	return want == f.tag
}

func (v *values) bindTimestamp(f *valueForm, a *array.Timestamp) bool {
	v.int64s = arrow.Int64Traits.CastFromBytes(arrow.TimestampTraits.CastToBytes(a.TimestampValues()))
	t := a.DataType().(*arrow.TimestampType)
	switch t.Unit {
	case arrow.Microsecond:
		v.kind = kindMicros
	case arrow.Nanosecond:
		v.kind = kindNanos
	default:
		return false
	}
	zoned := f.tag == tagTimestamptz
	return (zoned || f.tag == tagTimestamp) && zoned == (t.TimeZone != "")
}

func (v *values) bindDecimal(f *valueForm, a *array.Decimal128) bool {
	d, ok := f.typ.(iceberg.DecimalType)
	scale := a.DataType().(*arrow.Decimal128Type).Scale
	v.kind, v.decimals, v.scale = kindDecimal, a.Values(), binary.AppendUvarint(nil, uint64(scale))
	return ok && int(scale) == d.Scale()
}

func (v *values) bindFixed(a *array.FixedSizeBinary) {
	v.width = a.DataType().(*arrow.FixedSizeBinaryType).ByteWidth
	v.bytes = a.Data().Buffers()[1].Bytes()[a.Data().Offset()*v.width:]
}

// bindDictionary binds texts by their codes.
func (v *values) bindDictionary(d *array.Dictionary) error {
	words, ok := d.Dictionary().(*array.String)
	codes, ok32 := d.Indices().(*array.Int32)
	if !ok || !ok32 {
		return fmt.Errorf("it came as %s, which is not a dictionary of strings by int32: %w", d.DataType(), ErrSchema)
	}
	v.kind, v.codes = kindText, codes.Int32Values()
	if words.Len() > 0 {
		v.ends, v.bytes = words.ValueOffsets(), words.ValueBytes()
	}
	return nil
}

func (v *values) bindStruct(f *valueForm, s *array.Struct) (err error) {
	v.kind = kindStruct
	v.fields, err = f.fields.bind(s.DataType().(*arrow.StructType).Fields(), s.Field, v.sortable)
	return err
}

func (v *values) bindList(f *valueForm, l array.ListLike) (err error) {
	v.kind, v.elements = kindList, l.ValueOffsets
	v.element, err = f.bindElement(l.ListValues(), v.sortable)
	return err
}

func (v *values) bindMap(f *valueForm, m *array.Map) (err error) {
	if row, missing := nullKey(m); missing {
		return fmt.Errorf("row %d: the key of a map is NULL: %w", row+1, ErrInput)
	}
	v.kind, v.elements = kindMap, m.ValueOffsets
	if v.key, err = f.key.bind(m.Keys(), v.sortable); err != nil {
		return err
	}
	v.key.head = []byte{f.key.tag}
	v.element, err = f.bindElement(m.Items(), v.sortable)
	return err
}

// bindElement binds the elements of a list or the values of a map.
func (f *valueForm) bindElement(a arrow.Array, sortable *entries) (*values, error) {
	v, err := f.element.bind(a, sortable)
	if err != nil {
		return nil, err
	}
	v.head, v.absent = []byte{1, f.element.tag}, []byte{0}
	return v, nil
}

// nullKey finds the first map that is there and has a NULL for a key.
func nullKey(m *array.Map) (row int, missing bool) {
	if m.Keys().NullN() == 0 {
		return 0, false
	}
	for i := range m.Len() {
		from, to := m.ValueOffsets(i)
		for k := from; k < to && m.IsValid(i); k++ {
			if m.Keys().IsNull(int(k)) {
				return i, true
			}
		}
	}
	return 0, false
}
