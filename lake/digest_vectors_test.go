package lake

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/google/uuid"
)

// TestDigestVectors checks the digest against vectors that another
// implementation made, from the description in the file alone; see
// TestDigestVectorsInPython.
func TestDigestVectors(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/digest-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct {
			Name      string
			Schema    *iceberg.Schema
			Volatile  []int
			Rows      []map[string]json.RawMessage
			Encodings []string
			Digest    Digest
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) < 20 {
		t.Fatalf("%d vectors", len(file.Vectors))
	}
	for _, v := range file.Vectors {
		t.Run(v.Name, func(t *testing.T) {
			rec := recordOf(t, v.Schema, v.Rows)
			defer rec.Release()
			d, err := NewDigester(v.Schema, v.Volatile...)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := d.form.bind(rec.Schema().Fields(), rec.Column, d.sortable)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range v.Encodings {
				if got := hex.EncodeToString(rows.appendFields(nil, i)); got != want {
					t.Errorf("row %s\n got %s\nwant %s", v.Rows[i], got, want)
				}
			}
			if err := d.Add(rec); err != nil {
				t.Fatal(err)
			}
			if d.Digest() != v.Digest || len(v.Encodings) != len(v.Rows) {
				t.Errorf("digest %s, want %s", d.Digest(), v.Digest)
			}
		})
	}
}

// recordOf makes a batch of rows in Iceberg's single-value serialization.
func recordOf(t *testing.T, sc *iceberg.Schema, rows []map[string]json.RawMessage) arrow.RecordBatch {
	t.Helper()
	f, err := fitOf(sc)
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, f.arrow)
	defer b.Release()
	for _, row := range rows {
		for i, field := range sc.Fields() {
			if err := appendValue(b.Field(i), field.Type, row[strconv.Itoa(field.ID)]); err != nil {
				t.Fatalf("%s of %s: %v", field.Name, row, err)
			}
		}
	}
	return b.NewRecordBatch()
}

// appendValue appends a single value.
func appendValue(b array.Builder, typ iceberg.Type, raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		b.AppendNull()
		return nil
	}
	switch typ := typ.(type) {
	case *iceberg.StructType:
		return appendStruct(b.(*array.StructBuilder), typ, raw)
	case *iceberg.ListType:
		b := b.(*array.ListBuilder)
		b.Append(true)
		return appendAll(b.ValueBuilder(), typ.Element, raw)
	case *iceberg.MapType:
		b := b.(*array.MapBuilder)
		b.Append(true)
		var m struct{ Keys, Values json.RawMessage }
		err := json.Unmarshal(raw, &m)
		if err == nil {
			err = appendAll(b.KeyBuilder(), typ.KeyType, m.Keys)
		}
		if err == nil {
			err = appendAll(b.ItemBuilder(), typ.ValueType, m.Values)
		}
		return err
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw) // a number, or true
	}
	return appendText(b, text)
}

func appendStruct(b *array.StructBuilder, typ *iceberg.StructType, raw json.RawMessage) error {
	b.Append(true)
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err
	}
	for i, f := range typ.FieldList {
		if err := appendValue(b.FieldBuilder(i), f.Type, fields[strconv.Itoa(f.ID)]); err != nil {
			return err
		}
	}
	return nil
}

func appendAll(b array.Builder, typ iceberg.Type, raw json.RawMessage) error {
	var values []json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil {
		return err
	}
	for _, v := range values {
		if err := appendValue(b, typ, v); err != nil {
			return err
		}
	}
	return nil
}

func appendText(b array.Builder, text string) (err error) {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(text == "true")
	case *array.Int32Builder:
		var n int64
		n, err = strconv.ParseInt(text, 10, 32)
		b.Append(int32(n))
	case *array.Int64Builder:
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		b.Append(n)
	case *array.Float32Builder:
		var n float64
		n, err = strconv.ParseFloat(text, 32)
		b.Append(float32(n))
	case *array.Float64Builder:
		var n float64
		n, err = strconv.ParseFloat(text, 64)
		b.Append(n)
	case *array.Decimal128Builder:
		var n decimal128.Num
		typ := b.Type().(*arrow.Decimal128Type)
		n, err = decimal128.FromString(text, typ.Precision, typ.Scale)
		b.Append(n)
	case *array.StringBuilder:
		b.Append(text)
	case *extensions.UUIDBuilder:
		var id uuid.UUID
		id, err = uuid.Parse(text)
		b.Append(id)
	case *array.BinaryBuilder:
		var raw []byte
		raw, err = hex.DecodeString(text)
		b.Append(bytes.Clone(raw))
	case *array.FixedSizeBinaryBuilder:
		var raw []byte
		raw, err = hex.DecodeString(text)
		b.Append(raw)
	default:
		return appendTime(b, text)
	}
	return err
}

func appendTime(b array.Builder, text string) error {
	var at time.Time
	var err error
	for _, layout := range []string{"2006-01-02", "15:04:05", "2006-01-02T15:04:05", "2006-01-02T15:04:05Z07:00"} {
		if at, err = time.Parse(layout, text); err == nil {
			break
		}
	}
	switch b := b.(type) {
	case *array.Date32Builder:
		b.Append(arrow.Date32(at.Unix() / 86400))
	case *array.Time64Builder:
		b.Append(arrow.Time64(at.Sub(at.Truncate(24 * time.Hour)).Microseconds()))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(at.UnixMicro()))
	default:
		return fmt.Errorf("no builder for %q", text)
	}
	return err
}
