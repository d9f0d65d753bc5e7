package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"laststand/internal/identity"
)

// gameKeysEvery is how often the configured keys of games are read again. They are
// taken once two readings are alike: half of a key that is being written is a key,
// too, and would end every session.
const gameKeysEvery = 5 * time.Second

// gameKeys reads the lists of keys in the configuration file, and the files that
// they name, again while the server runs. All else in the configuration needs a
// start.
type gameKeys struct {
	file    string // the configuration; "": there is none to read
	games   []string
	tokens  *identity.Tokens
	log     *slog.Logger
	changed func() // called when keys have been put in force

	inForce   map[string][]identity.Key // by game
	lastRead  map[string][]identity.Key // of the last reading, by game
	lastError map[string]string         // of the last reading, by game
}

func newGameKeys(c *config, tokens *identity.Tokens, log *slog.Logger, changed func()) (*gameKeys, error) {
	k := &gameKeys{
		file: c.file, games: c.gameNames(), tokens: tokens, log: log, changed: changed,
		inForce: make(map[string][]identity.Key), lastRead: make(map[string][]identity.Key), lastError: make(map[string]string),
	}
	for _, game := range k.games {
		keys, err := c.readKeys(game)
		if err != nil {
			return nil, err
		}
		k.inForce[game] = keys
	}
	return k, nil
}

// Run reads the keys again now and then, until ctx ends.
func (k *gameKeys) Run(ctx context.Context) error {
	if k.file == "" {
		return nil
	}
	tick := time.NewTicker(gameKeysEvery)
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

// reload takes the keys of games whose have changed. What is wrong with them is
// logged once, and those before stay.
func (k *gameKeys) reload(ctx context.Context) {
	c, readErr := readConfig(k.file)
	isChanged := false
	for _, game := range k.games {
		changed, err := false, readErr
		if err == nil {
			changed, err = k.reloadGame(ctx, &c, game)
		}
		isChanged = isChanged || changed
		k.logError(game, err)
	}
	if isChanged {
		k.changed()
	}
}

func (k *gameKeys) reloadGame(ctx context.Context, c *config, game string) (changed bool, err error) {
	if _, declared := c.Games[game]; !declared {
		return false, fmt.Errorf("the game is not declared any more: that takes effect at the next start")
	}
	keys, err := c.readKeys(game)
	unchanged := slices.EqualFunc(keys, k.lastRead[game], sameKey)
	k.lastRead[game] = keys
	if err != nil || slices.EqualFunc(keys, k.inForce[game], sameKey) {
		return false, err
	}
	if len(keys) == 0 { // as in a file that is half written, which would end every session
		return false, fmt.Errorf("it has none any more: that takes effect at the next start")
	}
	if !unchanged {
		return false, nil
	}
	if err := k.tokens.Configure(ctx, game, keys); err != nil {
		return false, err
	}
	k.inForce[game] = keys
	k.log.InfoContext(ctx, "game keys reloaded", "game", game, "keys", len(keys))
	return true, nil
}

func sameKey(a, b identity.Key) bool {
	return a.ID == b.ID && a.Alg == b.Alg && bytes.Equal(a.Secret, b.Secret)
}

// logError logs a fault once.
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
