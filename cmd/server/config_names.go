package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"laststand/internal/nickname"
)

// gameNames is what names of players may not hold.
type gameNames struct {
	Lists []string `yaml:"lists,flow"`
	Files []string `yaml:"files,flow,omitempty"`
	Allow []string `yaml:"allow,flow,omitempty"`
}

func defaultNames() gameNames { return gameNames{Lists: nickname.Lists()} }

const maxWordFile = 2 << 20 // bytes

// words reads the lists of a game. It tells all that is wrong with them.
func (c *config) words(game string) (*nickname.Words, error) {
	g := c.Games[game].Names
	lists := nickname.WordsConfig{Lists: g.Lists, Allow: g.Allow}
	var faults []error
	for _, file := range g.Files {
		text, err := readWords(c.beside(file))
		if err != nil {
			faults = append(faults, fmt.Errorf("files: %s: %w", file, err))
			continue
		}
		lists.Own = append(lists.Own, nickname.WordList{Name: "files: " + file, Text: text})
	}
	w, err := nickname.NewWords(lists)
	return w, errors.Join(append(faults, err)...)
}

func readWords(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("it cannot be read: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxWordFile+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("it cannot be read: %w", err)
	case len(text) > maxWordFile:
		return "", fmt.Errorf("it is over %d MiB", maxWordFile>>20)
	}
	return string(text), nil
}

// allWords are the words of all games; validate has read them once.
func (c *config) allWords() (map[string]*nickname.Words, error) {
	all := make(map[string]*nickname.Words, len(c.Games))
	for name := range c.Games {
		w, err := c.words(name)
		if err != nil {
			return nil, fmt.Errorf("games.%s.names: %w", name, err)
		}
		all[name] = w
	}
	return all, nil
}
