package leaderboard

import (
	"context"
	"errors"
	"iter"
	"time"
)

// ErrStale means that another applier moved the boards first. The caller must read their
// state again.
var ErrStale = errors.New("another applier has changed the boards")

// Generation identifies one copy of all boards of a game for one configuration. A new
// copy is built beside the served one, and then replaces it.
type Generation struct {
	Game, ConfigHash, ID string
}

// State is the state of a generation. Each write draws a new random Version, so equal
// versions mean equal boards, even after Redis lost writes.
type State struct {
	Generation
	Served     bool   // true: readers see it; false: it is being built
	ReplacedID string // id of the served generation, while this one is being built
	Version    string // empty: the copy does not exist or is corrupt
	Loading    bool   // true: it is being filled with sums; rows must not be applied yet
	BegunAt    int64  // epoch ms; only Begin uses it
	Progress
}

// Progress says which part of the ledger the boards of a generation hold.
type Progress struct {
	Mark    Watermark
	First   string                   // first ledger day; empty before the first row
	Oldest  string                   // oldest day with boards; empty before the first row
	Rolling map[Window]RollingBoards // rolling windows; nil before the first row
}

// RollingBoards is the state of a rolling window's two boards. Board i holds the days
// from FirstDay[i] to the open day, without the first Cursor[i] entries of FirstDay[i].
// Those have been evicted: players in the order of a complete ranking, then teams. A
// board with a Cursor above 0 is never served. Served is the index of the served board.
//
// Example for the window 2d on March 2: FirstDay is {March 1, March 2}, so board 0 is
// today's window, and board 1 will be tomorrow's.
type RollingBoards struct {
	FirstDay [2]string `json:"Lo"`
	Cursor   [2]int64
	Served   int
}

// Step is one atomic write: changes of entries, and the progress after them.
type Step struct {
	ExpectedVersion string // version that the boards must have
	Version         string // version after the step
	Loading         bool   // true: the copy is not yet filled with sums
	PlannedAt       int64  // epoch ms; Sweep finds abandoned copies by it
	Progress
	Changes     []Change
	SealedDays  []SealedDay // days that the step ends or corrects
	DroppedDays []string    // days whose boards are deleted after Changes
}

// SealedDay is a past day and the sizes of its boards. Only corrections change the
// sizes.
type SealedDay struct {
	Day   string
	Sizes map[Kind]int64
}

// Change is what a step does to one board. RemovedMembers are removed before
// AddedMembers are added.
type Change struct {
	Board          Board
	AsOf           int64 // commit time of the newest row, epoch ms; 0: unchanged
	Put            []BoardEntry
	Removed        []string // ids of removed entries
	RemovedMembers map[Order][]string
	AddedMembers   map[Order][]Ranked
}

// Generations manages the copies of each game's boards.
type Generations interface {
	// ServedState returns the copy that readers see, BuildingState the one that is being
	// built. If there is none, ID is empty. If the copy is lost or corrupt, Version is
	// empty.
	ServedState(ctx context.Context, game, configHash string) (State, error)
	BuildingState(ctx context.Context, game, configHash string) (State, error)
	// Begin adds fresh, an empty copy for cfg that is Loading, as the one being
	// built. It gives up the replaced copy if that is being built. It does nothing
	// if a copy other than replaced is being built or served.
	Begin(ctx context.Context, cfg Config, fresh State, instead string) error
	// Publish makes s, which was being built, the served copy instead of
	// s.ReplacedID. It does nothing if either has changed.
	Publish(ctx context.Context, s State) error
	// ServedConfigs returns the configurations of a game whose boards are served, the
	// last published first.
	ServedConfigs(ctx context.Context, game string) ([]Config, error)
	// Sweep removes copies that were given up, and copies of other configurations
	// without a write since before (epoch ms). It may be interrupted at any point.
	Sweep(ctx context.Context, game, configHash string, before int64) error
}

