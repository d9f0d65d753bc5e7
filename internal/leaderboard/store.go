package leaderboard

import (
	"context"
	"errors"
	"iter"
	"time"
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
	Served  bool   // readers see it; else it is being built
	Before  string // the id of the one that is served while this is being built
	Stamp   string // empty: there is no such copy, or it is not whole
	Loading bool   // sums are being put in: only who began it goes on, rows do not apply yet
	At      int64  // when it was begun, epoch ms; only Begin reads it
	Progress
}

// Progress is what the boards of a generation stand for.
type Progress struct {
	Mark   Watermark
	First  string          // the first ledger day, empty before the first row
	Oldest string          // the oldest day that has boards here, empty before the first row
	Rolls  map[Window]Roll // of the rolling windows, nil before the first row
}

// Roll says which days the two boards of a rolling window hold: each those
// from Lo to the open day, less the entries of the day Lo before Cursor, which
// have been taken out already: players in the order of a complete ranking, then teams.
// A board with a Cursor is in work and not served.
type Roll struct {
	Lo     [2]string
	Cursor [2]int64
	Served int
}

// Step is one atomic write: entries and the progress that they stand for.
type Step struct {
	Expect  string // the stamp that it builds on
	Stamp   string // the stamp that it leaves
	Loading bool   // whether sums are still being put in after it
	At      int64  // when it was planned, epoch ms: tells abandoned copies
	Progress
	Changes []Change
	Seal    []Sealed // days that are over with it
	Drop    []string // days whose boards leave, of every kind, after Changes
}

// Sealed is how many entries a day's boards had when the day was over. It
// holds still but for corrections, which say it anew.
type Sealed struct {
	Day     string
	Entries map[Kind]int64
}

// Change is what a step does to one board. A member leaves a ranking before
// its entry's new one enters.
type Change struct {
	Board Board
	AsOf  int64 // when the newest of its rows was committed, epoch ms; 0: as it was
	Put   []Held
	Gone  []string // ids of entries that leave
	Out   map[Order][]string
	In    map[Order][]Ranked
}

// Generations knows the copies of each game's boards.
type Generations interface {
	// Served returns the copy of a form that readers see, and Building the one
	// that is being built. Without any the state's ID is empty; its Stamp is
	// empty where the copy is lost or torn.
	Served(ctx context.Context, game, form string) (State, error)
	Building(ctx context.Context, game, form string) (State, error)
	// Begin starts to build fresh, an empty copy of cfg's form that is Loading,
	// and gives up the copy instead if that is being built. It does nothing
	// where another is being built already, or one other than instead is served.
	Begin(ctx context.Context, cfg Config, fresh State, instead string) error
	// Publish has readers see s, which was being built, instead of s.Before,
	// and does nothing where that has changed.
	Publish(ctx context.Context, s State) error
	// Forms returns the configurations of the forms of a game that are served,
	// the one published last first.
	Forms(ctx context.Context, game string) ([]Config, error)
	// Sweep removes copies given up, and those of other forms that nobody
	// wrote since the instant before, epoch ms. It may be cut short anywhere.
	Sweep(ctx context.Context, game, form string, before int64) error
}

// Duty is what one node at a time does for a form of a game's boards.
type Duty struct {
	Game, Form, Name string // Name: "apply", "build" or "verify"
}

// Leases say who is at a duty. They only spare work: steps are safe without.
type Leases interface {
	// Lease takes a duty for a holder, or keeps it, until ttl from now. It
	// reports false where it is another's.
	Lease(ctx context.Context, d Duty, holder string, ttl time.Duration) (bool, error)
	// Release gives it back if it is the holder's.
	Release(ctx context.Context, d Duty, holder string) error
}

// Want names entries of a board; none where only its size is wanted.
type Want struct {
	Board Board
	IDs   []string
}

// Content is what a board has of a Want.
type Content struct {
	Held    []Held // of its ids, those that the board has
	Entries int64  // of the board
}

// Boards holds the entries of generations.
type Boards interface {
	// Held answers wants, in their order, in one round trip.
	Held(ctx context.Context, g Generation, wants []Want) ([]Content, error)
	// Members returns up to limit entries of a board in a ranking from an index
	// on, which counts from 0. The ranking is one that ranks every entry.
	Members(ctx context.Context, g Generation, v View, from int64, limit int) ([]Held, error)
	// Sealed is what a day had when it was over; ok false: it does not say.
	Sealed(ctx context.Context, g Generation, day string) (s Sealed, ok bool, err error)
	// Inspect reads, at one moment, what boards hold of wants, with each
	// entry's key in every ranking in which it has a member, and the progress
	// then. ErrStale: the copy is not whole.
	Inspect(ctx context.Context, g Generation, rankings []Order, wants []Want) (Inspection, error)
	// Commit applies steps that build on each other. It returns ErrStale when
	// one found another stamp than it expects: that one and those after it
	// did nothing. A repeated step does nothing.
	Commit(ctx context.Context, g Generation, steps []Step) error
}

// Inspection is what Inspect saw. Boards answer its wants, in their order.
type Inspection struct {
	Progress
	Boards []Inspected
}

// Inspected is one board's: Keys[i] are those of Held[i]; a ranking that
// has no member of the entry is missing. Ranked counts the members of each.
type Inspected struct {
	Content
	Keys   []map[Order]float64
	Ranked map[Order]int64
}

// Store is where boards live. Its methods are safe for concurrent use, also by
// several nodes.
type Store interface {
	Generations
	Leases
	Boards
}

// Ledger is the truth that boards are a view of.
type Ledger interface {
	// Epoch names the ledger: another one has another.
	Epoch() string
	// Rows returns up to limit rows of a game above position after, in order.
	Rows(ctx context.Context, game string, after int64, limit int) ([]Row, error)
	// Snapshot lets work read one moment of a game's ledger. Days that are over
	// are read from the sums kept of them, where they are.
	Snapshot(ctx context.Context, game string, work func(Snapshot) error) error
	// Holders returns up to limit ids of a kind that have rows, those after an
	// id, ascending in bytes. SumsOf returns what some of them have from the rows
	// up to a position, reckoned from the rows alone, in the order of Snapshot.
	Holders(ctx context.Context, game string, whose Kind, after string, limit int) ([]string, error)
	SumsOf(ctx context.Context, game string, upTo int64, whose Kind, holders []string) ([]Sum, error)
	// Summed reports whether the ledger keeps the sums of a day that is over,
	// so that its boards may leave.
	Summed(ctx context.Context, game, day string) (bool, error)
}

// Snapshot is one moment of a game's ledger. Sums come by kind, holder and
// day, ascending in bytes, and may be read once.
type Snapshot struct {
	Mark  Watermark
	First string
	Sums  iter.Seq2[Sum, error]
}
