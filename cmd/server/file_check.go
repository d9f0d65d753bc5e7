package main

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// checkKeysAndTypes returns two errors. fatal means that the text is no YAML. faults lists all
// unknown keys, keys that are set twice and values of wrong types, with their lines.
func checkKeysAndTypes(raw []byte) (faults, fatal error) {
	var tree yaml.Node
	if err := decode(raw, &tree); err != nil {
		return nil, err
	}
	var all validationErrors
	err := decode(raw, new(config))
	typeErrors, ok := errors.AsType[*yaml.TypeError](err)
	if err != nil && !ok {
		return nil, err
	}
	if ok { // checkNode describes wrong types, with their keys
		for _, line := range typeErrors.Errors {
			if !wrongType.MatchString(line) {
				all.addf("%s", line)
			}
		}
	}
	for _, document := range tree.Content {
		all.checkNode(document, "", reflect.TypeFor[config]())
	}
	return all.join(), nil
}

// checkNode adds an error for each unknown key and each value of a wrong type below a node of
// YAML. path is the configuration key of the node, and t the type that it is decoded into.
func (e *validationErrors) checkNode(node *yaml.Node, path string, t reflect.Type) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	isSection := t.Kind() == reflect.Struct || t.Kind() == reflect.Map
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]()):
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
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		keyPath := strings.TrimPrefix(path+"."+key.Value, ".")
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

// unknownKey describes a key that a section, of a struct type, does not have.
func unknownKey(key, path string, t reflect.Type) string {
	text := "unknown field " + key
	if path != "" {
		text += " in " + path
	}
	var names []string
	for name := range fieldTypes(t) {
		names = append(names, name)
	}
	slices.Sort(names)
	if name := nearest(key, names); name != "" {
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
			for name, inlined := range fieldTypes(field.Type) {
				found[name] = inlined
			}
		} else if key != "" {
			found[key] = field.Type
		}
	}
	return found
}

// checkValue adds an error if a value does not decode into a type. The YAML library would
// silently remove the digits after the point of a whole number.
func (e *validationErrors) checkValue(node *yaml.Node, path string, t reflect.Type) {
	if node.Tag == "!!float" && (t.Kind() == reflect.Int || t.Kind() == reflect.Int64) {
		e.addf("line %d: %s: the number `%s` is not a whole number", node.Line, path, node.Value)
		return
	}
	typeErrors, ok := errors.AsType[*yaml.TypeError](node.Decode(reflect.New(t).Interface()))
	if !ok {
		return
	}
	for _, line := range typeErrors.Errors {
		if match := wrongType.FindStringSubmatch(line); match != nil {
			line = fmt.Sprintf("line %s: %s: %s%s is not %s", match[1], path, yamlKinds[match[2]], match[3], expectedKind(match[4]))
		}
		e.addf("%s", line)
	}
}

// wrongType matches the YAML library's error for a value of a wrong type.
var wrongType = regexp.MustCompile(`^line (\d+): cannot unmarshal !!(\w+)(.*) into (\S+)`)
