package arrowio

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/calve-data/calve/lake"
)

// mayHold reports whether row group g may hold a row of the window. Without
// exact bounds of the time column it may.
func (f *footer) mayHold(g int, column string, w lake.Window) bool {
	at := f.find(column)
	if at < 0 || len(f.leaves[at]) != 1 || w.IsZero() {
		return true
	}
	chunk, err := f.meta.RowGroup(g).ColumnChunk(f.leaves[at][0])
	if err != nil {
		return true
	}
	least, most, ok := chunkBounds(chunk)
	if !ok {
		return true
	}
	from, okFrom := timeOf(f.columns[at].Type, least)
	to, okTo := timeOf(f.columns[at].Type, most)
	if !okFrom || !okTo {
		return true
	}
	if naive(f.columns[at].Type) != w.Wall {
		// The values will be read in some zone; none is further than 26 hours
		// from UTC.
		from, to = from.Add(-26*time.Hour), to.Add(26*time.Hour)
	}
	return from.Before(w.To) && !to.Before(w.From)
}

func chunkBounds(chunk *metadata.ColumnChunkMetaData) (least, most int64, ok bool) {
	stats, err := chunk.Statistics()
	if err != nil || stats == nil || !stats.HasMinMax() {
		return 0, 0, false
	}
	switch s := stats.(type) {
	case *metadata.Int64Statistics:
		return s.Min(), s.Max(), s.Min() <= s.Max()
	case *metadata.Int32Statistics:
		return int64(s.Min()), int64(s.Max()), s.Min() <= s.Max()
	}
	return 0, 0, false
}

// timeOf is the time of a physical value, floored as it will be stored.
func timeOf(t arrow.DataType, v int64) (time.Time, bool) {
	switch t := t.(type) {
	case *arrow.TimestampType:
		us, ok := toMicros(v, t.Unit)
		return time.UnixMicro(us).UTC(), ok
	case *arrow.Date32Type, *arrow.Date64Type:
		// Whatever the type, the physical value is days.
		return time.Unix(v*86400, 0).UTC(), true
	}
	return time.Time{}, false
}

func naive(t arrow.DataType) bool {
	ts, ok := t.(*arrow.TimestampType)
	return !ok || ts.TimeZone == ""
}
