package identity

import (
	"context"
	"fmt"
	"slices"
)

// Keys stores generated keys per game. The game "" stands for the server's own keys.
type Keys interface {
	// Keys returns the keys of a game, oldest first.
	Keys(ctx context.Context, game string) ([]Key, error)
	// AddKeyIfNone adds a key if the game has none. If several nodes call it at the
	// same time, one key is stored, and all nodes read the same keys afterwards.
	AddKeyIfNone(ctx context.Context, game string, key Key) error
	// AddKey adds one more key. It returns ErrTooManyKeys at the limit.
	AddKey(ctx context.Context, game string, key Key) error
	// RetireKey deletes a key. Errors are ErrNoKey, and ErrKeyInUse if no other key has
	// been stored for at least minAgeMS milliseconds.
	RetireKey(ctx context.Context, game, id string, minAgeMS int64) error
}

// serverKeys is the game name under which the server's own keys are stored.
const serverKeys = ""

// keyring has the keys of each game, in order of preference for signing. The first key
// that can sign, and is past SigningDelay, signs. A keyring that is in use never changes.
type keyring map[string][]parsedKey

// loadKeys returns the keys of each game and of the server. A game with configured keys
// uses only those. For another game, and for the server, it reads the stored keys, and
// generates a key if there is none.
func loadKeys(ctx context.Context, games []string, configured map[string][]Key, store Keys) (keyring, error) {
	ring := keyring{}
	for _, game := range append([]string{serverKeys}, games...) {
		keys, err := configured[game], error(nil)
		if game == serverKeys || len(keys) == 0 {
			keys, err = loadStoredKeys(ctx, game, store)
		}
		if err == nil {
			err = ring.parseAndAdd(game, keys)
		}
		if err != nil {
			return nil, fmt.Errorf("identity: keys of %q: %w", game, err)
		}
	}
	return ring, nil
}

// loadStoredKeys returns the stored keys of a game, newest first, because the newest one
// signs. If the game has none, it generates one.
func loadStoredKeys(ctx context.Context, game string, store Keys) ([]Key, error) {
	keys, err := store.Keys(ctx, game)
	if err == nil && len(keys) == 0 {
		if err = store.AddKeyIfNone(ctx, game, generateKey()); err == nil {
			keys, err = store.Keys(ctx, game)
		}
	}
	keys = slices.Clone(keys)
	slices.Reverse(keys)
	return keys, err
}

// parseAndAdd parses keys and appends them to the game's.
func (r keyring) parseAndAdd(game string, keys []Key) error {
	for _, key := range keys {
		parsed, err := key.parse()
		if err != nil {
			return err
		}
		if _, exists := r.find(game, key.ID); exists {
			return fmt.Errorf("key %q is there twice", key.ID)
		}
		r[game] = append(r[game], parsed)
	}
	return nil
}

// has returns true if the keyring has keys for the game. It returns false for serverKeys,
// which is not a game.
func (r keyring) has(game string) bool {
	return game != serverKeys && len(r[game]) > 0
}

func (r keyring) find(game, id string) (parsedKey, bool) {
	i := slices.IndexFunc(r[game], func(key parsedKey) bool { return key.id == id })
	if i < 0 {
		return parsedKey{}, false
	}
	return r[game][i], true
}

// signingKey returns the key that signs at a time, in epoch ms. If all stored keys are
// younger than SigningDelay, the oldest one signs. The error wraps ErrCannotSign.
func (r keyring) signingKey(game string, now int64) (parsedKey, error) {
	var oldest parsedKey
	for _, key := range r[game] {
		if key.signKey == nil {
			continue
		}
		if key.signsFrom <= now {
			return key, nil
		}
		oldest = key
	}
	if oldest.signKey != nil {
		return oldest, nil
	}
	return parsedKey{}, fmt.Errorf("%w: %q has public keys only; mint its tokens where the private key is", ErrCannotSign, game)
}
