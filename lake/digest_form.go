package lake

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
)

// The tags of the canonical encoding; see [Digester].
const (
	tagBool byte = iota + 1
	tagInt
	tagFloat
	tagDecimal
	tagDate
	tagTime
	tagTimestamp
	tagTimestamptz
	tagString
	tagBinary
	tagUUID
	tagStruct
	tagList
	tagMap
)

// structForm is how the fields of a row or a struct are encoded: in ascending
// field id.
type structForm struct {
	fields []fieldForm
	// ignored are names of columns that are not encoded.
	ignored []string
}

// fieldForm is how one field is encoded.
type fieldForm struct {
	name string
	head []byte // what stands before a value: the field id and the tag
	valueForm
}

// valueForm is how the values of one type are encoded.
type valueForm struct {
	tag    byte
	typ    iceberg.Type
	fields *structForm // of a struct
	// element is the element of a list or the value of a map, key its key.
	element, key *valueForm
}

func newStructForm(fields []iceberg.NestedField) (*structForm, error) {
	f := &structForm{}
	sorted := slices.SortedFunc(slices.Values(fields), func(a, b iceberg.NestedField) int { return cmp.Compare(a.ID, b.ID) })
	for _, field := range sorted {
		if field.ID < 1 { // 0 is the end of a struct
			return nil, fmt.Errorf("column %q has the field id %d, and ids begin at 1: %w", field.Name, field.ID, ErrSchema)
		}
		v, err := newValueForm(field.Type)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", field.Name, err)
		}
		head := append(binary.AppendUvarint(nil, uint64(field.ID)), v.tag)
		f.fields = append(f.fields, fieldForm{name: field.Name, head: head, valueForm: *v})
	}
	return f, nil
}

func newValueForm(t iceberg.Type) (*valueForm, error) {
	v := &valueForm{typ: t, tag: tagOf(t)}
	var err error
	switch t := t.(type) {
	case *iceberg.StructType:
		v.fields, err = newStructForm(t.FieldList)
	case *iceberg.ListType:
		v.element, err = newValueForm(t.Element)
	case *iceberg.MapType:
		if v.key, err = newValueForm(t.KeyType); err == nil {
			v.element, err = newValueForm(t.ValueType)
		}
	}
	if err == nil && v.tag == 0 {
		err = fmt.Errorf("the type %s has no encoding in %s: %w", t, digestForm, ErrSchema)
	}
	return v, err
}

func tagOf(t iceberg.Type) byte {
	switch t.(type) {
	case iceberg.BooleanType:
		return tagBool
	case iceberg.Int32Type, iceberg.Int64Type:
		return tagInt
	case iceberg.Float32Type, iceberg.Float64Type:
		return tagFloat
	case iceberg.DecimalType:
		return tagDecimal
	case iceberg.DateType:
		return tagDate
	case iceberg.TimeType:
		return tagTime
	case iceberg.TimestampType, iceberg.TimestampNsType:
		return tagTimestamp
	case iceberg.TimestampTzType, iceberg.TimestampTzNsType:
		return tagTimestamptz
	case iceberg.StringType:
		return tagString
	case iceberg.BinaryType, iceberg.FixedType:
		return tagBinary
	case iceberg.UUIDType:
		return tagUUID
	case *iceberg.StructType:
		return tagStruct
	case *iceberg.ListType:
		return tagList
	case *iceberg.MapType:
		return tagMap
	}
	return 0
}
