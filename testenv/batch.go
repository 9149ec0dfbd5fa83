package testenv

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Row is one row as a literal: column to value. A column that is left out, or
// nil, is null. Values are as JSON has them; times may be time.Time or text.
type Row map[string]any

// Batch builds a record batch from rows. mem may be nil. The caller releases it
// where mem counts.
func Batch(tb testing.TB, mem memory.Allocator, schema *arrow.Schema, rows ...Row) arrow.RecordBatch {
	tb.Helper()
	if mem == nil {
		mem = memory.DefaultAllocator
	}
	objects := make([]map[string]any, len(rows))
	for i, row := range rows {
		objects[i] = make(map[string]any, len(row))
		for name, v := range row {
			fields, ok := schema.FieldsByName(name)
			if !ok {
				tb.Fatalf("row %d: the schema has no column %q", i, name)
			}
			objects[i][name] = plain(v, fields[0].Type)
		}
	}
	text, err := json.Marshal(objects)
	if err != nil {
		tb.Fatalf("batch: %v", err)
	}
	b, _, err := array.RecordFromJSON(mem, schema, strings.NewReader(string(text)))
	if err != nil {
		tb.Fatalf("batch: %v", err)
	}
	return b
}

// plain turns a time into the text that Arrow reads for its type.
func plain(v any, typ arrow.DataType) any {
	at, ok := v.(time.Time)
	if !ok {
		return v
	}
	switch t := typ.(type) {
	case *arrow.TimestampType:
		if t.TimeZone == "" {
			return at.Format(wallForm)
		}
		return at.UTC().Format(instantForm)
	case *arrow.Date32Type:
		return at.Format(dateForm)
	}
	return v
}

// Instant reads an instant such as 2026-05-04T10:00:00Z.
func Instant(tb testing.TB, text string) time.Time {
	tb.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		tb.Fatal(err)
	}
	return at.UTC()
}
