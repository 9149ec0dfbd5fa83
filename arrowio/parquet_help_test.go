package arrowio

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/calve-data/calve/lake"
)

// bytesFiles are files in memory, by name.
type bytesFiles map[string][]byte

func (m bytesFiles) List(_ context.Context, pattern string) (list []lake.File, err error) {
	for name, data := range m {
		if ok, err := filepath.Match(pattern, name); err != nil {
			return nil, err
		} else if ok {
			list = append(list, lake.File{Path: name, Size: int64(len(data)), ETag: fmt.Sprint(len(data))})
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Path < list[j].Path })
	return list, nil
}

func (m bytesFiles) Open(_ context.Context, f lake.File) (lake.ObjectReader, error) {
	return bytesReader{bytes.NewReader(m[f.Path]), f.Size}, nil
}

type bytesReader struct {
	*bytes.Reader
	size int64
}

func (r bytesReader) Close() error { return nil }
func (r bytesReader) Size() int64  { return r.size }

// dirFiles are the files of one folder, by name.
type dirFiles string

func (d dirFiles) List(_ context.Context, pattern string) (list []lake.File, err error) {
	names, err := filepath.Glob(filepath.Join(string(d), pattern))
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		list = append(list, lake.File{Path: name, Size: info.Size(), ETag: info.ModTime().String()})
	}
	return list, err
}

func (d dirFiles) Open(_ context.Context, f lake.File) (lake.ObjectReader, error) {
	r, err := os.Open(f.Path)
	return osReader{r, f.Size}, err
}

type osReader struct {
	*os.File
	size int64
}

func (r osReader) Size() int64 { return r.size }

// brokenFiles fail after some reads.
type brokenFiles struct {
	lake.Files
	err error
}

func (b brokenFiles) Open(ctx context.Context, f lake.File) (lake.ObjectReader, error) {
	r, err := b.Files.Open(ctx, f)
	return brokenReader{r, b.err}, err
}

type brokenReader struct {
	lake.ObjectReader
	err error
}

func (b brokenReader) ReadAt(p []byte, off int64) (int, error) {
	if off < b.Size()/2 {
		return 0, b.err
	}
	return b.ObjectReader.ReadAt(p, off)
}

// parquetBytes writes rows, given as JSON, in row groups of some length.
func parquetBytes(t testing.TB, schema *arrow.Schema, groupRows int64, rows string, opts ...parquet.WriterProperty) []byte {
	t.Helper()
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Release()
	return parquetOf(t, batch, groupRows, opts...)
}

func parquetOf(t testing.TB, batch arrow.RecordBatch, groupRows int64, opts ...parquet.WriterProperty) []byte {
	t.Helper()
	var out bytes.Buffer
	table := array.NewTableFromRecords(batch.Schema(), []arrow.RecordBatch{batch})
	defer table.Release()
	err := pqarrow.WriteTable(table, &out, groupRows, parquet.NewWriterProperties(opts...), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func fieldsSchema(fields ...arrow.Field) *arrow.Schema { return arrow.NewSchema(fields, nil) }

func nullable(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

// pinParquet opens all of files as one source and checks at the end of the test
// that all memory was given back.
func pinParquet(t testing.TB, files lake.Files, cfg Config) lake.Input {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	cfg.Allocator = mem
	if cfg.Path == "" {
		cfg.Path = "*.parquet"
	}
	source, err := New(cfg, files)
	if err != nil {
		t.Fatal(err)
	}
	input, err := source.Pin(t.Context(), lake.Window{})
	if err != nil {
		t.Fatal(err)
	}
	return input
}

func readRequest(schema *arrow.Schema) lake.Request {
	return lake.Request{Schema: schema, Procs: 2, Memory: 1 << 28}
}

// readText reads everything as lines of JSON.
func readText(t testing.TB, input lake.Input, r lake.Request) (string, error) {
	t.Helper()
	var out strings.Builder
	for batch, err := range input.Read(t.Context(), r) {
		if err != nil {
			return out.String(), err
		}
		plain := undictionary(batch.RecordBatch, r.Schema)
		if err := array.RecordToJSON(plain, &out); err != nil {
			t.Fatal(err)
		}
		plain.Release()
		batch.Release()
	}
	return out.String(), nil
}

// undictionary checks that a batch has the wanted types and spells dictionaries
// out.
func undictionary(batch arrow.RecordBatch, want *arrow.Schema) arrow.RecordBatch {
	columns := make([]arrow.Array, want.NumFields())
	for i, field := range want.Fields() {
		switch a := batch.Column(i).(type) {
		case *array.Dictionary:
			b := array.NewStringBuilder(memory.DefaultAllocator)
			for row := range a.Len() {
				if a.IsNull(row) {
					b.AppendNull()
				} else {
					b.Append(a.Dictionary().(*array.String).Value(a.GetValueIndex(row)))
				}
			}
			columns[i] = b.NewArray()
		default:
			if !arrow.TypeEqual(a.DataType(), field.Type) || batch.ColumnName(i) != field.Name {
				panic(fmt.Sprintf("column %s is %s, want %s %s", batch.ColumnName(i), a.DataType(), field.Name, field.Type))
			}
			a.Retain()
			columns[i] = a
		}
		defer columns[i].Release()
	}
	return array.NewRecordBatch(want, columns, batch.NumRows())
}

func hours(from, to string) lake.Window {
	w, err := lake.ParseWindow(from+"/"+to, nil)
	if err != nil {
		panic(err)
	}
	return w
}

func mustZone(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

var errStore = fmt.Errorf("the store is away: %w", lake.ErrTemporary)
