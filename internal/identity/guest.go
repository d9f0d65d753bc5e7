package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"

	"laststand/internal/protocol"
)

var devicePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{22,64}$`)

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

func (r GuestRequest) admit(ctx context.Context) error {
	if r.Admit == nil {
		return nil
	}
	return r.Admit(ctx)
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
// ErrBanned. For a new device they are also those of Admit,
// nickname.ErrInvalid and ErrNicknameTaken (a *TakenError).
func (r *Registry) Guest(ctx context.Context, request GuestRequest) (Guest, error) {
	if !r.keys().has(request.Game) {
		return Guest{}, ErrNoGame
	}
	if !devicePattern.MatchString(request.Device) {
		return Guest{}, ErrBadDevice
	}
	if _, err := r.keys().signingKey(request.Game, r.now()); err != nil {
		return Guest{}, err
	}
	p, created, issuedFrom, err := r.findOrCreateGuestWithIssueTime(ctx, request)
	if err != nil {
		return Guest{}, err
	}
	if waitMS := issuedFrom - r.now() - Leeway.Milliseconds(); waitMS > 0 { // less than 1 s, because issuedFrom is on a whole second
		return Guest{}, protocol.RetryAfter(protocol.CodeUnavailable, waitMS, "the player's tokens were revoked just now; try again in a second")
	}
	claims := Claims{Subject: p.ID, Game: p.Game, Role: RolePlayer, IssuedAt: max(r.now(), issuedFrom)}
	if err := r.countRefusal(r.Revocations.checkPlayer(claims, p.ID)); err != nil {
		return Guest{}, err
	}
	token, expiresAt, err := r.Mint(claims, r.guestTTL(p.Game))
	return Guest{Player: p, Token: token, ExpiresAt: expiresAt, New: created}, err
}

// findOrCreateGuestWithIssueTime finds or creates the player of a device. It also returns the first time at
// which a valid token of the player can be issued, epoch ms; 0 means any time. A
// revocation removes the player's device. If this node knows a revocation, it looks up the
// device again, because the lookup may have come before the revocation.
func (r *Registry) findOrCreateGuestWithIssueTime(ctx context.Context, request GuestRequest) (player Player, created bool, issuedFrom int64, err error) {
	for previousID := ""; ; previousID = player.ID {
		player, created, err = r.findOrCreateGuest(ctx, request)
		latestIssuedFrom := r.Revocations.earliestIssueTime(player.Game, player.ID)
		if err != nil || created || latestIssuedFrom == 0 || player.ID == previousID && latestIssuedFrom == issuedFrom {
			return player, created, latestIssuedFrom, err
		}
		issuedFrom = latestIssuedFrom
	}
}

func (r *Registry) findOrCreateGuest(ctx context.Context, request GuestRequest) (_ Player, created bool, err error) {
	deviceHash := hashDevice(request.Game, request.Device)
	known, err := r.Devices.Guest(ctx, request.Game, deviceHash) // most requests are from known devices
	if !errors.Is(err, ErrNotFound) {
		return known, false, err
	}
	newPlayer := NewPlayer{Game: request.Game, ID: newPlayerID(), DeviceHash: deviceHash, JoinedAt: r.now()}
	if request.Nickname != "" {
		return r.createGuestNamed(ctx, request, newPlayer)
	}
	if err := request.admit(ctx); err != nil {
		return Player{}, false, err
	}
	return r.createNamed(ctx, newPlayer, request.Lang, r.Players.CreateGuest)
}

// createGuestNamed creates a player with the nickname in the request. If another request has
// registered the device in the meantime, createGuestNamed returns that player instead.
func (r *Registry) createGuestNamed(ctx context.Context, request GuestRequest, newPlayer NewPlayer) (_ Player, created bool, err error) {
	requester := Requester{Address: request.Address, Lang: request.Lang, device: newPlayer.DeviceHash}
	wanted, refusal := r.checkClaimable(ctx, request.Game, request.Nickname, requester)
	if refusal != nil {
		known, err := r.Devices.Guest(ctx, request.Game, newPlayer.DeviceHash)
		if errors.Is(err, ErrNotFound) {
			return Player{}, false, refusal
		}
		return known, false, err
	}
	if err := request.admit(ctx); err != nil {
		return Player{}, false, err
	}
	view := r.views[request.Game]
	lookup := view.lookUp(wanted)
	player, created, err := r.create(ctx, newPlayer, wanted, r.Players.CreateGuest)
	isTaken := errors.Is(err, ErrNicknameTaken)
	if created || isTaken { // otherwise the device was known, and the ledger did not check the name
		view.countLookup(lookup, isTaken)
	}
	if isTaken {
		err = r.takenError(ctx, request.Game, wanted, requester, refusalTaken)
	}
	return player, created, err
}

// DeviceChange asks to replace the device secret of a player.
type DeviceChange struct {
	Game, Player         string
	OldSecret, NewSecret string // secrets in plain text, not hashes
}

// RotateDevice replaces the device secret of a guest. A repeated call changes nothing. The
// guest's tokens stay valid. Errors are ErrBadDevice for a secret of the wrong form, and
// ErrWrongDevice if OldSecret is not the guest's.
func (r *Registry) RotateDevice(ctx context.Context, change DeviceChange) error {
	switch {
	case !devicePattern.MatchString(change.OldSecret):
		return ErrBadDevice
	case !devicePattern.MatchString(change.NewSecret):
		return fmt.Errorf("%w: so must new_device", ErrBadDevice)
	case change.OldSecret == change.NewSecret:
		return fmt.Errorf("%w: new_device must be another one", ErrBadDevice)
	}
	return r.Devices.RotateDevice(ctx, change.Game, change.Player, hashDevice(change.Game, change.OldSecret), hashDevice(change.Game, change.NewSecret))
}

// ResetDevice gives a guest a new device secret and returns it. The parameter id names the
// guest, or the account that is linked to the guest. The server no longer accepts the
// former secret. Errors are ErrNotFound and ErrNotGuest.
func (r *Registry) ResetDevice(ctx context.Context, game, id string) (player, device string, err error) {
	device = rand.Text()
	player, err = r.Devices.ResetDevice(ctx, game, id, hashDevice(game, device))
	if err != nil {
		return "", "", err
	}
	return player, device, nil
}

// hashDevice returns the hash that the ledger stores instead of a device secret. Secrets
// are random and long, so a plain hash is enough. The hash contains the game, so that equal
// secrets in two games have different hashes.
func hashDevice(game, device string) string {
	sum := sha256.Sum256([]byte("laststand device\x00" + game + "\x00" + device))
	return hex.EncodeToString(sum[:])
}
