package arena

import (
	"context"
	"strings"

	"laststand/internal/match"
)

// Seats stores the places in an arena together with its match. Every write is
// atomic and idempotent. id is the id of the match.
type Seats interface {
	// AddSeat gives a player a seat while the match is in its lobby, or is
	// played and late joins are allowed. A player with a seat keeps it in every
	// phase; one who left a running match gets no second one.
	AddSeat(ctx context.Context, r SeatRequest) (PlaceReply, error)
	// AddWatcher gives a person a place as a spectator or as the host; as is that
	// role.
	AddWatcher(ctx context.Context, id, player string, as match.Role) (PlaceReply, error)
	// RemovePlace ends a place. In the lobby it deletes the seat; later it
	// marks the seat as left. If bans is above 0, it also bans a person with a
	// place. If the arena already has that many bans, the verdict is VerdictFull
	// and nothing changes.
	//
	// The role of the reply is the former role, or "" if there was no place. In
	// that case the verdict for a banned person is VerdictBanned.
	RemovePlace(ctx context.Context, id, player string, bans int) (PlaceReply, error)
	// LockLobby makes AddSeat refuse further players.
	LockLobby(ctx context.Context, id string) error
	// SetExtra gives a seated player extra time while the match is in its lobby; 0
	// percent takes it away. It ends with the place. The verdict is VerdictOut for a
	// player without a seat, and VerdictFull after match.MaxExtraSeats players.
	SetExtra(ctx context.Context, id, player string, percent int64) (PlaceReply, error)
}

// SeatRequest asks for a seat. The team is one of Teams, or "" for the team
// with the fewest players.
type SeatRequest struct {
	Match     string
	Seat      match.Seat
	Teams     []string
	MaxSeats  int  // maximum number of seats
	AllowLate bool // true: also give a seat while the match is played
}

// Verdict is the outcome of a request about a place.
type Verdict string

// The verdicts of Seats.
const (
	VerdictIn      Verdict = "in"      // the person has a place now
	VerdictOut     Verdict = "out"     // the person has no place now
	VerdictLeft    Verdict = "left"    // the player left a running match
	VerdictFull    Verdict = "full"    // the arena has its maximum of seats, bans or players with extra time
	VerdictStarted Verdict = "started" // the match has started without the player
	VerdictLocked  Verdict = "locked"  // the host has locked the arena
	VerdictBanned  Verdict = "banned"  // the host has banned the person
	VerdictGone    Verdict = "gone"    // no such arena, or it is over and the person had no place
)

// PlaceReply is the reply to a request about a place.
type PlaceReply struct {
	Verdict Verdict
	Team    string      // team of the seat; "" without teams
	Role    match.Role  // role of the place; "" if there is none
	Phase   match.Phase // of the match
	Nodes   []string    // nodes that have sessions of the arena
}

// Codes stores the join codes of arenas, per game. id is the id of a match.
type Codes interface {
	// ClaimCode claims a code for an arena's match. It returns false if the
	// code is in use or was retired less than an hour ago.
	ClaimCode(ctx context.Context, game, code, id string) (bool, error)
	// FindCode returns the match of a code, or "".
	FindCode(ctx context.Context, game, code string) (id string, err error)
	// RetireCode makes a code unusable now and free again after an hour.
	RetireCode(ctx context.Context, game, code string) error
}

// Activities stores the match or ticket that each player is in, at most one;
// *lobby.Lobby implements it.
type Activities interface {
	// Occupy records that a player is in the match id. It refuses a player who has
	// a ticket or is in another match.
	Occupy(ctx context.Context, game, player, id string) error
	// Free records that a player is no longer in the match id.
	Free(ctx context.Context, game, player, id string) error
}

// Matches creates and reads the matches of arenas; *match.Engine implements it, as well
// as Commands and Audience.
type Matches interface {
	CheckOverload() error
	// CreateArena creates an arena's match in its lobby.
	CreateArena(ctx context.Context, p *match.Plan) error
	// ReadArena returns the plan, state, listed seats and teams of an arena, or
	// match.ErrNotFound.
	ReadArena(ctx context.Context, id string) (match.View, error)
}

// Commands executes the commands of hosts.
type Commands interface {
	// StartArena starts the countdown of an arena that is in its lobby. In
	// another phase it does nothing.
	StartArena(ctx context.Context, id string) error
	// Proceed closes the question with index after if it is open, else it opens
	// the next question. For -1 it opens the first one. If the match has done
	// that already, it does nothing.
	Proceed(ctx context.Context, id string, after int) error
	// CloseArena ends an arena. If it is over, it does nothing.
	CloseArena(ctx context.Context, id string) error
}

// Audience is the sessions of the people in an arena.
type Audience interface {
	// AttachFrom attaches a player's session at this node to an arena. The
	// session gets the pushes after the number after.
	AttachFrom(ctx context.Context, id, player string, after int64) error
	// Expel removes a player's sessions from the arena on all nodes and pushes
	// them a frame; nil for none.
	Expel(ctx context.Context, id, player string, frame []byte)
	// Broadcast pushes a frame to all sessions of an arena on all nodes.
	Broadcast(ctx context.Context, id string, frame []byte)
	// NotifyPlacesChanged reports to the engine that players joined or left. The
	// engine soon sends a notice to the players in the lobby.
	NotifyPlacesChanged(id string)
}

// Record is what the ledger keeps of an arena. Host and Name are "" if the host was erased.
type Record struct {
	Game, Match string
	Host        string // id of the creator: a player or a client with role host
	Name        string
	Mode        match.Mode
	CreatedAt   int64 // epoch ms
	IsSettled   bool  // in lists: the ledger has the result of the match
	Players     int   // in lists, of a settled match
}

// ArenaID returns the id of the arena.
func (r Record) ArenaID() string { return "a_" + strings.TrimPrefix(r.Match, "m_") }

// matchID returns the id of the match of an arena.
func matchID(arenaID string) string { return "m_" + strings.TrimPrefix(arenaID, "a_") }

// Records stores what remains of arenas. *ledger.Arenas implements it.
type Records interface {
	// AddArena adds the record of a new arena. The store sets its time.
	AddArena(ctx context.Context, r Record) error
	// Arena returns the record of the arena of a match, or match.ErrNotFound.
	Arena(ctx context.Context, game, match string) (Record, error)
	// ArenasOf returns the arenas of a host, newest first, and the cursor of the next page.
	// The cursor after the last page is "". An unknown cursor gives match.ErrBadCursor.
	ArenasOf(ctx context.Context, game, host, cursor string, limit int) (page []Record, next string, err error)
}
