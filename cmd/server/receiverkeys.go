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
	"strings"
	"sync/atomic"
	"time"

	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/webhook"
)

// keySource is where the keys are that a receiver knows the server by.
type keySource struct {
	setting    string // that names the file
	file       string // of keys, one a line; "": there is none
	check      func(key string) error
	ledgerName string // where the ledger keeps those that are generated if there is no file; "": none are
}

// keySources are those of all receivers: sinks of behaviours and webhooks.
func (c *config) keySources() (all []keySource) {
	for _, name := range c.gameNames() {
		all = append(all, c.sinkKeySource(name))
		for _, h := range c.Games[name].Webhooks {
			all = append(all, c.webhookKeySource(name, h))
		}
	}
	return all
}

// read reads the keys of the place's file, none where it has no file. No error
// shows a key.
func (p keySource) read() ([]string, error) {
	if p.file == "" {
		return nil, nil
	}
	file, err := os.ReadFile(p.file)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	var keys []string
	var f faults
	number := 0
	for line := range bytes.Lines(file) {
		number++
		if key := string(bytes.TrimSpace(line)); key != "" {
			keys = append(keys, key)
			f.add(fmt.Sprintf("line %d", number), p.check(key))
		}
	}
	if len(keys) == 0 {
		f.addf("there is no key in it")
	}
	return keys, f.join()
}

// open gives the keys of the place, from its file or from the ledger.
func (p keySource) open(ctx context.Context, l *ledger.Ledger) ([]string, error) {
	keys, err := p.read()
	if err == nil && keys == nil && p.ledgerName != "" {
		keys, err = keysFromLedger(ctx, p.ledgerName, l)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.setting, err)
	}
	return keys, nil
}

// print prints the keys that the ledger keeps of the place, one a line.
func (p keySource) print(ctx context.Context, l *ledger.Ledger, to console) error {
	if p.file != "" {
		return fmt.Errorf("%s: the keys are those of %s, and none is generated", p.setting, p.file)
	}
	keys, err := keysFromLedger(ctx, p.ledgerName, l)
	for _, key := range keys {
		fmt.Fprintln(to.out, key)
	}
	return err
}

// receiverKeysEvery is how often files of keys are read again.
const receiverKeysEvery = 10 * time.Second

// receiverKeys are the keys of all places. Those of files are read again while
// the server runs. It is safe for concurrent use.
type receiverKeys struct {
	log     *slog.Logger
	watched map[string]*watchedKeys // by their setting
}

// watchedKeys are the keys of one place, the current one first.
type watchedKeys struct {
	source    keySource
	keys      atomic.Pointer[[]string]
	lastError string // of the last reading, owned by Run
}

func openReceiverKeys(ctx context.Context, c *config, l *ledger.Ledger, log *slog.Logger) (*receiverKeys, error) {
	k := &receiverKeys{log: log, watched: make(map[string]*watchedKeys)}
	for _, source := range c.keySources() {
		keys, err := source.open(ctx, l)
		if err != nil {
			return nil, err
		}
		k.watched[source.setting] = &watchedKeys{source: source}
		k.watched[source.setting].keys.Store(&keys)
	}
	return k, nil
}

// keysOf are the keys of a place as they are now.
func (k *receiverKeys) keysOf(p keySource) []string { return *k.watched[p.setting].keys.Load() }

// Run reads the files again now and then, until ctx ends.
func (k *receiverKeys) Run(ctx context.Context) error {
	tick := time.NewTicker(receiverKeysEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, watched := range k.watched {
			k.reload(watched)
		}
	}
}

// reload takes the keys of a file that has changed. What is wrong with it is
// logged once, and the keys before stay.
func (k *receiverKeys) reload(watched *watchedKeys) {
	keys, err := watched.source.read()
	switch {
	case err != nil && err.Error() != watched.lastError:
		watched.lastError = err.Error()
		k.log.Error("receiver key reload failed; keeping the earlier keys", "setting", watched.source.setting, "error", err)
	case err == nil:
		watched.lastError = ""
		if keys != nil && !slices.Equal(keys, *watched.keys.Load()) {
			watched.keys.Store(&keys)
			k.log.Info("receiver keys reloaded", "setting", watched.source.setting, "keys", len(keys))
		}
	}
}

// parsedKeys are keys of webhooks as they are held, to sign by.
func parsedKeys(watched []string) ([]webhook.Key, error) {
	return webhook.ParseKeys(strings.Join(watched, "\n"))
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

// keysFromLedger are the keys of webhooks that the ledger keeps. The first who asks has
// one generated: all nodes have the same.
func keysFromLedger(ctx context.Context, source string, l *ledger.Ledger) ([]string, error) {
	generated := identity.Key{ID: "w_" + rand.Text()[:12], Alg: "v1", Secret: []byte(webhook.Generate())}
	ledgerName, err := l.Keys(ctx, source)
	if err == nil && len(ledgerName) == 0 {
		if err = l.AddKeyIfNone(ctx, source, generated); err == nil {
			ledgerName, err = l.Keys(ctx, source)
		}
	}
	var keys []string
	for _, k := range ledgerName {
		keys = append(keys, string(k.Secret))
	}
	return keys, err
}
