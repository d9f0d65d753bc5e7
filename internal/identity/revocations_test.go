package identity

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/testenv"
)

func TestRevocationsAreEnforced(t *testing.T) {
	t.Parallel()
	store := newStore()
	store.link("account", "p_1")
	store.players[[2]string{game, "p_1"}] = Player{Game: game, ID: "p_1"}
	issued := start / 1000 * 1000
	player := func(subject string) Claims {
		return Claims{Subject: subject, Game: game, Role: RolePlayer, TokenID: "t1", IssuedAt: issued}
	}
	host := Claims{Subject: "h_1", Game: game, Role: RoleHost, IssuedAt: issued}
	service := Claims{Subject: "s_1", Game: game, Role: RoleService, IssuedAt: issued}
	for name, tt := range map[string]struct {
		revocation Revocation
		claims     Claims
		want       error
	}{
		"banned":                                 {Revocation{Kind: KindBan, ID: "p_1"}, player("p_1"), ErrBanned},
		"banned for a while":                     {Revocation{Kind: KindBan, ID: "p_1", EndsAt: start + 1}, player("p_1"), ErrBanned},
		"ban that has ended":                     {Revocation{Kind: KindBan, ID: "p_1", EndsAt: start}, player("p_1"), nil},
		"banned in another game":                 {Revocation{Game: otherGame, Kind: KindBan, ID: "p_1"}, player("p_1"), nil},
		"another is banned":                      {Revocation{Kind: KindBan, ID: "p_2"}, player("p_1"), nil},
		"the account of a banned player":         {Revocation{Kind: KindBan, ID: "p_1"}, player("account"), ErrBanned},
		"banned by the account's id":             {Revocation{Kind: KindBan, ID: "account"}, player("account"), ErrBanned},
		"host":                                   {Revocation{Kind: KindBan, ID: "h_1"}, host, ErrBanned},
		"a service is not banned":                {Revocation{Kind: KindBan, ID: "s_1"}, service, nil},
		"revoked by its id":                      {Revocation{Kind: KindToken, ID: "t1"}, player("p_1"), ErrTokenRevoked},
		"another token revoked":                  {Revocation{Kind: KindToken, ID: "t2"}, player("p_1"), nil},
		"a player's id as a token id":            {Revocation{Kind: KindToken, ID: "p_1"}, player("p_1"), nil},
		"revoked with all earlier tokens":        {Revocation{Kind: KindSubject, ID: "p_1", IssuedBefore: issued + 1000}, player("p_1"), ErrTokenRevoked},
		"issued after the revocation":            {Revocation{Kind: KindSubject, ID: "p_1", IssuedBefore: issued}, player("p_1"), nil},
		"revoked, of the account":                {Revocation{Kind: KindSubject, ID: "p_1", IssuedBefore: issued + 1000}, player("account"), ErrTokenRevoked},
		"a service's tokens revoked":             {Revocation{Kind: KindSubject, ID: "s_1", IssuedBefore: issued + 1000}, service, ErrTokenRevoked},
		"erased":                                 {Revocation{Kind: KindErased, ID: "p_1"}, player("p_1"), ErrErased},
		"erased, of the account":                 {Revocation{Kind: KindErased, ID: "p_1"}, player("account"), ErrErased},
		"a host of an erased id":                 {Revocation{Kind: KindErased, ID: "h_1"}, host, ErrErased},
		"a service is not erased":                {Revocation{Kind: KindErased, ID: "s_1"}, service, nil},
		"erased, by the hash":                    {Revocation{Kind: KindErased, ID: "#demo/p_1"}, player("p_1"), ErrErased},
		"another's hash":                         {Revocation{Kind: KindErased, ID: "#demo/p_2"}, player("p_1"), nil},
		"another game's hash":                    {Revocation{Kind: KindErased, ID: "#other/p_1"}, player("p_1"), nil},
		"linked, with a token of the account":    {Revocation{Kind: KindLinked, ID: "account"}, player("account"), nil},
		"linked, as the former player":           {Revocation{Kind: KindLinked, ID: "p_1"}, player("p_1"), ErrTokenRevoked},
		"a host with the id of a linked account": {Revocation{Kind: KindLinked, ID: "h_1"}, host, nil},
	} {
		store.revocations, store.revision = nil, 0
		tt.revocation.Reason = "the reason"
		store.revoke(tt.revocation)
		registry := newTestRegistry(t, store)
		got := checkClaims(t, registry, tt.claims)
		if !errors.Is(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		id := tt.claims.Subject
		if id == "account" {
			id = "p_1"
		}
		tt.claims.KeyID = store.keys[game][0].ID
		if sessionErr := registry.CheckActive(tt.claims, id); !errors.Is(sessionErr, tt.want) {
			t.Errorf("%s: a session: %v, want %v", name, sessionErr, tt.want)
		}
		if errors.Is(got, ErrBanned) && (errors.Is(got, ErrToken) || !strings.Contains(got.Error(), "the reason")) {
			t.Errorf("%s: the error is %v, want one with the reason", name, got)
		}
	}
}

// checkClaims checks the claims of a token as the server does for each request.
func checkClaims(t *testing.T, registry *Registry, claims Claims) error {
	t.Helper()
	if err := registry.Revocations.checkToken(claims); err != nil {
		return err
	}
	if claims.Role != RolePlayer {
		return nil
	}
	_, err := registry.Ensure(t.Context(), claims)
	return err
}

// A banned guest gets no token. A guest whose tokens are revoked gets a new one
// only for a new device.
func TestRevokedGuestsGetNoTokenForTheOldDevice(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	first := testenv.Need(registry.Guest(t.Context(), guestRequest("Ada")))(t)
	id := first.Player.ID
	store.revoke(Revocation{Kind: KindSubject, ID: id, IssuedBefore: nextWholeSecond(start)})
	store.removeDevices(game, id)
	refresh(t, registry)
	if _, err := registry.Verify(t.Context(), first.Token); !errors.Is(err, ErrTokenRevoked) {
		t.Errorf("a revoked token: %v", err)
	}
	_, newDevice, err := registry.ResetDevice(t.Context(), game, id)
	if err != nil {
		t.Fatal(err)
	}
	request := GuestRequest{Game: game, Device: newDevice}
	again, err := registry.Guest(t.Context(), request)
	if err != nil || again.Player.ID != id {
		t.Fatalf("%+v, %v", again, err)
	}
	if _, err := registry.Verify(t.Context(), again.Token); err != nil {
		t.Errorf("the token of the same second that came after: %v", err)
	}
	store.revoke(Revocation{Kind: KindBan, ID: id, Reason: "two accounts", EndsAt: start + 1})
	refresh(t, registry)
	if _, err := registry.Guest(t.Context(), request); !errors.Is(err, ErrBanned) {
		t.Errorf("a banned guest: %v", err)
	}
	if n := testutil.ToFloat64(registry.refusals.WithLabelValues("banned")); n != 1 {
		t.Errorf("%v refusals are counted", n)
	}
}

func nextWholeSecond(ms int64) int64 { return (ms + 1000) / 1000 * 1000 }

func refresh(t *testing.T, registry *Registry) {
	t.Helper()
	testenv.NoError(t, registry.Revocations.Refresh(t.Context()))
}

// A retired key ends the sessions that began with one of its tokens.
func TestARetiredKeyEndsItsSessions(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	claims := Claims{Subject: "p_1", Game: game, Role: RolePlayer, KeyID: store.keys[game][0].ID}
	if err := registry.CheckActive(claims, "p_1"); err != nil {
		t.Error(err)
	}
	testenv.Need(registry.RotateKey(t.Context(), game))(t)
	if err := store.RetireKey(t.Context(), game, claims.KeyID, 0); err != nil { // at another node
		t.Fatal(err)
	}
	refresh(t, registry)
	if err := registry.CheckActive(claims, "p_1"); !errors.Is(err, ErrTokenKey) {
		t.Errorf("a session of a retired key: %v", err)
	}
}

// Changes of the store are read twice a second. They are not read while the store is unreachable. After a restore of the store, all are read again.
func TestRevocationsAreReadTwiceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		for i := range revocationsPageSize + 1 {
			store.revoke(Revocation{Kind: KindBan, ID: fmt.Sprint("early", i)})
		}
		registry := newTestRegistry(t, store)
		var notified [][]Revocation
		registry.Revocations.OnChange(func(revocations []Revocation) { notified = append(notified, revocations) })
		stop := testenv.Run(t, registry.Revocations.Run)
		isBannedNow := func(id string) bool {
			return errors.Is(registry.Revocations.checkToken(Claims{Subject: id, Game: game, Role: RolePlayer}), ErrBanned)
		}
		if !isBannedNow("early0") || !isBannedNow(fmt.Sprint("early", revocationsPageSize)) {
			t.Error("revocations from before the start are not known")
		}
		store.revoke(Revocation{Kind: KindBan, ID: "p_1"})
		advance(revocationsReadInterval - time.Millisecond)
		if isBannedNow("p_1") {
			t.Error("a revocation applies before it was read")
		}
		advance(time.Millisecond)
		store.revoke(Revocation{Kind: KindBan, ID: "p_2"})
		advance(revocationsReadInterval)
		if !isBannedNow("p_1") || !isBannedNow("p_2") {
			t.Error("revocations do not apply after the next read")
		}
		if len(notified) != 2 || len(notified[0]) != 1 || notified[1][0].ID != "p_2" {
			t.Errorf("notified of %+v", notified)
		}
		store.setDown(true)
		store.revoke(Revocation{Kind: KindBan, ID: "p_3"})
		advance(3 * revocationsReadInterval)
		if !isBannedNow("p_1") || isBannedNow("p_3") || testutil.ToFloat64(registry.Revocations.metrics.failures) != 3 {
			t.Error("the revocations changed while the store was unreachable")
		}
		store.setDown(false)
		store.revoke(Revocation{Kind: KindBan, ID: "p_1", EndsAt: 1}) // lifted
		advance(revocationsReadInterval)
		if isBannedNow("p_1") || !isBannedNow("p_3") {
			t.Error("changes during the outage were not read")
		}
		if n := testutil.ToFloat64(registry.Revocations.metrics.revocations.WithLabelValues("ban")); n != revocationsPageSize+3 {
			t.Errorf("%v bans are shown", n)
		}
		store.mu.Lock()
		store.revocations, store.revision = nil, 0 // the store is replaced by an empty one
		store.mu.Unlock()
		store.revoke(Revocation{Kind: KindBan, ID: "p_4"})
		advance(revocationsReadInterval)
		if isBannedNow("p_2") || !isBannedNow("p_4") {
			t.Error("the revocations of the former store still apply")
		}
		stop()
	})
}

