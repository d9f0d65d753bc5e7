package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"laststand/internal/nickname"
)

// gameNames configures the words that nicknames, arena names and team names must not contain.
type gameNames struct {
	// Lists of refused words that come with the server: words that pass for staff and a sample of insults. An empty list: none.
	Blocklists []string `yaml:"blocklists,flow" allowed:"staff_en, staff_zh, en, zh"`
	// Files with refused words, relative to the configuration file: one word per line, at most 20,000 words and 2 MiB.
	BlocklistFiles []string `yaml:"blocklist_files,flow,omitempty" allowed:"paths"`
	// Words and whole names that are allowed although a list refuses them.
	AllowedWords []string `yaml:"allowed_words,flow,omitempty" allowed:"at most 1000 words of 2 letters or more"`
}

func defaultNames() gameNames { return gameNames{Blocklists: nickname.Lists()} }

const maxWordFile = 2 << 20 // bytes

// words reads the word lists of a game. Its error names every fault.
func (c *config) words(game string) (*nickname.Words, error) {
	g := c.Games[game].Names
	lists := nickname.WordsConfig{Lists: g.Blocklists, Allow: g.AllowedWords}
	var faults []error
	for _, file := range g.BlocklistFiles {
		text, err := readWords(c.resolvePath(file))
		if err != nil {
			faults = append(faults, fmt.Errorf("blocklist_files: %s: %w", file, err))
			continue
		}
		lists.Custom = append(lists.Custom, nickname.WordList{Name: "blocklist_files: " + file, Text: text})
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

// allWords returns the word lists of all games. validate has read them before.
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
