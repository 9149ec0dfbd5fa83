package arrowio

import (
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/go-json-experiment/json/jsontext"
)

// node is a column that is not flat, or a part of one, and the builder of its
// values. Structs are read from objects, by the names of their fields, and so
// are maps with text as keys; lists are read from lists.
type node struct {
	name string
	// path names the node as Iceberg does: a.b, list.element, map.value.
	path     string
	typ      arrow.DataType
	kind     kind
	nullable bool
	zone     *time.Location
	builder  array.Builder
	// parts are a struct's fields, a list's element, or a map's value.
	parts  []*node
	byName map[string]*node
	// object is the number of the object that is being read, and seen that of the
	// last one that had this field.
	object, seen int
	// text is where strings with escapes are put together.
	text []byte
}

// newNode returns the node of a field.
func newNode(f arrow.Field, path string, zone *time.Location) (*node, error) {
	n := &node{name: f.Name, path: path, typ: f.Type, kind: kindOf(f.Type), nullable: f.Nullable, zone: zone}
	var inner []arrow.Field
	switch t := f.Type.(type) {
	case *arrow.StructType:
		inner = t.Fields()
	case *arrow.ListType:
		inner = []arrow.Field{t.ElemField()}
		inner[0].Name = "element"
	case *arrow.MapType:
		if t.KeyType().ID() != arrow.STRING {
			return nil, fmt.Errorf("a map whose keys are no strings cannot be read from NDJSON, which has objects with text as keys")
		}
		inner = []arrow.Field{t.ItemField()}
		inner[0].Name = "value"
	case *arrow.BinaryType, *arrow.FixedSizeBinaryType:
	default:
		if n.kind == kindNone {
			return nil, fmt.Errorf("%s cannot be read from NDJSON", columnsOf(f.Type))
		}
	}
	n.byName = make(map[string]*node, len(inner))
	for _, g := range inner {
		part, err := newNode(g, path+"."+g.Name, zone)
		if err != nil {
			return nil, err
		}
		n.parts = append(n.parts, part)
		n.byName[g.Name] = part
	}
	return n, nil
}

// bind makes b the builder of the node, and what is inside it of the parts.
func (n *node) bind(b array.Builder) {
	n.builder = b
	switch b := b.(type) {
	case *array.StructBuilder:
		for i, part := range n.parts {
			part.bind(b.FieldBuilder(i))
		}
	case *array.ListBuilder:
		n.parts[0].bind(b.ValueBuilder())
	case *array.MapBuilder:
		n.parts[0].bind(b.ItemBuilder())
	}
}

// build appends the value at pos, which t is or begins, to the column.
func (p *jsonParser) build(c *jsonColumn, t token, pos int) (end int, err error) {
	if t.form == jsonObject || t.form == jsonList {
		return p.nested(c.field.Name, pos, c.root.read)
	}
	if err := c.root.scalar(t); err != nil {
		return pos, p.nestedError(c.field.Name, pos, err)
	}
	return t.end, nil
}

// read appends the next value.
func (n *node) read(d *jsontext.Decoder) error {
	switch k := d.PeekKind(); {
	case k == '{' && n.typ.ID() == arrow.STRUCT:
		return n.readStruct(d)
	case k == '{' && n.typ.ID() == arrow.MAP:
		return n.readMap(d)
	case k == '[' && n.typ.ID() == arrow.LIST:
		return n.readList(d)
	}
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	t, err := n.token(value)
	if err != nil {
		return err
	}
	return n.scalar(t)
}

// token takes a value of the decoder, which has checked it, for what it is.
func (n *node) token(value jsontext.Value) (t token, err error) {
	t = token{text: value, end: len(value)}
	switch value.Kind() {
	case 'n':
		t.form = jsonNull
	case 't', 'f':
		t.form = jsonBool
	case '0':
		t.form = jsonNumber
	case '{':
		t.form = jsonObject
	case '[':
		t.form = jsonList
	case '"':
		t.form = jsonString
		n.text, err = jsontext.AppendUnquote(n.text[:0], value)
		t.text = n.text
	}
	return t, err
}

func (n *node) readStruct(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	n.builder.(*array.StructBuilder).Append(true)
	n.object++
	for d.PeekKind() == '"' {
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		name, err := n.token(value)
		if err != nil {
			return err
		}
		part, err := n.part(name.text)
		if err != nil {
			return err
		}
		part.seen = n.object
		if err := part.read(d); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for _, part := range n.parts {
		switch {
		case part.seen == n.object:
		case !part.nullable:
			return &cellProblem{part.path, "an object lacks the key, and the column is required"}
		default:
			part.builder.AppendNull()
		}
	}
	return nil
}

// part returns the field of a struct for a key, which the object at hand has
// not had yet. Case counts only where two fields differ by it alone.
func (n *node) part(key []byte) (*node, error) {
	found := n.byName[string(key)]
	if found == nil {
		var names []string
		matches := 0
		for _, part := range n.parts {
			names = append(names, part.name)
			if strings.EqualFold(part.name, string(key)) {
				found, matches = part, matches+1
			}
		}
		if matches != 1 {
			return nil, &cellProblem{n.path, fmt.Sprintf("an object has the key %s, and the column has %s: add it to the table, or leave it out of the source", shown(key), strings.Join(names, ", "))}
		}
	}
	if found.seen == n.object {
		return nil, &cellProblem{found.path, fmt.Sprintf("the key %s occurs twice in an object, in upper and lower case", shown(key))}
	}
	return found, nil
}

func (n *node) readMap(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	b := n.builder.(*array.MapBuilder)
	b.Append(true)
	for d.PeekKind() == '"' {
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		key, err := n.token(value)
		if err != nil {
			return err
		}
		b.KeyBuilder().(*array.StringBuilder).BinaryBuilder.Append(key.text)
		if err := n.parts[0].read(d); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

func (n *node) readList(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	n.builder.(*array.ListBuilder).Append(true)
	for k := d.PeekKind(); k != ']' && k != 0; k = d.PeekKind() {
		if err := n.parts[0].read(d); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}
