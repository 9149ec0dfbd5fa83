package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
)

// catalogFlags say where tables are.
type catalogFlags struct {
	Config    string `placeholder:"FILE" group:"catalog" help:"Configuration file. Default: calve.yaml, where there is one."`
	Warehouse string `placeholder:"DIR" group:"catalog" help:"Where tables are kept, over the configuration's. Default: the embedded catalog in ./lakehouse."`

	Timeout time.Duration `placeholder:"TIME" group:"catalog" help:"How long to wait for one answer of the catalog or the store, or for the next byte of one. Default: 1m."`
}

// read reads the configuration. From then on its secrets are hidden.
func (f catalogFlags) read(a *app) (*config, error) {
	c, hidden, err := readConfig(f.Config)
	a.secrets = hidden
	return c, err
}

// open opens the catalog, and says whether it is the embedded default.
func (f catalogFlags) open(ctx context.Context, c *config) (*catalog.Catalog, bool, error) {
	cfg, embedded := c.catalog(f.Warehouse)
	cfg.S3.Timeout = f.Timeout
	cat, err := catalog.Open(ctx, cfg)
	if err != nil {
		return nil, embedded, fmt.Errorf("open the catalog: %w", err)
	}
	return cat, embedded, nil
}

// openToLook is open for commands that change nothing: where the embedded
// catalog has no folder yet, an empty one elsewhere stands for it until closed.
func (f catalogFlags) openToLook(ctx context.Context, c *config) (*catalog.Catalog, bool, func(), error) {
	cfg, embedded := c.catalog(f.Warehouse)
	cfg.S3.Timeout = f.Timeout
	clean := func() {}
	_, err := os.Stat(cfg.Warehouse)
	if embedded && errors.Is(err, fs.ErrNotExist) && !strings.HasPrefix(cfg.Warehouse, "file:") {
		dir, err := os.MkdirTemp("", "calve-")
		if err != nil {
			return nil, embedded, nil, err
		}
		cfg.Warehouse, clean = dir, func() { _ = os.RemoveAll(dir) }
	}
	cat, err := catalog.Open(ctx, cfg)
	if err != nil {
		clean()
		return nil, embedded, nil, fmt.Errorf("open the catalog: %w", err)
	}
	return cat, embedded, func() { _ = cat.Close(); clean() }, nil
}

// loader opens the catalog for a command that changes a table which is there
// already. The caller calls done when it no longer needs the loader.
func (f catalogFlags) loader(ctx context.Context, a *app, c *config) (loader *lake.Loader, done func(), err error) {
	cat, embedded, done, err := f.openToLook(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	loader = &lake.Loader{
		Catalog: cat, Timeout: f.Timeout, Version: programVersion(),
		Trace: &lake.Trace{Sent: func() { a.sent.Store(true) }},
	}
	if embedded {
		loader.Catalog = namespaceToCome{cat}
	}
	return loader, done, nil
}

// tableOf reads a table argument: ns.name, or the name of a load whose table
// is meant.
func (c *config) tableOf(text string) (table.Identifier, error) {
	if strings.Contains(text, ".") {
		return parseTable(text)
	}
	if l, ok := c.Loads[text]; ok {
		return parseTable(l.Table)
	}
	if near := nearest(text, slices.Sorted(maps.Keys(c.Loads))); near != "" {
		return nil, usage("no load %q in %s; did you mean %q?", text, c.path, near)
	}
	return nil, usage("%q is no load in %s, and a table needs a namespace and a name, as in analytics.payments", text, cmp.Or(c.path, configName))
}

func parseTable(text string) (table.Identifier, error) {
	id := strings.Split(text, ".")
	if len(id) < 2 || slices.Contains(id, "") {
		return nil, usage("table %q needs a namespace and a name, as in analytics.payments", text)
	}
	return id, nil
}

// lookAt reads the configuration, opens the catalog and loads the table that a
// command names, for commands that only read. The caller calls done when it no
// longer needs the table.
func (f catalogFlags) lookAt(ctx context.Context, a *app, name string) (c *config, t *table.Table, done func(), err error) {
	if c, err = f.read(a); err != nil {
		return nil, nil, nil, err
	}
	id, err := c.tableOf(name)
	if err != nil {
		return nil, nil, nil, err
	}
	a.table = lake.Load{Table: id}.TableName()
	cat, embedded, done, err := f.openToLook(ctx, c)
	if err != nil {
		return nil, nil, nil, err
	}
	loader := lake.Loader{Catalog: cat, Timeout: f.Timeout}
	if embedded {
		loader.Catalog = namespaceToCome{cat}
	}
	if t, err = loader.LoadTable(ctx, id); err != nil {
		done()
		return nil, nil, nil, err
	}
	return c, t, done, nil
}

// namespaceToCome is a catalog as it will be once a load has created the
// table's namespace, so that a plan can be made without creating it.
type namespaceToCome struct{ *catalog.Catalog }

func (n namespaceToCome) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	t, err := n.Catalog.LoadTable(ctx, id)
	if errors.Is(err, lake.ErrNoNamespace) {
		err = fmt.Errorf("%s: %w", strings.Join(id, "."), lake.ErrNoTable)
	}
	return t, err
}

func (n namespaceToCome) Draft(ctx context.Context, id table.Identifier, schema *iceberg.Schema, spec *iceberg.PartitionSpec, properties iceberg.Properties) (*table.Table, error) {
	t, err := n.Catalog.Draft(ctx, id, schema, spec, properties)
	if !errors.Is(err, lake.ErrNoNamespace) {
		return t, err
	}
	// Where the table would be is for the catalog to say once it can.
	meta, err := table.NewMetadata(schema, spec, table.UnsortedSortOrder, "", properties)
	if err != nil {
		return nil, err
	}
	return table.New(id, meta, "", nil, n), nil
}
