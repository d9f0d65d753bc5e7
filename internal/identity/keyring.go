package identity

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// Keys stores generated keys; game "" holds the server's own. AddKeyIfNone adds a key
// if the game has none: of several nodes that start at once one succeeds, and all read
// the same keys afterwards.
type Keys interface {
	Keys(ctx context.Context, game string) ([]Key, error) // oldest first
	AddKeyIfNone(ctx context.Context, game string, k Key) error
	// AddKey adds one more key; ErrTooManyKeys.
	AddKey(ctx context.Context, game string, k Key) error
	// RetireKey deletes a key. Errors are ErrNoKey, and ErrKeyInUse if no other key has
	// been stored for settleIn ms.
	RetireKey(ctx context.Context, game, id string, settleIn int64) error
}

// serverKeys is the game name under which the server's own keys are stored.
const serverKeys = ""

// SigningDelay is how long a stored key only verifies before it signs. By then every
// node has read it.
const SigningDelay = 10 * time.Second

// keyring holds the keys of each game in order. The first key that can sign, and is
// past SigningDelay, signs. It is not changed after it is made.
type keyring map[string][]signer

// openKeys reads the configured keys of each game. It generates a key for each game
// without one, and for the server.
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

// storedKeys returns the keys of the store, newest first, since the newest one signs.
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

// has returns true if the game is known; serverKeys is no game.
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

// signing returns the key that signs at a time, epoch ms. If all stored keys are newer
// than SigningDelay, the oldest one signs.
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

// currentKeys holds the keys in use. It is safe for concurrent use.
type currentKeys struct{ ring atomic.Pointer[keyring] }

func (k *currentKeys) now() keyring { return *k.ring.Load() }

func (k *currentKeys) has(game string) bool { return k.now().has(game) }

func (k *currentKeys) games() []string { return k.now().games() }
