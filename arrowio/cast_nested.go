package arrowio

import (
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// castList casts the elements. Those before the array's first row, or after its
// last, are not looked at.
func castList(arr *array.List, to *arrow.ListType, at place) (arrow.Array, error) {
	offsets, values := rebased(arr, at.mem)
	defer offsets.Release()
	defer values.Release()
	elements, err := cast(values, to.Elem(), at.elements(arr))
	if err != nil {
		return nil, err
	}
	defer elements.Release()
	return build(arr, to, at, []*memory.Buffer{offsets}, elements), nil
}

// castMap casts keys and values.
func castMap(arr *array.Map, to *arrow.MapType, at place) (arrow.Array, error) {
	offsets, entries := rebased(arr.List, at.mem)
	defer offsets.Release()
	defer entries.Release()
	within := at.elements(arr.List)
	pair := entries.(*array.Struct)
	keys, err := cast(pair.Field(0), to.KeyType(), within)
	if err != nil {
		return nil, err
	}
	defer keys.Release()
	items, err := cast(pair.Field(1), to.ItemType(), within)
	if err != nil {
		return nil, err
	}
	defer items.Release()
	data := array.NewData(to.Elem(), pair.Len(), []*memory.Buffer{nil}, []arrow.ArrayData{keys.Data(), items.Data()}, 0, 0)
	defer data.Release()
	made := array.MakeFromData(data)
	defer made.Release()
	return build(arr, to, at, []*memory.Buffer{offsets}, made), nil
}

// castStruct matches fields by name. One that the file lacks is null, one that
// the table lacks is refused: nothing inside a column is left out unsaid.
func castStruct(arr *array.Struct, to *arrow.StructType, at place) (arrow.Array, error) {
	from := arr.DataType().(*arrow.StructType)
	for _, f := range from.Fields() {
		if _, ok := to.FieldIdx(f.Name); !ok {
			return nil, at.refuse(arr, to, "the table has no field "+at.column+"."+f.Name)
		}
	}
	children := make([]arrow.Array, to.NumFields())
	for i, f := range to.Fields() {
		within := at
		within.column += "." + f.Name
		j, ok := from.FieldIdx(f.Name)
		switch {
		case ok:
			var err error
			if children[i], err = cast(arr.Field(j), f.Type, within); err != nil {
				return nil, err
			}
		case f.Nullable:
			children[i] = array.MakeArrayOfNull(at.mem, f.Type, arr.Len())
		default:
			return nil, at.refuse(arr, to, "field "+within.column+" is missing, and it is required")
		}
		defer children[i].Release()
	}
	return build(arr, to, at, nil, children...), nil
}

// build makes an array of a nested type, with the validity of arr.
func build(arr arrow.Array, to arrow.DataType, at place, buffers []*memory.Buffer, children ...arrow.Array) arrow.Array {
	valid := validity(arr, at.mem)
	if valid != nil {
		defer valid.Release()
	}
	var within []arrow.ArrayData
	for _, c := range children {
		within = append(within, c.Data())
	}
	data := array.NewData(to, arr.Len(), append([]*memory.Buffer{valid}, buffers...), within, arr.NullN(), 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// rebased are a list's offsets, beginning at 0, and the elements between them.
func rebased(arr *array.List, mem memory.Allocator) (*memory.Buffer, arrow.Array) {
	buf := memory.NewResizableBuffer(mem)
	buf.Resize((arr.Len() + 1) * arrow.Int32SizeBytes)
	out := arrow.Int32Traits.CastFromBytes(buf.Bytes())
	clear(out)
	first, last := elementsOf(arr)
	for i := range arr.Len() {
		_, end := arr.ValueOffsets(i)
		out[i+1] = int32(end - first)
	}
	return buf, array.NewSlice(arr.ListValues(), first, last)
}

// elementsOf is where a list array's elements begin and end.
func elementsOf(arr *array.List) (first, last int64) {
	if arr.Len() == 0 {
		return 0, 0
	}
	first, _ = arr.ValueOffsets(0)
	_, last = arr.ValueOffsets(arr.Len() - 1)
	return first, last
}

// elements is the place of a list's elements: each is of the row that its list
// is of.
func (at place) elements(arr *array.List) place {
	within, rowOf := at, at.rowOf
	if rowOf == nil {
		rowOf = func(i int) int64 { return at.row + int64(i) }
	}
	within.column += ".element"
	within.rowOf = func(i int) int64 {
		first, _ := elementsOf(arr)
		return rowOf(sort.Search(arr.Len(), func(k int) bool {
			_, end := arr.ValueOffsets(k)
			return end-first > int64(i)
		}))
	}
	return within
}
