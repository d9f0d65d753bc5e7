package main

import "fmt"

// missing returns the error for something that a command names and the configuration lacks.
func (c *config) missing(what string) error {
	if c.filePath == "" {
		return fmt.Errorf("%s is not in the configuration: no --config was given", what)
	}
	return fmt.Errorf("%s is not in %s", what, c.filePath)
}

// checkGame returns an error if the configuration lacks a game.
func (c *config) checkGame(name string) error {
	if _, known := c.Games[name]; known {
		return nil
	}
	err := c.missing(fmt.Sprintf("game %q", name))
	if near := nearest(name, c.gameNames()); near != "" {
		return fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return err
}
