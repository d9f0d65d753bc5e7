package identity

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// tokensWithClock opens tokens with a clock that the test can change.
func tokensWithClock(t *testing.T, s *fakeStore, configured map[string][]Key) (*Tokens, *atomic.Int64) {
	t.Helper()
	var clock atomic.Int64
	clock.Store(start)
	tokens, err := OpenTokens(t.Context(), TokensConfig{Games: []string{game, other}, Configured: configured, Keys: s, Now: clock.Load})
	if err != nil {
		t.Fatal(err)
	}
	return tokens, &clock
}

func mintToken(t *testing.T, tokens *Tokens, c Claims) string {
	t.Helper()
	token, _, err := tokens.Mint(c, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// signingKeyID returns the key that signed a token, or "" if it is refused.
func signingKeyID(t *testing.T, tokens *Tokens, token string) string {
	t.Helper()
	c, err := tokens.Verify(t.Context(), token)
	if err != nil && !errors.Is(err, ErrTokenKey) {
		t.Error(err)
	}
	return c.KeyID
}

// A new key signs after SigningDelay, when all nodes know it. The old key verifies until
// it is retired. The server's own keys behave in the same way.
func TestNewKeysSignAfterTheDelayAndOldOnesVerify(t *testing.T) {
	t.Parallel()
	for _, c := range []Claims{{Subject: "p_1", Game: game, Role: RolePlayer}, {Subject: "root", Role: RoleAdmin}} {
		s := newStore()
		a, clock := tokensWithClock(t, s, nil)
		b, _ := tokensWithClock(t, s, nil)
		before := mintToken(t, a, c)
		first := signingKeyID(t, b, before)
		newKey, err := a.RotateKey(t.Context(), c.Game)
		if err != nil || newKey.Signs || newKey.ID == first {
			t.Fatalf("rotated to %+v, %v", newKey, err)
		}
		if key := signingKeyID(t, b, mintToken(t, a, c)); key != first {
			t.Errorf("signed by %q before the delay", key)
		}
		if err := b.reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock.Add(SigningDelay.Milliseconds())
		after := mintToken(t, a, c)
		if key := signingKeyID(t, b, after); key != newKey.ID {
			t.Errorf("signed by %q after the delay, want %q", key, newKey.ID)
		}
		if key := signingKeyID(t, b, before); key != first {
			t.Errorf("the former key: %q", key)
		}
		if keys := a.ListKeys(c.Game); len(keys) != 2 || !keys[0].Signs || keys[1].Signs || keys[1].ID != first {
			t.Errorf("keys %+v", keys)
		}
		if err := a.RetireKey(t.Context(), c.Game, first); err != nil {
			t.Fatal(err)
		}
		if old, now := signingKeyID(t, a, before), signingKeyID(t, a, after); old != "" || now != newKey.ID {
			t.Errorf("after it was retired: %q and %q", old, now)
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
	s := newStore()
	tokens, _ := tokensWithClock(t, s, map[string][]Key{game: {key("k1", "a")}})
	c := Claims{Subject: "p_1", Game: game, Role: RolePlayer}
	old := mintToken(t, tokens, c)
	for _, step := range []struct {
		keys       []Key
		signs, old string
	}{
		{[]Key{key("k1", "a"), key("k2", "b")}, "k1", "k1"},
		{[]Key{key("k2", "b"), key("k1", "a")}, "k2", "k1"},
		{[]Key{key("k2", "b")}, "k2", ""},
	} {
		if err := tokens.Configure(t.Context(), game, step.keys); err != nil {
			t.Fatal(err)
		}
		if signs, still := signingKeyID(t, tokens, mintToken(t, tokens, c)), signingKeyID(t, tokens, old); signs != step.signs || still != step.old {
			t.Errorf("%d keys: signed by %q, the old token by %q; want %+v", len(step.keys), signs, still, step)
		}
	}
	if err := tokens.Configure(t.Context(), game, []Key{{ID: "k3", Alg: HS256, Secret: []byte("short")}}); err == nil {
		t.Error("a short secret was accepted")
	}
	if key := signingKeyID(t, tokens, mintToken(t, tokens, c)); key != "k2" {
		t.Errorf("after an error %q signs", key)
	}
	if err := tokens.Configure(t.Context(), "nowhere", nil); !errors.Is(err, ErrNoGame) {
		t.Errorf("an unknown game: %v", err)
	}
	for _, err := range []error{tokens.RetireKey(t.Context(), game, "k2"), errorOf(tokens.RotateKey(t.Context(), game))} {
		if !errors.Is(err, ErrConfiguredKeys) {
			t.Errorf("a change of configured keys: %v", err)
		}
	}
	if err := tokens.Configure(t.Context(), game, nil); err != nil || len(s.keys[game]) != 1 {
		t.Fatalf("without configured keys: %v", err)
	}
	if key := signingKeyID(t, tokens, mintToken(t, tokens, c)); key != s.keys[game][0].ID {
		t.Errorf("signed by %q, not by the stored key", key)
	}
}

// errorOf returns the error of a call with two results.
func errorOf[T any](_ T, err error) error { return err }
