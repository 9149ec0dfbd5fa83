package testenv

import (
	"context"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

// Catalog returns c with the injector in between, and tables whose object store
// it stands before too.
func (in *Injector) Catalog(c lake.Catalog) lake.Catalog { return faultyCatalog{in, c} }

type faultyCatalog struct {
	in  *Injector
	cat lake.Catalog
}

func (f faultyCatalog) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	return f.wrapped(ctx, "load table", func() (*table.Table, error) { return f.cat.LoadTable(ctx, id) })
}

func (f faultyCatalog) Draft(ctx context.Context, id table.Identifier, schema *iceberg.Schema, spec *iceberg.PartitionSpec, properties iceberg.Properties) (*table.Table, error) {
	return f.wrapped(ctx, "draft table", func() (*table.Table, error) { return f.cat.Draft(ctx, id, schema, spec, properties) })
}

func (f faultyCatalog) wrapped(ctx context.Context, verb string, load func() (*table.Table, error)) (*table.Table, error) {
	var t *table.Table
	err := f.in.effect(ctx, verb, "", func() (err error) {
		t, err = load()
		return err
	})
	if err != nil {
		return nil, err
	}
	fileSystem := func(ctx context.Context) (iceio.IO, error) {
		fs, err := t.FS(ctx)
		if err != nil {
			return nil, err
		}
		return f.in.wrapIO(ctx, fs), nil
	}
	return table.New(t.Identifier(), t.Metadata(), t.MetadataLocation(), fileSystem, f, table.WithMetricsReporter(t.MetricsReporter())), nil
}

func (f faultyCatalog) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	var (
		meta     table.Metadata
		location string
	)
	err := f.in.effect(ctx, "commit", "", func() (err error) {
		meta, location, err = f.cat.CommitTable(ctx, id, reqs, updates)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return meta, location, nil
}

func (f faultyCatalog) WritesMetadata() bool { return f.cat.WritesMetadata() }
