package leaderboard

import (
	"context"
	"errors"
)

// ErrStale means that another applier moved the boards first: look again.
var ErrStale = errors.New("the boards moved meanwhile")

// Generation names one copy of all boards of a game in one form. A copy is
// built beside the one that is read, and then read instead of it.
type Generation struct {
	Game, Form, ID string
}

// State is how far a generation has come. Stamp is drawn anew with every
// write, so that equal stamps mean equal boards, whatever was lost between.
type State struct {
	Generation
	Served bool   // readers see it; else it is being built
	Before string // the id of the one that is served while this is being built
	Stamp  string // empty: there is no such copy, or it is not whole
	Mark   Watermark
	First  string // the first ledger day, empty before the first row
	At     int64  // when it was begun, epoch ms; only Begin reads it
}

// Step is one atomic write: entries and the watermark that they stand for.
type Step struct {
	Expect  string // the stamp that it builds on
	Stamp   string // the stamp that it leaves
	Mark    Watermark
	First   string
	At      int64 // when it was planned, epoch ms: tells abandoned copies
	Changes []Change
	Drop    []Board // after Changes
}

// Change is what a step does to one board. A member leaves a ranking before
// its entry's new one enters.
type Change struct {
	Board Board
	AsOf  int64 // when the newest of its rows was committed, epoch ms
	Put   []Held
	Out   map[Order][]string
	In    map[Order][]Ranked
}

// Generations knows the copies of each game's boards.
type Generations interface {
	// Find returns the copy that rows are applied to: the one being built if
	// there is one, else the one served. Without any the state's ID is empty;
	// its Stamp is empty where the copy is lost or torn.
	Find(ctx context.Context, game, form string) (State, error)
	// Begin starts to build fresh, an empty copy, and gives up the copy
	// instead if that is being built. It does nothing where another is being
	// built already, or one other than instead is served.
	Begin(ctx context.Context, fresh State, instead string) error
	// Publish has readers see s, which was being built, instead of s.Before,
	// and does nothing where that has changed.
	Publish(ctx context.Context, s State) error
	// Sweep removes copies given up, and those of other forms that nobody
	// wrote since the instant before, epoch ms. It may be cut short anywhere.
	Sweep(ctx context.Context, game, form string, before int64) error
}

// Want names entries of a board, at least one.
type Want struct {
	Board Board
	IDs   []string
}

// Boards holds the entries of generations.
type Boards interface {
	// Held returns, for each want, the entries of its ids that its board has,
	// in one round trip.
	Held(ctx context.Context, g Generation, wants []Want) ([][]Held, error)
	// Commit applies steps that build on each other. It returns ErrStale when
	// one found another stamp than it expects: that one and those after it
	// did nothing. A repeated step does nothing.
	Commit(ctx context.Context, g Generation, steps []Step) error
}

// Store is where boards live. Its methods are safe for concurrent use, also by
// several nodes.
type Store interface {
	Generations
	Boards
}

// Ledger is the truth that boards are a view of.
type Ledger interface {
	// Epoch names the ledger: another one has another.
	Epoch() string
	// Rows returns up to limit rows of a game above position after, in order.
	Rows(ctx context.Context, game string, after int64, limit int) ([]Row, error)
}
