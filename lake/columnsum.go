package lake

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
)

// ColumnSum is what a column's values come to.
type ColumnSum struct {
	// Values is how many there are; NULLs are none.
	Values int64
	// Sum is their sum, exact for integers and decimals; how many are true for
	// booleans; empty for columns that have no sum.
	Sum string
}

// columnSummer sums one column of a side.
type columnSummer struct {
	field    iceberg.NestedField
	digester *Digester
	values   int64
	exact    big.Int
	small    int64 // not in exact yet
	float    float64
}

// newColumnSummers makes one for each column that is not volatile.
func newColumnSummers(sc *iceberg.Schema, volatile []int) ([]*columnSummer, error) {
	var out []*columnSummer
	for _, f := range sc.Fields() {
		if slices.Contains(volatile, f.ID) {
			continue
		}
		d, err := NewDigester(iceberg.NewSchema(0, f))
		if err != nil {
			return nil, err
		}
		out = append(out, &columnSummer{field: f, digester: d})
	}
	return out, nil
}

// digest is that of the column's values alone.
func (c *columnSummer) digest() Digest {
	if c.digester == nil {
		return Digest{}
	}
	return c.digester.Digest()
}

// add adds the column of a batch, if it has it.
func (c *columnSummer) add(rec arrow.RecordBatch) error {
	at := rec.Schema().FieldIndices(c.field.Name)
	if len(at) != 1 {
		return fmt.Errorf("column %q is not in the rows that were read: %w", c.field.Name, ErrSchema)
	}
	column := rec.Column(at[0])
	one := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{rec.Schema().Field(at[0])}, nil), []arrow.Array{column}, rec.NumRows())
	defer one.Release()
	if err := c.digester.Add(one); err != nil {
		return err
	}
	c.values += int64(column.Len() - column.NullN())
	for i := range column.Len() {
		if column.IsValid(i) {
			c.addValue(column, i)
		}
	}
	return nil
}

func (c *columnSummer) addValue(column arrow.Array, i int) {
	switch a := column.(type) {
	case *array.Int32:
		c.addInt(int64(a.Value(i)))
	case *array.Int64:
		c.addInt(a.Value(i))
	case *array.Decimal128:
		c.exact.Add(&c.exact, a.Value(i).BigInt())
	case *array.Float32:
		c.float += float64(a.Value(i))
	case *array.Float64:
		c.float += a.Value(i)
	case *array.Boolean:
		if a.Value(i) {
			c.small++
		}
	}
}

func (c *columnSummer) addInt(v int64) {
	sum := c.small + v
	if (sum > c.small) != (v > 0) && v != 0 { // overflow
		c.exact.Add(&c.exact, big.NewInt(c.small))
		sum = v
	}
	c.small = sum
}

func (c *columnSummer) sum() ColumnSum {
	s := ColumnSum{Values: c.values}
	exact := new(big.Int).Add(&c.exact, big.NewInt(c.small))
	switch t := c.field.Type.(type) {
	case iceberg.Int32Type, iceberg.Int64Type, iceberg.BooleanType:
		s.Sum = exact.String()
	case iceberg.DecimalType:
		s.Sum = decimalText(exact, t.Scale())
	case iceberg.Float32Type, iceberg.Float64Type:
		s.Sum = strconv.FormatFloat(c.float, 'g', -1, 64)
	}
	return s
}

// decimalText writes an unscaled number with its point.
func decimalText(unscaled *big.Int, scale int) string {
	if scale == 0 {
		return unscaled.String()
	}
	digits := new(big.Int).Abs(unscaled).String()
	for len(digits) <= scale {
		digits = "0" + digits
	}
	sign := ""
	if unscaled.Sign() < 0 {
		sign = "-"
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}
