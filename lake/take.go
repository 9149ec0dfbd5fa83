package lake

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// allocator holds no state of calve: it is Arrow's own for Go memory.
var allocator memory.Allocator = memory.DefaultAllocator //nolint:gochecknoglobals // an immutable default

// keepRows returns the marked rows; keep nil: all. The caller releases the
// result. One unbroken run of rows is a slice, not a copy.
func keepRows(ctx context.Context, rec arrow.RecordBatch, keep []bool) (arrow.RecordBatch, error) {
	if keep == nil {
		rec.Retain()
		return rec, nil
	}
	var rows []int32
	for i, ok := range keep {
		if ok {
			rows = append(rows, int32(i))
		}
	}
	if n := len(rows); n == 0 || int(rows[n-1]-rows[0])+1 == n {
		from := int64(0)
		if n > 0 {
			from = int64(rows[0])
		}
		return rec.NewSlice(from, from+int64(n)), nil
	}
	return takeRows(ctx, rec, rows)
}

// takeRows returns the rows with these numbers, in their order. The caller
// releases the result.
func takeRows(ctx context.Context, rec arrow.RecordBatch, rows []int32) (arrow.RecordBatch, error) {
	data := array.NewData(arrow.PrimitiveTypes.Int32, len(rows),
		[]*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(rows))}, nil, 0, 0)
	defer data.Release()
	indices := array.NewInt32Data(data)
	defer indices.Release()
	columns := make([]arrow.Array, rec.NumCols())
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, c := range rec.Columns() {
		taken, err := takeColumn(ctx, c, indices)
		if err != nil {
			return nil, fmt.Errorf("select rows of column %q: %w", rec.ColumnName(i), err)
		}
		columns[i] = taken
	}
	return array.NewRecordBatch(rec.Schema(), columns, int64(len(rows))), nil
}

// takeColumn selects rows of one column. Dictionaries and extension types are
// selected by what they are stored as.
func takeColumn(ctx context.Context, c arrow.Array, rows arrow.Array) (arrow.Array, error) {
	switch c := c.(type) {
	case *array.Dictionary:
		taken, err := compute.TakeArray(ctx, c.Indices(), rows)
		if err != nil {
			return nil, err
		}
		defer taken.Release()
		return array.NewDictionaryArray(c.DataType(), taken, c.Dictionary()), nil
	case array.ExtensionArray:
		taken, err := compute.TakeArray(ctx, c.Storage(), rows)
		if err != nil {
			return nil, err
		}
		defer taken.Release()
		return array.NewExtensionArrayWithStorage(c.ExtensionType(), taken), nil
	}
	return compute.TakeArray(ctx, c, rows)
}

// rawValues reads values in the form in which Iceberg serialises them, which
// is also their identity: two values are the same exactly if the bytes are.
// Nulls are the caller's to skip. The result may share memory with a.
func rawValues(a arrow.Array) func(int) []byte {
	switch a := a.(type) {
	case *array.Boolean:
		return func(i int) []byte {
			if a.Value(i) {
				return []byte{1}
			}
			return []byte{0}
		}
	case *array.Int32:
		return func(i int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(a.Value(i))) }
	case *array.Date32:
		return func(i int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(a.Value(i))) }
	case *array.Int64:
		return func(i int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(a.Value(i))) }
	case *array.Time64:
		return func(i int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(a.Value(i))) }
	case *array.Timestamp:
		return func(i int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(a.Value(i))) }
	case *array.Float32:
		return func(i int) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(a.Value(i))) }
	case *array.Float64:
		return func(i int) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(a.Value(i))) }
	case *array.String:
		return func(i int) []byte { return []byte(a.Value(i)) }
	case *array.Binary:
		return a.Value
	case *array.FixedSizeBinary:
		return a.Value
	case *array.Decimal128:
		return func(i int) []byte { return minimalBytes(a.Value(i).HighBits(), a.Value(i).LowBits()) }
	case *extensions.UUIDArray:
		return func(i int) []byte { v := a.Value(i); return v[:] }
	}
	panic(fmt.Sprintf("no serialised form for %s", a.DataType()))
}

// minimalBytes is the shortest big-endian two's complement of a number.
func minimalBytes(hi int64, lo uint64) []byte {
	raw := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(hi)), lo)
	for len(raw) > 1 && ((raw[0] == 0 && raw[1]&0x80 == 0) || (raw[0] == 0xff && raw[1]&0x80 != 0)) {
		raw = raw[1:]
	}
	return raw
}
