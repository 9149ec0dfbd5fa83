package lake

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
)

// missingRequired finds a NULL in a required column, at every depth. iceberg-go
// does not look, and would store whatever value slot lies under the null, or
// turn a whole struct to NULL (pitfall L1).
func missingRequired(sc *iceberg.Schema, rec arrow.RecordBatch) (row int, column string, missing bool) {
	for i, f := range sc.Fields() {
		if row, path, bad := missingValue(f, rec.Column(i), nil); bad {
			return row, path, true
		}
	}
	return 0, "", false
}

// missingValue finds the first slot of a that is NULL though f is required and
// its parent is there. live tells for a slot whether its parent is; nil: always.
func missingValue(f iceberg.NestedField, a arrow.Array, live func(int) bool) (row int, path string, bad bool) {
	if f.Required && a.NullN() > 0 {
		for i := range a.Len() {
			if a.IsNull(i) && (live == nil || live(i)) {
				return i, f.Name, true
			}
		}
	}
	there := func(i int) bool { return a.IsValid(i) && (live == nil || live(i)) }
	switch t := f.Type.(type) {
	case *iceberg.StructType:
		s := a.(*array.Struct)
		for k, child := range t.FieldList {
			if i, p, bad := missingValue(child, s.Field(k), there); bad {
				return i, f.Name + "." + p, true
			}
		}
	case *iceberg.ListType:
		return missingInLists(f.Name, a.(array.ListLike), there, t.ElementField())
	case *iceberg.MapType:
		m := a.(*array.Map)
		entries := m.ListValues().(*array.Struct)
		for k, child := range []iceberg.NestedField{t.KeyField(), t.ValueField()} {
			if i, p, bad := missingElement(m, entries.Field(k), there, child); bad {
				return i, f.Name + "." + p, true
			}
		}
	}
	return 0, "", false
}

func missingInLists(name string, l array.ListLike, there func(int) bool, element iceberg.NestedField) (int, string, bool) {
	i, p, bad := missingElement(l, l.ListValues(), there, element)
	return i, name + "." + p, bad
}

// missingElement looks at the elements of those lists that are there, and
// answers with the row of the list.
func missingElement(l array.ListLike, values arrow.Array, there func(int) bool, element iceberg.NestedField) (int, string, bool) {
	for i := range l.Len() {
		if !there(i) {
			continue
		}
		from, to := l.ValueOffsets(i)
		part := array.NewSlice(values, from, to)
		_, p, bad := missingValue(element, part, nil)
		part.Release()
		if bad {
			return i, p, true
		}
	}
	return 0, "", false
}
