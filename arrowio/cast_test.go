package arrowio

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/calve-data/calve/lake"
)

func TestCast(t *testing.T) {
	t.Parallel()
	i32, i64, f32, f64 := arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64
	for _, tt := range []struct {
		from   arrow.DataType
		values string
		to     arrow.DataType
		want   string // "" where it is refused
	}{
		{i32, `[1,null,-2147483648]`, i64, `[1,null,-2147483648]`},
		{i64, `[2147483647,-2147483648]`, i32, `[2147483647,-2147483648]`},
		{i64, `[2147483648]`, i32, ""},
		{i64, `[-2147483649]`, i32, ""},
		{arrow.PrimitiveTypes.Uint64, `[9223372036854775807]`, i64, `[9223372036854775807]`},
		{arrow.PrimitiveTypes.Uint64, `[9223372036854775808]`, i64, ""},
		{arrow.PrimitiveTypes.Uint32, `[4294967295]`, i32, ""},
		{i64, `[9007199254740992,-9007199254740992]`, f64, ""},
		{i64, `[9007199254740991,-9007199254740992]`, f64, `[9007199254740991,-9007199254740992]`},
		{i64, `[9007199254740993]`, f64, ""},
		{i32, `[16777217]`, f32, ""},
		{i64, `[12,-12]`, decimalOf(4, 2), `["12","-12"]`},
		{i64, `[100]`, decimalOf(4, 2), ""},
		{f64, `[1.5,null]`, f32, `[1.5,null]`},
		{f64, `[0.1]`, f32, ""},
		{f32, `[1.5]`, f64, `[1.5]`},
		{f64, `[1]`, i64, ""},
		{decimalOf(5, 2), `["1.20",null]`, decimalOf(9, 4), `["1.2",null]`},
		{decimalOf(5, 2), `["1.20"]`, decimalOf(5, 1), `["1.2"]`},
		{decimalOf(5, 2), `["1.25"]`, decimalOf(5, 1), ""},
		{decimalOf(5, 2), `["125.00"]`, decimalOf(4, 2), ""},
		{&arrow.Decimal256Type{Precision: 40, Scale: 2}, `["1.25"]`, decimalOf(5, 2), `["1.25"]`},
		{timestamp(arrow.Nanosecond, ""), `["1969-12-31T23:59:59.999999999"]`, timestampType, `["1969-12-31T23:59:59.999999"]`},
		{timestamp(arrow.Second, "UTC"), `["1969-12-31T23:59:59Z"]`, timestamptzType, `["1969-12-31T23:59:59Z"]`},
		{timestamp(arrow.Microsecond, "UTC"), `["1969-12-31T23:59:59Z"]`, timestampType, ""},
		{timestamp(arrow.Microsecond, ""), `["1969-12-31T23:59:59"]`, timestamptzType, ""},
		{arrow.FixedWidthTypes.Date32, `["2024-01-01"]`, timestampType, ""},
		{arrow.FixedWidthTypes.Date64, `["1969-12-31"]`, arrow.FixedWidthTypes.Date32, `["1969-12-31"]`},
		{arrow.BinaryTypes.String, `["1"]`, i64, ""},
		{arrow.BinaryTypes.String, `["2024-01-01"]`, arrow.FixedWidthTypes.Date32, ""},
		{arrow.BinaryTypes.String, `["x"]`, arrow.BinaryTypes.Binary, ""},
		{arrow.BinaryTypes.Binary, `["w7w=",null,""]`, arrow.BinaryTypes.String, `["ü",null,""]`},
		{arrow.BinaryTypes.Binary, `["eA==","w7w=","/w=="]`, arrow.BinaryTypes.String, ""},
		{arrow.BinaryTypes.StringView, `["a",null,"long enough to be elsewhere"]`, arrow.BinaryTypes.String, `["a",null,"long enough to be elsewhere"]`},
		{arrow.BinaryTypes.LargeBinary, `["YQ=="]`, arrow.BinaryTypes.Binary, `["YQ=="]`},
		{&arrow.FixedSizeBinaryType{ByteWidth: 16}, `["AAAAAAAAAAAAAAAAAAAAAA=="]`, extensions.NewUUIDType(), `["00000000-0000-0000-0000-000000000000"]`},
		{arrow.FixedWidthTypes.Boolean, `[true]`, i32, ""},
		{arrow.ListOf(i32), `[[1],null]`, arrow.ListOfField(arrow.Field{Name: "element", Type: i32}), `[[1],null]`},
		{arrow.ListOf(i32), `[[1],null,[],[2,null]]`, arrow.ListOf(i64), `[[1],null,[],[2,null]]`},
		{arrow.ListOf(i64), `[[1],null,[],[2,2147483648]]`, arrow.ListOf(i32), ""},
		{arrow.MapOf(arrow.BinaryTypes.String, i32), `[[{"key":"a","value":1}],null,[]]`, arrow.MapOf(arrow.BinaryTypes.String, i64), `[[{"key":"a","value":1}],null,[]]`},
		{arrow.StructOf(nullable("a", i32)), `[{"a":1},null,{"a":null}]`, arrow.StructOf(nullable("b", f32), nullable("a", i64)), `[{"a":1,"b":null},null,{"a":null,"b":null}]`},
		{arrow.StructOf(nullable("a", i32)), `[{"a":1}]`, arrow.StructOf(nullable("b", i32)), ""},
		{arrow.StructOf(nullable("a", i32)), `[{"a":1}]`, arrow.StructOf(nullable("a", i32), arrow.Field{Name: "b", Type: i32}), ""},
		{arrow.ListOf(arrow.StructOf(nullable("a", i32))), `[[{"a":1}]]`, arrow.ListOf(i32), ""},
		{arrow.Null, `[null,null]`, decimalOf(5, 1), `[null,null]`},
	} {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		from, _, err := array.FromJSON(mem, tt.from, strings.NewReader(tt.values))
		if err != nil {
			t.Fatal(tt.from, err)
		}
		// With rows before it, for a slice does not begin at the buffer's start.
		padded, err := array.Concatenate([]arrow.Array{array.MakeArrayOfNull(mem, tt.from, 3), from}, mem)
		if err != nil {
			t.Fatal(err)
		}
		slice := array.NewSlice(padded, 3, int64(padded.Len()))
		for _, arr := range []arrow.Array{from, slice} {
			got, err := cast(arr, tt.to, place{file: "f", column: "c", row: 1, mem: mem})
			if tt.want == "" {
				word := icebergWord(tt.to)
				if _, nested := tt.to.(arrow.NestedType); nested {
					word = "" // what does not fit is within
				}
				wantInputError(t, err, "f", `column "c`, word)
				continue
			}
			if err != nil {
				t.Errorf("cast(%s %s, %s): %v", tt.from, tt.values, tt.to, err)
				continue
			}
			text, _ := got.MarshalJSON()
			if strings.Join(strings.Fields(string(text)), "") != strings.ReplaceAll(tt.want, " ", "") || !arrow.TypeEqual(got.DataType(), tt.to) {
				t.Errorf("cast(%s %s, %s) = %s of %s, want %s", tt.from, tt.values, tt.to, text, got.DataType(), tt.want)
			}
			got.Release()
		}
	}
}

