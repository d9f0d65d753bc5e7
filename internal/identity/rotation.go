package identity

import (
	"context"
	"fmt"
	"maps"
)

// KeyInfo is the public part of a key. One key signs all new tokens of its game; every key
// verifies tokens.
type KeyInfo struct {
	ID        string `json:"id"`
	Alg       string `json:"alg"`
	Signs     bool   `json:"signs"`                // whether this key signs new tokens
	CreatedAt int64  `json:"created_at,omitempty"` // epoch ms; absent for a configured key
}

// ListKeys returns the keys of a game, newest first, or in configured order. The game ""
// stands for the server's own keys.
func (t *Tokens) ListKeys(game string) []KeyInfo {
	ring := t.keys()
	signingKey, _ := ring.signingKey(game, t.now()) // none if all keys only verify
	var keys []KeyInfo
	for _, key := range ring[game] {
		keys = append(keys, KeyInfo{ID: key.ID, Alg: key.Alg, Signs: key.ID == signingKey.ID, CreatedAt: key.CreatedAt})
	}
	return keys
}

// RotateKey generates a key and adds it to a game's. The game "" stands for the server's
// own keys. The new key signs after SigningDelay; the others still verify. Errors are
// ErrConfiguredKeys and ErrTooManyKeys.
func (t *Tokens) RotateKey(ctx context.Context, game string) (KeyInfo, error) {
	if t.hasConfiguredKeys(game) {
		return KeyInfo{}, ErrConfiguredKeys
	}
	key := generateKey()
	if err := t.config.Keys.AddKey(ctx, game, key); err != nil {
		return KeyInfo{}, err
	}
	if err := t.reload(ctx); err != nil {
		return KeyInfo{}, err
	}
	for _, info := range t.ListKeys(game) {
		if info.ID == key.ID {
			return info, nil
		}
	}
	return KeyInfo{}, ErrNoKey // another call has retired the new key
}

// RetireKey deletes a stored key. The server then refuses the tokens that this key has
// signed. Errors are ErrConfiguredKeys, ErrNoKey, and ErrKeyInUse if no other key could
// sign.
func (t *Tokens) RetireKey(ctx context.Context, game, id string) error {
	if t.hasConfiguredKeys(game) {
		return ErrConfiguredKeys
	}
	if err := t.config.Keys.RetireKey(ctx, game, id, SigningDelay.Milliseconds()); err != nil {
		return err
	}
	return t.reload(ctx)
}

// Configure replaces the configured keys of a game. If keys is empty, the game uses its
// stored keys. An error changes nothing.
func (t *Tokens) Configure(ctx context.Context, game string, keys []Key) error {
	t.changeMu.Lock()
	defer t.changeMu.Unlock()
	if !t.keys().has(game) {
		return ErrNoGame
	}
	configured := map[string][]Key{}
	maps.Copy(configured, t.configured)
	configured[game] = keys
	return t.reloadLocked(ctx, configured)
}

func (t *Tokens) hasConfiguredKeys(game string) bool {
	t.changeMu.Lock()
	defer t.changeMu.Unlock()
	return len(t.configured[game]) > 0
}

func (t *Tokens) reload(ctx context.Context) error {
	t.changeMu.Lock()
	defer t.changeMu.Unlock()
	return t.reloadLocked(ctx, t.configured)
}

// reloadLocked reads all keys again, and then uses these configured ones. The caller holds
// changeMu.
func (t *Tokens) reloadLocked(ctx context.Context, configured map[string][]Key) error {
	keys, err := loadKeys(ctx, t.config.Games, configured, t.config.Keys)
	if err != nil {
		return fmt.Errorf("identity: read keys again: %w", err)
	}
	t.configured = configured
	t.current.Store(&keys)
	return nil
}
