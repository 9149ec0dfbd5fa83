package lake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// fit says how the columns of a source become the columns of a table.
type fit struct {
	// schema is the table's schema after the load; evolved is true where it has
	// columns that the table lacks, or wider types.
	schema  *iceberg.Schema
	evolved bool
	// arrow is schema as Arrow, with field ids, as data files are written.
	arrow *arrow.Schema
	// request has the source's columns, named as there, with the table's types.
	request *arrow.Schema
	// from holds, for each table column, its index in request, or -1.
	from []int
	// columns are the source's, as they were bound; decided are those of them
	// whose types were inferred.
	columns, decided []Column
	// ignored names the source's columns that are not read.
	ignored []string
}

// fitNew makes the schema of a table that does not exist yet.
func fitNew(ctx context.Context, in Input) (*fit, error) {
	columns, decided, err := typedColumns(ctx, in, func(Column) bool { return true })
	if err != nil {
		return nil, err
	}
	if err := refuseCaseTwins(optionalFields(columns), ""); err != nil {
		return nil, err
	}
	sc, err := table.ArrowSchemaToIcebergWithFreshIDs(arrow.NewSchema(optionalFields(columns), nil), true)
	if err != nil {
		return nil, fmt.Errorf("make a table schema of the source: %w: %w", err, ErrSchema)
	}
	f := &fit{schema: sc, decided: decided}
	return f, f.bind(columns)
}

// fitTable matches a source to an existing table.
func fitTable(ctx context.Context, in Input, meta table.Metadata, mode SchemaMode) (*fit, error) {
	sc := meta.CurrentSchema()
	unknown := func(c Column) bool { _, ok := findField(sc, c.Name); return !ok }
	if mode == Evolve {
		return fitEvolving(ctx, in, meta, unknown)
	}
	all, err := in.Columns(ctx)
	if err != nil {
		return nil, err
	}
	f := &fit{schema: sc}
	more := slices.DeleteFunc(slices.Clone(all), func(c Column) bool { return !unknown(c) })
	if mode == Strict && len(more) > 0 {
		return nil, fmt.Errorf("the source has %s that the table lacks: add to the table, leave out of the source, or load with schema: evolve, or ignore: %w", nameList(more), ErrSchema)
	}
	for _, c := range more {
		f.ignored = append(f.ignored, c.Name)
	}
	return f, f.bind(slices.DeleteFunc(slices.Clone(all), unknown))
}

// fitEvolving matches a source to a table that gets the columns it lacks, and
// wider types where the source needs them.
func fitEvolving(ctx context.Context, in Input, meta table.Metadata, unknown func(Column) bool) (*fit, error) {
	sc := meta.CurrentSchema()
	columns, decided, err := typedColumns(ctx, in, func(c Column) bool {
		f, ok := findField(sc, c.Name)
		return !ok || canWiden(f.Type)
	})
	if errors.Is(err, ErrInput) {
		// Values that no one type holds may be what the table's type reads.
		columns, decided, err = typedColumns(ctx, in, unknown)
	}
	if err != nil {
		return nil, err
	}
	f := &fit{schema: sc, decided: slices.DeleteFunc(decided, func(c Column) bool { return !unknown(c) })}
	f.widen(columns)
	if err := f.evolve(columns, unknown, meta.LastColumnID()); err != nil {
		return nil, err
	}
	return f, f.bind(columns)
}

