package identity

import (
	"context"

	"laststand/internal/leaderboard"
	"laststand/internal/rating"
)

// Player is a person in a game. Totals are the sums of the player's settled
// matches.
type Player struct {
	Game, ID string
	Nickname string
	JoinedAt int64         // epoch ms
	Rating   rating.Rating // the zero value before the first rated match
	Rated    int64         // rated matches
	Totals   leaderboard.Aggregates
}

// NewPlayer is a player to create.
type NewPlayer struct {
	Game, ID   string
	DeviceHash string // of a guest's secret; "": known by ID alone
	Nickname   string
	Skeleton   string // the claimed form of the nickname; unique in the game
	At         int64  // Player.JoinedAt
}

// Players stores players. CreateGuest and EnsurePlayer return the player of the device
// or id if there is one, else create one. Concurrent calls create only one. Errors are
// ErrNicknameTaken if another has the skeleton, ErrOldRules if the ledger's rules are
// newer, and ErrErased for the id of an erased player.
type Players interface {
	// Known returns the player of a token's subject, which is the player's id or a
	// linked account. Errors are ErrNotFound and ErrErased.
	Known(ctx context.Context, game, subject string) (Player, error)
	CreateGuest(ctx context.Context, p NewPlayer) (_ Player, created bool, err error)
	EnsurePlayer(ctx context.Context, p NewPlayer) (_ Player, created bool, err error)
	// Player returns a player, or ErrNotFound.
	Player(ctx context.Context, game, id string) (Player, error)
}

// Accounts stores the accounts of guests, and erases players.
type Accounts interface {
	// LinkAccount makes an account stand for a guest; it may be repeated. It returns
	// ErrAccountTaken if the account is linked elsewhere, is a guest or has results of
	// its own, or if the guest has another account. It returns ErrBadAccount for an
	// erased account, ErrNotGuest, or ErrNotFound. A player of the account without
	// results is deleted.
	LinkAccount(ctx context.Context, game, guest, account string) error
	// UnlinkAccount unlinks the account of a guest; id is of either. It returns
	// ErrNoAccount if there is none.
	UnlinkAccount(ctx context.Context, game, id string) (account string, err error)
	// Erase deletes a player with its devices and account: ErrNotFound.
	Erase(ctx context.Context, game, player string) error
}

// Devices stores the device secrets of guests, as hashes. A guest whose tokens are
// revoked has no device any more.
type Devices interface {
	// Guest returns the player of a device, or ErrNotFound.
	Guest(ctx context.Context, game, deviceHash string) (Player, error)
	// RotateDevice replaces the device of a player; it may be repeated. It returns
	// ErrWrongDevice if the player has neither device, and ErrBadDevice if the new one
	// belongs to another player.
	RotateDevice(ctx context.Context, game, player, from, to string) error
	// ResetDevice gives a guest a new device; id is the guest's or the account's.
	// Errors are ErrNotFound and ErrNotGuest.
	ResetDevice(ctx context.Context, game, id, deviceHash string) (player string, err error)
}

// Names stores the nicknames of players by their skeletons. It alone decides who has a
// nickname.
type Names interface {
	// Rename claims a nickname and frees the old one, in one step. Errors are
	// ErrNicknameTaken, ErrNotFound and ErrOldRules.
	Rename(ctx context.Context, game, id, nickname, skeleton string) error
	NicknameTaken(ctx context.Context, game, skeleton string) (bool, error)
	// MigrateSkeletons recomputes all skeletons of older rules. It returns by game how
	// many names have lost theirs to an older name; ErrOldRules if the ledger's rules
	// are newer.
	MigrateSkeletons(ctx context.Context) (map[string]int, error)
}
