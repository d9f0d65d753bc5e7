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

// NewPlayer is a player to be.
type NewPlayer struct {
	Game, ID   string
	DeviceHash string // of a guest's secret; "": known by ID alone
	Nickname   string
	Skeleton   string // what the nickname claims, alone in the game
	At         int64  // JoinedAt
}

// Players keeps players. Both Create and Ensure give the known one of that
// device or id, else make one: one only, however many calls there are at once;
// an error is ErrNicknameTaken where the skeleton is another's, ErrOldRules where
// skeletons are reckoned by newer rules, ErrErased where the id is that of one who
// has been erased.
type Players interface {
	// Known gives the player whom a token's subject speaks for, by its own id or
	// as an account: ErrNotFound, ErrErased.
	Known(ctx context.Context, game, subject string) (Player, error)
	CreateGuest(ctx context.Context, p NewPlayer) (_ Player, created bool, err error)
	EnsurePlayer(ctx context.Context, p NewPlayer) (_ Player, created bool, err error)
	// Player gives a player, or ErrNotFound.
	Player(ctx context.Context, game, id string) (Player, error)
}

// Accounts keeps whose accounts guests are, and who is no more.
type Accounts interface {
	// Tie has an account's id speak for a guest from now on, again and again:
	// ErrAccountTaken where it speaks for another, is a guest or has results of its
	// own, or the guest another account; ErrNotGuest, ErrNotFound, and ErrBadAccount
	// for an account that has been erased. A player that the
	// account has been, without results, is no more then.
	Tie(ctx context.Context, game, guest, account string) error
	// Untie has the account of a guest, named by the id of either, speak for nobody:
	// ErrNoAccount.
	Untie(ctx context.Context, game, id string) (account string, err error)
	// Erase has a player be no more, and all that speaks for it: ErrNotFound.
	Erase(ctx context.Context, game, player string) error
}

// Devices keeps by which secrets guests are known. Who has its tokens revoked has
// no device any more.
type Devices interface {
	// Guest gives the player of a device, or ErrNotFound.
	Guest(ctx context.Context, game, deviceHash string) (Player, error)
	// RotateDevice puts a device in place of another of a player, again and again:
	// ErrWrongDevice where the player has neither, ErrBadDevice where the new one is
	// another's.
	RotateDevice(ctx context.Context, game, player, from, to string) error
	// ResetDevice gives a guest, named by its id or its account's, a device in place
	// of any other: ErrNotFound, ErrNotGuest.
	ResetDevice(ctx context.Context, game, id, deviceHash string) (player string, err error)
}

// Names keeps the nicknames that players claim by their skeletons: it alone
// decides whose a nickname is.
type Names interface {
	// Rename claims a nickname and frees the old one, in one step;
	// ErrNicknameTaken, ErrNotFound, ErrOldRules.
	Rename(ctx context.Context, game, id, nickname, skeleton string) error
	NicknameTaken(ctx context.Context, game, skeleton string) (bool, error)
	// Respell reckons all skeletons anew that were by other rules than those in
	// force, and gives how many names have lost theirs to an older one, by game;
	// ErrOldRules where they are by newer ones.
	Respell(ctx context.Context) (map[string]int, error)
}
