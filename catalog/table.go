package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/apache/iceberg-go"
	icebergcat "github.com/apache/iceberg-go/catalog"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

// LoadTable returns the table as it is now. Where the namespace is missing too,
// its error wraps both [lake.ErrNoTable] and [lake.ErrNoNamespace].
func (c *Catalog) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	t, err := c.loadVended(c.store.within(ctx), id)
	if err == nil {
		return c.store.reach(t, c), nil
	}
	err = translate(err)
	if errors.Is(err, lake.ErrNoTable) {
		namespace := icebergcat.NamespaceFromIdent(id)
		if ok, nsErr := c.cat.CheckNamespaceExists(ctx, namespace); nsErr == nil && !ok {
			err = &absence{what: lake.ErrNoNamespace, cause: err}
		}
	}
	return nil, fmt.Errorf("loading table %s: %w", strings.Join(id, "."), err)
}

// CommitTable applies the updates if all requirements hold, else changes
// nothing.
func (c *Catalog) CommitTable(ctx context.Context, id table.Identifier, requirements []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	if c.create != nil && creates(requirements) {
		updates = c.create(updates)
	}
	meta, location, err := c.cat.CommitTable(c.store.within(ctx), id, requirements, updates)
	if err != nil {
		return nil, "", fmt.Errorf("committing to table %s: %w", strings.Join(id, "."), definite(err))
	}
	return meta, location, nil
}

// Draft returns a table of format version 2 that does not exist yet. It reads
// the namespace and writes nothing. The table is in the namespace's location
// or, where it has none, in the place that a REST server names, else in the
// warehouse. Its file system has the settings and credentials that a REST server
// gives for it, over those of [Config].
func (c *Catalog) Draft(ctx context.Context, id table.Identifier, schema *iceberg.Schema, spec *iceberg.PartitionSpec, properties iceberg.Properties) (*table.Table, error) {
	draft, err := c.draft(ctx, id, schema, spec, properties)
	if err != nil {
		return nil, fmt.Errorf("drafting table %s: %w", strings.Join(id, "."), translate(err))
	}
	return draft, nil
}

func (c *Catalog) draft(ctx context.Context, id table.Identifier, schema *iceberg.Schema, spec *iceberg.PartitionSpec, properties iceberg.Properties) (*table.Table, error) {
	if err := icebergcat.ValidateTableIdentifier(id); err != nil {
		return nil, err
	}
	location, err := c.namespaceLocation(ctx, id)
	if err != nil {
		return nil, err
	}
	props := iceberg.Properties{}
	maps.Copy(props, properties)
	props[table.PropertyFormatVersion] = "2"
	if c.stage != nil {
		staged, err := c.stageVended(ctx, id, func(ctx context.Context) (*table.Table, error) {
			return c.stage(ctx, id, schema, spec, location, props)
		})
		switch {
		case err == nil && staged.Metadata().Version() != 2:
			return nil, fmt.Errorf("the catalog makes tables of format version %d where it was asked for 2: %w", staged.Metadata().Version(), lake.ErrRefused)
		case err == nil:
			return c.store.reach(staged, c), namesFiles(staged.Location())
		case errors.Is(err, icebergcat.ErrTableAlreadyExists):
			return c.draftMeanwhile(ctx, id, schema, spec, props, err)
		case !cannotStage(err):
			return nil, err
		}
	}
	if location == "" {
		if location, err = c.place(icebergcat.NamespaceFromIdent(id), icebergcat.TableNameFromIdent(id)); err != nil {
			return nil, err
		}
	}
	return c.draftAt(id, location, schema, spec, props)
}

// draftMeanwhile drafts a table that another program has made since it was
// looked for, in the place of that table. Whether the one is superseded by the
// other is for the commit to say, which reads the history.
func (c *Catalog) draftMeanwhile(ctx context.Context, id table.Identifier, schema *iceberg.Schema, spec *iceberg.PartitionSpec, props iceberg.Properties, exists error) (*table.Table, error) {
	t, err := c.LoadTable(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("%w: it was created meanwhile, or a view has its name: %w", exists, lake.ErrTemporary)
	}
	meta, err := table.NewMetadata(schema, spec, table.UnsortedSortOrder, t.Location(), props)
	if err != nil {
		return nil, err
	}
	return table.New(id, meta, t.MetadataLocation(), t.FS, c), nil
}

func (c *Catalog) draftAt(id table.Identifier, location string, schema *iceberg.Schema, spec *iceberg.PartitionSpec, props iceberg.Properties) (*table.Table, error) {
	if err := namesFiles(location); err != nil {
		return nil, err
	}
	meta, err := table.NewMetadata(schema, spec, table.UnsortedSortOrder, location, props)
	if err != nil {
		return nil, err
	}
	provider, err := table.LoadLocationProvider(location, meta.Properties())
	if err != nil {
		return nil, err
	}
	metadataLocation, err := provider.NewTableMetadataFileLocation(0)
	if err != nil {
		return nil, err
	}
	io := maps.Clone(c.props)
	maps.Copy(io, meta.Properties())
	return c.store.reach(table.New(id, meta, metadataLocation, icebergio.LoadFSFunc(io, metadataLocation), c), c), nil
}

// namespaceLocation is where the namespace's own location puts the table; ""
// where it has none.
func (c *Catalog) namespaceLocation(ctx context.Context, id table.Identifier) (string, error) {
	namespace, name := icebergcat.NamespaceFromIdent(id), icebergcat.TableNameFromIdent(id)
	if name == "." || name == ".." {
		return "", fmt.Errorf("a table cannot be named %q, for its folder could not: %w", name, lake.ErrUsage)
	}
	props, err := c.cat.LoadNamespaceProperties(ctx, namespace)
	if err != nil {
		return "", err
	}
	if location := props["location"]; location != "" {
		return joinLocation(location, name), nil
	}
	return "", nil
}

// namesFiles refuses a location that iceberg-go, which reads it as a URL, would
// place metadata outside of.
func namesFiles(location string) error {
	if _, err := url.Parse(location); err != nil || strings.ContainsAny(location, "?#") {
		return fmt.Errorf("the location %s of a table cannot have ? or # in it, nor %% without two hexadecimal digits, for it is read as a URL: %w", location, lake.ErrUsage)
	}
	return nil
}

// joinLocation appends names to a location. In a file URL they are escaped, for
// it is read as a URL; the keys of an object store are raw.
func joinLocation(location string, names ...string) string {
	location = strings.TrimRight(location, "/")
	for _, name := range names {
		if strings.HasPrefix(location, "file:") {
			name = url.PathEscape(name)
		}
		location += "/" + name
	}
	return location
}

// CreateNamespace makes the namespace if it is missing.
func (c *Catalog) CreateNamespace(ctx context.Context, namespace table.Identifier) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := c.cat.CreateNamespace(ctx, namespace, nil)
	if err != nil && !errors.Is(err, icebergcat.ErrNamespaceAlreadyExists) {
		// Another program may have made it in between, which not every catalog
		// tells by its error.
		if ok, checkErr := c.cat.CheckNamespaceExists(ctx, namespace); checkErr != nil || !ok {
			return fmt.Errorf("creating namespace %s: %w", strings.Join(namespace, "."), translate(err))
		}
	}
	return nil
}

// NamespaceExists reports whether the namespace exists.
func (c *Catalog) NamespaceExists(ctx context.Context, namespace table.Identifier) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	ok, err := c.cat.CheckNamespaceExists(ctx, namespace)
	if err != nil {
		return false, fmt.Errorf("looking for namespace %s: %w", strings.Join(namespace, "."), translate(err))
	}
	return ok, nil
}
