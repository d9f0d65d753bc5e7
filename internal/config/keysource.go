package config

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"laststand/internal/identity"
	"laststand/internal/webhook"
)

// KeySource describes where the server reads the keys that sign messages to one receiver: a
// behaviour sink or a webhook.
type KeySource struct {
	Setting    string                 // configuration key with the path of the file
	File       string                 // path of a file with keys, one per line; "": no file
	check      func(key string) error // returns an error for an invalid key
	ledgerName string                 // if there is no file: the name of generated keys in the ledger; "": the server generates no key
}

func (c *Config) keySources() (sources []KeySource) {
	for _, name := range c.GameNames() {
		sources = append(sources, c.SinkKeys(name))
		for _, settings := range c.Games[name].Webhooks {
			sources = append(sources, c.WebhookKeys(name, settings))
		}
	}
	return sources
}

// SinkKeys returns where the server reads the keys that sign the reports of a game.
func (c *Config) SinkKeys(name string) KeySource {
	s, source := c.Sink(name), KeySource{Setting: "games." + name + ".behaviours.sink.secret_file"}
	switch s.Type {
	case SinkWebhook:
		source.check, source.ledgerName = checkWebhookKey, "webhook/"+name // the slash keeps it apart from names of games
	case SinkNPPA:
		source.check = checkNPPAKey
	}
	if source.check != nil && s.SecretFile != "" {
		source.File = c.file.resolve(s.SecretFile)
	}
	return source
}

// WebhookKeys returns where the server reads the keys that sign the events of a webhook.
func (c *Config) WebhookKeys(game string, h Webhook) KeySource {
	source := KeySource{
		Setting: "games." + game + ".webhooks." + h.Name + ".secret_file", check: checkWebhookKey,
		ledgerName: "hook/" + game + "/" + h.Name, // the slashes keep it apart from names of games
	}
	if h.SecretFile != "" {
		source.File = c.file.resolve(h.SecretFile)
	}
	return source
}

// read returns the keys in the file, or nil if the source has no file. Its errors never contain a
// key.
func (s KeySource) read() ([]string, error) {
	if s.File == "" {
		return nil, nil
	}
	file, err := os.ReadFile(s.File)
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

// Load returns the keys from the file, or else the generated keys from the ledger.
func (s KeySource) Load(ctx context.Context, store identity.Keys) ([]string, error) {
	keys, err := s.read()
	if err == nil && keys == nil && s.ledgerName != "" {
		keys, err = generatedKeys(ctx, s.ledgerName, store)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Setting, err)
	}
	return keys, nil
}

// generatedKeys returns the keys with a name in the ledger. The first call of any node generates
// a key, and all nodes use it.
func generatedKeys(ctx context.Context, ledgerName string, store identity.Keys) ([]string, error) {
	stored, err := identity.StoredKeys(ctx, store, ledgerName, func() identity.Key {
		return identity.Key{ID: "w_" + rand.Text()[:12], Alg: "v1", Secret: []byte(webhook.GenerateKey())}
	})
	var keys []string
	for _, k := range stored {
		keys = append(keys, string(k.Secret))
	}
	return keys, err
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
