package identity

import (
	"context"
	"errors"
	"testing"

	"laststand/internal/protocol"
)

// Invalid device secrets do not reach the store.
func TestRotationChecksDevices(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := registryOf(t, s)
	g, err := r.Guest(t.Context(), ask("Ada"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		from, to string
		want     error
	}{
		"an old one too short": {device[:21], device + "2", ErrBadDevice},
		"a new one too short":  {device, device[:21], ErrBadDevice},
		"the same":             {device, device, ErrBadDevice},
		"another's":            {device + "9", device + "2", ErrWrongDevice},
	} {
		if err := r.RotateDevice(t.Context(), DeviceChange{game, g.Player.ID, c.from, c.to}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := r.RotateDevice(t.Context(), DeviceChange{game, g.Player.ID, device, device + "2"}); err != nil {
		t.Fatal(err)
	}
	again, err := r.Guest(t.Context(), GuestRequest{Game: game, Device: device + "2"})
	if err != nil || again.New || again.Player.ID != g.Player.ID {
		t.Errorf("the new device: %+v, %v", again, err)
	}
	if stranger, err := r.Guest(t.Context(), GuestRequest{Game: game, Device: device}); err != nil || !stranger.New {
		t.Errorf("the old device: %+v, %v", stranger, err)
	}
}

// A token is requested during a revocation of the player's tokens, after the
// device was found. Its time is not after the revocation.
func TestRevocationRacesAGuest(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := registryOf(t, s)
	first, err := r.Guest(t.Context(), ask("Ada"))
	if err != nil {
		t.Fatal(err)
	}
	id := first.Player.ID
	r.Devices = &raced{s, func() {
		s.revoke(Revocation{Kind: KindSubject, ID: id, IssuedBefore: wholeSecond(start)})
		s.detach(game, id)
		refresh(t, r)
	}}
	if late, err := r.Guest(t.Context(), GuestRequest{Game: game, Device: device}); err != nil || late.Player.ID == id || !late.New {
		t.Errorf("%+v, %v; want a new player", late, err)
	}
}

// raced is a store that calls a function after the first lookup of a device.
type raced struct {
	*fakeStore
	then func()
}

func (d *raced) Guest(ctx context.Context, game, hash string) (Player, error) {
	p, err := d.fakeStore.Guest(ctx, game, hash)
	if then := d.then; then != nil {
		d.then = nil
		then()
	}
	return p, err
}

// If a revocation refuses tokens up to a time in the future, a guest must retry after that
// time.
func TestGuestsWaitForTheEndOfARevocation(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := registryOf(t, s)
	first, err := r.Guest(t.Context(), ask("Ada"))
	if err != nil {
		t.Fatal(err)
	}
	s.revoke(Revocation{Kind: KindSubject, ID: first.Player.ID, IssuedBefore: start + Leeway.Milliseconds() + 700})
	refresh(t, r)
	_, err = r.Guest(t.Context(), ask("Ada"))
	if soon, ok := errors.AsType[*protocol.Error](err); !ok || soon.Code != protocol.CodeUnavailable || soon.RetryAfterMS != 700 {
		t.Errorf("too early: %v", err)
	}
}

// An unlinked subject is no longer the guest in any session, but a player of its
// own.
func TestUntiedSessionsEnd(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := registryOf(t, s)
	s.revoke(Revocation{Kind: KindUnlinked, ID: "op:1", EndsAt: start + 1})
	refresh(t, r)
	account := Claims{Subject: "op:1", Game: game, Role: RolePlayer, Key: s.keys[game][0].ID}
	for id, want := range map[string]error{"p_1": ErrTokenRevoked, "op:1": nil} {
		if err := r.CheckActive(account, id); !errors.Is(err, want) {
			t.Errorf("the account as %s: %v, want %v", id, err, want)
		}
	}
	account.Subject = "p_1"
	if err := r.CheckActive(account, "p_1"); err != nil {
		t.Errorf("the guest: %v", err)
	}
}
