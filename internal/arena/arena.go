// Package arena is where players gather by a code before a match of many: its
// making, its lobby, and what its host may do. Once it has begun it is a match
// like any other.
package arena

import (
	"context"

	"laststand/internal/match"
)

// Seats keeps who is in an arena, beside its match. Every write is atomic and
// idempotent.
type Seats interface {
	// Sit gives a player a seat while the match is in its lobby. Who has one
	// keeps it, whatever the phase.
	AddSeat(ctx context.Context, r SeatRequest) (PlaceReply, error)
	// Watch lets somebody watch, as a spectator or the host.
	AddWatcher(ctx context.Context, id, player string, as match.Role) (PlaceReply, error)
	// Unsit ends somebody's place: a seat is taken away in the lobby, and left
	// to stand and marked as left later on. Where bans is above 0 somebody with a
	// place is refused one from now on; where so many are refused one already the
	// verdict is Full, and nothing changes. The role is what the place was, "" where
	// there was none; then the verdict is Banned for who is refused one.
	RemovePlace(ctx context.Context, id, player string, bans int) (PlaceReply, error)
	// Lock ends the joining of players.
	LockLobby(ctx context.Context, id string) error
}

// SeatRequest asks for a seat. The team is one of Teams, or "" for the one with
// the fewest players.
type SeatRequest struct {
	Match string
	Seat  match.Seat
	Teams []string
	Max   int // seats
}

// Verdict is what became of a request for a place.
type Verdict string

// The verdicts of Seats.
const (
	In      Verdict = "in"   // has a place now, or had one
	Out     Verdict = "out"  // has none now, or had none
	Left    Verdict = "left" // left a match that is played
	Full    Verdict = "full"
	Started Verdict = "started"
	Locked  Verdict = "locked"
	Banned  Verdict = "banned"
	Gone    Verdict = "gone" // no such arena, or it is over and they had no place
)

// PlaceReply answers a request for a place. Team is the seat's, Nodes are those that
// hold sessions of the arena.
type PlaceReply struct {
	Verdict Verdict
	Team    string
	Role    match.Role
	Phase   match.Phase
	Nodes   []string
}

// Codes keeps the codes by which arenas are joined, per game.
type Codes interface {
	// Claim takes a code for an arena's match unless it is taken, also by one
	// whose arena was over less than an hour ago.
	ClaimCode(ctx context.Context, game, code, id string) (bool, error)
	// Find finds the match of a code, "" for none.
	FindCode(ctx context.Context, game, code string) (id string, err error)
	// Rest frees a code in an hour.
	RetireCode(ctx context.Context, game, code string) error
}

// Activities keeps what players are in, one thing at a time; *lobby.Lobby does.
type Activities interface {
	// Occupy says that a player is in a match, unless busy with anything but
	// former; then it tells with what ("" where it succeeded): the id of a
	// match, or of a ticket where ticket is set.
	Occupy(ctx context.Context, game, player, id, former string) (with string, ticket bool, err error)
	// Free ends a player's being busy with a match.
	Free(ctx context.Context, game, player, id string) error
}

// Matches plays what gathers in arenas; *match.Engine does.
type Matches interface {
	CheckOverload() error
	// Open creates an arena's match, in its lobby.
	CreateArena(ctx context.Context, p *match.Plan) error
	// Look reads an arena: its plan, state, shown seats and teams;
	// match.ErrNotFound.
	ReadArena(ctx context.Context, id string) (match.View, error)
	// Sits says whether a player has a seat; match.ErrNotFound where not.
	CheckSeat(ctx context.Context, id, player string) error
	// Begin starts the countdown of an arena in its lobby, Proceed goes on from
	// a question, Shut ends it. Where it stands elsewhere they do nothing.
	StartArena(ctx context.Context, id string) error
	Proceed(ctx context.Context, id string, after int) error
	CloseArena(ctx context.Context, id string) error
	// Enter leads a player's session at this node into an arena's feed, from
	// the push after a number on.
	AttachFrom(ctx context.Context, id, player string, after int64) error
	// Expel takes a player's sessions out of the feed, on all nodes, and pushes
	// them a frame; nil for none.
	Expel(ctx context.Context, id, player string, frame []byte)
	// Farewell pushes a frame to everybody in an arena, on all nodes.
	Broadcast(ctx context.Context, id string, frame []byte)
	// Moved says that players came or went: those who are in the lobby are told
	// in time.
	NotifyPlacesChanged(id string)
}
