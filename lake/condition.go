package lake

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
)

// condition is what [Load.DeleteWhen] says of a row: a column has one of some
// values, or any.
type condition struct {
	field  iceberg.NestedField
	values []equality // none: any value that is not NULL
}

var conditionForm = regexp.MustCompile(`(?is)^\s*("(?:[^"]|"")+"|[^\s=]+)\s*(?:=\s*(.+?)|in\s*\((.+)\)|(is\s+not\s+null))\s*$`)

var constantForm = regexp.MustCompile(`(?is)^\s*(?:'((?:[^']|'')*)'|([-+]?[0-9][-+.0-9e]*|true|false))\s*(?:,|$)`)

// newCondition reads COLUMN = 'VALUE', COLUMN IN ('VALUE', …) or COLUMN IS NOT
// NULL, for a column of sc.
func newCondition(sc *iceberg.Schema, text string) (*condition, error) {
	m := conditionForm.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("delete_when %q is not COLUMN = 'VALUE', COLUMN IN ('VALUE', 'VALUE') or COLUMN IS NOT NULL: %w", text, ErrUsage)
	}
	name := m[1]
	if strings.HasPrefix(name, `"`) {
		name = strings.ReplaceAll(name[1:len(name)-1], `""`, `"`)
	}
	field, ok := findField(sc, name)
	if !ok {
		return nil, fmt.Errorf("delete_when %q: the table has no column %q; it has %s: %w", text, name, columnNames(sc), ErrUsage)
	}
	c := &condition{field: field}
	if m[4] != "" {
		return c, nil
	}
	values, err := constants(m[2] + m[3])
	if err != nil || m[2] != "" && len(values) > 1 {
		return nil, fmt.Errorf("delete_when %q: values are written 'D', 1 or true, with commas between several: %w", text, ErrUsage)
	}
	for _, v := range values {
		eq, err := newEquality(sc, field.Name, v)
		if err != nil {
			return nil, fmt.Errorf("delete_when %q: %w", text, err)
		}
		c.values = append(c.values, eq)
	}
	return c, nil
}

// constants reads a list of constants.
func constants(text string) (values []string, err error) {
	for text != "" {
		m := constantForm.FindStringSubmatch(text)
		if m == nil {
			return nil, ErrUsage
		}
		if m[2] != "" {
			values = append(values, m[2])
		} else {
			values = append(values, strings.ReplaceAll(m[1], "''", "'"))
		}
		text = text[len(m[0]):]
	}
	return values, nil
}

// bind returns which rows of a batch the condition holds for; a nil condition
// holds for none.
func (c *condition) bind(sc *iceberg.Schema, rec arrow.RecordBatch) func(row int) bool {
	if c == nil {
		return func(int) bool { return false }
	}
	a := rec.Column(columnIndex(sc, c.field.ID))
	if len(c.values) == 0 {
		return a.IsValid
	}
	var equal []func(int) bool
	for _, eq := range c.values {
		equal = append(equal, equalTo(a, eq))
	}
	return func(row int) bool {
		for _, eq := range equal {
			if eq(row) {
				return true
			}
		}
		return false
	}
}
