package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"go.yaml.in/yaml/v3"
)

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
	if err := c.decode(raw); err != nil { // the text is no YAML
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if c.fileFaults != nil {
		c.fileFaults = fmt.Errorf("%s: %w", path, c.fileFaults)
	}
	c.filePath = path
	return c, nil
}

// decode decodes the text of a configuration file into c, which has the defaults. Without
// a section games, c keeps its games.
func (c *Config) decode(raw []byte) error {
	var file yaml.Node
	if err := decodeYAML(raw, &file); err != nil {
		return err
	}
	defaultGames := c.Games
	c.Games = nil
	if err := ignoreTypeErrors(decodeYAML(raw, c)); err != nil {
		return err
	}
	c.fileFaults = checkKeysAndTypes(&file)
	c.Limits.applyDefaults()
	if !hasKey(&file, "games") {
		c.Games = defaultGames
	}
	for name, game := range c.Games {
		if reflect.ValueOf(game).IsZero() { // the file has the name without a section
			c.Games[name] = DefaultGame()
		}
	}
	return nil
}

// UnmarshalYAML decodes a game over the defaults of a game. It applies the defaults of
// behaviours afterwards, because they depend on the sink and on whether there is a section
// behaviours.
func (g *Game) UnmarshalYAML(node *yaml.Node) error {
	type fields Game
	*g = DefaultGame()
	g.Behaviours = Behaviours{}
	err := node.Decode((*fields)(g))
	g.Behaviours.applyDefaults(hasKey(node, "behaviours"))
	for i := range g.Webhooks {
		g.Webhooks[i].applyDefaults()
	}
	return ignoreTypeErrors(err)
}

// hasKey returns true if a section has a key, also if the key has no value.
func hasKey(section *yaml.Node, key string) bool {
	var values map[string]yaml.Node
	_ = section.Decode(&values) // checkKeysAndTypes reports errors
	_, ok := values[key]
	return ok
}

// decodeYAML decodes YAML into a value. An empty text is valid.
func decodeYAML(raw []byte, into any) error {
	if err := yaml.NewDecoder(bytes.NewReader(raw)).Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// ignoreTypeErrors returns err, or nil if values of wrong types caused it. The decoder leaves
// these values out; checkKeysAndTypes lists them.
func ignoreTypeErrors(err error) error {
	if _, ok := errors.AsType[*yaml.TypeError](err); ok {
		return nil
	}
	return err
}

// resolvePath returns the path of a file that the configuration names. A relative path starts at
// the folder of the configuration file. "credential:NAME" is a credential of systemd.
func (c *Config) resolvePath(path string) string {
	path = credentialPath(path)
	if filepath.IsAbs(path) || c.filePath == "" {
		return path
	}
	return filepath.Join(filepath.Dir(c.filePath), path)
}
