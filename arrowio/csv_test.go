package arrowio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/calve-data/calve/lake"
)

func TestCSVForm(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"line ends", "a,b\r\n1,2\r\n3,4\n5,6", []string{`"1" | "2"`, `"3" | "4"`, `"5" | "6"`}},
		{"carriage return at the end", "a,b\n1,2\r", []string{`"1" | "2"`}},
		{"carriage returns inside", "a,b\n1\r,\r2\r\r\n", []string{`"1\r" | "\r2\r"`}},
		{"blank lines", "\n\r\na,b\n\n1,2\n\r\n\n3,4\n\n", []string{`"1" | "2"`, `"3" | "4"`}},
		{"quotes", "a,b\n\"1,\"\"x\"\"\",\"2\n3\"\n\"\"\"\",\"\"\n", []string{`"1,\"x\"" | "2\n3"`, `"\"" | ""`}},
		{"line ends in quotes are kept", "a,b\r\n\"1\r\n2\",\"\n\"\r\n", []string{`"1\r\n2" | "\n"`}},
		{"nulls", "a,b\n,\n,x\nx,\r\n,\r\n", []string{"NULL | NULL", `NULL | "x"`, `"x" | NULL`, "NULL | NULL"}},
		{"spaces are text", "a,b\n 1 , \n", []string{`" 1 " | " "`}},
		{"only a header", "a,b", nil},
		{"columns nobody wants", "x,a,y,b,z\n\"q,\"\"\",1,2,3,\n", []string{`"1" | "3"`}},
		{"long values", "a,b\n" + strings.Repeat("x", 100) + ",\"" + strings.Repeat("y", 99) + "\"\n", []string{fmt.Sprintf("%q | %q", strings.Repeat("x", 100), strings.Repeat("y", 99))}},
		{"delimiter at every line's end", "a,b,\r\n1,2,\r\n3,\"4\",\"\"\n5,6,", []string{`"1" | "2"`, `"3" | "4"`, `"5" | "6"`}},
		{"a name over two lines", "a,\"x\r\ny\",b\n1,2,3\n", []string{`"1" | "3"`}},
		{"UTF-8", "a,b\nä,日本\n", []string{`"ä" | "日本"`}},
		{"NUL bytes", "a,b\n\x00,\x00\x00\n", []string{`"\x00" | "\x00\x00"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, block := range []int{16, 0} {
				got, err := rowsOf(t, one(tt.text).input(t, block, CSVOptions{}), texts("a", "b"), 2)
				if err != nil {
					t.Fatal(err)
				}
				wantRows(t, got, tt.want...)
			}
		})
	}
}

func TestCSVBlankLinesOfOneColumn(t *testing.T) {
	got, err := rowsOf(t, one("a\n1\n\n\"\"\n2\n").input(t, 0, CSVOptions{}), texts("a"), 1)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, got, `"1"`, `""`, `"2"`)
}

func TestCSVDelimiters(t *testing.T) {
	for _, delim := range []byte{';', '\t', '|', 0x1f, ' '} {
		text := strings.ReplaceAll("a;b\n1,5;\"x;y\"\n;z\n", ";", string(delim))
		got, err := rowsOf(t, one(text).input(t, 0, CSVOptions{Delimiter: delim}), texts("a", "b"), 1)
		if err != nil {
			t.Fatal(err)
		}
		wantRows(t, got, `"1,5" | `+fmt.Sprintf("%q", "x"+string(delim)+"y"), `NULL | "z"`)
	}
	for _, delim := range []byte{'"', '\n', '\r', 0xc3} {
		if _, err := newCSV(nil, nil, lake.Origin{}, CSVOptions{Delimiter: delim}); !errors.Is(err, lake.ErrUsage) {
			t.Errorf("newCSV with delimiter %q: %v", delim, err)
		}
	}
}

func TestCSVErrorsNameThePlace(t *testing.T) {
	schema := fieldsOf("id!", long, "b", str)
	tests := []struct{ text, want string }{
		{"", "a.csv is empty: it has no header line"},
		{"\n\r\n", "a.csv has no header line"},
		{"id,,b\n", "a.csv line 1: column 2 of the header has no name"},
		{"\nid,b,id\n", `a.csv line 2: columns 1 and 3 have the same name "id"`},
		{"id,\xff\n", `a.csv line 1: the name of column 2 is not UTF-8: "\xff"`},
		{"id,\"b\n1,2\n", "a.csv line 1: a quote is opened and never closed"},
		{"id,b\n1,2\n3\n", "a.csv line 3: the record ends after 1 of 2 fields"},
		{"id,b\n1,2\n3,4,5\n", "a.csv line 3: the record has 3 fields, and the header has 2"},
		{"id,b\nx,4,5\n", "a.csv line 2: the record has 3 fields, and the header has 2"},
		{"id,b\n1,\"2\n3\"\n4,5\"6\n", "a.csv line 4, field 2: a quote stands inside a field that is not quoted"},
		{"id,b\n1,2,\n", "a.csv line 2: the record ends in a delimiter, and the header does not"},
		{"id,b,\n1,2,3\n", `a.csv line 2: "3" is in the last field, for which the header has no name`},
		{"id,b,\n1,2\n", "a.csv line 2: the record ends after 2 of 3 fields"},
		{"id,b,,\n1,2,,\n", "a.csv line 1: column 3 of the header has no name"},
		{"id,b\r1,2\r3,4\r", `a.csv line 1: the first line holds a carriage return without a newline: if lines end so, convert them, as by tr '\r' '\n'`},
		{"i\x00d\x00,\x00b\x00\n\x00", "a.csv line 1: the first line holds NUL bytes: if the file is UTF-16, convert it, as by iconv -f UTF-16LE -t UTF-8"},
		{"\xff\xfei\x00d\x00", "a.csv is UTF-16, and CSV must be UTF-8: convert it, as by iconv -f UTF-16 -t UTF-8"},
		{"\xfe\xff\x00i\x00d", "a.csv is UTF-16, and CSV must be UTF-8: convert it, as by iconv -f UTF-16 -t UTF-8"},
		{"\x1f\x8b\x08", "a.csv is compressed by gzip, and its name does not say so: let it end in .gz"},
		{"\x28\xb5\x2f\xfd", "a.csv is compressed by zstd, and its name does not say so: let it end in .zst"},
		{"PK\x03\x04xl/", "a.csv is a ZIP archive, as Excel workbooks are, and no CSV: unpack or export it"},
		{"PAR1", "a.csv is a Parquet file, and no CSV: set source.type"},
		{"id,b\n1,\"2\"x\n", "a.csv line 2, field 2: a quoted field goes on after its closing quote; a quote inside must be doubled"},
		{"id,b\n1,2\n3,\"4\n5,6\n7,8\n", "a.csv line 3, field 2: a quote is opened and never closed"},
		{"id,b\n1,2\n,x\n", `a.csv line 3, column "id": is null, but the column is required`},
		{"id,b\n\"\",x\n", `a.csv line 2, column "id": "" is not a long`},
		{"id,b\n1,\"x\ny\"\nz,5\n", `a.csv line 4, column "id": "z" is not a long`},
		{"b,id\n\"x\ny\",z\n", `a.csv line 3, column "id": "z" is not a long`},
		{"id,b\n1,\"\"\n2,\xff\nz,\n", `a.csv line 3, column "b": "\xff" is not a string: it is not UTF-8; a file in Latin-1 or Windows-1252 must be converted first, as by iconv -f WINDOWS-1252 -t UTF-8`},
		{"id,b\nz,\n2,\xff\n", `a.csv line 2, column "id": "z" is not a long`},
		{"b,id\n\xff,z\n", `a.csv line 2, column "b": "\xff" is not a string: it is not UTF-8; a file in Latin-1 or Windows-1252 must be converted first, as by iconv -f WINDOWS-1252 -t UTF-8`},
		{"id,b\n1,\xc3\n2,\xa9\n", `a.csv line 2, column "b": "\xc3" is not a string: it is not UTF-8; a file in Latin-1 or Windows-1252 must be converted first, as by iconv -f WINDOWS-1252 -t UTF-8`},
		{"id,b\n1,ok\n\n2,\"\xc3\"\n", `a.csv line 4, column "b": "\xc3" is not a string: it is not UTF-8; a file in Latin-1 or Windows-1252 must be converted first, as by iconv -f WINDOWS-1252 -t UTF-8`},
		{"id,b\n" + strings.Repeat("9", 61) + ",\n", `a.csv line 2, column "id": "` + strings.Repeat("9", 60) + `"... is not a long: out of range`},
	}
	for _, tt := range tests {
		for _, block := range []int{16, 64, 0} {
			_, err := rowsOf(t, one(tt.text).input(t, block, CSVOptions{}), schema, 2)
			wantError(t, err, tt.want)
			if !errors.Is(err, lake.ErrInput) {
				t.Errorf("error of %q does not wrap ErrInput", tt.text)
			}
		}
	}
}

func TestCSVLongRecords(t *testing.T) {
	record := func(n int) string { return "1," + strings.Repeat("x", n-3) + "\n" }
	opt := CSVOptions{MaxRecord: 1024}
	for _, block := range []int{16, 100, 0} {
		text := "a,b\n1,\n" + record(1024) + record(1023) + record(10)
		got, err := rowsOf(t, one(text).input(t, block, opt), texts("a", "b"), 1)
		if err != nil || len(got) != 4 {
			t.Errorf("block %d: %d rows, %v", block, len(got), err)
		}
		const tooLong = "a.csv line 3: the record is longer than 1024 bytes, or a quote is not closed"
		_, err = rowsOf(t, one("a,b\n1,\n"+record(1025)).input(t, block, opt), texts("a", "b"), 1)
		wantError(t, err, tooLong)
		_, err = rowsOf(t, one("a,b\n1,\n2,\"3\n"+record(1025)).input(t, block, opt), texts("a", "b"), 1)
		wantError(t, err, tooLong)
		_, err = rowsOf(t, one("a,b\n1,\n2\"3,\n"+record(1025)).input(t, block, opt), texts("a", "b"), 1)
		wantError(t, err, "a.csv line 3: a quote stands inside a field that is not quoted")
		_, err = rowsOf(t, one("a,"+record(1025)).input(t, block, opt), texts("a"), 1)
		wantError(t, err, "a.csv line 1: the record is longer than 1024 bytes, or a quote is not closed")
	}
	if _, err := newCSV(nil, nil, lake.Origin{}, CSVOptions{MaxRecord: 10}); !errors.Is(err, lake.ErrUsage) {
		t.Errorf("newCSV with MaxRecord 10: %v", err)
	}
}

func TestCSVUnreadableTypes(t *testing.T) {
	files := one("a\n1\n")
	_, err := rowsOf(t, files.input(t, 0, CSVOptions{}), fieldsOf("a", arrow.BinaryTypes.Binary), 1)
	wantError(t, err, `a.csv column "a": binary columns cannot be read from CSV`)
	_, err = rowsOf(t, files.input(t, 0, CSVOptions{}), fieldsOf("a", &arrow.FixedSizeBinaryType{ByteWidth: 16}), 1)
	wantError(t, err, `a.csv column "a": fixed columns cannot be read from CSV`)
	_, err = rowsOf(t, files.input(t, 0, CSVOptions{}), fieldsOf("a", arrow.ListOf(long)), 1)
	wantError(t, err, `a.csv column "a": columns of type list<item: int64, nullable> cannot be read from CSV`)

	// Where no file has the column it is null, whatever its type.
	schema := fieldsOf("a", long, "b", arrow.BinaryTypes.Binary, "c", arrow.ListOf(long), "d", extensions.NewUUIDType(), "e", str, "f", dec18x2)
	got, err := rowsOf(t, files.input(t, 0, CSVOptions{}), schema, 1)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, got, "1 | (null) | (null) | (null) | NULL | NULL")
}

func TestCSVNoColumnsWanted(t *testing.T) {
	got, err := rowsOf(t, one("a,b\n1,2\n3,4\n").input(t, 0, CSVOptions{}), arrow.NewSchema(nil, nil), 1)
	if err != nil || len(got) != 2 {
		t.Errorf("rows %q, %v", got, err)
	}
}

// sample is files with everything in them that blocks could be cut wrongly at.
func sample() memFiles {
	var a, b strings.Builder
	a.WriteString("\xef\xbb\xbfid,\"te\nxt\",n,at\r\n")
	b.WriteString("at,n,te,id\n")
	for i := range 400 {
		text := []string{"plain", `"quo""ted"`, "\"two\r\nlines\"", "", `""`, "\"" + strings.Repeat("long\n", i%50) + "\"", "ä"}[i%7]
		fmt.Fprintf(&a, "%d,%s,%d.%02d,2026-01-%02dT00:00:00Z%s", i, text, i, i%100, 1+i%31, []string{"\n", "\r\n", "\n\n"}[i%3])
		fmt.Fprintf(&b, "\"2026-01-%02d 00:00:00.5+01:00\",-%d,%s,%d\n", 1+i%31, i, text, i)
	}
	return memFiles{{"a.csv", a.String()}, {"b.csv", strings.TrimSpace(b.String())}}
}

var sampleSchema = fieldsOf("id!", arrow.PrimitiveTypes.Int32, "te\nxt", str, "te", str, "n", dec18x2, "at", instant)

func TestCSVRowsDoNotDependOnCoresOrBlocks(t *testing.T) {
	files := sample()
	want, err := rowsOf(t, files.input(t, 0, CSVOptions{}), sampleSchema, 1)
	if err != nil || len(want) != 800 {
		t.Fatalf("%d rows, %v", len(want), err)
	}
	if last := `b.csv:400 399 | NULL | "plain" | -399.00 | 2026-01-27 23:00:00.5Z`; want[799] != last {
		t.Errorf("last row is %s, want %s", want[799], last)
	}
	for _, block := range []int{1, 16, 17, 31, 64, 100, 1000, 1 << 16, 8 << 20} {
		for _, procs := range []int{1, 2, 4} {
			got, err := rowsOf(t, files.input(t, block, CSVOptions{}), sampleSchema, procs)
			if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("block %d, procs %d: other rows, error %v", block, procs, err)
			}
		}
	}
}

func TestCSVManyFiles(t *testing.T) {
	var files memFiles
	for i := range 300 {
		files = append(files, struct{ name, text string }{fmt.Sprintf("%03d.csv", i), "a\n1\n\n2\n\n"})
	}
	for _, block := range []int{16, 0} {
		got, err := rowsOf(t, files.input(t, block, CSVOptions{}), texts("a"), 1)
		if err != nil || len(got) != 600 {
			t.Errorf("block %d: %d rows, %v", block, len(got), err)
		}
	}
	wantInferred(t, files, CSVOptions{}, "a", "int64", `"1" at 000.csv line 2`)
}

func TestCSVBatchesAreBounded(t *testing.T) {
	const rows = 3*batchRows + 5
	var sizes []int64
	next := int64(1)
	in := one("a\n"+strings.Repeat("x\n", rows)).input(t, 0, CSVOptions{})
	for b, err := range in.Read(t.Context(), lake.Request{Schema: texts("a"), Procs: 2, Memory: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		if b.FirstRow != next || b.File != "a.csv" {
			t.Errorf("batch begins at row %d of %s, want %d", b.FirstRow, b.File, next)
		}
		next += b.NumRows()
		sizes = append(sizes, b.NumRows())
		b.Release()
	}
	if fmt.Sprint(sizes) != "[65536 65536 65536 5]" {
		t.Errorf("batches of %v rows", sizes)
	}
}

func TestCSVCompressedFiles(t *testing.T) {
	const text = "a,b\n1,2\n"
	pack := func(text string, w io.WriteCloser, b *bytes.Buffer) string {
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	var b1, b2, b3 bytes.Buffer
	z, err := zstd.NewWriter(&b3)
	if err != nil {
		t.Fatal(err)
	}
	members := pack(text, gzip.NewWriter(&b1), &b1) + pack("3,4\n", gzip.NewWriter(&b2), &b2)
	frame := pack(text, z, &b3)

	read := func(name, text string) ([]string, error) {
		return rowsOf(t, memFiles{{name, text}}.input(t, 0, CSVOptions{}), texts("a", "b"), 1)
	}
	got, err := read("a.csv.gz", members)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, got, `"1" | "2"`, `"3" | "4"`)
	got, err = read("a.csv.zst", frame)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, got, `"1" | "2"`)

	for _, cut := range []int{0, 5, 15, len(members) - 1} {
		_, err = read("a.csv.gz", members[:cut])
		wantError(t, err, "read a.csv.gz: the compressed data is cut off: bad input: unexpected EOF")
		errorIsIn(t, err)
	}
	_, err = read("a.csv.zst", frame[:len(frame)-3])
	errorIsIn(t, err)
	_, err = read("a.csv.gz", text+strings.Repeat(" ", 20))
	wantError(t, err, "read a.csv.gz: the compressed data is damaged: bad input: gzip: invalid header")
}

// failingReader gives some text and then an error.
type failingReader struct {
	r   io.Reader
	err error
}

func (f *failingReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}
func (f *failingReader) Close() error { return nil }

func TestCSVStoreErrorsAreNotInputErrors(t *testing.T) {
	in := one("").input(t, 0, CSVOptions{})
	broken := io.ErrUnexpectedEOF // as of a connection that was cut
	in.open = func(context.Context, lake.File) (io.ReadCloser, error) {
		return &failingReader{strings.NewReader("a\n1\n2\n"), broken}, nil
	}
	got, err := rowsOf(t, in, texts("a"), 1)
	wantError(t, err, "read a.csv: unexpected EOF")
	if !errors.Is(err, broken) || errors.Is(err, lake.ErrInput) || len(got) != 0 {
		t.Errorf("rows %q, %v", got, err)
	}
	in.open = func(context.Context, lake.File) (io.ReadCloser, error) { return nil, broken }
	_, err = rowsOf(t, in, texts("a"), 1)
	wantError(t, err, "open a.csv: unexpected EOF")
}

func TestCSVAFileThatChangedIsAnError(t *testing.T) {
	in := one("a\n1\n2\n").input(t, 0, CSVOptions{})
	in.files[0].Size = 100
	_, err := rowsOf(t, in, texts("a"), 1)
	wantError(t, err, "a.csv changed since it was listed: it had 100 bytes, and 6 were read")
	errorIsIn(t, err)
}

// In a synctest bubble a goroutine that waits for ever is a failure.
func TestCSVGoroutinesEndWhenTheConsumerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := &recycler{}
		in := sample().input(t, 64, CSVOptions{})
		for stop := range 20 {
			n := 0
			for b, err := range in.read(t.Context(), lake.Request{Schema: sampleSchema, Procs: 3}, 5, mem) {
				if err != nil {
					t.Fatal(err)
				}
				b.Release()
				if n++; n > stop {
					break
				}
			}
		}
		if mem.live != 0 {
			t.Errorf("%d allocations were not freed", mem.live)
		}
	})
}

func TestCSVCancellation(t *testing.T) {
	why := errors.New("enough")
	for _, at := range []int{0, 1, 7} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if at == 0 {
			cancel(why)
		}
		mem := &recycler{}
		n := 0
		var last error
		for b, err := range sample().input(t, 64, CSVOptions{}).read(ctx, lake.Request{Schema: sampleSchema, Procs: 2}, 4, mem) {
			if last = err; err != nil {
				continue
			}
			b.Release()
			if n++; n == at {
				cancel(why)
			}
		}
		if !errors.Is(last, why) {
			t.Errorf("cancelled after %d batches: %v", at, last)
		}
		if mem.live != 0 {
			t.Errorf("cancelled after %d batches: %d allocations were not freed", at, mem.live)
		}
		if n > at {
			t.Errorf("cancelled after %d batches: %d were yielded", at, n)
		}
		cancel(nil)
	}
}

// A store that answers only to its context must not hold up a consumer that
// has stopped.
func TestCSVStoppingInterruptsTheStore(t *testing.T) {
	in := memFiles{{"a.csv", ""}, {"b.csv", ""}}.input(t, 16, CSVOptions{})
	in.open = func(ctx context.Context, f lake.File) (io.ReadCloser, error) {
		if f.Path == "b.csv" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return io.NopCloser(strings.NewReader("a\n1\n")), nil
	}
	for b, err := range in.Read(t.Context(), lake.Request{Schema: texts("a"), Procs: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
		break
	}
}

func TestCSVAColumnMayOutliveItsBatch(t *testing.T) {
	mem := &recycler{limit: 1 << 20}
	var kept []arrow.Array
	in := sample().input(t, 256, CSVOptions{})
	for b, err := range in.read(t.Context(), lake.Request{Schema: sampleSchema, Procs: 2}, 4, mem) {
		if err != nil {
			t.Fatal(err)
		}
		b.Column(0).Retain()
		kept = append(kept, b.Column(0))
		b.Release()
	}
	n := 0
	for _, c := range kept {
		for _, v := range c.(*array.Int32).Int32Values() {
			if int(v) != n%400 {
				t.Fatalf("row %d is %d after its batch was released", n, v)
			}
			n++
		}
		c.Release()
	}
	if n != 800 || mem.live != 0 {
		t.Errorf("%d rows, %d allocations not freed", n, mem.live)
	}
}

func TestBlocksInFlight(t *testing.T) {
	for _, tt := range []struct {
		procs  int
		memory int64
		want   int
	}{{1, 0, 3}, {4, 1 << 30, 6}, {4, 100 << 20, 4}, {4, 1, 1}} {
		if got := blocksInFlight(tt.procs, blockBytes, tt.memory); got != tt.want {
			t.Errorf("blocksInFlight(%d, %d) = %d, want %d", tt.procs, tt.memory, got, tt.want)
		}
	}
}
