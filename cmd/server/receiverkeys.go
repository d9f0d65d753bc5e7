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

// keySource describes where the server reads the keys that sign messages to one receiver: a
// behaviour sink or a webhook.
type keySource struct {
	setting    string                 // configuration key with the path of the file
	file       string                 // path of a file with keys, one per line; "": no file
	check      func(key string) error // returns an error for an invalid key
	ledgerName string                 // if there is no file: the name of generated keys in the ledger; "": the server generates no key
}

// keySources returns the key sources of all receivers.
func (c *config) keySources() (sources []keySource) {
	for _, name := range c.gameNames() {
		sources = append(sources, c.sinkKeySource(name))
		for _, settings := range c.Games[name].Webhooks {
			sources = append(sources, c.webhookKeySource(name, settings))
		}
	}
	return sources
}

// read returns the keys in the file, or nil if the source has no file. Its errors never contain a
// key.
func (s keySource) read() ([]string, error) {
	if s.file == "" {
		return nil, nil
	}
	file, err := os.ReadFile(s.file)
	if err != nil {
		return nil, fmt.Errorf("the file cannot be read: %w", err)
	}
	var keys []string
	var errs validationErrors
	lineNumber := 0
	for line := range bytes.Lines(file) {
		lineNumber++
		if key := string(bytes.TrimSpace(line)); key != "" {
			keys = append(keys, key)
			errs.add(fmt.Sprintf("line %d", lineNumber), s.check(key))
		}
	}
	if len(keys) == 0 {
		errs.addf("the file has no key")
	}
	return keys, errs.join()
}

// load returns the keys from the file, or else from the ledger.
func (s keySource) load(ctx context.Context, l *ledger.Ledger) ([]string, error) {
	keys, err := s.read()
	if err == nil && keys == nil && s.ledgerName != "" {
		keys, err = keysFromLedger(ctx, s.ledgerName, l)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.setting, err)
	}
	return keys, nil
}

// print prints the generated keys in the ledger, one per line. It fails if the keys are in a
// file.
func (s keySource) print(ctx context.Context, l *ledger.Ledger, output commandOutput) error {
	if s.file != "" {
		return fmt.Errorf("%s: the server reads the keys from %s and generates no key", s.setting, s.file)
	}
	keys, err := keysFromLedger(ctx, s.ledgerName, l)
	for _, key := range keys {
		fmt.Fprintln(output.stdout, key)
	}
	return err
}

// receiverKeysInterval is how often the server reads key files again.
const receiverKeysInterval = 10 * time.Second

// receiverKeys has the keys of all sources in memory and reloads key files while the server runs.
// It is safe for concurrent use.
type receiverKeys struct {
	log     *slog.Logger
	watched map[string]*watchedKeys // by keySource.setting
}

// watchedKeys has the keys of one source, the current key first.
type watchedKeys struct {
	source    keySource
	keys      atomic.Pointer[[]string]
	lastError string // of the last reading, "" if it succeeded; only Run uses it
}

func openReceiverKeys(ctx context.Context, c *config, l *ledger.Ledger, log *slog.Logger) (*receiverKeys, error) {
	k := &receiverKeys{log: log, watched: make(map[string]*watchedKeys)}
	for _, source := range c.keySources() {
		keys, err := source.load(ctx, l)
		if err != nil {
			return nil, err
		}
		k.watched[source.setting] = &watchedKeys{source: source}
		k.watched[source.setting].keys.Store(&keys)
	}
	return k, nil
}

// currentKeys returns the keys of a source that the last successful reading returned.
func (k *receiverKeys) currentKeys(source keySource) []string {
	return *k.watched[source.setting].keys.Load()
}

// Run reloads key files every receiverKeysInterval, until ctx ends.
func (k *receiverKeys) Run(ctx context.Context) error {
	tick := time.NewTicker(receiverKeysInterval)
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

// reload reads the file of a source and applies changed keys. After an error it keeps the earlier
// keys, and logs the error unless it logged the same error last time.
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

// parseWebhookKeys parses keys of webhooks, which then can sign.
func parseWebhookKeys(keys []string) ([]webhook.Key, error) {
	return webhook.ParseKeys(strings.Join(keys, "\n"))
}

func checkWebhookKey(key string) error {
	_, err := webhook.ParseKey(key)
	return err
}

func checkNPPAKey(key string) error {
	if secret, err := hex.DecodeString(key); err != nil || len(secret) != 16 {
		return errors.New("the key is not a key of the NPPA; use the 32 hexadecimal digits that its portal shows")
	}
	return nil
}

// keysFromLedger returns the keys with a name in the ledger. The first call of any node generates
// a key, and all nodes use it.
func keysFromLedger(ctx context.Context, ledgerName string, l *ledger.Ledger) ([]string, error) {
	generated := identity.Key{ID: "w_" + rand.Text()[:12], Alg: "v1", Secret: []byte(webhook.GenerateKey())}
	stored, err := l.TokenKeys.Keys(ctx, ledgerName)
	if err == nil && len(stored) == 0 {
		if err = l.TokenKeys.AddKeyIfNone(ctx, ledgerName, generated); err == nil {
			stored, err = l.TokenKeys.Keys(ctx, ledgerName)
		}
	}
	var keys []string
	for _, k := range stored {
		keys = append(keys, string(k.Secret))
	}
	return keys, err
}
