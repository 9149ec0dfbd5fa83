package arrowio

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/calve-data/calve/lake"
)

// memFiles are source files by name, in order.
type memFiles []struct{ name, text string }

func (m memFiles) files() (files []lake.File) {
	for _, f := range m {
		files = append(files, lake.File{Path: f.name, Size: int64(len(f.text))})
	}
	return files
}

func (m memFiles) open(_ context.Context, f lake.File) (io.ReadCloser, error) {
	for _, g := range m {
		if g.name == f.Path {
			return io.NopCloser(strings.NewReader(g.text)), nil
		}
	}
	return nil, fmt.Errorf("%s: %w", f.Path, os.ErrNotExist)
}

// input returns the files as an input with blocks of the given size, or the
// usual one if it is 0.
func (m memFiles) input(tb testing.TB, block int, opt CSVOptions) *csvInput {
	tb.Helper()
	in, err := newCSV(m.files(), m.open, lake.Origin{Kind: "csv"}, opt)
	if err != nil {
		tb.Fatal(err)
	}
	if block > 0 {
		in.blockBytes = block
	}
	return in
}

// one is a single file a.csv.
func one(text string) memFiles { return memFiles{{"a.csv", text}} }

func fieldsOf(types ...any) *arrow.Schema {
	var fields []arrow.Field
	for i := 0; i < len(types); i += 2 {
		name, required := strings.CutSuffix(types[i].(string), "!")
		fields = append(fields, arrow.Field{Name: name, Type: types[i+1].(arrow.DataType), Nullable: !required})
	}
	return arrow.NewSchema(fields, nil)
}

// texts is a schema of string columns.
func texts(names ...string) *arrow.Schema {
	var fields []arrow.Field
	for _, n := range names {
		fields = append(fields, arrow.Field{Name: n, Type: arrow.BinaryTypes.String, Nullable: true})
	}
	return arrow.NewSchema(fields, nil)
}

// blockInput is an input that reads by blocks, into the memory that it is given.
type blockInput interface {
	read(ctx context.Context, r lake.Request, inflight int, mem memory.Allocator) iter.Seq2[lake.Batch, error]
}

// rowsOf reads everything and returns a line per row: file, row number, cells.
// Strings are quoted, NULL is not.
func rowsOf(tb testing.TB, in blockInput, schema *arrow.Schema, procs int) ([]string, error) {
	tb.Helper()
	mem := &recycler{limit: 1 << 20}
	var rows []string
	var failed error
	for b, err := range in.read(tb.Context(), lake.Request{Schema: schema, Procs: procs}, procs+2, mem) {
		if err != nil {
			failed = err
			continue
		}
		if failed != nil {
			tb.Errorf("a batch of %s was yielded after the error %v", b.File, failed)
		}
		for i := range int(b.NumRows()) {
			rows = append(rows, fmt.Sprintf("%s:%d %s", b.File, b.FirstRow+int64(i), cells(b, i)))
		}
		b.Release()
	}
	if mem.live != 0 {
		tb.Errorf("%d allocations were not freed", mem.live)
	}
	return rows, failed
}

func cells(b arrow.RecordBatch, row int) string {
	var s []string
	for _, c := range b.Columns() {
		switch c := c.(type) {
		case *array.String:
			if c.IsNull(row) {
				s = append(s, "NULL")
				continue
			}
			s = append(s, fmt.Sprintf("%q", c.Value(row)))
		case *array.Decimal128:
			if c.IsNull(row) {
				s = append(s, "NULL")
				continue
			}
			s = append(s, c.Value(row).ToString(c.DataType().(*arrow.Decimal128Type).Scale))
		case *array.Timestamp:
			s = append(s, strings.Replace(c.ValueStr(row), "T", " ", 1))
		default:
			s = append(s, c.ValueStr(row))
		}
	}
	return strings.Join(s, " | ")
}

// want compares rows without their places.
func wantRows(tb testing.TB, got []string, want ...string) {
	tb.Helper()
	for i := range got {
		_, got[i], _ = strings.Cut(got[i], " ")
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(got) != len(want) {
		tb.Errorf("rows are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// wantError checks that err is of the input and reads so.
func wantError(tb testing.TB, err error, want string) {
	tb.Helper()
	switch {
	case err == nil:
		tb.Errorf("no error, want %s", want)
	case err.Error() != want:
		tb.Errorf("error is\n%s\nwant\n%s", err, want)
	}
}
