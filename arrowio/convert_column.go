package arrowio

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// column is one column of a batch that is being filled. Values are written by
// row number straight into the memory that becomes the Arrow array.
type column struct {
	field            arrow.Field
	kind             kind
	precision, scale int32
	// fastKind is kind, or kindFormatted: what fast goes by.
	fastKind kind
	// times or numbers is how text is written where it is not in the plain form.
	times   *timeFormat
	numbers *numberFormat
	// plain is where a number is put together.
	plain []byte
	localClock
	// delims holds the delimiter in each byte.
	delims uint64
	day    dayMemo

	mem memory.Allocator
	// values holds the values of fixed width, or the bits; i32 and i64 are views
	// of it.
	values []byte
	i32    []int32
	i64    []int64
	// offsets and text hold strings: row i is text[offsets[i]:offsets[i+1]].
	offsetBytes []byte
	offsets     []int32
	text        []byte
	// valid has a bit per row, set unless the row is null.
	valid []byte
	nulls int
}

// newColumn returns a column without memory for rows.
func newColumn(f arrow.Field, mem memory.Allocator) *column {
	c := &column{field: f, kind: kindOf(f.Type), fastKind: kindOf(f.Type), mem: mem, day: newDayMemo()}
	if t, ok := f.Type.(*arrow.Decimal128Type); ok {
		c.precision, c.scale = t.Precision, t.Scale
	}
	return c
}

// grow gives an empty column memory for rows.
func (c *column) grow(rows int) {
	c.nulls = 0
	if !c.stored() {
		return
	}
	c.valid = c.mem.Allocate((rows + 7) / 8)
	for i := range c.valid {
		c.valid[i] = 0xff
	}
	switch c.kind {
	case kindText:
		c.offsetBytes = c.mem.Allocate(4 * (rows + 1))
		c.offsets = arrow.Int32Traits.CastFromBytes(c.offsetBytes)
		c.offsets[0] = 0
		// Room for most columns of codes and names, so that they need not grow.
		c.text = c.mem.Allocate(24*rows + blockSlack)[:0]
	case kindBool:
		c.values = c.mem.Allocate((rows + 7) / 8)
		clear(c.values)
	default:
		c.values = c.mem.Allocate(c.kind.width() * rows)
		c.i32 = arrow.Int32Traits.CastFromBytes(c.values)
		c.i64 = arrow.Int64Traits.CastFromBytes(c.values)
	}
}

// put makes b[pos:end] the string of row. Short strings are copied by two
// stores, so b needs 16 readable bytes from pos on to be quick.
func (c *column) put(b []byte, pos, end, row int) {
	n, used := end-pos, len(c.text)
	if used+n+16 > cap(c.text) {
		c.growText(n)
	}
	t := c.text[:used+n+16]
	if n <= 16 && pos+16 <= len(b) {
		binary.LittleEndian.PutUint64(t[used:], binary.LittleEndian.Uint64(b[pos:]))
		binary.LittleEndian.PutUint64(t[used+8:], binary.LittleEndian.Uint64(b[pos+8:]))
	} else {
		copy(t[used:], b[pos:end])
	}
	c.text = t[:used+n]
	c.offsets[row+1] = int32(used + n)
}

// growText makes room for n more bytes and 16 that put may write beyond. A
// batch holds less text than a block has bytes, so offsets cannot overflow.
func (c *column) growText(n int) {
	used := len(c.text)
	text := c.mem.Allocate(2*cap(c.text) + n + 16)
	copy(text, c.text)
	c.mem.Free(c.text[:cap(c.text)])
	c.text = text[:used]
}

// unput takes back what put may have written into row.
func (c *column) unput(row int) {
	if c.kind == kindText {
		c.text = c.text[:c.offsets[row]]
	}
}

// stored reports whether the column's values are kept.
func (c *column) stored() bool { return c.kind != kindSkip && c.kind != kindEmpty }

// required reports whether the column must not be null.
func (c *column) required() bool { return !c.field.Nullable }

// setNull makes row null.
func (c *column) setNull(row int) {
	if !c.stored() {
		return
	}
	c.nulls++
	c.valid[row>>3] &^= 1 << (row & 7)
	switch c.kind.width() {
	case 4:
		c.i32[row] = 0
	case 8:
		c.i64[row] = 0
	case 16:
		c.i64[2*row], c.i64[2*row+1] = 0, 0
	default:
		if c.kind == kindText {
			c.offsets[row+1] = int32(len(c.text))
		}
	}
}

func (c *column) setBit(row int, v bool) {
	if v {
		c.values[row>>3] |= 1 << (row & 7)
	}
}

// notUTF8 returns the first of the rows whose string is not UTF-8, or -1.
//
// The bytes of all rows are looked at together, which is quick. A rune could
// then begin in one row and end in the next; so no row may begin inside one.
func (c *column) notUTF8(rows int) int {
	if c.kind != kindText || rows == 0 {
		return -1
	}
	ok := utf8.Valid(c.text[:c.offsets[rows]])
	for i := 0; ok && i < rows; i++ {
		ok = c.offsets[i] == c.offsets[i+1] || utf8.RuneStart(c.text[c.offsets[i]])
	}
	if ok {
		return -1
	}
	for i := range rows {
		if !utf8.Valid(c.text[c.offsets[i]:c.offsets[i+1]]) {
			return i
		}
	}
	return -1
}

// array returns the first rows as an Arrow array, which owns the memory from
// then on. The column is empty afterwards.
func (c *column) array(rows int) arrow.Array {
	buffers := []*memory.Buffer{nil}
	if c.nulls > 0 {
		buffers[0] = c.own(&c.valid, (rows+7)/8)
	}
	switch c.kind {
	case kindText:
		buffers = append(buffers, c.own(&c.offsetBytes, 4*(rows+1)), c.own(&c.text, int(c.offsets[rows])))
	case kindBool:
		buffers = append(buffers, c.own(&c.values, (rows+7)/8))
	default:
		buffers = append(buffers, c.own(&c.values, c.kind.width()*rows))
	}
	data := array.NewData(c.field.Type, rows, buffers, nil, c.nulls, 0)
	defer data.Release()
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
	c.free()
	return array.MakeFromData(data)
}

// own turns the first n bytes of b into a buffer that frees b when it is
// released.
func (c *column) own(b *[]byte, n int) *memory.Buffer {
	buf := memory.NewBufferWithAllocator((*b)[:n], c.mem)
	*b = nil
	return buf
}

// free gives the column's memory back.
func (c *column) free() {
	for _, b := range []*[]byte{&c.valid, &c.values, &c.offsetBytes, &c.text} {
		if *b != nil {
			c.mem.Free((*b)[:cap(*b)])
		}
		*b = nil
	}
	c.i32, c.i64, c.offsets = nil, nil, nil
}
