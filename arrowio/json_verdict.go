package arrowio

import (
	"github.com/apache/arrow-go/v18/arrow"
)

// follow adds what was seen of the values that come next.
func (g *guess) follow(next *guess) {
	for _, form := range next.forms {
		g.note(form, func() sighting { return next.first[form] })
	}
	g.values.follow(next.values)
	for _, part := range next.parts {
		g.part(part.name).follow(part)
	}
}

// verdict returns the type of all values and the first value at which it was
// settled. The error is of values that no type holds.
func (g *guess) verdict() (t arrow.DataType, why string, err error) {
	switch len(g.forms) {
	case 0:
		return arrow.BinaryTypes.String, "no value in any file", nil
	case 1:
	default:
		return nil, "", g.mixed()
	}
	first := g.first[g.forms[0]]
	switch g.forms[0] {
	case jsonBool:
		return arrow.FixedWidthTypes.Boolean, first.String(), nil
	case jsonObject:
		t, err = g.structType()
		return t, first.String(), err
	case jsonList:
		element := arrow.DataType(arrow.BinaryTypes.String)
		if len(g.parts) > 0 {
			element, _, err = g.parts[0].verdict()
		}
		if err != nil {
			return nil, "", err
		}
		return arrow.ListOf(element), first.String(), nil
	}
	t, why = g.values.verdict()
	if g.forms[0] == jsonNumber && t.ID() == arrow.STRING {
		return nil, "", inputErrorf("column %q: with %s there is no type that holds all its numbers exactly: declare one, such as double", g.path, why)
	}
	return t, why, nil
}

func (g *guess) structType() (arrow.DataType, error) {
	if len(g.parts) == 0 {
		return nil, inputErrorf("column %q: %s and all others are empty, and a struct needs fields: leave the key out of the source", g.path, g.first[jsonObject])
	}
	fields := make([]arrow.Field, len(g.parts))
	for i, part := range g.parts {
		t, _, err := part.verdict()
		if err != nil {
			return nil, err
		}
		fields[i] = arrow.Field{Name: part.name, Type: t, Nullable: true}
	}
	return arrow.StructOf(fields...), nil
}

// mixed is the error of a column whose values are of several forms.
func (g *guess) mixed() error {
	a, b := g.forms[0], g.forms[1]
	return inputErrorf("column %q: %s is %s, and %s is %s: a column has one type, so write its values alike",
		g.path, g.first[a], a, g.first[b], b)
}

// String names a form, with an article.
func (f jsonForm) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an object", "a list"}[f]
}
