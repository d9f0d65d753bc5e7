package config

import (
	"errors"
	"fmt"
	"io"
	"os"

	"laststand/internal/nickname"
)

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