func TestValidateRefusesInvalidRevocations(t *testing.T) {
	t.Parallel()
	valid := Revocation{Game: game, Kind: KindBan, ID: "p_1", Reason: "x"}
	if err := valid.Validate(start); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Revocation){
		"no kind":                     func(revocation *Revocation) { revocation.Kind = "" },
		"not an operator's kind":      func(revocation *Revocation) { revocation.Kind = KindErased },
		"no id":                       func(revocation *Revocation) { revocation.ID = "" },
		"bad id":                      func(revocation *Revocation) { revocation.ID = "a b" },
		"reserved id":                 func(revocation *Revocation) { revocation.ID = reservedID },
		"no reason":                   func(revocation *Revocation) { revocation.Reason = "" },
		"long reason":                 func(revocation *Revocation) { revocation.Reason = strings.Repeat("x", MaxReasonBytes+1) },
		"ended":                       func(revocation *Revocation) { revocation.EndsAt = start },
		"end out of range":            func(revocation *Revocation) { revocation.EndsAt = 1 << 60 },
		"a ban with a time of issue":  func(revocation *Revocation) { revocation.IssuedBefore = start },
		"tokens issued in the future": func(revocation *Revocation) { revocation.Kind, revocation.IssuedBefore = KindSubject, start+31_000 },
	} {
		revocation := valid
		change(&revocation)
		if err := revocation.Validate(start); !errors.Is(err, ErrInvalidRevocation) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVerifyAccountAcceptsOnlyPlayerTokensOfTheGame(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	guest := Claims{Subject: "p_1", Game: game, Role: RolePlayer}
	store.revoke(Revocation{Kind: KindBan, ID: "banned"})
	refresh(t, registry)
	for name, tt := range map[string]struct {
		token string
		want  error
	}{
		"account":      {mintToken(t, registry.Tokens, Claims{Subject: "op:1", Game: game, Role: RolePlayer}), nil},
		"host":         {mintToken(t, registry.Tokens, Claims{Subject: "op:1", Game: game, Role: RoleHost}), ErrBadAccount},
		"another game": {mintToken(t, registry.Tokens, Claims{Subject: "op:1", Game: otherGame, Role: RolePlayer}), ErrBadAccount},
		"forged":       {"a.b.c", ErrBadAccount},
		"banned":       {mintToken(t, registry.Tokens, Claims{Subject: "banned", Game: game, Role: RolePlayer}), ErrBanned},
	} {
		account, err := registry.VerifyAccount(t.Context(), LinkRequest{Guest: guest, Token: tt.token})
		if !errors.Is(err, tt.want) || (account == "op:1") != (tt.want == nil) {
			t.Errorf("%s: %q, %v", name, account, err)
		}
	}
}

// Tokens of admins can be revoked like others, one by one and by subject. Those of
// a game's host with the same name stay valid.
func TestTokensOfAdminsCanBeRevoked(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	mint := func(c Claims) (string, Claims) {
		t.Helper()
		token, _, err := registry.Mint(c, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		claims := testenv.Need(registry.Tokens.Verify(t.Context(), token))(t)
		return token, claims
	}
	admin, claims := mint(Claims{Subject: "ops", Role: RoleAdmin})
	other, otherClaims := mint(Claims{Subject: "ops", Role: RoleAdmin})
	host, _ := mint(Claims{Subject: "ops", Game: game, Role: RoleHost})
	for _, step := range []struct {
		revocation Revocation
		want       []error // of admin, other, host
	}{
		{Revocation{Kind: KindToken, ID: claims.TokenID, Game: adminGame}, []error{ErrTokenRevoked, nil, nil}},
		{Revocation{Kind: KindSubject, ID: "ops", Game: adminGame, IssuedBefore: otherClaims.IssuedAt + 1000}, []error{ErrTokenRevoked, ErrTokenRevoked, nil}},
	} {
		store.revoke(step.revocation)
		refresh(t, registry)
		for i, token := range []string{admin, other, host} {
			if _, err := registry.Verify(t.Context(), token); !errors.Is(err, step.want[i]) {
				t.Errorf("%s, token %d: %v, want %v", step.revocation.Kind, i, err, step.want[i])
			}
		}
	}
	if err := (Revocation{Kind: KindBan, ID: "ops", Reason: "x"}).Validate(0); !errors.Is(err, ErrInvalidRevocation) {
		t.Errorf("an admin is banned: %v", err)
	}
}
