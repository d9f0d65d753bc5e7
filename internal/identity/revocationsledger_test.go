package identity_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// nodeWithRevocations returns the registry of a node with revocations. refresh makes the node
// read changed revocations.
func nodeWithRevocations(t *testing.T, l *ledger.Ledger) (r *identity.Registry, refresh func()) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	clock := func() int64 { return time.Now().UnixMilli() } // the database uses the same clock
	tokens, err := identity.OpenTokens(t.Context(), identity.TokensConfig{Games: []string{demo}, Keys: l, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	revocations, err := identity.OpenRevocations(t.Context(), identity.RevocationsConfig{Store: l, Tokens: tokens, Now: clock, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	r = identity.Open(identity.Config{Tokens: tokens, Players: l, Devices: l, Names: l, NameSource: l, Epoch: l.Epoch(), Revocations: revocations, Logger: log})
	return r, func() {
		t.Helper()
		if err := revocations.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// verifyAndEnsure does what the server does with a player's token.
func verifyAndEnsure(t *testing.T, r *identity.Registry, token string) (string, error) {
	t.Helper()
	c, err := r.Verify(t.Context(), token)
	if err != nil {
		return "", err
	}
	p, err := r.Ensure(t.Context(), c)
	return p.ID, err
}

// guestAfterRevocation returns the guest of a device. After a revocation it must retry for up to
// a second, until a new token is issued after the revocation.
func guestAfterRevocation(t *testing.T, r *identity.Registry, device string) identity.Guest {
	t.Helper()
	for {
		g, err := r.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: device})
		soon, wait := errors.AsType[*protocol.Error](err)
		if err != nil && !wait {
			t.Fatal(err)
		}
		if err == nil {
			return g
		}
		time.Sleep(time.Duration(soon.RetryAfterMS) * time.Millisecond)
	}
}

// Changes to players and tokens at one node apply at the other, on the real
// databases.
func TestRevocationsReachTwoNodes(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l := open(t, db)
		a, _ := nodeWithRevocations(t, l)
		b, refresh := nodeWithRevocations(t, l)
		guest, err := a.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: secret})
		if err != nil {
			t.Fatal(err)
		}
		account, _, err := a.Mint(identity.Claims{Subject: "user:1", Game: demo, Role: identity.RolePlayer}, 10*365*24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		id := guest.Player.ID
		revoke := func(kind identity.RevocationKind, id string) {
			t.Helper()
			if _, err := l.SetRevocation(t.Context(), identity.Revocation{Game: demo, Kind: kind, ID: id, Reason: "a test"}); err != nil {
				t.Fatal(err)
			}
		}
		check := func(what, token, wantID string, want error) {
			t.Helper()
			refresh()
			if got, err := verifyAndEnsure(t, b, token); got != wantID || !errors.Is(err, want) {
				t.Errorf("%s: %q, %v; want %q, %v", what, got, err, wantID, want)
			}
		}
		check("an account that is not linked", account, "user:1", nil)
		if err := l.LinkAccount(t.Context(), demo, id, "user:1"); err != nil {
			t.Fatal(err)
		}
		check("linked", account, id, nil)
		check("the guest", guest.Token, id, nil)
		revoke(identity.KindBan, "user:1")
		check("banned by the account's id", account, "", identity.ErrBanned)
		check("banned, the guest", guest.Token, "", identity.ErrBanned)
		if err := l.LiftRevocation(t.Context(), identity.Revocation{Game: demo, Kind: identity.KindBan, ID: id}); err != nil {
			t.Fatal(err)
		}
		check("after the ban was lifted", guest.Token, id, nil)
		revoke(identity.KindSubject, id)
		check("revoked", guest.Token, "", identity.ErrTokenRevoked)
		check("revoked, with a token of the account", account, "", identity.ErrTokenRevoked)
		ahead, _, err := a.Mint(identity.Claims{Subject: "user:1", Game: demo, Role: identity.RolePlayer, IssuedAt: time.Now().Add(25 * time.Second).UnixMilli()}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		check("revoked, issued by a clock that is ahead", ahead, "", identity.ErrTokenRevoked)
		if unknown, err := b.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: secret}); err != nil || !unknown.New || unknown.Player.ID == id {
			t.Errorf("the device of a revoked player: %+v, %v", unknown, err)
		}
		_, device, err := a.ResetDevice(t.Context(), demo, "user:1")
		if err != nil {
			t.Fatal(err)
		}
		again := guestAfterRevocation(t, b, device)
		if again.New || again.Player.ID != id {
			t.Fatalf("the new device: %+v", again)
		}
		check("a new token", again.Token, id, nil)
		c, err := b.Verify(t.Context(), again.Token)
		if err != nil {
			t.Fatal(err)
		}
		revoke(identity.KindToken, c.TokenID)
		check("one token revoked", again.Token, "", identity.ErrTokenRevoked)
		if err := l.Erase(t.Context(), demo, id); err != nil {
			t.Fatal(err)
		}
		claims := identity.Claims{Subject: "user:1", Game: demo, Role: identity.RolePlayer, IssuedAt: time.Now().Add(60 * time.Second).UnixMilli()}
		for range 2 { // before b has read of it, and after that
			if p, err := b.Ensure(t.Context(), claims); !errors.Is(err, identity.ErrErased) {
				t.Errorf("an erased player is admitted as %q: %v", p.ID, err)
			}
			refresh()
		}
		if newGuest, err := b.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: device}); err != nil || !newGuest.New || newGuest.Player.ID == id {
			t.Errorf("the device of an erased player: %+v, %v", newGuest, err)
		}
		newKey, err := a.RotateKey(t.Context(), demo)
		if err != nil {
			t.Fatal(err)
		}
		if refresh(); len(b.ListKeys(demo)) != 2 || b.ListKeys(demo)[0].ID != newKey.ID {
			t.Errorf("keys %+v, without %+v", b.ListKeys(demo), newKey)
		}
	})
}

// A node was cut off until the ledger had deleted the subject of an erasure. The node
// still ends the sessions, because the ledger has the hash of the subject.
func TestANodeThatWasCutOffEndsSessionsOfErasedPlayers(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l := open(t, db)
		r, refresh := nodeWithRevocations(t, l)
		token, _, err := r.Mint(identity.Claims{Subject: "user:1", Game: demo, Role: identity.RolePlayer}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.Verify(t.Context(), token)
		if err == nil {
			_, err = r.Ensure(t.Context(), c)
		}
		if err == nil {
			err = l.Erase(t.Context(), demo, "user:1")
		}
		for at := "-"; err == nil && at != ""; {
			at, _, err = l.EraseNext(t.Context())
		}
		forgotten := false
		if err == nil {
			forgotten, err = l.ForgetErased(t.Context(), 0)
		}
		if err != nil || !forgotten {
			t.Fatalf("forgotten: %v, %v", forgotten, err)
		}
		if err := r.CheckActive(c, "user:1"); err != nil {
			t.Fatalf("before it is read: %v", err)
		}
		refresh()
		if err := r.CheckActive(c, "user:1"); !errors.Is(err, identity.ErrErased) {
			t.Errorf("the session: %v", err)
		}
	})
}
