package match

import (
	"context"
	"errors"

	"laststand/internal/protocol"
)

// ErrNotFound reports that a match does not exist or has expired.
var ErrNotFound = errors.New("match: not found")

// ErrAbandoned reports that the store has lost acknowledged steps of a match.
// Either a replica that was behind was promoted, or the data is gone.
var ErrAbandoned = errors.New("match: abandoned, the store has forgotten acknowledged steps")

// The stores below are shared by all nodes. Every write is atomic and idempotent: a
// repeated attempt changes nothing and returns the same reply. A repeated step does so
// only until the next step; then it reports that it was not applied. Calls that
// carry what their node has seen return ErrAbandoned if the store has lost some of it.

// StateStore stores the states of matches and their pushes.
type StateStore interface {
	// Create writes a new match with its deadline. It does nothing if the id exists
	// or existed before. It reports whether it created the match.
	Create(ctx context.Context, m NewMatch) (bool, error)
	// Tombstone prevents a match from ever being created. It reports whether
	// the match already exists; then it changes nothing.
	Tombstone(ctx context.Context, match string) (exists bool, err error)
	// Read reads a match. It returns ErrNotFound if there is none, and
	// ErrAbandoned if the store has lost steps.
	Read(ctx context.Context, q ReadQuery) (View, error)
	// Step applies a step if the match still has the phase and the question of
	// the step. A step that abandons the match ignores the store's version and
	// moves it above the highest seen one. The data that RankedPlayers and Read
	// need for a paged result is kept until the result is settled.
	Step(ctx context.Context, s Step) (StepResult, error)
	// RankedPlayers returns up to limit players of an arena by rank, best first,
	// starting after the best from players.
	RankedPlayers(ctx context.Context, match string, from, limit int) ([]RankedPlayer, error)
}

// NewMatch is a match in its first state. Node is the node that will hold sessions of its
// players, "" for none yet.
type NewMatch struct {
	Plan  *Plan
	State State
	Found *protocol.NumberedPush // the first push, nil for none
	Node  string
}

// AnswerStore stores the answers to the open question of an arena. Those of a duel are
// accepted by steps.
type AnswerStore interface {
	// Commit accepts or refuses an answer. A right answer in a buzzer match
	// uses CommitIfFirst.
	Commit(ctx context.Context, a Attempt) (Outcome, error)
	// CommitIfFirst accepts a right answer in a buzzer match if it is the first
	// one, and seals the question. The verdict of any later one is VerdictLate.
	CommitIfFirst(ctx context.Context, a Attempt) (Outcome, error)
	// Record returns a player's accepted answer to a question of any match.
	Record(ctx context.Context, match, player string, question int) (Record, bool, error)
}

// PlaceStore stores who is in a match: people, hosts and the nodes of their sessions.
type PlaceStore interface {
	// Members returns the places of people in an arena. It leaves out those who have
	// none. It accepts at most 500 people.
	Members(ctx context.Context, match string, people ...string) (map[string]Member, error)
	// PostponeHostDeadline moves the deadline of an arena that waits for its
	// host to open a question. It does nothing in other phases or matches.
	PostponeHostDeadline(ctx context.Context, match string, dueAt int64) error
	// Nodes lists the nodes that hold sessions of matches, by match.
	Nodes(ctx context.Context, matches ...string) (map[string][]string, error)
}

// Index finds matches in all partitions of the store.
type Index interface {
	// ListDue lists matches whose deadline is before the given time.
	ListDue(ctx context.Context, before int64) ([]string, error)
	// RemoveIndexEntries removes the index entries of a match that no longer exists.
	RemoveIndexEntries(ctx context.Context, match string) error
	// RemoveOrphan removes a match that no node can read. It does nothing if
	// the match is over or its deadline is later than dueBefore. It reports
	// whether it removed the match.
	RemoveOrphan(ctx context.Context, match string, dueBefore int64) (bool, error)
	// ReadProgress returns how far each match has come. It leaves out matches
	// that are settled or do not exist.
	ReadProgress(ctx context.Context, matches []string) (map[string]Progress, error)
}

// ResultStore stores the results that wait for the ledger.
type ResultStore interface {
	// IsPending reports whether the result of a match waits for the ledger.
	IsPending(ctx context.Context, match string) (bool, error)
	// CountUnsettled counts the results that wait for the ledger.
	CountUnsettled(ctx context.Context) (int64, error)
}

// Progress contains the number of the last push of a match, and its version.
type Progress struct{ Seq, Version int64 }

// Role says what a person may do in an arena: play, watch or host.
type Role string

// The roles of the wire contract.
const (
	PlayerRole    Role = "player"
	SpectatorRole Role = "spectator"
	HostRole      Role = "host"
)

// Member is a person in an arena, identified by Seat.Player. Only a player has
// a nickname and a team.
type Member struct {
	Seat Seat
	Role Role
}

// RankedPlayer is a player of an arena with the player's totals.
type RankedPlayer struct {
	Seat   Seat
	Totals Totals
}

// RankReader reads the players of an arena by rank, best first.
type RankReader interface {
	Read(ctx context.Context, q ReadQuery) (View, error)
	RankedPlayers(ctx context.Context, match string, from, limit int) ([]RankedPlayer, error)
}
