package testenv_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// Columns are widened by a load beside files of the narrow types, whose bounds
// are of these: the engines read the rows, and find them by filters.
func TestReadersOfWidenedColumns(t *testing.T) {
	t.Parallel()
	onReaders(t, func(t *testing.T, cat *testenv.LocalCatalog) {
		of := func(n, f arrow.DataType, precision int32) *arrow.Schema {
			return fields("id", arrow.PrimitiveTypes.Int64, "event_time", instants(), "n", n, "f", f, "d", &arrow.Decimal128Type{Precision: precision, Scale: 2})
		}
		row := func(id int, at string, n int64, f float64, d string) testenv.Row {
			return testenv.Row{"id": id, "event_time": at, "n": n, "f": f, "d": d}
		}
		s := newShelf(t, cat, of(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float32, 5), "truncate(100, n)", "day(event_time)")
		s.replace("2026-05-03", row(1, "2026-05-03T01:00:00Z", -7, -0.5, "-1.25"), testenv.Row{"id": 2, "event_time": "2026-05-03T02:00:00Z"})
		s.replace("2026-05-04", row(3, "2026-05-04T01:00:00Z", 7, 2.5, "125.25"), row(4, "2026-05-04T02:00:00Z", 5, 4, "0.01"))
		s.schema, s.load.Schema = of(arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64, 20), lake.Evolve
		s.replace("2026-05-04T02", row(5, "2026-05-04T02:30:00Z", 3_000_000_000, 1e300, "123456789012.50"))
		agree(t, cat, s.load)
		agreeOn(t, cat, s.load,
			filtered{"n = -7", []string{"1"}}, filtered{"n > 6", []string{"3", "5"}}, filtered{"n < 0", []string{"1"}},
			filtered{"f > 2", []string{"3", "5"}}, filtered{"f < 0", []string{"1"}}, filtered{"f = 2.5", []string{"3"}},
			filtered{"d > 1", []string{"3", "5"}}, filtered{"d = 125.25", []string{"3"}}, filtered{"d < 0", []string{"1"}})
		s.replace("2026-05-03", row(6, "2026-05-03T01:00:00Z", 6, 6, "6.00"))
		agree(t, cat, s.load)
	})
}
