package match

import (
	"context"
	"errors"

	"laststand/internal/protocol"
)

// ErrNotFound says that there is no such match, or none any more.
var ErrNotFound = errors.New("match: not found")

// ErrAbandoned says that the store has forgotten what it had acknowledged of a
// match: a replica was promoted that was behind, or the data is gone.
var ErrAbandoned = errors.New("match: abandoned, the store has forgotten acknowledged steps")

// Store keeps matches. Every write is atomic and idempotent: run again with
// the same attempt it does nothing more, and answers as the first time; a step
// only until the next one is taken, when it says that it was not. Calls that
// carry the highest version seen answer ErrAbandoned where the store's is lower.
type Store interface {
	// Create writes a new match as it is in its first state, with its first
	// push where there is one, and its deadline, if there is none of that id
	// and none has been; it says whether it did.
	Create(ctx context.Context, p *Plan, s State, found *protocol.Numbered) (bool, error)
	// Read reads a match; ErrNotFound, ErrAbandoned.
	Read(ctx context.Context, q ReadQuery) (View, error)
	// Commit accepts an answer, or says why not. A right one of a buzzer match
	// goes to Race.
	Commit(ctx context.Context, a Attempt) (Outcome, error)
	// Race accepts a right answer of a buzzer match if it is the first, and
	// seals the question with it; any other is Late.
	Race(ctx context.Context, a Attempt) (Outcome, error)
	// Record finds a player's accepted answer to a question.
	Record(ctx context.Context, match, player string, question int) (Record, bool, error)
	// Step takes a step if the match still stands where the step begins. One
	// that abandons the match is taken however far the store's version is
	// behind, and moves it beyond the highest seen. What Placed and Read need
	// for a paged result is kept until that is settled.
	Step(ctx context.Context, s Step) (StepResult, error)
	// Member finds a player's place in an arena; ErrNotFound where there is
	// none.
	Member(ctx context.Context, match, player string) (Member, error)
	// Absent lists those of some people who have no place in an arena, of at
	// most 500.
	WithoutPlace(ctx context.Context, match string, people []string) ([]string, error)
	// Placed pages the players of an arena by rank, best first.
	RankedPlayers(ctx context.Context, match string, from, limit int) ([]RankedPlayer, error)
	// HostHere moves the deadline of an arena that waits for its host; of one
	// that does not wait it moves nothing.
	PostponeHostDeadline(ctx context.Context, match string, dueAt int64) error
	// Nodes lists the nodes that hold sessions of a match.
	Nodes(ctx context.Context, match string) ([]string, error)
	// Void makes sure that a match is never created, unless it has been; it
	// says whether it has.
	Tombstone(ctx context.Context, match string) (exists bool, err error)
}

// Role is what somebody is in an arena.
type Role string

// The roles of the wire contract.
const (
	AsPlayer    Role = "player"
	AsSpectator Role = "spectator"
	AsHost      Role = "host"
)

// Member is somebody in an arena; Seat.Player says who. Only a player has a
// nickname and a team.
type Member struct {
	Seat Seat
	Role Role
}

// Index finds matches over all partitions.
type Index interface {
	// Due lists matches whose deadline is before the instant.
	ListDue(ctx context.Context, before int64) ([]string, error)
	// Forget takes a match that is gone off the index.
	RemoveIndex(ctx context.Context, match string) error
	// RemoveOrphan removes a match that no node can read, unless its deadline is
	// later than the instant or it is over; it says whether it did.
	RemoveOrphan(ctx context.Context, match string, dueBefore int64) (bool, error)
	// Marks tells how far each match has come; those that are settled or gone
	// are left out.
	ReadProgress(ctx context.Context, matches []string) (map[string]Progress, error)
	// Pending says whether the result of a match waits for the ledger.
	IsPending(ctx context.Context, match string) (bool, error)
	// Unsettled counts the results that wait for the ledger.
	CountUnsettled(ctx context.Context) (int64, error)
}

// Progress is how far a match has come: the number of its last push, and its
// version.
type Progress struct{ Seq, Version int64 }
