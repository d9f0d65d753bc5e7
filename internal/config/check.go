package config

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// checkKeysAndTypes returns an error that lists all unknown keys, keys that are set twice and
// values of wrong types in a file, with their lines.
func checkKeysAndTypes(file *yaml.Node) error {
	var all validationErrors
	for _, document := range file.Content {
		all.checkNode(document, "", reflect.TypeFor[Config]())
	}
	return all.join()
}

// checkNode adds an error for each unknown key and each value of a wrong type below a node of
// YAML. The node has the configuration key path and is decoded into the type t.
func (e *validationErrors) checkNode(node *yaml.Node, path string, t reflect.Type) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	isSection := t.Kind() == reflect.Struct || t.Kind() == reflect.Map
	switch {
	case t == reflect.TypeFor[DryRun]():
		e.checkValue(node, path, t)
	case isSection && node.Kind == yaml.MappingNode:
		e.checkSection(node, path, t)
	case t.Kind() == reflect.Slice && node.Kind == yaml.SequenceNode:
		for _, element := range node.Content {
			e.checkNode(element, path, t.Elem())
		}
	default:
		e.checkValue(node, path, t)
	}
}

// checkSection is checkNode for the keys and values of a section.
func (e *validationErrors) checkSection(node *yaml.Node, path string, t reflect.Type) {
	lines := make(map[string]int)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		keyPath := strings.TrimPrefix(path+"."+key.Value, ".")
		if first, isSet := lines[key.Value]; isSet {
			e.addf("line %d: mapping key %q already defined at line %d", key.Line, key.Value, first)
		}
		lines[key.Value] = key.Line
		if key.Tag == "!!merge" {
			e.checkMerged(value, path, t)
			continue
		}
		if t.Kind() == reflect.Map {
			e.checkNode(value, keyPath, t.Elem())
			continue
		}
		if field, known := fieldTypes(t)[key.Value]; known {
			e.checkNode(value, keyPath, field)
			continue
		}
		e.addf("line %d: %s", key.Line, unknownKey(key.Value, path, t))
	}
}

// checkMerged is checkNode for the value of a merge key (<<): a section or a list of sections.
func (e *validationErrors) checkMerged(value *yaml.Node, path string, t reflect.Type) {
	sections := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		sections = value.Content
	}
	for _, section := range sections {
		e.checkNode(section, path, t)
	}
}

func unknownKey(key, path string, t reflect.Type) string {
	text := "unknown field " + key
	if path != "" {
		text += " in " + path
	}
	if name := nearest(key, slices.Sorted(maps.Keys(fieldTypes(t)))); name != "" {
		text += "; did you mean " + name + "?"
	}
	return text
}

// fieldTypes returns the types of a struct's fields by their configuration keys.
func fieldTypes(t reflect.Type) map[string]reflect.Type {
	found := make(map[string]reflect.Type)
	for field := range t.Fields() {
		key, options := yamlKey(field)
		if options == "inline" {
			maps.Copy(found, fieldTypes(field.Type))
		} else if key != "" {
			found[key] = field.Type
		}
	}
	return found
}

// checkValue adds an error if a value does not decode into a type. The YAML library would
// silently remove the digits after the point of a whole number.
func (e *validationErrors) checkValue(node *yaml.Node, path string, t reflect.Type) {
	isTruncated := node.Tag == "!!float" && (t.Kind() == reflect.Int || t.Kind() == reflect.Int64)
	if _, ok := errors.AsType[*yaml.TypeError](node.Decode(reflect.New(t).Interface())); ok || isTruncated {
		e.addf("line %d: %s: %s is not %s", node.Line, path, describeValue(node), expectedValue(t))
	}
}

func describeValue(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.MappingNode:
		return "a section"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.Tag == "!!int" || node.Tag == "!!float":
		return "the number `" + node.Value + "`"
	}
	return "the text `" + node.Value + "`"
}

func expectedValue(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return "a text"
	}
	if t == reflect.TypeFor[DryRun]() {
		return "true or false or a list of rules"
	}
	return "a section of fields"
}

// nearest returns the name of a list that most resembles a misspelt one, or "" if none is near:
// within a third of its characters.
func nearest(misspelt string, names []string) string {
	best, bestDistance := "", len(misspelt)/3+1
	for _, name := range names {
		if d := editDistance(misspelt, name); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// editDistance returns how many bytes must be inserted, removed or replaced to turn a into b
// (the Levenshtein distance).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
