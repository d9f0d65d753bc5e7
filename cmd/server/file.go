package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readConfig returns the defaults, overridden by a configuration file. path "" means no file. It
// does not validate values. It stores unknown keys and wrong types in fileFaults.
func readConfig(path string) (config, error) {
	c := defaults()
	if path == "" {
		c.Limits.applyDefaults()
		return c, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("the configuration file cannot be read: %w", err)
	}
	if err := c.read(raw); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if c.fileFaults != nil {
		c.fileFaults = fmt.Errorf("%s: %w", path, c.fileFaults)
	}
	c.filePath, c.fileFolder = path, filepath.Dir(path)
	return c, nil
}

// read decodes the text of a configuration file into c, which has the defaults.
func (c *config) read(raw []byte) (err error) {
	if c.fileFaults, err = checkKeysAndTypes(raw); err != nil {
		return err
	}
	if err := decodeRightTypes(raw, c); err != nil {
		return err
	}
	if err := decodeRightTypes(raw, &c.fileKeys); err != nil {
		return err
	}
	c.Limits.applyDefaults()
	return c.readGames(raw)
}

// readGames decodes each game over the defaults of a game. Without a section games, c keeps its
// games.
func (c *config) readGames(raw []byte) error {
	var file struct {
		Games map[string]yaml.Node `yaml:"games"`
	}
	if err := decodeRightTypes(raw, &file); err != nil || file.Games == nil {
		return err
	}
	c.Games = make(map[string]gameConfig, len(file.Games))
	for name, node := range file.Games {
		game, err := readGame(node)
		if err != nil {
			return err
		}
		c.Games[name] = game
	}
	return nil
}

// readGame decodes a game over the defaults of a game. It applies the defaults of behaviours
// afterwards, because they depend on the sink and on whether there is a section behaviours.
func readGame(node yaml.Node) (gameConfig, error) {
	game := defaultGame()
	game.Behaviours = behavioursConfig{}
	var sections struct {
		Behaviours yaml.Node `yaml:"behaviours"`
	}
	if err := errors.Join(ignoreTypeErrors(node.Decode(&game)), ignoreTypeErrors(node.Decode(&sections))); err != nil {
		return game, err
	}
	game.Behaviours.applyDefaults(!sections.Behaviours.IsZero())
	for i := range game.Webhooks {
		game.Webhooks[i].applyDefaults()
	}
	return game, nil
}

// decode decodes YAML into a value. An empty text is valid.
func decode(raw []byte, into any) error {
	if err := yaml.NewDecoder(bytes.NewReader(raw)).Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// decodeRightTypes is decode, but leaves out values of wrong types, which checkKeysAndTypes lists.
func decodeRightTypes(raw []byte, into any) error {
	return ignoreTypeErrors(decode(raw, into))
}

// ignoreTypeErrors returns err, or nil if values of wrong types caused it.
func ignoreTypeErrors(err error) error {
	if _, ok := errors.AsType[*yaml.TypeError](err); ok {
		return nil
	}
	return err
}

// yamlKinds maps the type tags of YAML, without "!!", to words for error messages.
var yamlKinds = map[string]string{
	"str": "the text", "int": "the number", "float": "the number", "bool": "the value", "map": "a section", "seq": "a list",
	"null": "nothing", "timestamp": "the date", "binary": "binary data", "merge": "a merge",
}

// expectedKind describes the value that a configuration file must have for a Go type.
func expectedKind(goType string) string {
	switch {
	case strings.HasPrefix(goType, "int"):
		return "a whole number"
	case strings.HasPrefix(goType, "float"):
		return "a number"
	case goType == "bool":
		return "true or false"
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case strings.HasSuffix(goType, "string"), strings.HasSuffix(goType, "Order"), strings.HasSuffix(goType, "Window"):
		return "a text"
	}
	return "a section of fields"
}

// isSet reports whether the configuration file sets a key. Each element of path is one key; the
// last element may also be several keys with dots between them.
func (c *config) isSet(path ...string) bool {
	last := len(path) - 1
	path = append(path[:last:last], strings.Split(path[last], ".")...)
	var value any = c.fileKeys
	for _, key := range path {
		section, ok := value.(map[string]any)
		if !ok {
			return false
		}
		if value, ok = section[key]; !ok {
			return false
		}
	}
	return true
}

// resolvePath returns the path of a file that the configuration names. A relative path starts at
// the folder of the configuration file.
func (c *config) resolvePath(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.fileFolder, path)
}
