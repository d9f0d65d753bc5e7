package identity

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/testenv"
)

// newTokensWithClock opens tokens with a clock that the test can change.
func newTokensWithClock(t *testing.T, store *fakeStore, configured map[string][]Key) (*Tokens, *atomic.Int64) {
	t.Helper()
	var clock atomic.Int64
	clock.Store(start)
	tokens := testenv.Need(OpenTokens(t.Context(), TokensConfig{Games: []string{game, otherGame}, Configured: configured, Keys: store, Now: clock.Load}))(t)
	return tokens, &clock
}

func mintToken(t *testing.T, tokens *Tokens, claims Claims) string {
	t.Helper()
	token, _, err := tokens.Mint(claims, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// signingKeyID returns the key that signed a token, or "" if it is refused.
func signingKeyID(t *testing.T, tokens *Tokens, token string) string {
	t.Helper()
	claims, err := tokens.Verify(t.Context(), token)
	if err != nil && !errors.Is(err, ErrTokenKey) {
		t.Error(err)
	}
	return claims.KeyID
}

// A new key signs after SigningDelay, when all nodes know it. The old key verifies until
// it is retired. The server's own keys behave in the same way.
func TestNewKeysSignAfterTheDelayAndOldOnesVerify(t *testing.T) {
	t.Parallel()
	for _, claims := range []Claims{{Subject: "p_1", Game: game, Role: RolePlayer}, {Subject: "root", Role: RoleAdmin}} {
		store := newStore()
		nodeA, clock := newTokensWithClock(t, store, nil)
		nodeB, _ := newTokensWithClock(t, store, nil)
		oldToken := mintToken(t, nodeA, claims)
		oldKeyID := signingKeyID(t, nodeB, oldToken)
		newKey, err := nodeA.RotateKey(t.Context(), claims.Game)
		if err != nil || newKey.Signs || newKey.ID == oldKeyID {
			t.Fatalf("rotated to %+v, %v", newKey, err)
		}
		if key := signingKeyID(t, nodeB, mintToken(t, nodeA, claims)); key != oldKeyID {
			t.Errorf("signed by %q before the delay", key)
		}
		testenv.NoError(t, nodeB.reload(t.Context()))
		clock.Add(SigningDelay.Milliseconds())
		newToken := mintToken(t, nodeA, claims)
		if key := signingKeyID(t, nodeB, newToken); key != newKey.ID {
			t.Errorf("signed by %q after the delay, want %q", key, newKey.ID)
		}
		if key := signingKeyID(t, nodeB, oldToken); key != oldKeyID {
			t.Errorf("the former key: %q", key)
		}
		if keys := nodeA.ListKeys(claims.Game); len(keys) != 2 || !keys[0].Signs || keys[1].Signs || keys[1].ID != oldKeyID {
			t.Errorf("keys %+v", keys)
		}
		testenv.NoError(t, nodeA.RetireKey(t.Context(), claims.Game, oldKeyID))
		if oldTokenKeyID, newTokenKeyID := signingKeyID(t, nodeA, oldToken), signingKeyID(t, nodeA, newToken); oldTokenKeyID != "" || newTokenKeyID != newKey.ID {
			t.Errorf("after it was retired: %q and %q", oldTokenKeyID, newTokenKeyID)
		}
	}
}

// Configured keys are replaced while the server runs. The first key that can sign signs, and
// all keys verify. Without configured keys, the stored key is used.
func TestConfiguredKeysAreReplaced(t *testing.T) {
	t.Parallel()
	key := func(id, letter string) Key {
		return Key{ID: id, Alg: HS256, Secret: bytes.Repeat([]byte(letter), 32)}
	}
	store := newStore()
	tokens, _ := newTokensWithClock(t, store, map[string][]Key{game: {key("k1", "a")}})
	claims := Claims{Subject: "p_1", Game: game, Role: RolePlayer}
	oldToken := mintToken(t, tokens, claims)
	for _, step := range []struct {
		keys       []Key
		signs, old string
	}{
		{[]Key{key("k1", "a"), key("k2", "b")}, "k1", "k1"},
		{[]Key{key("k2", "b"), key("k1", "a")}, "k2", "k1"},
		{[]Key{key("k2", "b")}, "k2", ""},
	} {
		testenv.NoError(t, tokens.Configure(t.Context(), game, step.keys))
		if signs, oldTokenKeyID := signingKeyID(t, tokens, mintToken(t, tokens, claims)), signingKeyID(t, tokens, oldToken); signs != step.signs || oldTokenKeyID != step.old {
			t.Errorf("%d keys: signed by %q, the old token by %q; want %+v", len(step.keys), signs, oldTokenKeyID, step)
		}
	}
	if err := tokens.Configure(t.Context(), game, []Key{{ID: "k3", Alg: HS256, Secret: []byte("short")}}); err == nil {
		t.Error("a short secret was accepted")
	}
	if key := signingKeyID(t, tokens, mintToken(t, tokens, claims)); key != "k2" {
		t.Errorf("after an error %q signs", key)
	}
	if err := tokens.Configure(t.Context(), "nowhere", nil); !errors.Is(err, ErrNoGame) {
		t.Errorf("an unknown game: %v", err)
	}
	for _, err := range []error{tokens.RetireKey(t.Context(), game, "k2"), onlyError(tokens.RotateKey(t.Context(), game))} {
		if !errors.Is(err, ErrConfiguredKeys) {
			t.Errorf("a change of configured keys: %v", err)
		}
	}
	if err := tokens.Configure(t.Context(), game, nil); err != nil || len(store.keys[game]) != 1 {
		t.Fatalf("without configured keys: %v", err)
	}
	if key := signingKeyID(t, tokens, mintToken(t, tokens, claims)); key != store.keys[game][0].ID {
		t.Errorf("signed by %q, not by the stored key", key)
	}
}

// onlyError returns the error of a call with two results.
func onlyError[T any](_ T, err error) error { return err }
