package identity

import (
	"context"
	"errors"

	"laststand/internal/protocol"
)

// GuestRequest asks for the player of a device.
type GuestRequest struct {
	Game     string
	Device   string // a secret: 22 to 64 of A-Z a-z 0-9 _ -
	Nickname string // wanted by a new player; "": the server generates one
	Lang     string // language of a generated nickname, such as zh-CN
	Address  string // network address of the client, as in Requester

	// Admit is called once before the server creates a player; its error ends the
	// request. It is not called for a known device. nil admits every player.
	Admit func(ctx context.Context) error
}

func (q GuestRequest) admit(ctx context.Context) error {
	if q.Admit == nil {
		return nil
	}
	return q.Admit(ctx)
}

// Guest is the player of a device, with a token that is valid for GuestTTL, or for the
// game's MaxTTL if that is shorter.
type Guest struct {
	Player    Player
	Token     string
	ExpiresAt int64 // of the token, epoch ms
	New       bool  // this request created the player
}

// Guest returns the player of a device, or creates one. For a known device the nickname
// in the request is ignored. Errors are ErrNoGame, ErrBadDevice, ErrCannotSign and
// ErrBanned. For a new device they are also those of Admit, ErrOldRules,
// nickname.ErrInvalid and ErrNicknameTaken (a *TakenError).
func (r *Registry) Guest(ctx context.Context, q GuestRequest) (Guest, error) {
	if !r.keys.has(q.Game) {
		return Guest{}, ErrNoGame
	}
	if !validDevice(q.Device) {
		return Guest{}, ErrBadDevice
	}
	if _, err := r.keys.now().signing(q.Game, r.now()); err != nil {
		return Guest{}, err
	}
	p, created, issuedFrom, err := r.guestNow(ctx, q)
	if err != nil {
		return Guest{}, err
	}
	if wait := issuedFrom - r.now() - Leeway.Milliseconds(); wait > 0 { // less than 1 s, because issuedFrom is on a whole second
		return Guest{}, protocol.RetryAfter(protocol.CodeUnavailable, wait, "the player's tokens were revoked just now; try again in a second")
	}
	c := Claims{Subject: p.ID, Game: p.Game, Role: RolePlayer, IssuedAt: max(r.now(), issuedFrom)}
	if err := r.countRefusal(r.Revocations.checkPlayer(c, p.ID)); err != nil {
		return Guest{}, err
	}
	token, expiresAt, err := r.Mint(c, r.guestTTL(p.Game))
	return Guest{Player: p, Token: token, ExpiresAt: expiresAt, New: created}, err
}

// guestNow finds or creates the player of a device. It also returns the first time at
// which a valid token of the player can be issued, epoch ms; 0 means any time. A
// revocation removes the player's device. If this node knows a revocation, it looks up the
// device again, because the lookup may have come before the revocation.
func (r *Registry) guestNow(ctx context.Context, q GuestRequest) (p Player, created bool, issuedFrom int64, err error) {
	for found := ""; ; found = p.ID {
		p, created, err = r.guest(ctx, q)
		from := r.Revocations.issuedFrom(p.Game, p.ID)
		if err != nil || created || from == 0 || p.ID == found && from == issuedFrom {
			return p, created, from, err
		}
		issuedFrom = from
	}
}

// guest finds or creates the player of a device.
func (r *Registry) guest(ctx context.Context, q GuestRequest) (_ Player, created bool, err error) {
	device := hashDevice(q.Game, q.Device)
	known, err := r.Devices.Guest(ctx, q.Game, device) // most requests are from known devices
	if !errors.Is(err, ErrNotFound) {
		return known, false, err
	}
	fresh := NewPlayer{Game: q.Game, ID: newID(), DeviceHash: device, At: r.now()}
	if q.Nickname != "" {
		return r.guestNamed(ctx, q, fresh)
	}
	if err := q.admit(ctx); err != nil {
		return Player{}, false, err
	}
	return r.createNamed(ctx, fresh, q.Lang, r.Players.CreateGuest)
}

// guestNamed creates a player with the nickname in the request. If another request has
// registered the device in the meantime, createGuestNamed returns that player instead.
func (r *Registry) guestNamed(ctx context.Context, q GuestRequest, fresh NewPlayer) (_ Player, created bool, err error) {
	requester := Requester{Address: q.Address, Lang: q.Lang, device: fresh.DeviceHash}
	wanted, refusal := r.checkClaimable(ctx, q.Game, q.Nickname, requester)
	if refusal != nil {
		known, err := r.Devices.Guest(ctx, q.Game, fresh.DeviceHash)
		if errors.Is(err, ErrNotFound) {
			return Player{}, false, refusal
		}
		return known, false, err
	}
	if err := q.admit(ctx); err != nil {
		return Player{}, false, err
	}
	names := r.views[q.Game]
	seen := names.lookUp(wanted)
	p, created, err := r.create(ctx, fresh, wanted, r.Players.CreateGuest)
	isTaken := errors.Is(err, ErrNicknameTaken)
	if created || isTaken { // otherwise the device was known, and the ledger did not check the name
		names.countLookup(seen, isTaken)
	}
	if isTaken {
		err = r.takenError(ctx, q.Game, wanted, requester, reasonTaken)
	}
	return p, created, err
}
