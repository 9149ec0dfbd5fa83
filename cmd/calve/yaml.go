package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// configError is a mistake in calve.yaml, with its place.
type configError struct {
	file         string
	line, column int // 0: about the whole file
	text         string
}

func (e configError) Error() string {
	if e.line == 0 {
		return fmt.Sprintf("%s: %s", e.file, e.text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.file, e.line, e.column, e.text)
}

func isConfig(err error) bool {
	var c configError
	return errors.As(err, &c)
}

// decoder fills structs from a YAML document, strictly: every key must be
// known, every value of the right form, and a scalar is the text that was
// written, so that 010 stays 010, null: is a key like any other, and a date
// stays text. Strings go through expand, with their place for its errors.
type decoder struct {
	file    string
	anchors map[string]ast.Node
	// expand replaces ${…} in a string; key is where it stands.
	expand func(key, text string, secret bool) (string, error)
}

// decode reads the only document of content into the struct that into points to.
func (d *decoder) decode(content []byte, into any) error {
	file, err := parser.ParseBytes(content, 0)
	if err != nil {
		var syntax yaml.Error
		if errors.As(err, &syntax) && syntax.GetToken() != nil {
			return d.at(syntax.GetToken(), "%s", syntax.GetMessage())
		}
		return configError{file: d.file, text: "not YAML"}
	}
	d.anchors = map[string]ast.Node{}
	filled := false
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if filled {
			return d.at(doc.Body.GetToken(), "a second YAML document: one file holds one")
		}
		if err := d.value(doc.Body, reflect.ValueOf(into).Elem(), "", false); err != nil {
			return err
		}
		filled = true
	}
	return nil
}

func (d *decoder) at(t *token.Token, format string, args ...any) error {
	return configError{d.file, t.Position.Line, t.Position.Column, fmt.Sprintf(format, args...)}
}

// value decodes one node into v. A null leaves v as it is: the key might as
// well not be there.
func (d *decoder) value(n ast.Node, v reflect.Value, key string, secret bool) error {
	n, err := d.resolve(n)
	if err != nil {
		return err
	}
	if _, null := n.(*ast.NullNode); null {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		if err := d.value(n, p.Elem(), key, secret); err != nil {
			return err
		}
		v.Set(p)
		return nil
	case reflect.Struct:
		if plain, ok := plainField(v); ok && !isMapping(n) {
			return d.value(n, plain, key, secret)
		}
		return d.mapping(n, key, func(k ast.Node, name string, value ast.Node) error {
			field, secret, known := fieldNamed(v, name)
			if !known {
				return d.unknown(k, name, key, fieldNames(v.Type()))
			}
			return d.value(value, field, join(key, name), secret)
		})
	case reflect.Map:
		m := reflect.MakeMap(v.Type())
		v.Set(m)
		return d.mapping(n, key, func(_ ast.Node, name string, value ast.Node) error {
			item := reflect.New(v.Type().Elem()).Elem()
			err := d.value(value, item, join(key, name), secret && soundsSecret(name))
			m.SetMapIndex(reflect.ValueOf(name), item)
			return err
		})
	case reflect.Slice:
		return d.list(n, v, key)
	}
	return d.scalar(n, v, key, secret)
}

// mapping calls each for every entry, those of merged mappings (<<) first.
func (d *decoder) mapping(n ast.Node, key string, each func(k ast.Node, name string, value ast.Node) error) error {
	var entries []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	default:
		return d.at(n.GetToken(), "%s holds keys and values, not a single value or a list", orFile(key))
	}
	for _, e := range entries {
		if _, merge := e.Key.(*ast.MergeKeyNode); !merge {
			continue
		}
		merged, err := d.resolve(e.Value)
		if err != nil {
			return err
		}
		if err := d.mapping(merged, key, each); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if _, merge := e.Key.(*ast.MergeKeyNode); merge {
			continue
		}
		if err := each(e.Key, scalarText(e.Key), e.Value); err != nil {
			return err
		}
	}
	return nil
}

// list decodes a sequence of strings; one item may be written without brackets.
func (d *decoder) list(n ast.Node, v reflect.Value, key string) error {
	items := []ast.Node{n}
	if seq, ok := n.(*ast.SequenceNode); ok {
		items = seq.Values
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		if _, null := item.(*ast.NullNode); null {
			return d.at(item.GetToken(), `%s holds a YAML null: write the word in quotes ("null"), or "" for nothing`, key)
		}
		if err := d.value(item, list.Index(i), key, false); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

func (d *decoder) scalar(n ast.Node, v reflect.Value, key string, secret bool) error {
	if _, ok := n.(ast.ScalarNode); !ok {
		return d.at(n.GetToken(), "%s is a single value, not a list or a mapping", key)
	}
	text, err := d.expand(key, scalarText(n), secret)
	if err != nil {
		return d.at(n.GetToken(), "%v", err)
	}
	if v.Kind() == reflect.Bool {
		b, err := strconv.ParseBool(text)
		if err != nil {
			return d.at(n.GetToken(), "%s is true or false", key)
		}
		v.SetBool(b)
		return nil
	}
	v.SetString(text)
	return nil
}

// resolve follows anchors, aliases and tags to the node that is meant.
func (d *decoder) resolve(n ast.Node) (ast.Node, error) {
	switch n := n.(type) {
	case *ast.AnchorNode:
		d.anchors[n.Name.GetToken().Value] = n.Value
		return d.resolve(n.Value)
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		meant, ok := d.anchors[name]
		if !ok {
			return nil, d.at(n.GetToken(), "no anchor &%s above", name)
		}
		return d.resolve(meant)
	case *ast.TagNode:
		return d.resolve(n.Value)
	}
	return n, nil
}

// unknown is the error for a key that is not one of known.
func (d *decoder) unknown(k ast.Node, name, in string, known []string) error {
	text := fmt.Sprintf("unknown key %q in %s", name, orFile(in))
	if near := nearest(name, known); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	} else {
		text += "; it knows " + strings.Join(known, ", ")
	}
	return d.at(k.GetToken(), "%s", text)
}

// scalarText is what was written, or for quoted text what the quotes hold.
func scalarText(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	}
	return n.GetToken().Value
}

// plainField is the field of a struct that a value which is no mapping goes to.
func plainField(v reflect.Value) (field reflect.Value, ok bool) {
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("yaml") == ",plain" {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

func isMapping(n ast.Node) bool {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

func fieldNamed(v reflect.Value, name string) (field reflect.Value, secret, ok bool) {
	for i := range v.NumField() {
		tag, option, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if tag != "" && tag == name {
			return v.Field(i), option == "secret", true
		}
	}
	return reflect.Value{}, false, false
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); tag != "" {
			names = append(names, tag)
		}
	}
	return names
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func orFile(key string) string {
	if key == "" {
		return "the file"
	}
	return key
}

// nearest returns the name that text is most likely a slip of, or "".
func nearest(text string, names []string) string {
	best, least := "", 1+max(2, len(text)/3)
	for _, name := range slices.Sorted(slices.Values(names)) {
		if d := distance(text, name); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace, or swap with their
// neighbour, to turn a into b.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			same := 1
			if a[i-1] == b[j-1] {
				same = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+same)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
