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

	held  map[string][]identity.Key // by game
	seen  map[string][]identity.Key // of the last reading, by game
	fault map[string]string         // of the last reading, by game
}

func newGameKeys(c *config, tokens *identity.Tokens, log *slog.Logger, changed func()) (*gameKeys, error) {
	k := &gameKeys{
		file: c.file, games: c.gameNames(), tokens: tokens, log: log, changed: changed,
		held: make(map[string][]identity.Key), seen: make(map[string][]identity.Key), fault: make(map[string]string),
	}
	for _, game := range k.games {
		keys, err := c.readKeys(game)
		if err != nil {
			return nil, err
		}
		k.held[game] = keys
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
			k.reread(ctx)
		}
	}
}

// reread takes the keys of games whose have changed. What is wrong with them is
// logged once, and those before stay.
func (k *gameKeys) reread(ctx context.Context) {
	c, broken := readConfig(k.file)
	some := false
	for _, game := range k.games {
		changed, err := false, broken
		if err == nil {
			changed, err = k.take(ctx, &c, game)
		}
		some = some || changed
		k.tell(game, err)
	}
	if some {
		k.changed()
	}
}

func (k *gameKeys) take(ctx context.Context, c *config, game string) (changed bool, err error) {
	if _, declared := c.Games[game]; !declared {
		return false, fmt.Errorf("the game is not declared any more: that takes effect at the next start")
	}
	keys, err := c.readKeys(game)
	settled := slices.EqualFunc(keys, k.seen[game], sameKey)
	k.seen[game] = keys
	if err != nil || slices.EqualFunc(keys, k.held[game], sameKey) {
		return false, err
	}
	if len(keys) == 0 { // as in a file that is half written, which would end every session
		return false, fmt.Errorf("it has none any more: that takes effect at the next start")
	}
	if !settled {
		return false, nil
	}
	if err := k.tokens.Configure(ctx, game, keys); err != nil {
		return false, err
	}
	k.held[game] = keys
	k.log.InfoContext(ctx, "game keys reloaded", "game", game, "keys", len(keys))
	return true, nil
}

func sameKey(a, b identity.Key) bool {
	return a.ID == b.ID && a.Alg == b.Alg && bytes.Equal(a.Secret, b.Secret)
}

// tell logs a fault once.
func (k *gameKeys) tell(game string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != k.fault[game] {
		k.log.Error("game key reload failed; keeping the earlier keys", "game", game, "error", err)
	}
	k.fault[game] = text
}
