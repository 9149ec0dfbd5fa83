package arrowio

import (
	"context"
	"encoding/binary"
	"math"
	"reflect"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// INT96 is how Impala, Hive and Spark wrote timestamps before Parquet had
// a type for them: nanoseconds of a day, then the Julian day. The library makes
// nanoseconds since 1970 of it, which end in 2262 and begin in 1677, while dates
// such as 0001-01-01 and 9999-12-31 stand for "unknown" and "for ever" in many
// tables. So it is shown these columns as twelve bytes, which are stored in just
// the same way, and the bytes become microseconds here.
//
// The type does not say whether its times are instants or clock readings, and
// writers differed. It is read like any time without a zone: a timestamptz needs
// the zone to be declared, which for files of Spark is UTC.

// asBytes12 is a file's metadata with its INT96 columns as fixed-size bytes, and
// which columns these are; the metadata itself if there is none.
func asBytes12(meta *metadata.FileMetaData) (*metadata.FileMetaData, map[int]bool, error) {
	const int96Code, fixedCode = 3, 7 // in Parquet's format, whose words the library keeps to itself
	found := map[int]bool{}
	for i := range meta.Schema.NumColumns() {
		if meta.Schema.Column(i).PhysicalType() == parquet.Types.Int96 {
			found[i] = true
		}
	}
	if len(found) == 0 {
		return meta, nil, nil
	}
	width := int32(int96Width)
	for _, element := range meta.FileMetaData.Schema {
		if element.Type != nil && *element.Type == int96Code {
			*element.Type, element.TypeLength = fixedCode, &width
		}
	}
	for _, group := range meta.RowGroups {
		for _, chunk := range group.Columns {
			if chunk.MetaData != nil && chunk.MetaData.Type == int96Code {
				// The order of INT96 is not defined, so neither are its bounds.
				chunk.MetaData.Type, chunk.MetaData.Statistics = fixedCode, nil
			}
		}
	}
	data, err := meta.Serialize(context.Background()) //nolint:forbidigo // in memory; nothing here waits
	if err != nil {
		return nil, nil, err
	}
	out, err := metadata.NewFileMetaData(data, nil)
	if err != nil {
		return nil, nil, err
	}
	out.SetSourceFileSize(meta.GetSourceFileSize())
	return out, found, nil
}

const int96Width = 12

// int96Type marks the twelve bytes as what they are.
type int96Type struct{ arrow.ExtensionBase }

func newInt96Type() *int96Type {
	return &int96Type{arrow.ExtensionBase{Storage: &arrow.FixedSizeBinaryType{ByteWidth: int96Width}}}
}

func (*int96Type) ArrayType() reflect.Type { return reflect.TypeFor[int96Array]() }
func (*int96Type) ExtensionName() string   { return "calve.int96" }
func (*int96Type) String() string          { return "INT96 timestamp" }
func (*int96Type) Serialize() string       { return "" }
func (*int96Type) Deserialize(arrow.DataType, string) (arrow.ExtensionType, error) {
	return newInt96Type(), nil
}

func (*int96Type) ExtensionEquals(other arrow.ExtensionType) bool {
	_, ok := other.(*int96Type)
	return ok
}

type int96Array struct{ array.ExtensionArrayBase }

// ValueStr prints a value for people.
func (a *int96Array) ValueStr(i int) string {
	if a.IsNull(i) {
		return array.NullValueStr
	}
	day, nanos := splitInt96(a.raw(i))
	return time.Unix(day*86400, nanos).UTC().Format("2006-01-02T15:04:05.999999999")
}

func (a *int96Array) raw(i int) []byte { return a.Storage().(*array.FixedSizeBinary).Value(i) }

// splitInt96 returns the days since 1970 and the nanoseconds of the day.
func splitInt96(raw []byte) (day, nanos int64) {
	const julian1970 = 2440588
	return int64(binary.LittleEndian.Uint32(raw[8:])) - julian1970, int64(binary.LittleEndian.Uint64(raw))
}

func castInt96(arr *int96Array, to arrow.DataType, at place) (arrow.Array, error) {
	target, ok := to.(*arrow.TimestampType)
	if !ok || target.Unit != arrow.Microsecond {
		return nil, at.refuse(arr, to, "")
	}
	values := make([][]byte, arr.Len())
	for i := range values {
		values[i] = arr.raw(i)
	}
	naive, err := fill(arr, values, timestampType, at, func(raw []byte) (arrow.Timestamp, bool) {
		const perDay = 86_400_000_000
		day, nanos := splitInt96(raw)
		if day > math.MaxInt64/perDay-1 || day < math.MinInt64/perDay+1 || nanos/1000 > perDay || nanos/1000 < -perDay {
			return 0, false
		}
		return arrow.Timestamp(day*perDay + floorDiv(nanos, 1000)), true
	})
	if err != nil || target.TimeZone == "" {
		return naive, err
	}
	defer naive.Release()
	return castTimestamps(naive.(*array.Timestamp), target, at)
}
