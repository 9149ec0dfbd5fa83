package catalog

import (
	"context"

	"github.com/apache/iceberg-go/table"
)

// fromNothing is one update that stands for all that create a table.
//
// iceberg-go's SQL catalog applies the updates of a commit that creates a table
// to a table that already has an empty schema and an empty partition spec, both
// numbered 0. The new ones would become 1, while the data files and manifests
// of the first snapshot, written before, say 0: the manifests would name a spec
// that does not exist. So the table is built from nothing here, as Iceberg's
// own catalogs do, and put in the place of that start.
type fromNothing []table.Update

// Action names the update in errors.
func (fromNothing) Action() string { return "create" }

// Apply replaces what is in b by the table that the updates make.
func (u fromNothing) Apply(b *table.MetadataBuilder) error {
	fresh, err := table.NewMetadataBuilder(table.DefaultFormatVersion)
	if err != nil {
		return err
	}
	for _, update := range u {
		if err := update.Apply(fresh); err != nil {
			return err
		}
	}
	*b = *fresh
	return nil
}

// PostCommit has nothing to do for a table that is new.
func (fromNothing) PostCommit(context.Context, *table.Table, *table.Table) error { return nil }

// creates reports whether the requirements say that the table must not exist.
func creates(requirements []table.Requirement) bool {
	want := table.AssertCreate().GetType()
	for _, r := range requirements {
		if r.GetType() == want {
			return true
		}
	}
	return false
}
