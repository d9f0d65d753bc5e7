package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/webhook"
)

// sinkKeysEvery is how often files of keys are read again.
const sinkKeysEvery = 10 * time.Second

// sinkKeys are the keys of all games' sinks. Those of files are read again
// while the server runs. It is safe for concurrent use.
type sinkKeys struct {
	config *config
	log    *slog.Logger
	games  map[string]*heldKeys
}

// heldKeys are the keys of one sink, the current one first.
type heldKeys struct {
	keys  atomic.Pointer[[]string]
	fault string // of the last reading, owned by Run
}

// openSinkKeys reads the keys of all games' sinks: from their files, of webhooks
// that have none from the ledger.
func openSinkKeys(ctx context.Context, c *config, l *ledger.Ledger, log *slog.Logger) (*sinkKeys, error) {
	k := &sinkKeys{config: c, log: log, games: make(map[string]*heldKeys)}
	for _, name := range c.gameNames() {
		keys, err := c.readSinkKeys(name)
		if err == nil && keys == nil && c.sink(name).Type == sinkWebhook {
			keys, err = keptWebhookKeys(ctx, name, l)
		}
		if err != nil {
			return nil, fmt.Errorf("games.%s.behaviours.sink.secret_file: %w", name, err)
		}
		k.games[name] = new(heldKeys)
		k.games[name].keys.Store(&keys)
	}
	return k, nil
}

// of are the keys of a game's sink as they are now.
func (k *sinkKeys) of(name string) []string { return *k.games[name].keys.Load() }

// Run reads the files again now and then, until ctx ends.
func (k *sinkKeys) Run(ctx context.Context) error {
	tick := time.NewTicker(sinkKeysEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, name := range k.config.gameNames() {
			k.reread(name)
		}
	}
}

// reread takes the keys of a file that has changed. What is wrong with it is
// logged once, and the keys before stay.
func (k *sinkKeys) reread(name string) {
	held := k.games[name]
	keys, err := k.config.readSinkKeys(name)
	switch {
	case err != nil && err.Error() != held.fault:
		held.fault = err.Error()
		k.log.Error("the keys of a sink cannot be read again; the ones before stay in force", "game", name, "error", err)
	case err == nil:
		held.fault = ""
		if keys != nil && !slices.Equal(keys, *held.keys.Load()) {
			held.keys.Store(&keys)
			k.log.Info("the keys of a sink were read again", "game", name, "keys", len(keys))
		}
	}
}

// readSinkKeys reads the secret_file of a game's sink, a key a line; none where
// it has no such file. No error shows a key.
func (c *config) readSinkKeys(name string) ([]string, error) {
	s := c.sink(name)
	if s.SecretFile == "" || s.Type != sinkWebhook && s.Type != sinkNPPA {
		return nil, nil
	}
	file, err := os.ReadFile(c.beside(s.SecretFile))
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	check := checkWebhookKey
	if s.Type == sinkNPPA {
		check = checkNPPAKey
	}
	var keys []string
	var f faults
	number := 0
	for line := range bytes.Lines(file) {
		number++
		if key := string(bytes.TrimSpace(line)); key != "" {
			keys = append(keys, key)
			f.add(fmt.Sprintf("line %d", number), check(key))
		}
	}
	if len(keys) == 0 {
		f.addf("there is no key in it")
	}
	return keys, f.join()
}

func checkWebhookKey(key string) error {
	_, err := webhook.ParseKey(key)
	return err
}

func checkNPPAKey(key string) error {
	if secret, err := hex.DecodeString(key); err != nil || len(secret) != 16 {
		return errors.New("no key of the NPPA: 32 hexadecimal digits, as its portal shows them")
	}
	return nil
}

// keptWebhookKeys are the keys that the ledger keeps for a game's webhook. The
// first who asks has one generated: all nodes have the same.
func keptWebhookKeys(ctx context.Context, name string, l *ledger.Ledger) ([]string, error) {
	place := "webhook/" + name // is no name of a game
	fresh := identity.Key{ID: "w_" + rand.Text()[:12], Alg: "v1", Secret: []byte(webhook.Generate())}
	kept, err := l.Keys(ctx, place)
	if err == nil && len(kept) == 0 {
		if err = l.AddKeyIfNone(ctx, place, fresh); err == nil {
			kept, err = l.Keys(ctx, place)
		}
	}
	var keys []string
	for _, k := range kept {
		keys = append(keys, string(k.Secret))
	}
	return keys, err
}
