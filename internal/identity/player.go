package identity

import (
	"context"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
)

// Player is a person in a game. Totals are the sums of the player's settled
// matches.
type Player struct {
	Game, ID     string
	Nickname     string
	JoinedAt     int64        // epoch ms
	Rating       match.Rating // the zero value before the first rated match
	RatedMatches int64        // how many rated matches the player has finished
	Totals       leaderboard.Aggregates
}

// NewPlayer is a player to create.
type NewPlayer struct {
	Game, ID   string
	DeviceHash string // hash of a guest's device secret; "": a player of a login service
	Nickname   string
	Skeleton   string // the nickname reduced to what makes it unique in the game
	JoinedAt   int64  // see Player.JoinedAt, epoch ms
}

// Players stores players. CreateGuest looks for the player of the device, EnsurePlayer for
// the player with the id. They return that player, or create one if there is none.
// Concurrent calls create only one. Errors are ErrNicknameTaken if another player has the
// skeleton, and ErrErased for the id of an erased player.
type Players interface {
	// Known returns the player of a token's subject, which is the player's id or a
	// linked account. Errors are ErrNotFound and ErrErased.
	Known(ctx context.Context, game, subject string) (Player, error)
	CreateGuest(ctx context.Context, player NewPlayer) (_ Player, created bool, err error)
	EnsurePlayer(ctx context.Context, player NewPlayer) (_ Player, created bool, err error)
	// Player returns a player, or ErrNotFound.
	Player(ctx context.Context, game, id string) (Player, error)
}

// Devices stores the device secrets of guests, as hashes. A guest whose tokens are
// revoked has no device any more.
type Devices interface {
	// Guest returns the player of a device, or ErrNotFound.
	Guest(ctx context.Context, game, deviceHash string) (Player, error)
	// RotateDevice replaces the device of a player; it may be repeated. It returns
	// ErrWrongDevice if the player has neither the old nor the new device, and
	// ErrBadDevice if the new one belongs to another player.
	RotateDevice(ctx context.Context, game, player, oldHash, newHash string) error
	// ResetDevice gives a guest a new device and returns the guest's id. The parameter
	// id is the guest's or the account's. Errors are ErrNotFound and ErrNotGuest.
	ResetDevice(ctx context.Context, game, id, deviceHash string) (player string, err error)
}

// Names stores the nicknames of players by their skeletons. Only Names decides which
// player has a nickname; views and reservations can be wrong.
type Names interface {
	// Rename claims a nickname for a player and frees the old one, in one transaction. Errors are
	// ErrNicknameTaken and ErrNotFound.
	Rename(ctx context.Context, game, id, nickname, skeleton string) error
	// NicknameTaken reports whether a player has the nickname with this skeleton.
	NicknameTaken(ctx context.Context, game, skeleton string) (bool, error)
}

// NameReservations reserves suggested nicknames. All nodes share the reservations. A
// nickname is reserved by its skeleton. Only the ledger decides which player gets a name.
type NameReservations interface {
	// Reserve reserves skeletons for a requester for ReservationTTL. It returns for each
	// whether it is now reserved; it is not if it was reserved before, for anyone.
	Reserve(ctx context.Context, game, requester string, skeletons []string) ([]bool, error)
	// ReservedFor returns the requester for whom a skeleton is reserved, or "".
	ReservedFor(ctx context.Context, game, skeleton string) (requester string, err error)
	// Hold notes for HoldTTL which requester has claimed a skeleton.
	Hold(ctx context.Context, game, requester, skeleton string) error
	// HeldFor returns the requester who claimed a skeleton last, or "".
	HeldFor(ctx context.Context, game, skeleton string) (requester string, err error)
}
