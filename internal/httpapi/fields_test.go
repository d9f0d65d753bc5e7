package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// fieldErrors compares the JSON fields of a struct with the properties of a
// schema, at every depth. Optional fields must be the properties that are not
// required.
func (d *document) fieldErrors(pointer string, value any) []string {
	return d.typeErrors(pointer, reflect.TypeOf(value))
}

func (d *document) typeErrors(pointer string, t reflect.Type) []string {
	node, pointer := d.find(strings.Split(strings.TrimPrefix(pointer, "/"), "/")...)
	schema, ok := node.(map[string]any)
	if !ok {
		return []string{pointer + " does not exist"}
	}
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return nil
	case t.Kind() == reflect.Pointer:
		return d.typeErrors(pointer, t.Elem())
	case t.Kind() == reflect.Slice:
		return d.typeErrors(pointer+"/items", t.Elem())
	case t.Kind() == reflect.Map:
		return d.typeErrors(pointer+"/additionalProperties", t.Elem())
	case t.Kind() == reflect.Struct:
		return d.structErrors(pointer, schema, t)
	}
	return nil
}

func (d *document) structErrors(pointer string, schema map[string]any, t reflect.Type) []string {
	var faults []string
	fields, required := map[string]reflect.Type{}, []string{}
	collectFields(t, fields, &required)
	properties, _ := schema["properties"].(map[string]any)
	if have, want := slices.Sorted(maps.Keys(fields)), slices.Sorted(maps.Keys(properties)); !slices.Equal(have, want) {
		faults = append(faults, fmt.Sprintf("%s has %q, %v has %q", pointer, want, t, have))
		return faults
	}
	var needed []string
	list, _ := schema["required"].([]any)
	for _, name := range list {
		needed = append(needed, name.(string))
	}
	slices.Sort(required)
	if slices.Sort(needed); !slices.Equal(required, needed) {
		faults = append(faults, fmt.Sprintf("%s requires %q, %v always has %q", pointer, needed, t, required))
	}
	for name, inner := range fields {
		faults = append(faults, d.typeErrors(pointer+"/properties/"+name, inner)...)
	}
	return faults
}

func collectFields(t reflect.Type, fields map[string]reflect.Type, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			collectFields(f.Type, fields, required)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		fields[name] = f.Type
		if !strings.Contains(options, "omitempty") {
			*required = append(*required, name)
		}
	}
}

// checkExamples checks each example against the schema in the same object and returns
// the number of examples.
func (d *document) checkExamples(t *testing.T, node any, pointer string) int {
	t.Helper()
	count := 0
	object, _ := node.(map[string]any)
	if example, ok := object["example"]; ok {
		count++
		schemaPointer := pointer // if the example is within a schema
		if _, hasSchema := object["schema"]; hasSchema {
			_, schemaPointer = d.find(append(splitPointer(pointer), "schema")...)
		}
		text, err := json.Marshal(example)
		if err == nil {
			err = d.validate(schemaPointer, text)
		}
		if err != nil {
			t.Errorf("the example at %s: %v", pointer, err)
		}
	}
	for key, child := range object {
		if key == "example" {
			continue
		}
		count += d.checkExamples(t, child, pointer+"/"+strings.ReplaceAll(key, "/", "~1"))
	}
	list, _ := node.([]any)
	for i, child := range list {
		count += d.checkExamples(t, child, fmt.Sprintf("%s/%d", pointer, i))
	}
	return count
}

// splitPointer splits a JSON pointer into its keys.
func splitPointer(pointer string) []string {
	keys := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range keys {
		keys[i] = strings.ReplaceAll(keys[i], "~1", "/")
	}
	return keys
}
