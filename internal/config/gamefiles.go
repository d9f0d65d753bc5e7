package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/identity"
	"laststand/internal/nickname"
	"laststand/web"
)

// ReadKeys reads the configured keys of a game from their files. Its error lists every problem.
func (c *Config) ReadKeys(name string) ([]identity.Key, error) {
	var errs validationErrors
	var keys []identity.Key
	seen := make(map[string]bool)
	for _, k := range c.Games[name].Keys {
		key, err := c.file.readKey(k)
		switch {
		case err != nil:
			errs = append(errs, err)
		case seen[k.ID]:
			errs.addf("key %q is listed twice", k.ID)
		}
		seen[k.ID] = true
		keys = append(keys, key)
	}
	return keys, errs.join()
}

func (f sourceFile) readKey(k Key) (identity.Key, error) {
	if k.SecretFile == "" {
		return identity.Key{}, fmt.Errorf("key %q: it needs a secret_file", k.ID)
	}
	content, err := os.ReadFile(f.resolve(k.SecretFile))
	if err != nil {
		return identity.Key{}, fmt.Errorf("key %q: its file cannot be read: %w", k.ID, err)
	}
	return identity.ReadKey(k.ID, k.Alg, content)
}

// OpenTokens reads the server's own key and the keys of some games. It reads configured keys from
// their files and generated keys from the store. registry may be nil; then there are no metrics.
func (c *Config) OpenTokens(ctx context.Context, store identity.Keys, games []string, registry prometheus.Registerer) (*identity.Tokens, error) {
	configured := make(map[string][]identity.Key)
	rules := make(map[string]identity.TokenRules)
	for _, name := range games {
		keys, err := c.ReadKeys(name)
		if err != nil {
			return nil, fmt.Errorf("games.%s.keys: %w", name, err)
		}
		maxTTL, _ := time.ParseDuration(c.Games[name].MaxTokenTTL) // Validate checked it; "": no limit
		configured[name] = keys
		rules[name] = identity.TokenRules{Audience: c.Games[name].TokenAudience, MaxTTL: maxTTL}
	}
	return identity.OpenTokens(ctx, identity.TokensConfig{
		Games: games, Configured: configured, Keys: store, Now: WallClock, Rules: rules, Registry: registry,
	})
}

// WallClock returns the time of the machine in epoch ms. The lifetime of tokens is checked
// against it.
func WallClock() int64 { return time.Now().UnixMilli() }

// maxWordFileBytes is the maximum size of a file in blocklist_files.
const maxWordFileBytes = 2 << 20

func readWordFile(path string) (string, error) {
	text, err := readUpTo(path, maxWordFileBytes)
	if err == nil && len(text) > maxWordFileBytes {
		err = fmt.Errorf("the file is larger than %d MiB", maxWordFileBytes>>20)
	}
	return string(text), err
}

// readUpTo returns the content of a file, but at most maxBytes and one byte more.
func readUpTo(path string, maxBytes int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the file cannot be read: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("the file cannot be read: %w", err)
	}
	return content, nil
}

// ReadWordLists reads the word lists of a game. Its error lists every problem.
func (c *Config) ReadWordLists(game string) (*nickname.Words, error) {
	g := c.Games[game].Names
	lists := nickname.WordsConfig{Lists: g.Blocklists, Allow: g.AllowedWords}
	var errs []error
	for _, file := range g.BlocklistFiles {
		text, err := readWordFile(c.file.resolve(file))
		if err != nil {
			errs = append(errs, fmt.Errorf("blocklist_files: %s: %w", file, err))
			continue
		}
		lists.Custom = append(lists.Custom, nickname.WordList{Name: "blocklist_files: " + file, Text: text})
	}
	words, err := nickname.NewWords(lists)
	return words, errors.Join(append(errs, err)...)
}

const maxPageTitle = 40 // characters

// Colors returns the colours of the page. Validate checks them.
func (p Page) Colors() web.Colors {
	return web.Colors{Accent: p.Accent, Background: p.Background, DarkBackground: p.DarkBackground}
}

// ReadLogo reads the logo of a game. It returns nothing if the game has no logo.
func (c *Config) ReadLogo(game string) ([]byte, error) {
	path := c.Games[game].Page.Logo
	if path == "" {
		return nil, nil
	}
	content, err := readUpTo(c.file.resolve(path), web.MaxLogoBytes)
	if err != nil {
		return nil, err
	}
	if _, err := web.CheckLogo(content); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return content, nil
}
