package arrowio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/calve-data/calve/lake"
)

// footer is what a Parquet file says about itself.
type footer struct {
	file    lake.File
	meta    *metadata.FileMetaData
	columns []arrow.Field
	// leaves are the physical columns beneath each of the columns.
	leaves [][]int
	// int96 are the physical columns that are INT96 timestamps.
	int96 map[int]bool
	// first is the number of the first row of each row group, from 1.
	first []int64
}

func readFooter(ctx context.Context, files lake.Files, f lake.File) (_ *footer, err error) {
	r, err := openParquet(ctx, files, f)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	defer r.recover(&err)
	pq, err := file.NewParquetReader(r.seeker())
	if err != nil {
		return nil, r.explain(err)
	}
	out := &footer{file: f}
	if out.meta, out.int96, err = asBytes12(pq.MetaData()); err != nil {
		return nil, r.explain(err)
	}
	if err := out.describe(); err != nil {
		return nil, r.explain(err)
	}
	return out, nil
}

// describe finds the columns in the metadata.
func (f *footer) describe() error {
	if err := f.forgetArrow(); err != nil {
		return err
	}
	manifest, err := pqarrow.NewSchemaManifest(f.meta.Schema, nil, &pqarrow.ArrowReadProperties{})
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range manifest.Fields {
		field := &manifest.Fields[i]
		if seen[field.Field.Name] {
			return fmt.Errorf("it has two columns named %q", field.Field.Name)
		}
		seen[field.Field.Name] = true
		column := *field.Field
		column.Type = f.typeOf(field)
		f.columns = append(f.columns, column)
		f.leaves = append(f.leaves, leavesOf(field, nil))
	}
	first := int64(1)
	for i := range f.meta.NumRowGroups() {
		f.first = append(f.first, first)
		first += f.meta.RowGroup(i).NumRows()
	}
	return nil
}

// forgetArrow drops what a program of Arrow's noted of its types: a file is what
// Parquet's own words say, whatever the program held it as: large or viewed
// texts, dictionaries, lists of one length. But for durations, which Parquet has
// no word for: without the note they are plain numbers of some unit.
func (f *footer) forgetArrow() error {
	noted, err := pqarrow.NewSchemaManifest(f.meta.Schema, f.meta.KeyValueMetadata(), &pqarrow.ArrowReadProperties{})
	if err == nil {
		for i := range noted.Fields {
			if t := noted.Fields[i].Field.Type; holdsDuration(t) {
				return fmt.Errorf("column %q is %s, which a table cannot hold: write it as a number", noted.Fields[i].Field.Name, t)
			}
		}
	}
	f.meta.FileMetaData.KeyValueMetadata = withoutKey(f.meta.FileMetaData.KeyValueMetadata, "ARROW:schema")
	return nil
}

func withoutKey[T interface{ GetKey() string }](list []T, key string) []T {
	return slices.DeleteFunc(list, func(kv T) bool { return kv.GetKey() == key })
}

func holdsDuration(t arrow.DataType) bool {
	nested, ok := t.(arrow.NestedType)
	if !ok {
		return t.ID() == arrow.DURATION
	}
	return slices.ContainsFunc(nested.Fields(), func(f arrow.Field) bool { return holdsDuration(f.Type) })
}

// typeOf is a column's type, with the words of Parquet that the library does not
// tell from bytes: INT96, and texts that are JSON or one of a list.
func (f *footer) typeOf(field *pqarrow.SchemaField) arrow.DataType {
	if field.IsLeaf() {
		leaf := f.meta.Schema.Column(field.ColIndex)
		switch leaf.LogicalType().(type) {
		case schema.JSONLogicalType, schema.EnumLogicalType:
			return arrow.BinaryTypes.String
		}
		if f.int96[field.ColIndex] {
			return newInt96Type()
		}
		return field.Field.Type
	}
	within := make([]arrow.Field, len(field.Children))
	for i := range field.Children {
		within[i] = *field.Children[i].Field
		within[i].Type = f.typeOf(&field.Children[i])
	}
	switch t := field.Field.Type.(type) {
	case *arrow.MapType:
		pair := within[0].Type.(*arrow.StructType)
		return arrow.MapOfFields(pair.Field(0), pair.Field(1))
	case *arrow.ListType:
		return arrow.ListOfField(within[0])
	case *arrow.StructType:
		return arrow.StructOf(within...)
	default:
		return t
	}
}

func leavesOf(f *pqarrow.SchemaField, leaves []int) []int {
	if f.IsLeaf() {
		return append(leaves, f.ColIndex)
	}
	for i := range f.Children {
		leaves = leavesOf(&f.Children[i], leaves)
	}
	return leaves
}

// find returns the place of a column, or -1.
func (f *footer) find(name string) int {
	for i := range f.columns {
		if f.columns[i].Name == name {
			return i
		}
	}
	return -1
}

// parquetFile is an open file that remembers what the store said: the library
// between does not always pass it on.
type parquetFile struct {
	lake.ObjectReader
	ctx    context.Context
	path   string
	failed atomic.Pointer[error]
}

func openParquet(ctx context.Context, files lake.Files, f lake.File) (*parquetFile, error) {
	r, err := files.Open(ctx, f)
	if err != nil {
		return nil, err
	}
	return &parquetFile{ObjectReader: r, ctx: ctx, path: f.Path}, nil
}

// ReadAt is safe for concurrent use.
func (p *parquetFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.readAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		p.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// readAt lets no panic of the store through: the library reads the columns of a
// struct in goroutines of its own.
func (p *parquetFile) readAt(b []byte, off int64) (n int, err error) {
	defer lake.Caught(&err)
	return p.ObjectReader.ReadAt(b, off)
}

// seeker is the file as the library wants it. Closing it is left to us.
func (p *parquetFile) seeker() parquet.ReaderAtSeeker {
	return io.NewSectionReader(p, 0, p.Size())
}

// explain says whose fault an error is: the store's, ours if we were stopped,
// or that of a file which is not whole.
func (p *parquetFile) explain(err error) error {
	if failed := p.failed.Load(); failed != nil {
		return *failed
	}
	if cause := context.Cause(p.ctx); cause != nil {
		return cause
	}
	if errors.Is(err, lake.ErrInput) {
		return err
	}
	var magic [4]byte
	if n, _ := p.ReadAt(magic[:], p.Size()-4); n == 4 && string(magic[:]) == "PARE" {
		err = errors.New("it is encrypted, and there is no key to give")
	}
	return fmt.Errorf("reading the Parquet file %s: %w: %w", p.path, err, lake.ErrInput)
}

// recover turns a panic of the library, which corrupt files can cause, into an
// error of the file.
func (p *parquetFile) recover(err *error) {
	broken := recover()
	if broken == nil {
		return
	}
	why := "it is corrupt"
	if strings.Contains(fmt.Sprint(broken), "unimplemented") {
		why = "it has a form of Parquet that is not read here"
	}
	*err = p.explain(fmt.Errorf("%s: %v", why, broken))
}

// readProps say how column chunks are read: whole, in one request each, or in
// pieces where one would take too much of the memory.
func readProps(mem memory.Allocator, inPieces bool) *parquet.ReaderProperties {
	props := parquet.NewReaderProperties(mem)
	props.BufferedStreamEnabled = inPieces
	props.BufferSize = 1 << 20
	return props
}
