package arrowio

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// deepest is how deep objects and lists may stand in each other where a table is
// made of them.
const deepest = 64

// guess is what was seen of a column, or of a part of one.
type guess struct {
	name, path string
	// first is the first value of each form, and forms lists those that were seen.
	first [jsonList + 1]sighting
	forms []jsonForm
	// values is what was seen of strings and numbers.
	values evidence
	// parts are an object's keys in the order of their appearance, or a list's
	// element.
	parts  []*guess
	byName map[string]*guess
	text   []byte
}

// add adds a value that is no object and no list; here shows where it is.
func (g *guess) add(t token, here func(shown string) sighting) {
	if t.form == jsonNull {
		return
	}
	see := func() sighting { return here(shownToken(t)) }
	g.note(t.form, see)
	if t.form != jsonBool && !g.values.shape.isText() {
		g.values.add(t.shape(), see)
	}
}

// note remembers the first value of a form.
func (g *guess) note(form jsonForm, see func() sighting) {
	if !slices.Contains(g.forms, form) {
		g.forms = append(g.forms, form)
		g.first[form] = see()
	}
}

// shape returns the shape of a string or a number. What is in quotes is no
// number, and what is not is no date.
func (t *token) shape() shape {
	if t.form == jsonNumber {
		if n, ok := splitNumber(t.text); ok {
			return n.shape(t.text)
		}
		return shape{forms: formText}
	}
	if m, ok := parseMoment(t.text); ok {
		return m.shape()
	}
	return shape{forms: formText}
}

// read adds the next value of d, of any form.
func (g *guess) read(d *jsontext.Decoder, here func(string) sighting, depth int) error {
	if depth > deepest {
		return &cellProblem{g.path, fmt.Sprintf("objects and lists stand in each other more than %d deep", deepest)}
	}
	k := d.PeekKind()
	if k != '{' && k != '[' {
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		reader := node{text: g.text}
		t, err := reader.token(value)
		g.text = reader.text
		if err == nil {
			g.add(t, here)
		}
		return err
	}
	form := jsonObject
	if k == '[' {
		form = jsonList
	}
	g.note(form, func() sighting { return here(shownStart(bytes.TrimLeft(d.UnreadBuffer(), ":, \t\r"))) })
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for end := k + 2; d.PeekKind() != end && d.PeekKind() != 0; { // the closing bracket is two after the opening one
		part, err := g.next(d, form)
		if err != nil {
			return err
		}
		if err := part.read(d, here, depth+1); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// next returns the part for the next value of d, an object's after its key.
func (g *guess) next(d *jsontext.Decoder, form jsonForm) (*guess, error) {
	name := "element"
	if form == jsonObject {
		t, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		name = t.String()
	}
	part := g.part(name)
	switch {
	case name == "":
		return nil, &cellProblem{g.path, "an object has an empty key, and a column needs a name"}
	case len(g.parts) > mostKeys:
		return nil, &cellProblem{g.path, tooManyKeys}
	}
	return part, nil
}

// part returns the part of a name.
func (g *guess) part(name string) *guess {
	part, ok := g.byName[name]
	if !ok {
		part = &guess{name: name, path: g.path + "." + name}
		if g.byName == nil {
			g.byName = map[string]*guess{}
		}
		g.byName[name] = part
		g.parts = append(g.parts, part)
	}
	return part
}
