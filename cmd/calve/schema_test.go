package main

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(configSchema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("calve.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("calve.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate checks a calve.yaml by the schema, as an editor does.
func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	asJSON, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(string(asJSON)))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(instance)
}

// The schema has exactly the keys that calve knows, wherever they stand.
func TestSchemaHasTheKeysOfTheStructs(t *testing.T) {
	t.Parallel()
	var schema map[string]any
	if err := json.Unmarshal([]byte(configSchema), &schema); err != nil {
		t.Fatal(err)
	}
	sameKeys(t, schema, schema, reflect.TypeFor[config](), "the file")
}

// sameKeys compares a part of the schema with the type that it describes.
func sameKeys(t *testing.T, root, part map[string]any, typ reflect.Type, at string) {
	t.Helper()
	if ref, ok := part["$ref"].(string); ok && part["properties"] == nil {
		part = root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	switch typ.Kind() {
	case reflect.Pointer:
		sameKeys(t, root, part, typ.Elem(), at)
	case reflect.Map:
		if inner, ok := part["additionalProperties"].(map[string]any); ok {
			sameKeys(t, root, inner, typ.Elem(), at+".*")
		} else {
			t.Errorf("%s: the schema has no additionalProperties", at)
		}
	case reflect.Struct:
		properties, _ := part["properties"].(map[string]any)
		want := fieldNames(typ)
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(properties))); diff != "" {
			t.Errorf("%s: keys of calve and of the schema (-calve +schema):\n%s", at, diff)
		}
		if part["additionalProperties"] != false {
			t.Errorf("%s: the schema lets in other keys", at)
		}
		for i := range typ.NumField() {
			key, _, _ := strings.Cut(typ.Field(i).Tag.Get("yaml"), ",")
			if property, ok := properties[key].(map[string]any); ok {
				sameKeys(t, root, property, typ.Field(i).Type, at+"."+key)
			}
		}
	}
}

// What calve init writes and what the scenes have is good by the schema, apart
// from what they have wrong on purpose.
func TestSchemaTakesWhatCalveTakes(t *testing.T) {
	t.Parallel()
	s := compiledSchema(t)
	if err := validate(t, s, exampleConfig); err != nil {
		t.Errorf("calve.yaml of calve init: %v", err)
	}
	scenes, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scenes) == 0 {
		t.Fatal(scenes, err)
	}
	wrong := map[string]bool{
		"config_mistakes.txtar/calve.yaml":  true, // a key that is not known
		"config_mistakes.txtar/secret.yaml": true, // a catalog of no kind
		"columns_mistakes.txtar/key.yaml":   true,
		"derived_columns.txtar/wrong.yaml":  true,
		"columns_mistakes.txtar/fold.yaml":  true,
		"columns_mistakes.txtar/type.yaml":  true,
	}
	for _, scene := range scenes {
		archive, err := txtar.ParseFile(scene)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if !strings.HasSuffix(f.Name, ".yaml") {
				continue
			}
			name := filepath.Base(scene) + "/" + f.Name
			if err := validate(t, s, string(f.Data)); (err != nil) != wrong[name] {
				t.Errorf("%s: %v", name, err)
			}
			delete(wrong, name)
		}
	}
	for name := range wrong {
		t.Errorf("there is no %s any more", name)
	}
	if err := validate(t, s, oneLoad); err != nil {
		t.Error(err)
	}
}
