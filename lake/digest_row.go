package lake

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// values are the values of one array, bound to be encoded: each as a typed
// slice that begins at the array's first slot.
type values struct {
	head   []byte // stands before a value
	absent []byte // stands for a NULL
	kind   kind
	valid  []byte // bitmap; nil where nothing is NULL
	offset int    // of the first slot in valid and bools
	scale  []byte // of decimals

	bools    []byte
	int32s   []int32
	int64s   []int64
	float32s []float32
	float64s []float64
	decimals []decimal128.Num
	// bytes are those of texts, between neighbours of ends, or width for each.
	bytes []byte
	ends  []int32
	width int
	// codes are those of a dictionary, which the other slices are of.
	codes []int32

	fields   fields
	elements func(i int) (from, to int64)
	key      *values
	element  *values
	sortable *entries
}

// fields are the bound fields of a row or a struct, in ascending field id.
type fields []values

// kind is how a value is read from its slice.
type kind byte

const (
	kindBool kind = iota
	kindInt32
	kindInt64
	kindFloat32
	kindFloat64
	kindDecimal
	kindDate
	kindMicros // a timestamp
	kindNanos
	kindText
	kindFixed
	kindUUID
	kindStruct
	kindList
	kindMap
)

// appendFields appends the fields of row i that are not NULL.
func (f fields) appendFields(buf []byte, i int) []byte {
	for k := range f {
		buf = f[k].append(buf, i)
	}
	return buf
}

// append appends the value in slot i with what stands before it, or what stands
// for a NULL.
func (v *values) append(buf []byte, i int) []byte {
	if v.valid != nil && !bitutil.BitIsSet(v.valid, v.offset+i) {
		return append(buf, v.absent...)
	}
	buf = append(buf, v.head...)
	if v.codes != nil {
		i = int(v.codes[i])
	}
	switch v.kind {
	case kindBool:
		if bitutil.BitIsSet(v.bools, v.offset+i) {
			return append(buf, 1)
		}
		return append(buf, 0)
	case kindInt32:
		return binary.BigEndian.AppendUint64(buf, uint64(int64(v.int32s[i])))
	case kindInt64:
		return binary.BigEndian.AppendUint64(buf, uint64(v.int64s[i]))
	case kindFloat32:
		return appendFloat(buf, float64(v.float32s[i]))
	case kindFloat64:
		return appendFloat(buf, v.float64s[i])
	case kindDecimal:
		return appendDecimal(append(buf, v.scale...), v.decimals[i])
	case kindDate:
		return binary.BigEndian.AppendUint32(buf, uint32(v.int32s[i]))
	case kindMicros:
		return appendInstant(buf, v.int64s[i], 1_000_000, 1000)
	case kindNanos:
		return appendInstant(buf, v.int64s[i], 1_000_000_000, 1)
	case kindText:
		return appendBytes(buf, v.bytes[v.ends[i]-v.ends[0]:v.ends[i+1]-v.ends[0]])
	case kindFixed:
		return appendBytes(buf, v.bytes[i*v.width:(i+1)*v.width])
	case kindUUID:
		return append(buf, v.bytes[i*16:(i+1)*16]...)
	case kindStruct:
		return append(v.fields.appendFields(buf, i), 0)
	case kindList:
		return v.appendList(buf, i)
	}
	return v.appendMap(buf, i)
}

func appendBytes(buf, b []byte) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(b))), b...)
}

func appendFloat(buf []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(buf, floatBits(f))
}

// floatBits are the bits of a number, of which there is one NaN and one zero.
func floatBits(f float64) uint64 {
	switch {
	case f != f:
		return 0x7ff8 << 48
	case f == 0:
		return 0
	}
	return math.Float64bits(f)
}

// appendInstant appends a time that is counted in parts of a second, in floor
// seconds and nanoseconds.
func appendInstant(buf []byte, at, perSecond, nanos int64) []byte {
	seconds, rest := at/perSecond, at%perSecond
	if rest < 0 {
		seconds, rest = seconds-1, rest+perSecond
	}
	buf = binary.BigEndian.AppendUint64(buf, uint64(seconds))
	return binary.BigEndian.AppendUint32(buf, uint32(rest*nanos))
}

// appendDecimal appends the length and the bytes of the shortest two's complement.
func appendDecimal(buf []byte, n decimal128.Num) []byte {
	hi, lo := n.HighBits(), n.LowBits()
	sign := uint64(hi >> 63)
	size := bits.Len64(lo^sign)/8 + 1 // with a bit for the sign
	if h := uint64(hi) ^ sign; h != 0 {
		size = 8 + bits.Len64(h)/8 + 1
	}
	buf = append(buf, byte(size))
	if size > 8 {
		for k := size - 9; k >= 0; k-- {
			buf = append(buf, byte(hi>>(8*k)))
		}
		return binary.BigEndian.AppendUint64(buf, lo)
	}
	for k := size - 1; k >= 0; k-- {
		buf = append(buf, byte(lo>>(8*k)))
	}
	return buf
}

func (v *values) appendList(buf []byte, i int) []byte {
	from, to := v.elements(i)
	buf = binary.AppendUvarint(buf, uint64(to-from))
	for k := from; k < to; k++ {
		buf = v.element.append(buf, int(k))
	}
	return buf
}

func (v *values) appendMap(buf []byte, i int) []byte {
	from, to := v.elements(i)
	buf = binary.AppendUvarint(buf, uint64(to-from))
	start, ends := len(buf), make([]int, 0, 8)
	for k := from; k < to; k++ {
		buf = v.key.append(buf, int(k))
		buf = v.element.append(buf, int(k))
		ends = append(ends, len(buf))
	}
	v.sortable.sort(buf, start, ends)
	return buf
}

// entries is memory to sort the entries of a map in. No entry's bytes begin
// with those of a whole other key, so the order of entries is that of keys.
type entries struct {
	copied []byte
	parts  [][]byte
}

// sort puts the entries in order that lie in buf from start on and end at ends.
func (e *entries) sort(buf []byte, start int, ends []int) {
	if len(ends) < 2 {
		return
	}
	e.copied = append(e.copied[:0], buf[start:]...)
	e.parts = e.parts[:0]
	from := 0
	for _, end := range ends {
		e.parts = append(e.parts, e.copied[from:end-start])
		from = end - start
	}
	slices.SortFunc(e.parts, bytes.Compare)
	for _, p := range e.parts {
		start += copy(buf[start:], p)
	}
}
