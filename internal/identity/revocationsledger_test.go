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
func nodeWithRevocations(t *testing.T, sqlLedger *ledger.Ledger) (registry *identity.Registry, refresh func()) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	clock := func() int64 { return time.Now().UnixMilli() } // the database uses the same clock
	tokens := testenv.Need(identity.OpenTokens(t.Context(), identity.TokensConfig{Games: []string{demo}, Keys: sqlLedger.TokenKeys, Now: clock}))(t)
	revocations := testenv.Need(identity.OpenRevocations(t.Context(), identity.RevocationsConfig{Store: sqlLedger.Revocations, Tokens: tokens, Now: clock, Logger: log}))(t)
	registry = identity.Open(identity.Config{Tokens: tokens, Players: sqlLedger.Players, Devices: sqlLedger.Players, Names: sqlLedger.Names, NameSource: sqlLedger.Names, Epoch: sqlLedger.Epoch(), Revocations: revocations, Logger: log})
	return registry, func() {
		t.Helper()
		testenv.NoError(t, revocations.Refresh(t.Context()))
	}
}

// verifyAndEnsure does what the server does with a player's token.
func verifyAndEnsure(t *testing.T, registry *identity.Registry, token string) (string, error) {
	t.Helper()
	claims, err := registry.Verify(t.Context(), token)
	if err != nil {
		return "", err
	}
	player, err := registry.Ensure(t.Context(), claims)
	return player.ID, err
}

// guestAfterRevocation returns the guest of a device. After a revocation it must retry for up to
// a second, until a new token is issued after the revocation.
func guestAfterRevocation(t *testing.T, registry *identity.Registry, device string) identity.Guest {
	t.Helper()
	for {
		guest, err := registry.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: device})
		apiErr, mustWait := errors.AsType[*protocol.Error](err)
		if err != nil && !mustWait {
			t.Fatal(err)
		}
		if err == nil {
			return guest
		}
		time.Sleep(time.Duration(apiErr.RetryAfterMS) * time.Millisecond)
	}
}

// Changes to players and tokens at one node apply at the other, on the real
// databases.
func TestRevocationsReachTwoNodes(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		sqlLedger := openLedger(t, db)
		nodeA, _ := nodeWithRevocations(t, sqlLedger)
		nodeB, refresh := nodeWithRevocations(t, sqlLedger)
		guest := testenv.Need(nodeA.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: secret}))(t)
		accountToken, _, err := nodeA.Mint(identity.Claims{Subject: "user:1", Game: demo, Role: identity.RolePlayer}, 10*365*24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		id := guest.Player.ID
		revoke := func(kind identity.RevocationKind, id string) {
			t.Helper()
			testenv.Need(sqlLedger.Revocations.SetRevocation(t.Context(), identity.Revocation{Game: demo, Kind: kind, ID: id, Reason: "a test"}))(t)
		}
		check := func(name, token, wantID string, want error) {
			t.Helper()
			refresh()
			if got, err := verifyAndEnsure(t, nodeB, token); got != wantID || !errors.Is(err, want) {
				t.Errorf("%s: %q, %v; want %q, %v", name, got, err, wantID, want)
			}
		}
		check("an account that is not linked", accountToken, "user:1", nil)
		testenv.NoError(t, sqlLedger.Accounts.LinkAccount(t.Context(), demo, id, "user:1"))
		check("linked", accountToken, id, nil)
		check("the guest", guest.Token, id, nil)
		revoke(identity.KindBan, "user:1")
		check("banned by the account's id", accountToken, "", identity.ErrBanned)
		check("banned, the guest", guest.Token, "", identity.ErrBanned)
		testenv.NoError(t, sqlLedger.Revocations.LiftRevocation(t.Context(), identity.Revocation{Game: demo, Kind: identity.KindBan, ID: id}))
		check("after the ban was lifted", guest.Token, id, nil)
		revoke(identity.KindSubject, id)
		check("revoked", guest.Token, "", identity.ErrTokenRevoked)
		check("revoked, with a token of the account", accountToken, "", identity.ErrTokenRevoked)
		aheadToken, _, err := nodeA.Mint(identity.Claims{Subject: "user:1", Game: demo, Role: identity.RolePlayer, IssuedAt: time.Now().Add(25 * time.Second).UnixMilli()}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		check("revoked, issued by a clock that is ahead", aheadToken, "", identity.ErrTokenRevoked)
		if unknown, err := nodeB.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: secret}); err != nil || !unknown.New || unknown.Player.ID == id {
			t.Errorf("the device of a revoked player: %+v, %v", unknown, err)
		}
		_, device, err := nodeA.ResetDevice(t.Context(), demo, "user:1")
		if err != nil {
			t.Fatal(err)
		}
		again := guestAfterRevocation(t, nodeB, device)
		if again.New || again.Player.ID != id {
			t.Fatalf("the new device: %+v", again)
		}
		check("a new token", again.Token, id, nil)
		tokenClaims := testenv.Need(nodeB.Verify(t.Context(), again.Token))(t)
		revoke(identity.KindToken, tokenClaims.TokenID)
		check("one token revoked", again.Token, "", identity.ErrTokenRevoked)
		testenv.NoError(t, sqlLedger.Accounts.Erase(t.Context(), demo, id))
		claims := identity.Claims{Subject: "user:1", Game: demo, Role: identity.RolePlayer, IssuedAt: time.Now().Add(60 * time.Second).UnixMilli()}
		for range 2 { // before b has read of it, and after that
			if player, err := nodeB.Ensure(t.Context(), claims); !errors.Is(err, identity.ErrErased) {
				t.Errorf("an erased player is admitted as %q: %v", player.ID, err)
			}
			refresh()
		}
		if newGuest, err := nodeB.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: device}); err != nil || !newGuest.New || newGuest.Player.ID == id {
			t.Errorf("the device of an erased player: %+v, %v", newGuest, err)
		}
		newKey := testenv.Need(nodeA.RotateKey(t.Context(), demo))(t)
		if refresh(); len(nodeB.ListKeys(demo)) != 2 || nodeB.ListKeys(demo)[0].ID != newKey.ID {
			t.Errorf("keys %+v, without %+v", nodeB.ListKeys(demo), newKey)
		}
	})
}

// A node was cut off until the ledger had deleted the subject of an erasure. The node
// still ends the sessions, because the ledger has the hash of the subject.
func TestANodeThatWasCutOffEndsSessionsOfErasedPlayers(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		sqlLedger := openLedger(t, db)
		registry, refresh := nodeWithRevocations(t, sqlLedger)
		token, _, err := registry.Mint(identity.Claims{Subject: "user:1", Game: demo, Role: identity.RolePlayer}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		claims, err := registry.Verify(t.Context(), token)
		if err == nil {
			_, err = registry.Ensure(t.Context(), claims)
		}
		if err == nil {
			err = sqlLedger.Accounts.Erase(t.Context(), demo, "user:1")
		}
		forgotten := false
		if err == nil {
			forgotten, err = sqlLedger.Accounts.ForgetErased(t.Context(), 0)
		}
		if err != nil || !forgotten {
			t.Fatalf("forgotten: %v, %v", forgotten, err)
		}
		if err := registry.CheckActive(claims, "user:1"); err != nil {
			t.Fatalf("before it is read: %v", err)
		}
		refresh()
		if err := registry.CheckActive(claims, "user:1"); !errors.Is(err, identity.ErrErased) {
			t.Errorf("the session: %v", err)
		}
	})
}