// Duty is work that one node at a time does for the boards of one configuration.
type Duty struct {
	Game, ConfigHash, Name string // Name: "apply", "build" or "verify"
}

// Leases say which node does a duty. They only save work: steps are safe without them.
type Leases interface {
	// AcquireLease acquires or renews the lease of a duty for ttl. It reports false if
	// another holder has the lease.
	AcquireLease(ctx context.Context, d Duty, holder string, ttl time.Duration) (bool, error)
	// ReleaseLease releases the lease if the holder has it.
	ReleaseLease(ctx context.Context, d Duty, holder string) error
}

// EntryRequest names entries of a board. Without ids it asks for the board's size only.
type EntryRequest struct {
	Board Board
	IDs   []string
}

// EntryAnswer answers an EntryRequest.
type EntryAnswer struct {
	Found []BoardEntry // entries of the requested ids; ids without an entry are missing
	Size  int64        // number of entries of the whole board
}

// Boards stores the entries of generations.
type Boards interface {
	// ReadEntries answers requests, in their order, in one round trip.
	ReadEntries(ctx context.Context, g Generation, wants []EntryRequest) ([]EntryAnswer, error)
	// ReadMembers returns up to limit entries of a board, from an index in a ranking on.
	// The ranking must rank every entry. Indexes count from 0.
	ReadMembers(ctx context.Context, g Generation, v View, from int64, limit int) ([]BoardEntry, error)
	// ReadSealedDay returns the sizes of a past day; ok is false if there are none.
	ReadSealedDay(ctx context.Context, g Generation, day string) (s SealedDay, ok bool, err error)
	// Inspect reads, at one moment, the progress, the requested entries, and each
	// entry's key in every ranking that has it. ErrStale means that the copy is
	// lost, corrupt or being loaded.
	Inspect(ctx context.Context, g Generation, rankings []Order, wants []EntryRequest) (Inspection, error)
	// Commit applies steps that build on each other. ErrStale means that a step
	// found another version than it expects: that step and those after it did
	// nothing. A repeated step does nothing.
	Commit(ctx context.Context, g Generation, steps []Step) error
}

// Inspection is the answer of Inspect. Boards has the order of the requests.
type Inspection struct {
	Progress
	Boards []Inspected
}

// Inspected is one board. Keys[i] belongs to Found[i]; a ranking without a member for
// the entry is missing. Ranked counts the members of each ranking.
type Inspected struct {
	EntryAnswer
	Keys   []map[Order]float64
	Ranked map[Order]int64
}

// Store stores boards. It is safe for concurrent use, also by several nodes.
type Store interface {
	Generations
	Leases
	Boards
}

// Ledger is the source of truth for boards.
type Ledger interface {
	// Epoch identifies the ledger. Another ledger has another epoch.
	Epoch() string
	// ReadRows returns up to limit rows of a game after a position, in order.
	ReadRows(ctx context.Context, game string, after int64, limit int) ([]Row, error)
	// Snapshot calls work with one moment of a game's ledger. It reads past days
	// from their stored sums if there are any.
	Snapshot(ctx context.Context, game string, work func(Snapshot) error) error
	// ReadHolders returns up to limit ids of a kind that have rows: those after an id,
	// in ascending byte order. ReadSums returns the sums of holders up to a position,
	// computed from the rows alone, in the order of Snapshot.
	ReadHolders(ctx context.Context, game string, kind Kind, after string, limit int) ([]string, error)
	ReadSums(ctx context.Context, game string, upTo int64, kind Kind, holders []string) ([]Sum, error)
	// HasDaySums reports whether the ledger stores the sums of a past day, so that its
	// boards may be dropped.
	HasDaySums(ctx context.Context, game, day string) (bool, error)
}

// Snapshot is one moment of a game's ledger. Sums are ordered by kind, holder and day,
// in ascending byte order, and can be read once.
type Snapshot struct {
	Mark  Watermark
	First string
	Sums  iter.Seq2[Sum, error]
}
