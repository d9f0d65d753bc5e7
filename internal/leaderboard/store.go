package leaderboard

import (
	"context"
	"errors"
	"iter"
	"time"
)

// ErrStale means that another applier has changed the board set. The caller must read its
// state again.
var ErrStale = errors.New("another applier has changed the boards")

// BoardSet identifies one complete set of a game's boards for one configuration. A new
// board set is built while another one is served, and then replaces it. ID is random;
// empty: there is no board set.
type BoardSet struct {
	Game, ConfigHash, ID string
}

// BoardSetState is the state of a board set. Each transaction stores a new random Version,
// so equal versions mean equal boards, even after Redis lost writes.
type BoardSetState struct {
	BoardSet
	PendingBuild string // reason of a requested build, or id of the board set being built; empty: none
	Version      string // empty: the board set does not exist or is corrupt
	Loading      bool   // true: sums are being loaded; rows must not be applied yet
	Progress
}

// Progress says which part of the ledger the boards of a board set hold.
type Progress struct {
	Watermark Watermark
	FirstDay  string                   // first ledger day; empty before the ledger's first row
	OldestDay string                   // oldest day with boards of its own; empty before the ledger's first row
	Rolling   map[Window]RollingBoards // state per rolling window; nil before the ledger's first row
}

// RollingBoards is the state of a rolling window's two boards. Board i holds the results
// from FirstDays[i] to the open day, without the first Cursor[i] entries of FirstDays[i].
// These entries have been evicted: first players, then teams, each in the order of a
// ranking that ranks every entry. A board with a Cursor above 0 is never served. Served is
// the index of the served board.
//
// Example for the window 2d on March 2: FirstDays is {March 1, March 2}. So board 0 holds
// today's window, and board 1 will hold tomorrow's.
type RollingBoards struct {
	FirstDays [2]string `json:"Lo"`
	Cursor    [2]int64
	Served    int
}

// Transaction is one atomic write to a board set: changes of entries, and the progress
// after them. Changes come before DeletedDays.
type Transaction struct {
	ExpectedVersion string // version that the board set must have
	Version         string // version after the transaction
	Loading         bool   // true: more sums must be loaded
	PlannedAt       int64  // epoch ms; time of planning; Sweep finds abandoned board sets by it
	Progress
	Config      Config // ranks the changed entries
	Changes     map[Board]Change
	DeletedDays []string // days whose own boards are deleted
}

// Change is what a transaction changes on one board. The store derives the members of rankings
// from the entries before and after.
type Change struct {
	AsOf    int64                 // commit time of the newest result, epoch ms; 0: unchanged
	Entries map[string]BoardEntry // changed entries by id; one without a match is removed
}

// BoardSetStore manages the board sets of each game.
type BoardSetStore interface {
	ServedConfigSource
	// ServedState returns the state of the board set that readers see. If none is served,
	// ID is empty. If it is lost or corrupt, Version is empty.
	ServedState(ctx context.Context, game, configHash string) (BoardSetState, error)
	// RequestBuild stores a reason as PendingBuild, unless a build is pending already.
	RequestBuild(ctx context.Context, game, configHash, reason string) error
	// Begin adds an empty board set, which is Loading, as the one being built. It replaces
	// the one that was being built before, which Sweep removes later. now is epoch ms.
	Begin(ctx context.Context, cfg Config, newState BoardSetState, now int64) error
	// Publish makes the board set that is being built the served one. It does nothing and
	// returns nil if another board set is being built, or if this one is incomplete.
	Publish(ctx context.Context, boardSet BoardSet) error
	// Sweep removes the board sets of the game that are neither served nor being built. It
	// also removes those of other configurations than configHash whose last transaction was
	// planned before a time (epoch ms). It may be interrupted at any point.
	Sweep(ctx context.Context, game, configHash string, before int64) error
}

// LeaseID identifies the lease for one kind of work on a game's boards. Only the holder of
// the lease does the work.
type LeaseID struct {
	Game, Work string // Work: "apply", "build", "maintain" or "verify"
}

