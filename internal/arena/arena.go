package arena

import (
	"context"

	"laststand/internal/match"
)

// Seats keeps the places in an arena next to its match. Every write is atomic
// and idempotent.
type Seats interface {
	// AddSeat gives a player a seat while the match is in its lobby. A player
	// with a seat keeps it in every phase.
	AddSeat(ctx context.Context, r SeatRequest) (PlaceReply, error)
	// AddWatcher gives a person a place as a spectator or as the host.
	AddWatcher(ctx context.Context, id, player string, as match.Role) (PlaceReply, error)
	// RemovePlace ends a place. In the lobby it deletes the seat; later it
	// marks the seat as left. If bans is above 0, a person with a place is also
	// banned. If the arena already has that many bans, the verdict is Full and
	// nothing changes.
	//
	// The role of the reply is the former role, or "" if there was no place.
	// The verdict is then Banned for a banned person.
	RemovePlace(ctx context.Context, id, player string, bans int) (PlaceReply, error)
	// LockLobby ends the joining of players.
	LockLobby(ctx context.Context, id string) error
}

// SeatRequest asks for a seat. The team is one of Teams, or "" for the team
// with the fewest players.
type SeatRequest struct {
	Match string
	Seat  match.Seat
	Teams []string
	Max   int // seats
}

// Verdict is the outcome of a request about a place.
type Verdict string

// The verdicts of Seats.
const (
	In      Verdict = "in"   // the person has a place now
	Out     Verdict = "out"  // the person has no place now
	Left    Verdict = "left" // the player left a running match
	Full    Verdict = "full"
	Started Verdict = "started"
	Locked  Verdict = "locked"
	Banned  Verdict = "banned"
	Gone    Verdict = "gone" // no such arena, or it is over and the person had no place
)

// PlaceReply is the reply to a request about a place. Team is the team of the
// seat. Nodes hold sessions of the arena.
type PlaceReply struct {
	Verdict Verdict
	Team    string
	Role    match.Role
	Phase   match.Phase
	Nodes   []string
}

// Codes keeps the join codes of arenas, per game.
type Codes interface {
	// ClaimCode claims a code for an arena's match. It returns false if the
	// code is in use or was retired less than an hour ago.
	ClaimCode(ctx context.Context, game, code, id string) (bool, error)
	// FindCode returns the match of a code, or "".
	FindCode(ctx context.Context, game, code string) (id string, err error)
	// RetireCode frees a code in an hour.
	RetireCode(ctx context.Context, game, code string) error
}

// Activities keeps what each player is in, one thing at a time; *lobby.Lobby
// implements it.
type Activities interface {
	// Occupy records that a player is in a match, unless the player is in
	// anything except former. On success with is "". Otherwise with is the id
	// of the match, or of a ticket if ticket is true.
	Occupy(ctx context.Context, game, player, id, former string) (with string, ticket bool, err error)
	// Free records that a player is no longer in a match.
	Free(ctx context.Context, game, player, id string) error
}

// Matches runs the matches of arenas; *match.Engine implements it.
type Matches interface {
	CheckOverload() error
	// CreateArena creates an arena's match in its lobby.
	CreateArena(ctx context.Context, p *match.Plan) error
	// ReadArena returns the plan, state, listed seats and teams of an arena, or
	// match.ErrNotFound.
	ReadArena(ctx context.Context, id string) (match.View, error)
	// CheckSeat returns match.ErrNotFound unless the player has a seat.
	CheckSeat(ctx context.Context, id, player string) error
	// StartArena starts the countdown of an arena in its lobby, Proceed moves
	// on from a question, CloseArena ends the arena. They do nothing if the
	// match is in another phase.
	StartArena(ctx context.Context, id string) error
	Proceed(ctx context.Context, id string, after int) error
	CloseArena(ctx context.Context, id string) error
	// AttachFrom attaches a player's session at this node to an arena, from the
	// push after a number on.
	AttachFrom(ctx context.Context, id, player string, after int64) error
	// Expel removes a player's sessions from the arena on all nodes and pushes
	// them a frame; nil for none.
	Expel(ctx context.Context, id, player string, frame []byte)
	// Broadcast pushes a frame to all sessions of an arena on all nodes.
	Broadcast(ctx context.Context, id string, frame []byte)
	// NotifyPlacesChanged tells the engine that players joined or left. The
	// players in the lobby get a notice soon.
	NotifyPlacesChanged(id string)
}
