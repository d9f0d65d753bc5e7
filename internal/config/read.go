package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

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