// typedColumns lists the source's columns and infers the types of those that
// need one and have none.
func typedColumns(ctx context.Context, in Input, need func(Column) bool) (all, decided []Column, err error) {
	if all, err = in.Columns(ctx); err != nil {
		return nil, nil, err
	}
	all = slices.Clone(all)
	var names []string
	for _, c := range all {
		if c.Type == nil && need(c) {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return all, nil, nil
	}
	if decided, err = in.Infer(ctx, names); err != nil {
		return nil, nil, err
	}
	for _, d := range decided {
		i := slices.IndexFunc(all, func(c Column) bool { return c.Name == d.Name })
		all[i] = d
	}
	return all, decided, nil
}

// evolve adds the unknown columns as optional ones, with ids above lastID.
func (f *fit) evolve(columns []Column, unknown func(Column) bool, lastID int) error {
	more := slices.DeleteFunc(slices.Clone(columns), func(c Column) bool { return !unknown(c) })
	if len(more) == 0 {
		return nil
	}
	if err := refuseCaseTwins(optionalFields(more), ""); err != nil {
		return err
	}
	added, err := table.ArrowSchemaToIcebergWithFreshIDs(arrow.NewSchema(optionalFields(more), nil), true)
	if err == nil {
		added, err = iceberg.AssignFreshSchemaIDs(added, func() int { lastID++; return lastID })
	}
	if err != nil {
		return fmt.Errorf("add %s to the table: %w: %w", nameList(more), err, ErrSchema)
	}
	fields := append(slices.Clone(f.schema.Fields()), added.Fields()...)
	f.schema = iceberg.NewSchemaWithIdentifiers(f.schema.ID, f.schema.IdentifierFieldIDs, fields...)
	f.evolved = true
	return nil
}

// bind maps the source's columns to the table's by name.
func (f *fit) bind(columns []Column) error {
	if err := f.rebind(f.schema); err != nil {
		return err
	}
	fields := f.schema.Fields()
	f.columns = columns
	f.from = make([]int, len(fields))
	source := make([]string, len(fields))
	var request []arrow.Field
	for i := range f.from {
		f.from[i] = -1
	}
	for _, c := range columns {
		field, ok := findField(f.schema, c.Name)
		if !ok {
			return fmt.Errorf("the source's column %q is not in the table: %w", c.Name, ErrSchema)
		}
		i := slices.IndexFunc(fields, func(x iceberg.NestedField) bool { return x.ID == field.ID })
		if f.from[i] >= 0 {
			return fmt.Errorf("the source's columns %q and %q are both the table's %q: %w", source[i], c.Name, field.Name, ErrSchema)
		}
		if c.Declared && !arrow.TypeEqual(c.Type, f.arrow.Field(i).Type) {
			return fmt.Errorf("column %q is declared as %s, and the table has it as %s: declare that, or leave the type out: %w", c.Name, typeName(c.Type), field.Type, ErrSchema)
		}
		f.from[i], source[i] = len(request), c.Name
		request = append(request, arrow.Field{Name: c.Name, Type: f.arrow.Field(i).Type, Nullable: !field.Required})
	}
	for i, field := range fields {
		if field.Required && f.from[i] < 0 {
			return fmt.Errorf("the table requires column %q and the source has none; it has %s: %w", field.Name, nameList(columns), ErrSchema)
		}
	}
	f.request = arrow.NewSchema(request, nil)
	return nil
}

// rebind takes over the schema that a catalog made of the drafted one: the same
// columns in the same order, whatever their ids.
func (f *fit) rebind(sc *iceberg.Schema) error {
	drafted, err := fitOf(sc)
	if err != nil {
		return err
	}
	f.schema, f.arrow = drafted.schema, drafted.arrow
	return nil
}

// fitOf is a schema with its Arrow form, for rows that are of the table already.
func fitOf(sc *iceberg.Schema) (*fit, error) {
	arrow, err := table.SchemaToArrowSchema(sc, nil, true, false)
	if err != nil {
		return nil, fmt.Errorf("write the table's schema as Arrow: %w: %w", err, ErrSchema)
	}
	return &fit{schema: sc, arrow: arrow}, nil
}

// sourceName is the source's name of a table column; "" where it has none.
func (f *fit) sourceName(id int) string {
	for i, field := range f.schema.Fields() {
		if field.ID == id && f.from[i] >= 0 {
			return f.request.Field(f.from[i]).Name
		}
	}
	return ""
}

// refuseCaseTwins refuses names that differ only by case, at any depth: Trino
// and Hive cannot open such a table (case 73). within is what the names of
// nested fields begin with.
func refuseCaseTwins(fields []arrow.Field, within string) error {
	seen := map[string]string{}
	for _, f := range fields {
		name := within + f.Name
		if other, ok := seen[foldName(f.Name)]; ok {
			return fmt.Errorf("the columns %q and %q differ only by case, which Trino and Hive cannot read: rename one in the source: %w", other, name, ErrSchema)
		}
		seen[foldName(f.Name)] = name
		if nested, ok := f.Type.(arrow.NestedType); ok {
			if err := refuseCaseTwins(nested.Fields(), name+"."); err != nil {
				return err
			}
		}
	}
	return nil
}

func optionalFields(columns []Column) []arrow.Field {
	var fields []arrow.Field
	for _, c := range columns {
		fields = append(fields, arrow.Field{Name: c.Name, Type: c.Type, Nullable: true})
	}
	return fields
}

// typeName is a type in Iceberg's words, for errors.
func typeName(t arrow.DataType) string {
	if named, err := table.ArrowTypeToIceberg(t, true); err == nil {
		return named.String()
	}
	return t.String()
}

func nameList(columns []Column) string {
	var names []string
	for _, c := range columns {
		names = append(names, fmt.Sprintf("%q", c.Name))
	}
	return strings.Join(names, ", ")
}
