package lake

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

// Source is where a load's rows come from.
type Source interface {
	// Pin fixes what will be read for w: it lists files and notes their sizes
	// and etags, and reads no row. A source that finds nothing is not an error;
	// its [Origin] has no files. Pin is called after the table's base snapshot
	// is known and before anything is written.
	Pin(ctx context.Context, w Window) (Input, error)
}

// Input is one pinned reading of a source. Its methods are called from one
// goroutine, Read at most once.
type Input interface {
	// Origin says what was pinned.
	Origin() Origin
	// Columns lists the columns of all files, each once, in the order of their
	// first appearance. The type of a column that only text describes, and that
	// nothing declares, is nil.
	Columns(ctx context.Context) ([]Column, error)
	// Infer decides the types of the named columns from every value of every
	// file. Columns that hold no value at all become text.
	Infer(ctx context.Context, names []string) ([]Column, error)
	// Read yields the rows in a fixed order, whatever the number of cores. Each
	// batch has exactly the columns and types of r.Schema; text and other
	// strings may also come as a dictionary of strings. The caller releases each
	// batch. After an error nothing more is yielded. A value that does not fit
	// its column's type is an error that wraps [ErrInput] and names file, line
	// or row, column and value.
	Read(ctx context.Context, r Request) iter.Seq2[Batch, error]
}

// Origin describes a pinned input without its rows. It holds no secret: it is
// printed, and kept in the table.
type Origin struct {
	// Kind is the form of the source: csv, ndjson, parquet.
	Kind string
	// Path is where files were looked for, as the source was told. May be empty.
	Path string
	// Files is the number of files matched.
	Files int
	// Names holds the first of the files' names, for people.
	Names []string
	// Fingerprint is a hash of the sorted (path, size, etag) of all files.
	Fingerprint string
	// Bytes is the size of all files as they are stored.
	Bytes int64
	// Missing names parts of the window for which no file was found, such as the
	// folder of a day. They are no empty parts unless [ClearEmpty] says so.
	Missing []string
	// Exact is true where the source claims to be exactly the window, so that a
	// row outside is an error; else it selects the window's rows from more.
	Exact bool
}

// of says where files were looked for, as a part of a sentence.
func (o Origin) of() string {
	if o.Path == "" {
		return ""
	}
	return " of " + o.Path
}

// Column is one column of a source.
type Column struct {
	Name string
	// Type is the column's type as Arrow; nil where it is not known yet.
	Type arrow.DataType
	// Why says, for people, what decided the type: for an inferred one a value,
	// its file and line.
	Why string
	// Declared is true where the user gave Type: a table that has the column with
	// another one is not loaded.
	Declared bool
	// Seen are the numbers that decided how large an inferred type must be. Nil
	// for a type that is known otherwise: then the type itself says it.
	Seen []Sighting
}

// Sighting is a number in a text column that is larger, in some respect, than
// all before it.
type Sighting struct {
	// Digits is the number of its digits before the point.
	Digits int
	// Long is true for an integer that does not fit an int, and Double for a
	// number that is out of the range of a float.
	Long, Double bool
	// At says, for people, which value it is, with its file and line.
	At string
}

// Request says what a load reads from its input.
type Request struct {
	// Schema has the wanted columns, named as the source names them, with the
	// table's types. A column that is missing in a file is null in its rows,
	// and an error that wraps [ErrInput] if its field is not nullable.
	Schema *arrow.Schema
	// Time names the window's time column, and Window is what will be kept of
	// it: a source may leave out rows that it can prove to lie outside.
	Time   string
	Window Window
	// Procs is the number of cores to use, at least 1.
	Procs int
	// Memory bounds the bytes that the source may hold at once, its batches in
	// flight included.
	Memory int64
}

// Batch is one record batch of a source with the place it came from.
type Batch struct {
	arrow.RecordBatch
	// File is the name of the file that the rows are from.
	File string
	// FirstRow is the number of the batch's first row in its file, from 1,
	// header lines not counted.
	FirstRow int64
}
