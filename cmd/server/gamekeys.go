package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"laststand/internal/identity"
)

// gameKeysInterval is how often the server reads the configured keys of games again. It applies
// changed keys only after two readings in a row have returned the same keys: a half-written file
// may also be a valid key, which would end every session.
const gameKeysInterval = 5 * time.Second

// gameKeys reloads the signing keys of games while the server runs: the lists of keys in the
// configuration file, and the key files. All other settings need a restart. Only Run may use it.
type gameKeys struct {
	file      string // path of the configuration file; "": none, so there is nothing to reload
	games     []string
	tokens    *identity.Tokens
	log       *slog.Logger
	onApplied func() // Run calls it after it has applied keys

	applied   map[string][]identity.Key // applied keys, by game
	lastRead  map[string][]identity.Key // from the last reading, by game
	lastError map[string]string         // from the last reading, by game
}

func newGameKeys(c *config, tokens *identity.Tokens, log *slog.Logger, onApplied func()) (*gameKeys, error) {
	k := &gameKeys{
		file: c.filePath, games: c.gameNames(), tokens: tokens, log: log, onApplied: onApplied,
		applied: make(map[string][]identity.Key), lastRead: make(map[string][]identity.Key), lastError: make(map[string]string),
	}
	for _, game := range k.games {
		keys, err := c.readKeys(game)
		if err != nil {
			return nil, fmt.Errorf("games.%s.keys: %w", game, err)
		}
		k.applied[game] = keys
	}
	return k, nil
}

// Run reloads the keys every gameKeysInterval, until ctx ends.
func (k *gameKeys) Run(ctx context.Context) error {
	if k.file == "" {
		return nil
	}
	tick := time.NewTicker(gameKeysInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			k.reload(ctx)
		}
	}
}

// reload reads the keys of all games and applies changed ones. After an error a game keeps its
// earlier keys.
func (k *gameKeys) reload(ctx context.Context) {
	c, readErr := readConfig(k.file)
	readErr = errors.Join(readErr, c.fileFaults)
	anyApplied := false
	for _, game := range k.games {
		isApplied, err := false, readErr
		if err == nil {
			isApplied, err = k.reloadGame(ctx, &c, game)
		}
		anyApplied = anyApplied || isApplied
		k.logError(game, err)
	}
	if anyApplied {
		k.onApplied()
	}
}

// reloadGame reads the keys of one game. It reports whether it has applied changed keys.
func (k *gameKeys) reloadGame(ctx context.Context, c *config, game string) (isApplied bool, err error) {
	if _, isDeclared := c.Games[game]; !isDeclared {
		return false, fmt.Errorf("the configuration file no longer has this game; that takes effect at the next start")
	}
	keys, err := c.readKeys(game)
	unchanged := slices.EqualFunc(keys, k.lastRead[game], sameKey)
	k.lastRead[game] = keys
	if err != nil || slices.EqualFunc(keys, k.applied[game], sameKey) {
		return false, err
	}
	if len(keys) == 0 { // a half-written file may have no key, which would end every session
		return false, fmt.Errorf("the configuration file no longer has keys for this game; that takes effect at the next start")
	}
	if !unchanged {
		return false, nil
	}
	if err := k.tokens.Configure(ctx, game, keys); err != nil {
		return false, err
	}
	k.applied[game] = keys
	k.log.InfoContext(ctx, "game keys reloaded", "game", game, "keys", len(keys))
	return true, nil
}

func sameKey(a, b identity.Key) bool {
	return a.ID == b.ID && a.Alg == b.Alg && bytes.Equal(a.Secret, b.Secret)
}

// logError logs an error of a game unless the previous reading had the same error. A nil err
// means success.
func (k *gameKeys) logError(game string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != k.lastError[game] {
		k.log.Error("game key reload failed; keeping the earlier keys", "game", game, "error", err)
	}
	k.lastError[game] = text
}
