package lake

import (
	"testing"

	"github.com/apache/iceberg-go"
)

// TestWidenedByValue: text has no type, so its numbers decide, and the one that
// decided is named.
func TestWidenedByValue(t *testing.T) {
	t.Parallel()
	i, f := iceberg.PrimitiveTypes.Int32, iceberg.PrimitiveTypes.Float32
	dec := iceberg.DecimalTypeOf
	for _, tc := range []struct {
		has  iceberg.Type
		seen []Sighting
		want string
		why  string
	}{
		{i, []Sighting{}, "int", ""},
		{i, []Sighting{{Digits: 9, At: "a"}, {Digits: 10, At: "b"}}, "int", ""},
		{i, []Sighting{{Digits: 9, At: "a"}, {Digits: 10, Long: true, At: "b"}, {Digits: 11, Long: true, At: "c"}}, "long", "b"},
		{f, []Sighting{{Digits: 38, At: "a"}}, "float", ""},
		{f, []Sighting{{Digits: 39, Double: true, At: "a"}}, "double", "a"},
		{dec(5, 2), []Sighting{{Digits: 3, At: "a"}}, "decimal(5, 2)", ""},
		{dec(5, 2), []Sighting{{Digits: 3, At: "a"}, {Digits: 4, At: "b"}}, "decimal(18, 2)", "b"},
		{dec(5, 2), []Sighting{{Digits: 16, At: "a"}, {Digits: 17, At: "b"}}, "decimal(38, 2)", "b"},
		{dec(5, 2), []Sighting{{Digits: 37, At: "a"}}, "decimal(38, 2)", "a"}, // and the value is refused when it is read
		{dec(38, 2), []Sighting{{Digits: 37, At: "a"}}, "decimal(38, 2)", ""},
		{iceberg.PrimitiveTypes.Int64, []Sighting{{Digits: 30, Long: true, Double: true, At: "a"}}, "long", ""},
		{iceberg.PrimitiveTypes.String, []Sighting{{Digits: 30, Long: true, At: "a"}}, "string", ""},
	} {
		got, why := widened(tc.has, Column{Seen: tc.seen})
		if got.String() != tc.want || why != tc.why {
			t.Errorf("widened(%s, %+v) = %s because of %q, want %s because of %q", tc.has, tc.seen, got, why, tc.want, tc.why)
		}
	}
}
