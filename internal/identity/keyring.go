package identity

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// Keys stores generated keys per game. The game "" stands for the server's own keys.
type Keys interface {
	// Keys returns the keys of a game, oldest first.
	Keys(ctx context.Context, game string) ([]Key, error)
	// AddKeyIfNone adds a key if the game has none. If several nodes call it at the
	// same time, one key is stored, and all nodes read the same keys afterwards.
	AddKeyIfNone(ctx context.Context, game string, k Key) error
	// AddKey adds one more key. It returns ErrTooManyKeys at the limit.
	AddKey(ctx context.Context, game string, k Key) error
	// RetireKey deletes a key. Errors are ErrNoKey, and ErrKeyInUse if no other key has
	// been stored for at least minAgeMS milliseconds.
	RetireKey(ctx context.Context, game, id string, settleIn int64) error
}

// serverKeys is the game name under which the server's own keys are stored.
const serverKeys = ""

// SigningDelay is how long a new stored key only verifies tokens. After the delay it also
// signs them. By then every node has read the key.
const SigningDelay = 10 * time.Second

// keyring has the keys of each game, in order of preference for signing. The first key
// that can sign, and is past SigningDelay, signs. A keyring that is in use never changes.
type keyring map[string][]signer

// openKeys returns the keys of each game and of the server. A game with configured keys
// uses only those. For another game, and for the server, it reads the stored keys, and
// generates a key if there is none.
func openKeys(ctx context.Context, games []string, configured map[string][]Key, store Keys) (keyring, error) {
	ring := keyring{}
	for _, game := range append([]string{serverKeys}, games...) {
		keys := configured[game]
		if game == serverKeys || len(keys) == 0 {
			var err error
			if keys, err = storedKeys(ctx, game, store); err != nil {
				return nil, fmt.Errorf("identity: keys of %q: %w", game, err)
			}
		}
		if err := ring.add(game, keys); err != nil {
			return nil, fmt.Errorf("identity: keys of %q: %w", game, err)
		}
	}
	return ring, nil
}

// storedKeys returns the stored keys of a game, newest first, because the newest one
// signs. If the game has none, it generates one.
func storedKeys(ctx context.Context, game string, store Keys) ([]Key, error) {
	keys, err := store.Keys(ctx, game)
	if err == nil && len(keys) == 0 {
		if err = store.AddKeyIfNone(ctx, game, newKey()); err == nil {
			keys, err = store.Keys(ctx, game)
		}
	}
	keys = slices.Clone(keys)
	slices.Reverse(keys)
	return keys, err
}

// parseAndAdd parses keys and appends them to the game's.
func (r keyring) add(game string, keys []Key) error {
	for _, k := range keys {
		s, err := k.open()
		if err != nil {
			return err
		}
		if _, twice := r.find(game, k.ID); twice {
			return fmt.Errorf("key %q is there twice", k.ID)
		}
		r[game] = append(r[game], s)
	}
	return nil
}

func (r keyring) games() []string {
	var games []string
	for game := range r {
		if r.has(game) {
			games = append(games, game)
		}
	}
	return games
}

// has returns true if the keyring has keys for the game. It returns false for serverKeys,
// which is not a game.
func (r keyring) has(game string) bool {
	return game != serverKeys && len(r[game]) > 0
}

func (r keyring) find(game, id string) (signer, bool) {
	for _, s := range r[game] {
		if s.id == id {
			return s, true
		}
	}
	return signer{}, false
}

// signing returns the key that signs at a time, in epoch ms. If all stored keys are
// younger than SigningDelay, the oldest one signs. The error wraps ErrCannotSign.
func (r keyring) signing(game string, now int64) (signer, error) {
	var last signer
	for _, s := range r[game] {
		if s.sign == nil {
			continue
		}
		if s.since <= now {
			return s, nil
		}
		last = s
	}
	if last.sign != nil {
		return last, nil
	}
	return signer{}, fmt.Errorf("%w: %q has public keys only; mint its tokens where the private key is", ErrCannotSign, game)
}

// currentKeys has the keyring in use, which the server can replace while it runs. It is
// safe for concurrent use.
type currentKeys struct{ ring atomic.Pointer[keyring] }

func (k *currentKeys) now() keyring { return *k.ring.Load() }

func (k *currentKeys) has(game string) bool { return k.now().has(game) }

func (k *currentKeys) games() []string { return k.now().games() }
