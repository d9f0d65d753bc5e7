package config

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/identity"
)

// ReadKeys reads the configured keys of a game from their files. Its error lists every problem.
func (c *Config) ReadKeys(name string) ([]identity.Key, error) {
	var errs validationErrors
	var keys []identity.Key
	seen := make(map[string]bool)
	for _, k := range c.Games[name].Keys {
		key, err := c.readKey(k)
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

func (c *Config) readKey(k Key) (identity.Key, error) {
	if k.SecretFile == "" {
		return identity.Key{}, fmt.Errorf("key %q: it needs a secret_file", k.ID)
	}
	file, err := os.ReadFile(c.resolvePath(k.SecretFile))
	if err != nil {
		return identity.Key{}, fmt.Errorf("key %q: its file cannot be read: %w", k.ID, err)
	}
	return identity.ReadKey(k.ID, k.Alg, file)
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