// LeaseStore stores which node has a lease. Leases only save work: transactions are safe
// without them.
type LeaseStore interface {
	// SetLease acquires a lease, or renews it, for ttl from now. With a ttl of 0 it releases
	// the lease. It returns false and does nothing if another holder has the lease.
	SetLease(ctx context.Context, leaseID LeaseID, holder string, ttl time.Duration) (bool, error)
}

// EntryKey identifies one entry of one board.
type EntryKey struct {
	Board Board
	ID    string
}

// EntryStore stores the entries and rankings of board sets.
type EntryStore interface {
	// ReadEntries returns the entries with the given ids on each board, in one round trip.
	// Ids without an entry are missing.
	ReadEntries(ctx context.Context, boardSet BoardSet, ids map[Board][]string) (map[EntryKey]BoardEntry, error)
	// ReadMembers returns the ids of up to limit adjacent entries of a ranking, starting at the
	// index from, which counts from 0. Callers pass an order that ranks every entry.
	ReadMembers(ctx context.Context, boardSet BoardSet, rankingID RankingID, from int64, limit int) ([]string, error)
	// Inspect reads, at one moment, the progress, the sizes of boards and of their rankings,
	// and each board's entries with the given ids. ErrStale means that the board set is lost,
	// corrupt or being loaded.
	Inspect(ctx context.Context, boardSet BoardSet, rankings []Order, boards []Board, ids []string) (Inspection, error)
	// Commit applies transactions in order. Each expects the version that the one before
	// it stores. ErrStale means that a transaction found another version: it and those
	// after it changed nothing. A transaction that is repeated immediately does nothing.
	Commit(ctx context.Context, boardSet BoardSet, transactions []Transaction) error
}

// Inspection is the result of Inspect. Ids without an entry are missing from Entries.
type Inspection struct {
	Progress
	Sizes   map[SizeKey]int64
	Entries map[EntryKey]InspectedEntry
}

// SizeKey identifies the number of a board's entries, or of the members of one of its
// rankings. Order is empty for the entries.
type SizeKey struct {
	Board Board
	Order Order
}

// InspectedEntry is an entry with its keys by order. A ranking without a member for the
// entry is missing.
type InspectedEntry struct {
	BoardEntry
	Keys map[Order]float64
}

// Store stores boards. It is safe for concurrent use, also by several nodes at the same
// time.
type Store interface {
	BoardSetStore
	LeaseStore
	EntryStore
}

// Ledger is the source of truth for boards. It is safe for concurrent use.
type Ledger interface {
	// Epoch identifies the ledger. Each ledger has a different epoch.
	Epoch() string
	// ReadRows returns up to limit rows of a game after a position, in ascending order of
	// their positions.
	ReadRows(ctx context.Context, game string, after int64, limit int) ([]Row, error)
	// Snapshot calls work once with the state of a game's ledger at one moment. It
	// returns the error of work. It reads past days from their stored sums if there are
	// any.
	Snapshot(ctx context.Context, game string, work func(Snapshot) error) error
	// ReadHolders returns up to limit ids of holders of a kind that have rows. The ids
	// are greater than after, and in ascending byte order.
	ReadHolders(ctx context.Context, game string, kind Kind, after string, limit int) ([]string, error)
	// ReadSums returns the sums of the given holders up to a position, in the order of
	// Snapshot. It computes them from the rows alone.
	ReadSums(ctx context.Context, game string, upTo int64, kind Kind, holders []string) ([]DaySum, error)
	// ReadMovingPlayers returns the former and the new ids of erased players whose rows have
	// a new id, some or all of them, without the MoveRows up to a position.
	ReadMovingPlayers(ctx context.Context, game string, upTo int64) ([]string, error)
	// HasDaySums reports whether the ledger stores the sums of a past day. Only then may
	// the day's boards be deleted.
	HasDaySums(ctx context.Context, game, day string) (bool, error)
}

// Snapshot is the state of a game's ledger at one moment. FirstDay is the first ledger day.
// Sums are ordered by kind, holder and day, in ascending byte order, and can be read once.
type Snapshot struct {
	Watermark Watermark
	FirstDay  string
	Sums      iter.Seq2[DaySum, error]
}
