package main

import (
	"fmt"
	"os"

	"laststand/internal/identity"
)

// readKeys reads the configured keys of a game from their files. Its error lists every problem.
func (c *config) readKeys(name string) ([]identity.Key, error) {
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

// readKey reads one configured key from its file.
func (c *config) readKey(k gameKeyConfig) (identity.Key, error) {
	if k.SecretFile == "" {
		return identity.Key{}, fmt.Errorf("key %q: it needs a secret_file", k.ID)
	}
	file, err := os.ReadFile(c.resolvePath(k.SecretFile))
	if err != nil {
		return identity.Key{}, fmt.Errorf("key %q: its file cannot be read: %w", k.ID, err)
	}
	return identity.ReadKey(k.ID, k.Alg, file)
}
