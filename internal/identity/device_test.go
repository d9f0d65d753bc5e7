package identity

import (
	"context"
	"errors"
	"testing"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// Invalid device secrets do not reach the store.
func TestInvalidDeviceSecretsAreNotStored(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	guest := testenv.Need(registry.Guest(t.Context(), guestRequest("Ada")))(t)
	for name, test := range map[string]struct {
		from, to string
		want     error
	}{
		"the old secret is too short":         {device[:21], device + "2", ErrBadDevice},
		"the new secret is too short":         {device, device[:21], ErrBadDevice},
		"the new secret equals the old one":   {device, device, ErrBadDevice},
		"the old secret is of another device": {device + "9", device + "2", ErrWrongDevice},
	} {
		if err := registry.RotateDevice(t.Context(), DeviceChange{game, guest.Player.ID, test.from, test.to}); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	testenv.NoError(t, registry.RotateDevice(t.Context(), DeviceChange{game, guest.Player.ID, device, device + "2"}))
	again, err := registry.Guest(t.Context(), GuestRequest{Game: game, Device: device + "2"})
	if err != nil || again.New || again.Player.ID != guest.Player.ID {
		t.Errorf("the new device: %+v, %v", again, err)
	}
	if unknown, err := registry.Guest(t.Context(), GuestRequest{Game: game, Device: device}); err != nil || !unknown.New {
		t.Errorf("the old device: %+v, %v", unknown, err)
	}
}

// A player's tokens are revoked while the device requests a token, after its player was found.
// A token of the old player would not be issued after the revocation, so the device gets a new
// player.
func TestGuestFoundDuringARevocationGetsNoOldToken(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	first := testenv.Need(registry.Guest(t.Context(), guestRequest("Ada")))(t)
	id := first.Player.ID
	registry.Devices = &racingStore{store, func() {
		store.revoke(Revocation{Kind: KindSubject, ID: id, IssuedBefore: nextWholeSecond(start)})
		store.removeDevices(game, id)
		refresh(t, registry)
	}}
	if late, err := registry.Guest(t.Context(), GuestRequest{Game: game, Device: device}); err != nil || late.Player.ID == id || !late.New {
		t.Errorf("%+v, %v; want a new player", late, err)
	}
}

// racingStore is a store that calls a function after the first lookup of a device.
type racingStore struct {
	*fakeStore
	afterFirstLookup func()
}

func (s *racingStore) Guest(ctx context.Context, game, hash string) (Player, error) {
	player, err := s.fakeStore.Guest(ctx, game, hash)
	if afterLookup := s.afterFirstLookup; afterLookup != nil {
		s.afterFirstLookup = nil
		afterLookup()
	}
	return player, err
}

// If a revocation refuses tokens up to a time in the future, a guest must retry after that
// time.
func TestGuestWaitsWhileItsTokenWouldBeRevoked(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	first := testenv.Need(registry.Guest(t.Context(), guestRequest("Ada")))(t)
	store.revoke(Revocation{Kind: KindSubject, ID: first.Player.ID, IssuedBefore: start + Leeway.Milliseconds() + 700})
	refresh(t, registry)
	_, err := registry.Guest(t.Context(), guestRequest("Ada"))
	if apiErr, ok := errors.AsType[*protocol.Error](err); !ok || apiErr.Code != protocol.CodeUnavailable || apiErr.RetryAfterMS != 700 {
		t.Errorf("too early: %v", err)
	}
}

// An unlinked subject is no longer the guest in any session, but a player of its
// own.
func TestSessionsOfAnUnlinkedAccountEnd(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	store.revoke(Revocation{Kind: KindUnlinked, ID: "op:1", EndsAt: start + 1})
	refresh(t, registry)
	account := Claims{Subject: "op:1", Game: game, Role: RolePlayer, KeyID: store.keys[game][0].ID}
	for id, want := range map[string]error{"p_1": ErrTokenRevoked, "op:1": nil} {
		if err := registry.CheckActive(account, id); !errors.Is(err, want) {
			t.Errorf("the account as %s: %v, want %v", id, err, want)
		}
	}
	account.Subject = "p_1"
	if err := registry.CheckActive(account, "p_1"); err != nil {
		t.Errorf("the guest: %v", err)
	}
}
