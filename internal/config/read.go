package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"

	"laststand/internal/webhook"
)

// sourceFile is the file that a configuration was read from. Settings name further files, whose
// relative paths start at its folder.
type sourceFile struct {
	path   string // "": none
	faults error  // unknown keys and wrong types; nil: none
}

// Read returns the defaults, overridden by a configuration file. path "" means no file. It
// does not validate values; Validate also reports unknown keys and values of wrong types.
func Read(path string) (Config, error) {
	if path == "" {
		return Default(), nil
	}
	c := defaultWithUnsetLimits()
	raw, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("the configuration file cannot be read: %w", err)
	}
	if err := decode(raw, &c); err != nil { // the text is no YAML
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if c.file.faults != nil {
		c.file.faults = fmt.Errorf("%s: %w", path, c.file.faults)
	}
	c.file.path = path
	return c, nil
}

// decode decodes the text of a configuration file into c, which has the defaults. It returns an
// error if the text is no YAML, and stores other faults in c.
func decode(raw []byte, c *Config) error {
	var file yaml.Node
	if err := yaml.Unmarshal(raw, &file); err != nil {
		return err
	}
	err := yaml.Unmarshal(raw, new(any)) // refuses aliases that contain themselves, or too many
	if _, isTypeError := errors.AsType[*yaml.TypeError](err); err != nil && !isTypeError {
		return err
	}
	var d decoder
	for _, document := range file.Content {
		d.decode(document, "", reflect.ValueOf(c).Elem())
	}
	c.file.faults = d.faults.join()
	c.Limits.applyDefaults()
	return nil
}

// decodeGame decodes a game over the defaults of a game. It applies the defaults of behaviours
// afterwards, because they depend on the sink and on whether there is a section behaviours.
func (d *decoder) decodeGame(node *yaml.Node, path string, g *Game) {
	*g = DefaultGame()
	g.Behaviours = Behaviours{}
	d.decode(node, path, reflect.ValueOf(g).Elem())
	g.Behaviours.applyDefaults(hasKey(node, "behaviours"))
	for i := range g.Webhooks {
		if h := &g.Webhooks[i]; h.Events == nil {
			h.Events = webhook.EventTypes()
		}
	}
}

// hasKey returns true if a section has a key, also if the key has no value.
func hasKey(section *yaml.Node, key string) bool {
	var values map[string]yaml.Node
	_ = section.Decode(&values) // the decoder reports errors
	_, ok := values[key]
	return ok
}

// resolve returns the path of a file that the configuration names. A relative path starts at
// the folder of the configuration file. "credential:NAME" is a credential of systemd.
func (f sourceFile) resolve(path string) string {
	path = credentialPath(path)
	if filepath.IsAbs(path) || f.path == "" {
		return path
	}
	return filepath.Join(filepath.Dir(f.path), path)
}

// A decoder decodes a configuration file. It leaves out unknown keys, keys that are set twice and
// values of wrong types, and lists them with their lines.
type decoder struct{ faults validationErrors }

// decode decodes a node of YAML into v. The node has the configuration key path.
func (d *decoder) decode(node *yaml.Node, path string, v reflect.Value) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch {
	case node.Kind == yaml.MappingNode && v.Kind() == reflect.Struct:
		d.decodeKeys(node, path, v, make(map[string]bool))
	case node.Kind == yaml.MappingNode && v.Kind() == reflect.Map: // of games
		v.Set(reflect.MakeMap(v.Type()))
		d.decodeKeys(node, path, v, make(map[string]bool))
	case node.Kind == yaml.SequenceNode && v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), len(node.Content), len(node.Content)))
		for i, element := range node.Content {
			d.decode(element, path, v.Index(i))
		}
	default:
		d.decodeValue(node, path, v)
	}
}

// decodeKeys decodes the keys of a section that are not set yet: first its own, then those of
// the sections that it merges (<<). A merged section sets whole keys, also if their values are
// sections. The first of several merged sections has precedence.
func (d *decoder) decodeKeys(node *yaml.Node, path string, v reflect.Value, isSet map[string]bool) {
	var merged []*yaml.Node
	lines := make(map[string]int)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if first, isRepeated := lines[key.Value]; isRepeated {
			d.faults.addf("line %d: mapping key %q already defined at line %d", key.Line, key.Value, first)
		}
		lines[key.Value] = key.Line
		switch {
		case key.Tag == "!!merge" && value.Kind == yaml.SequenceNode:
			merged = append(merged, value.Content...)
		case key.Tag == "!!merge":
			merged = append(merged, value)
		case !isSet[key.Value]:
			d.decodeKey(key, value, path, v)
		}
	}
	for key := range lines {
		isSet[key] = true
	}
	for _, section := range merged {
		if section.Kind == yaml.AliasNode {
			section = section.Alias
		}
		d.decodeKeys(section, path, v, isSet)
	}
}

func (d *decoder) decodeKey(key, value *yaml.Node, path string, v reflect.Value) {
	keyPath := strings.TrimPrefix(path+"."+key.Value, ".")
	if v.Kind() == reflect.Map {
		var g Game
		d.decodeGame(value, keyPath, &g)
		v.SetMapIndex(reflect.ValueOf(key.Value), reflect.ValueOf(g))
		return
	}
	fields := make(map[string]reflect.Value)
	for field := range fieldsOf("", v) {
		fields[field.path] = field.value
	}
	if field, known := fields[key.Value]; known {
		d.decode(value, keyPath, field)
		return
	}
	text := "unknown field " + key.Value
	if path != "" {
		text += " in " + path
	}
	if name := nearest(key.Value, slices.Sorted(maps.Keys(fields))); name != "" {
		text += "; did you mean " + name + "?"
	}
	d.faults.addf("line %d: %s", key.Line, text)
}

// decodeValue decodes a value that has no keys. The YAML library would silently remove the digits
// after the point of a whole number.
func (d *decoder) decodeValue(node *yaml.Node, path string, v reflect.Value) {
	isTruncated := node.Tag == "!!float" && v.CanInt()
	if _, ok := errors.AsType[*yaml.TypeError](node.Decode(v.Addr().Interface())); ok || isTruncated {
		d.faults.addf("line %d: %s: %s is not %s", node.Line, path, describeValue(node), expectedValue(v.Type()))
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
	if t == reflect.TypeFor[DryRun]() {
		return "true or false or a list of rules"
	}
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
	return "a section of fields"
}

// nearest returns the name of a list that most resembles a misspelt one, or "" if none is near:
// within a third of its characters.
func nearest(misspelt string, names []string) string {
	best, bestDistance := "", len(misspelt)/3+1
	for _, name := range names {
		if d := levenshtein.ComputeDistance(misspelt, name); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}
