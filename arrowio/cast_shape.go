package arrowio

import (
	"github.com/apache/arrow-go/v18/arrow"
)

// normalNested is normalType for types that hold others: each of these is
// normal, too.
func normalNested(t arrow.DataType) (arrow.DataType, bool) {
	switch t := t.(type) {
	case *arrow.ListType:
		elem, ok := normalField(t.ElemField())
		return arrow.ListOfField(elem), ok
	case *arrow.MapType:
		key, okKey := normalField(t.KeyField())
		item, okItem := normalField(t.ItemField())
		return arrow.MapOfFields(key, item), okKey && okItem
	case *arrow.StructType:
		fields := make([]arrow.Field, t.NumFields())
		for i, f := range t.Fields() {
			var ok bool
			if fields[i], ok = normalField(f); !ok {
				return nil, false
			}
		}
		return arrow.StructOf(fields...), true
	}
	return nil, false
}

func normalField(f arrow.Field) (_ arrow.Field, ok bool) {
	t, ok := normalType(f.Type)
	if !ok {
		return f, false
	}
	if t.ID() == arrow.NULL {
		t = arrow.BinaryTypes.String // there was no value; text holds all
	}
	f.Type = t
	return f, true
}

// commonNested is commonType for two lists, two maps or two structs. A struct
// has the fields of both.
func commonNested(a, b arrow.DataType) (arrow.DataType, bool) {
	switch a := a.(type) {
	case *arrow.ListType:
		elem, ok := commonField(a.ElemField(), b.(*arrow.ListType).ElemField())
		return arrow.ListOfField(elem), ok
	case *arrow.MapType:
		b := b.(*arrow.MapType)
		key, okKey := commonField(a.KeyField(), b.KeyField())
		item, okItem := commonField(a.ItemField(), b.ItemField())
		return arrow.MapOfFields(key, item), okKey && okItem
	case *arrow.StructType:
		return commonStruct(a, b.(*arrow.StructType))
	}
	return nil, false
}

func commonStruct(a, b *arrow.StructType) (arrow.DataType, bool) {
	var fields []arrow.Field
	for _, f := range a.Fields() {
		other, both := b.FieldByName(f.Name)
		if !both {
			f.Nullable = true
		} else if f, both = commonField(f, other); !both {
			return nil, false
		}
		fields = append(fields, f)
	}
	for _, f := range b.Fields() {
		if _, both := a.FieldByName(f.Name); !both {
			f.Nullable = true
			fields = append(fields, f)
		}
	}
	return arrow.StructOf(fields...), true
}

func commonField(a, b arrow.Field) (arrow.Field, bool) {
	t, ok := commonType(a.Type, b.Type)
	if !ok {
		return a, false
	}
	a.Type, a.Nullable = t, a.Nullable || b.Nullable
	return a, true
}

// sameShape reports whether arrays of both types have the same form. What only
// describes them does not count: metadata, whether a field may be null, and
// how the elements of lists and maps are named.
func sameShape(a, b arrow.DataType) bool {
	if a.ID() != b.ID() {
		return false
	}
	if a.ID() != arrow.STRUCT && a.ID() != arrow.LIST && a.ID() != arrow.MAP {
		return arrow.TypeEqual(a, b)
	}
	fa, fb := a.(arrow.NestedType).Fields(), b.(arrow.NestedType).Fields()
	if len(fa) != len(fb) {
		return false
	}
	for i := range fa {
		if a.ID() == arrow.STRUCT && fa[i].Name != fb[i].Name || !elementShape(a.ID(), fa[i].Type, fb[i].Type) {
			return false
		}
	}
	return true
}

// elementShape compares what is inside. A map's entries are a struct whose
// fields are known by their place.
func elementShape(outer arrow.Type, a, b arrow.DataType) bool {
	if outer != arrow.MAP {
		return sameShape(a, b)
	}
	ea, okA := a.(*arrow.StructType)
	eb, okB := b.(*arrow.StructType)
	return okA && okB && ea.NumFields() == 2 && eb.NumFields() == 2 &&
		sameShape(ea.Field(0).Type, eb.Field(0).Type) && sameShape(ea.Field(1).Type, eb.Field(1).Type)
}
