package lake

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// Widening is what Iceberg's format allows a column's type to become without
// its files being written again: int to long, float to double, and a decimal
// of more digits with the same scale. Every value stays what it was, and so
// does its partition under every transform of the specification (a bucket of an
// int is that of the long). Old files and their bounds keep the old type, and
// readers widen what they read.
//
// A column is widened where the source needs it: by its type where it has one,
// by its values where it is text, for no type was written down there. What the
// widest type does not hold either is an error of the value, when it is read.

// maxPrecision is Iceberg's largest precision of a decimal, and roomyPrecision
// the one that a column of inferred decimals gets if it is enough: the next
// value with one more digit is no new change of the table then.
const (
	maxPrecision   = 38
	roomyPrecision = 18
)

// canWiden reports whether there is a wider type.
func canWiden(t iceberg.Type) bool {
	switch t := t.(type) {
	case iceberg.Int32Type, iceberg.Float32Type:
		return true
	case iceberg.DecimalType:
		return t.Precision() < maxPrecision
	}
	return false
}

// widen gives the table's columns the types that the source's need, and notes in
// these what decided it.
func (f *fit) widen(columns []Column) {
	fields := slices.Clone(f.schema.Fields())
	for n, c := range columns {
		field, ok := findField(f.schema, c.Name)
		if !ok {
			continue
		}
		wide, why := widened(field.Type, c)
		if wide.Equals(field.Type) {
			continue
		}
		i := slices.IndexFunc(fields, func(x iceberg.NestedField) bool { return x.ID == field.ID })
		fields[i].Type, f.evolved = wide, true
		columns[n].Why = why
		f.decided = append(f.decided, columns[n])
	}
	if f.evolved {
		f.schema = iceberg.NewSchemaWithIdentifiers(f.schema.ID, f.schema.IdentifierFieldIDs, fields...)
	}
}

// widened is the type that holds what t does and what the source's column
// needs, as far as a column may be widened, and what decided it.
func widened(t iceberg.Type, c Column) (wide iceberg.Type, why string) {
	if c.Seen == nil {
		return widerByType(t, c.Type), c.Why
	}
	for _, s := range c.Seen {
		if w := widerByValue(t, s); !w.Equals(t) {
			t, why = w, s.At
		}
	}
	return t, why
}

// widerByType widens t for a source with a type. A type of another kind widens
// nothing: its values fit or they do not.
func widerByType(t iceberg.Type, source arrow.DataType) iceberg.Type {
	if source == nil {
		return t
	}
	switch have := t.(type) {
	case iceberg.Int32Type:
		if d, ok := source.(arrow.DecimalType); source.ID() == arrow.INT64 || ok && d.GetScale() == 0 {
			return iceberg.PrimitiveTypes.Int64
		}
	case iceberg.Float32Type:
		if source.ID() == arrow.FLOAT64 {
			return iceberg.PrimitiveTypes.Float64
		}
	case iceberg.DecimalType:
		if d, ok := source.(arrow.DecimalType); ok {
			return precise(have, int(d.GetPrecision()-d.GetScale()))
		}
	}
	return t
}

// widerByValue widens t for a number in a text.
func widerByValue(t iceberg.Type, s Sighting) iceberg.Type {
	switch have := t.(type) {
	case iceberg.Int32Type:
		if s.Long {
			return iceberg.PrimitiveTypes.Int64
		}
	case iceberg.Float32Type:
		if s.Double {
			return iceberg.PrimitiveTypes.Float64
		}
	case iceberg.DecimalType:
		if s.Digits+have.Scale() > have.Precision() {
			return precise(have, max(s.Digits, roomyDigits(s.Digits, have.Scale())))
		}
	}
	return t
}

func roomyDigits(digits, scale int) int {
	if digits+scale <= roomyPrecision {
		return roomyPrecision - scale
	}
	return maxPrecision - scale
}

// precise is a decimal with room for so many digits before the point, or for as
// many as there can be.
func precise(t iceberg.DecimalType, digits int) iceberg.Type {
	return iceberg.DecimalTypeOf(max(t.Precision(), min(digits+t.Scale(), maxPrecision)), t.Scale())
}

// asEvolved is the head with the columns that the load leaves it with: what
// survives of a straddling file is written with them, for that is how the load
// knows its own rows from others.
func (j *loading) asEvolved(head *table.Table) (*table.Table, error) {
	if !j.fit.evolved || j.creates {
		return head, nil
	}
	builder, err := j.evolvedBuilder(head)
	if err != nil {
		return nil, err
	}
	meta, err := builder.Build()
	if err != nil {
		return nil, err
	}
	return table.New(head.Identifier(), meta, head.MetadataLocation(), head.FS, j.Catalog), nil
}
