package lake

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
)

// Files that were taken over from Hive lack the columns that they are partitioned
// by. The specification has a reader take such a value from the partition, and
// iceberg-go reads NULL instead: a row that is written again would lose it, and a
// key would not be found. Where the partition says a value, NULL in all rows is
// never what the file holds.

// constants are the values that the partition of a file gives to columns, by their
// index in f.
func (f *fit) constants(meta table.Metadata, df iceberg.DataFile) map[int]any {
	spec := meta.PartitionSpecByID(int(df.SpecID()))
	if spec == nil {
		return nil
	}
	out := map[int]any{}
	for _, pf := range spec.Fields() {
		_, identity := pf.Transform.(iceberg.IdentityTransform)
		if value := df.Partition()[pf.FieldID]; identity && value != nil && len(pf.SourceIDs) == 1 {
			if i := columnIndex(f.schema, pf.SourceIDs[0]); i >= 0 {
				out[i] = value
			}
		}
	}
	return out
}

// complete gives a batch that the library read the exact types of f, and the
// constants in columns that are NULL. The caller releases the result.
func (f *fit) complete(ctx context.Context, rec arrow.RecordBatch, constants map[int]any) (arrow.RecordBatch, error) {
	same, err := conform(ctx, rec, f.arrow)
	if err != nil {
		return nil, err
	}
	for i, value := range constants {
		if same.Column(i).NullN() < int(same.NumRows()) {
			continue
		}
		filled, err := constantColumn(f.arrow.Field(i).Type, value, int(same.NumRows()))
		if err == nil {
			before := same
			same, err = before.SetColumn(i, filled)
			before.Release()
			filled.Release()
		} else {
			same.Release()
		}
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.arrow.Field(i).Name, err)
		}
	}
	return same, nil
}

// constantColumn is a column of n times a partition value, as a manifest gives it.
func constantColumn(typ arrow.DataType, value any, n int) (arrow.Array, error) {
	b := array.NewBuilder(allocator, typ)
	defer b.Release()
	for range n {
		if !appendConstant(b, value) {
			return nil, fmt.Errorf("the partition's value is a %T, which a %s is not made of: %w", value, typ, ErrRefused)
		}
	}
	return b.NewArray(), nil
}

func appendConstant(b array.Builder, value any) bool {
	n, whole := intValue(value)
	switch b := b.(type) {
	case *array.Int32Builder:
		b.Append(int32(n))
		return whole
	case *array.Int64Builder:
		b.Append(n)
		return whole
	case *array.Date32Builder:
		b.Append(arrow.Date32(n))
		return whole
	case *array.Time64Builder:
		b.Append(arrow.Time64(n))
		return whole
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(n))
		return whole
	}
	switch value := value.(type) {
	case bool:
		return appendOf[*array.BooleanBuilder](b, value)
	case string:
		return appendOf[*array.StringBuilder](b, value)
	case float32:
		return appendOf[*array.Float32Builder](b, value)
	case float64:
		return appendOf[*array.Float64Builder](b, value)
	case iceberg.Decimal:
		return appendOf[*array.Decimal128Builder](b, value.Val)
	case uuid.UUID:
		return appendOf[*extensions.UUIDBuilder](b, value)
	case []byte:
		return appendOf[*array.BinaryBuilder](b, value) || appendOf[*array.FixedSizeBinaryBuilder](b, value)
	}
	return false
}

// appendOf appends a value where the builder is one of such values.
func appendOf[B interface{ Append(T) }, T any](b array.Builder, value T) bool {
	of, ok := b.(B)
	if ok {
		of.Append(value)
	}
	return ok
}
