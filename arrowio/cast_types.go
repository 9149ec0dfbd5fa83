package arrowio

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"

	"github.com/calve-data/calve/lake"
)

var (
	timestampType   = &arrow.TimestampType{Unit: arrow.Microsecond}                  //nolint:gochecknoglobals // a constant
	timestamptzType = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"} //nolint:gochecknoglobals // a constant

	decimalForm = regexp.MustCompile(`^decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)$`)
)

// ParseType reads a type in Iceberg's words: boolean, int, long, float, double,
// decimal(p,s), date, time, timestamp, timestamptz, string, uuid, binary. Its
// error wraps [lake.ErrUsage].
func ParseType(text string) (arrow.DataType, error) {
	word := strings.ToLower(strings.TrimSpace(text))
	switch word {
	case "boolean":
		return arrow.FixedWidthTypes.Boolean, nil
	case "int":
		return arrow.PrimitiveTypes.Int32, nil
	case "long":
		return arrow.PrimitiveTypes.Int64, nil
	case "float":
		return arrow.PrimitiveTypes.Float32, nil
	case "double":
		return arrow.PrimitiveTypes.Float64, nil
	case "date":
		return arrow.FixedWidthTypes.Date32, nil
	case "time":
		return arrow.FixedWidthTypes.Time64us, nil
	case "timestamp":
		return timestampType, nil
	case "timestamptz":
		return timestamptzType, nil
	case "string":
		return arrow.BinaryTypes.String, nil
	case "uuid":
		return extensions.NewUUIDType(), nil
	case "binary":
		return arrow.BinaryTypes.Binary, nil
	}
	if m := decimalForm.FindStringSubmatch(word); m != nil {
		precision, _ := strconv.Atoi(m[1])
		scale, _ := strconv.Atoi(m[2])
		if precision >= 1 && precision <= 38 && scale <= precision {
			return &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(scale)}, nil
		}
		return nil, fmt.Errorf("type %q: a decimal has a precision of 1 to 38 and a scale of at most that: %w", text, lake.ErrUsage)
	}
	return nil, fmt.Errorf("type %q is unknown: there are boolean, int, long, float, double, decimal(p,s), date, time, timestamp, timestamptz, string, uuid and binary: %w", text, lake.ErrUsage)
}

// icebergWord names a type as Iceberg does, for errors.
func icebergWord(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.BooleanType:
		return "boolean"
	case *arrow.Int32Type:
		return "int"
	case *arrow.Int64Type:
		return "long"
	case *arrow.Float32Type:
		return "float"
	case *arrow.Float64Type:
		return "double"
	case *arrow.Date32Type:
		return "date"
	case *arrow.Time64Type:
		return "time"
	case *arrow.StringType, *arrow.LargeStringType:
		return "string"
	case *arrow.BinaryType, *arrow.LargeBinaryType:
		return "binary"
	case *arrow.FixedSizeBinaryType:
		return fmt.Sprintf("fixed[%d]", t.ByteWidth)
	case *extensions.UUIDType:
		return "uuid"
	case *arrow.Decimal128Type:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case *arrow.TimestampType:
		if t.TimeZone == "" {
			return "timestamp"
		}
		return "timestamptz"
	}
	return t.String()
}

// normalType is the type that a table can hold of a column of type t, and
// whether there is one. Every value of t fits it, time apart, which is floored
// to microseconds. The type of a column without any value is null.
func normalType(t arrow.DataType) (arrow.DataType, bool) {
	switch t := t.(type) {
	case *arrow.NullType, *arrow.BooleanType, *arrow.Int32Type, *arrow.Int64Type, *arrow.Float32Type, *arrow.Float64Type,
		*arrow.StringType, *arrow.BinaryType, *arrow.Date32Type, *arrow.FixedSizeBinaryType, *extensions.UUIDType:
		return t, true
	case *arrow.LargeStringType, *arrow.StringViewType:
		return arrow.BinaryTypes.String, true
	case *arrow.LargeBinaryType, *arrow.BinaryViewType:
		return arrow.BinaryTypes.Binary, true
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Uint8Type, *arrow.Uint16Type:
		return arrow.PrimitiveTypes.Int32, true
	case *arrow.Uint32Type:
		return arrow.PrimitiveTypes.Int64, true
	case *arrow.Uint64Type:
		return &arrow.Decimal128Type{Precision: 20}, true
	case *arrow.Float16Type:
		return arrow.PrimitiveTypes.Float32, true
	case *arrow.Date64Type:
		return arrow.FixedWidthTypes.Date32, true
	case *arrow.Time32Type, *arrow.Time64Type:
		return arrow.FixedWidthTypes.Time64us, true
	case *arrow.TimestampType:
		if t.TimeZone == "" {
			return timestampType, true
		}
		return timestamptzType, true
	case arrow.DecimalType:
		p, s := t.GetPrecision(), t.GetScale()
		return &arrow.Decimal128Type{Precision: p, Scale: s}, p <= 38 && s >= 0 && s <= p
	case *arrow.DictionaryType:
		return normalType(t.ValueType)
	case *int96Type:
		return timestampType, true
	case *extensions.VariantType:
		return nil, false // not a struct of bytes, which is how it is stored
	case arrow.ExtensionType:
		return normalType(t.StorageType())
	}
	return normalNested(t)
}

// commonType is the narrowest type that holds every value of two normal types,
// and whether there is one.
func commonType(a, b arrow.DataType) (arrow.DataType, bool) {
	_, nested := a.(arrow.NestedType)
	switch {
	case nested && a.ID() == b.ID():
		return commonNested(a, b)
	case a.ID() == arrow.NULL, sameShape(a, b):
		return b, true
	case b.ID() == arrow.NULL:
		return a, true
	}
	switch pair := [2]arrow.Type{a.ID(), b.ID()}; pair {
	case [2]arrow.Type{arrow.INT32, arrow.INT64}, [2]arrow.Type{arrow.FLOAT32, arrow.FLOAT64}:
		return b, true
	case [2]arrow.Type{arrow.INT64, arrow.INT32}, [2]arrow.Type{arrow.FLOAT64, arrow.FLOAT32}:
		return a, true
	case [2]arrow.Type{arrow.DECIMAL128, arrow.DECIMAL128}:
		da, db := a.(*arrow.Decimal128Type), b.(*arrow.Decimal128Type)
		return &arrow.Decimal128Type{Precision: max(da.Precision, db.Precision), Scale: da.Scale}, da.Scale == db.Scale
	}
	return nil, false
}
