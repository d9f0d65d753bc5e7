package identity

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// Keys keeps generated keys; game "" holds the server's own. AddKeyIfNone
// keeps a key if the game has none: of several nodes that start at once one
// wins, and all read the same keys afterwards.
type Keys interface {
	Keys(ctx context.Context, game string) ([]Key, error) // oldest first
	AddKeyIfNone(ctx context.Context, game string, k Key) error
	// AddKey keeps one more key; ErrManyKeys.
	AddKey(ctx context.Context, game string, k Key) error
	// RetireKey forgets a key; ErrNoKey, or ErrKeyInUse where none is left that
	// has been kept for settleIn ms.
	RetireKey(ctx context.Context, game, id string, settleIn int64) error
}

// serverKeys is the place of the server's own key among those of games.
const serverKeys = ""

// SettleIn is how long a kept key only verifies before it signs: by then every
// node has read it.
const SettleIn = 10 * time.Second

// keyring holds the keys of each game in their order: the first that can sign
// does, and has settled in. It is not changed once made.
type keyring map[string][]signer

// openKeys opens the configured keys of each game; a game without any has one
// generated, and so has the server.
func openKeys(ctx context.Context, games []string, configured map[string][]Key, store Keys) (keyring, error) {
	ring := keyring{}
	for _, game := range append([]string{serverKeys}, games...) {
		keys := configured[game]
		if game == serverKeys || len(keys) == 0 {
			var err error
			if keys, err = keptKeys(ctx, game, store); err != nil {
				return nil, fmt.Errorf("identity: keys of %q: %w", game, err)
			}
		}
		if err := ring.add(game, keys); err != nil {
			return nil, fmt.Errorf("identity: keys of %q: %w", game, err)
		}
	}
	return ring, nil
}

// keptKeys are those of the store, the newest first, as it is to sign.
func keptKeys(ctx context.Context, game string, store Keys) ([]Key, error) {
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

// has says whether the game is known; the server's own place is no game.
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

// signing is the key that signs at an instant, epoch ms: of kept keys that none
// of has settled in yet the oldest does.
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

// liveKeys are the keys in force. Safe for concurrent use.
type liveKeys struct{ ring atomic.Pointer[keyring] }

func (k *liveKeys) now() keyring { return *k.ring.Load() }

func (k *liveKeys) has(game string) bool { return k.now().has(game) }

func (k *liveKeys) games() []string { return k.now().games() }