func TestCastKeepsNaNAndZeroSign(t *testing.T) {
	t.Parallel()
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	b.AppendValues([]float64{math.NaN(), math.Inf(-1), math.Copysign(0, -1)}, nil)
	got, err := cast(b.NewArray(), arrow.PrimitiveTypes.Float32, place{mem: memory.DefaultAllocator})
	if err != nil {
		t.Fatal(err)
	}
	v := got.(*array.Float32)
	if v.Value(0) == v.Value(0) || !math.IsInf(float64(v.Value(1)), -1) || !math.Signbit(float64(v.Value(2))) {
		t.Errorf("cast = %v", v)
	}
}

func TestCastDoesNotLookUnderNulls(t *testing.T) {
	t.Parallel()
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues([]int64{1 << 40, 1}, []bool{false, true})
	got, err := cast(b.NewArray(), arrow.PrimitiveTypes.Int32, place{mem: memory.DefaultAllocator})
	if err != nil || got.NullN() != 1 || got.(*array.Int32).Value(1) != 1 {
		t.Errorf("cast = %v, %v", got, err)
	}
}

func TestLocalClockAgainstTime(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC", "Africa/Casablanca"} {
		zone := mustZone(t, name)
		clock := localClock{zone: zone, fold: EarlierFold}
		late := localClock{zone: zone, fold: LaterFold}
		for at := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2025; at = at.Add(13 * time.Minute) {
			local := at.In(zone)
			_, offset := local.Zone()
			wall := at.Add(time.Duration(offset) * time.Second).UnixMicro()
			got, err := clock.instant(wall)
			_, there := time.UnixMicro(got).In(zone).Zone()
			if err != nil || got+int64(there)*1e6 != wall || got > at.UnixMicro() {
				t.Fatalf("%s: the clock showed %s at %s, read as %s, %v", name, time.UnixMicro(wall).UTC(), at, time.UnixMicro(got).UTC(), err)
			}
			second, err := late.instant(wall)
			_, there = time.UnixMicro(second).In(zone).Zone()
			if err != nil || second+int64(there)*1e6 != wall || second < at.UnixMicro() {
				t.Fatalf("%s: the clock showed %s at %s, read last as %s, %v", name, time.UnixMicro(wall).UTC(), at, time.UnixMicro(second).UTC(), err)
			}
			_, err = (&localClock{zone: zone}).instant(wall)
			if (err != nil) != (got != second) {
				t.Fatalf("%s: the clock showed %s at %s and %s: %v", name, time.UnixMicro(wall).UTC(), time.UnixMicro(got).UTC(), time.UnixMicro(second).UTC(), err)
			}
		}
	}
}

func TestParseType(t *testing.T) {
	t.Parallel()
	for _, word := range []string{
		"boolean", "int", "long", "float", "double", "decimal(18,2)", "date", "time", "timestamp", "timestamptz", "string", "uuid", "binary",
	} {
		got, err := ParseType(" " + strings.ToUpper(word))
		if err != nil || icebergWord(got) != word {
			t.Errorf("ParseType(%s) = %v, %v", word, got, err)
		}
	}
	for _, word := range []string{"", "bigint", "decimal", "decimal(39,2)", "decimal(2,3)", "decimal(0,0)", "timestamp_ns"} {
		if _, err := ParseType(word); !errors.Is(err, lake.ErrUsage) {
			t.Errorf("ParseType(%q): %v, want ErrUsage", word, err)
		}
	}
}
