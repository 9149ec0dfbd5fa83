package arrowio

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
)

// The readers work in goroutines, where a panic would end the process: it is an
// error of the read, after the rows before it.

// wantBug checks that an error is that of a panic with the text, and tells where
// it was.
func wantBug(t *testing.T, err error, text string) {
	t.Helper()
	if !errors.Is(err, lake.ErrBug) || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "panic_test.go") {
		t.Errorf("error %v, want ErrBug with %q and the stack", err, text)
	}
}

func TestPanicOfWorkOnABlock(t *testing.T) {
	t.Parallel()
	for _, procs := range []int{1, 4} {
		in := one("a\n1\n2\n3\n4\n5\n6\n7\n8\n").input(t, 4, CSVOptions{})
		var dropped atomic.Int64
		work := blockWork[string]{
			procs: procs, inflight: 3, read: in.readBlocks,
			work: func(b *block) string {
				text := strings.TrimSpace(string(b.buf[:b.n]))
				if strings.Contains(text, "5") {
					panic("of the work")
				}
				return text
			},
			drop: func(string) { dropped.Add(1) },
		}
		var got []string
		var last error
		for v, err := range work.results(t.Context()) {
			if last != nil {
				t.Errorf("after the error there is %q, %v", v, err)
			}
			if last = err; err == nil {
				got = append(got, v)
			}
		}
		wantBug(t, last, "of the work")
		if text := strings.Join(strings.Fields(strings.Join(got, " ")), " "); text != "1 2 3 4" {
			t.Errorf("before the panic there are %q, want 1 2 3 4", text)
		}
		if dropped.Load() == 0 {
			t.Error("the block of the panic was not dropped")
		}
	}
}

// panicky is a source file whose reading panics, after some bytes.
type panicky struct{ io.Reader }

func (p panicky) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if errors.Is(err, io.EOF) {
		panic("of the store")
	}
	return n, err
}

func (panicky) Close() error { return nil }

func TestPanicOfReadingCSV(t *testing.T) {
	t.Parallel()
	open := func(context.Context, lake.File) (io.ReadCloser, error) {
		return panicky{strings.NewReader("a\n" + strings.Repeat("1\n", 100))}, nil
	}
	in, err := newCSV([]lake.File{{Path: "a.csv"}}, open, lake.Origin{}, CSVOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in.blockBytes = 32
	rows, last := int64(0), error(nil)
	for b, err := range in.Read(t.Context(), lake.Request{Schema: fieldsOf("a", arrow.PrimitiveTypes.Int64), Procs: 2}) {
		if last = err; err == nil {
			rows += b.NumRows()
			b.Release()
		}
	}
	wantBug(t, last, "of the store")
	if rows == 0 {
		t.Error("no row was read before the panic")
	}
	_, err = in.Infer(t.Context(), []string{"a"})
	wantBug(t, err, "of the store")
}

// panickyFiles panic when a file is opened, from the nth time on.
type panickyFiles struct {
	bytesFiles
	opened *atomic.Int64
	from   int64
}

func (p panickyFiles) Open(ctx context.Context, f lake.File) (lake.ObjectReader, error) {
	if p.opened.Add(1) >= p.from {
		panic("of the store")
	}
	return p.bytesFiles.Open(ctx, f)
}

func TestPanicOfOpeningParquet(t *testing.T) {
	t.Parallel()
	schema := fieldsSchema(nullable("a", arrow.PrimitiveTypes.Int64))
	data := parquetBytes(t, schema, 2, `[{"a":1},{"a":2},{"a":3},{"a":4}]`)
	files := panickyFiles{bytesFiles{"a.parquet": data, "b.parquet": data}, &atomic.Int64{}, 2}
	in := pinParquet(t, files, Config{})
	_, err := in.Columns(t.Context())
	wantBug(t, err, "of the store")
	// Without the footers that Columns read, each is opened once for it and once
	// for each of its two row groups.
	for from := int64(1); from <= 6; from++ {
		files.opened.Store(0)
		files.from = from
		in := pinParquet(t, files, Config{})
		text, err := readText(t, in, readRequest(schema))
		wantBug(t, err, "of the store")
		t.Logf("from the %d. on: %q", from, text)
	}
}

// panickyReads panic in the first half of a file, where its columns are; the
// library reads those of a struct in goroutines of its own.
type panickyReads struct{ bytesFiles }

func (p panickyReads) Open(ctx context.Context, f lake.File) (lake.ObjectReader, error) {
	r, err := p.bytesFiles.Open(ctx, f)
	return panickyReader{r}, err
}

type panickyReader struct{ lake.ObjectReader }

func (p panickyReader) ReadAt(b []byte, off int64) (int, error) {
	if off < 100 {
		panic("of the store")
	}
	return p.ObjectReader.ReadAt(b, off)
}

func TestPanicOfReadingParquet(t *testing.T) {
	t.Parallel()
	pair := arrow.StructOf(nullable("x", arrow.PrimitiveTypes.Int64), nullable("y", arrow.BinaryTypes.String))
	for name, field := range map[string]arrow.DataType{"a column": arrow.PrimitiveTypes.Int64, "a struct": pair} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := fieldsSchema(nullable("a", field))
			rows := map[string]string{"a column": `[{"a":1}]`, "a struct": `[{"a":{"x":1,"y":"one"}}]`}[name]
			in := pinParquet(t, panickyReads{bytesFiles{"a.parquet": parquetBytes(t, schema, 2, rows)}}, Config{})
			_, err := readText(t, in, readRequest(schema))
			wantBug(t, err, "of the store")
		})
	}
}
