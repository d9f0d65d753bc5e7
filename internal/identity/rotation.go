package identity

import (
	"context"
	"fmt"
)

// KeyShown is what may be told of a key. The one that signs now does so of all
// of its game; every one verifies.
type KeyShown struct {
	ID        string `json:"id"`
	Alg       string `json:"alg"`
	Signs     bool   `json:"signs"`
	CreatedAt int64  `json:"created_at,omitempty"` // epoch ms; absent: it is configured
}

// KeysOf lists the keys of a game, "" the server's own, the first to sign first.
func (t *Tokens) KeysOf(game string) []KeyShown {
	keys := t.keys.now()
	signing, _ := keys.signing(game, t.now()) // none, if all only verify
	var shown []KeyShown
	for _, s := range keys[game] {
		shown = append(shown, KeyShown{ID: s.id, Alg: s.method.Alg(), Signs: s.id == signing.id, CreatedAt: s.createdAt})
	}
	return shown
}

// RotateKey keeps one more key of a game, "" the server's own, which signs
// once SettleIn has passed; the others go on verifying. ErrKeysOfFiles,
// ErrManyKeys.
func (t *Tokens) RotateKey(ctx context.Context, game string) (KeyShown, error) {
	if t.ofFiles(game) {
		return KeyShown{}, ErrKeysOfFiles
	}
	k := newKey()
	if err := t.config.Keys.AddKey(ctx, game, k); err != nil {
		return KeyShown{}, err
	}
	if err := t.reload(ctx); err != nil {
		return KeyShown{}, err
	}
	for _, shown := range t.KeysOf(game) {
		if shown.ID == k.ID {
			return shown, nil
		}
	}
	return KeyShown{}, ErrNoKey // retired meanwhile
}

// RetireKey forgets a kept key: tokens that it has signed are refused from then
// on. ErrKeysOfFiles, ErrNoKey, ErrKeyInUse for one without which none could
// sign.
func (t *Tokens) RetireKey(ctx context.Context, game, id string) error {
	if t.ofFiles(game) {
		return ErrKeysOfFiles
	}
	if err := t.config.Keys.RetireKey(ctx, game, id, SettleIn.Milliseconds()); err != nil {
		return err
	}
	return t.reload(ctx)
}

// Configure puts configured keys of a game in place of the former ones; none:
// those that are kept are in force. After an error nothing has changed.
func (t *Tokens) Configure(ctx context.Context, game string, keys []Key) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	if !t.keys.has(game) {
		return ErrNoGame
	}
	former, had := t.configured[game]
	t.setConfigured(game, keys, len(keys) > 0)
	err := t.reopen(ctx)
	if err != nil {
		t.setConfigured(game, former, had)
	}
	return err
}

func (t *Tokens) setConfigured(game string, keys []Key, some bool) {
	if t.configured == nil {
		t.configured = map[string][]Key{}
	}
	t.configured[game] = keys
	if !some {
		delete(t.configured, game)
	}
}

func (t *Tokens) ofFiles(game string) bool {
	t.changing.Lock()
	defer t.changing.Unlock()
	return len(t.configured[game]) > 0
}

// reload reads the kept keys again.
func (t *Tokens) reload(ctx context.Context) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	return t.reopen(ctx)
}

// reopen is called under changing.
func (t *Tokens) reopen(ctx context.Context) error {
	keys, err := openKeys(ctx, t.config.Games, t.configured, t.config.Keys)
	if err != nil {
		return fmt.Errorf("identity: read keys again: %w", err)
	}
	t.keys.ring.Store(&keys)
	return nil
}

// signed reports whether the key that signed a token is still there.
func (t *Tokens) signed(c Claims) bool {
	_, there := t.keys.now().find(c.Game, c.Key)
	return there
}
