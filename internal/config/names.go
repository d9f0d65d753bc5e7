package config

import (
	"errors"
	"fmt"
	"io"
	"os"

	"laststand/internal/nickname"
)

// Names configures the words that nicknames, arena names and team names must not contain.
type Names struct {
	// Built-in lists of refused words: names that players could mistake for staff, and a sample of insults. An empty list: no built-in list.
	Blocklists []string `yaml:"blocklists,flow" allowed:"staff_en, staff_zh, en, zh"`
	// Files with refused words: one word per line, at most 20,000 words and 2 MiB per file. Relative paths start at the folder of the configuration file.
	BlocklistFiles []string `yaml:"blocklist_files,flow,omitempty" allowed:"paths"`
	// Words and whole names that the server allows although a list refuses them.
	AllowedWords []string `yaml:"allowed_words,flow,omitempty" allowed:"at most 1000 words of 2 letters or more"`
}

func defaultNames() Names { return Names{Blocklists: nickname.BuiltinLists()} }

// maxWordFileBytes is the maximum size of a file in blocklist_files.
const maxWordFileBytes = 2 << 20

func readWordFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("the file cannot be read: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxWordFileBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("the file cannot be read: %w", err)
	case len(text) > maxWordFileBytes:
		return "", fmt.Errorf("the file is larger than %d MiB", maxWordFileBytes>>20)
	}
	return string(text), nil
}

// ReadWordLists reads the word lists of a game. Its error lists every problem.
func (c *Config) ReadWordLists(game string) (*nickname.Words, error) {
	g := c.Games[game].Names
	lists := nickname.WordsConfig{Lists: g.Blocklists, Allow: g.AllowedWords}
	var errs []error
	for _, file := range g.BlocklistFiles {
		text, err := readWordFile(c.resolvePath(file))
		if err != nil {
			errs = append(errs, fmt.Errorf("blocklist_files: %s: %w", file, err))
			continue
		}
		lists.Custom = append(lists.Custom, nickname.WordList{Name: "blocklist_files: " + file, Text: text})
	}
	words, err := nickname.NewWords(lists)
	return words, errors.Join(append(errs, err)...)
}
