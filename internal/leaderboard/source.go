package leaderboard

import (
	"cmp"
	"context"
)

// OpenDay is a span for RankingID: the board of the ledger's current day.
const OpenDay = string(Day)

// RankingID identifies one ranking to read. The span of Board is one of those that Board
// allows, OpenDay, or the name of a rolling window. For a rolling window, the store reads
// the served one of its two boards.
type RankingID struct {
	Game, ConfigHash string
	Board            Board
	Order            Order
}

// SliceAnchor says which entries a SliceRequest selects.
type SliceAnchor string

// Values of SliceAnchor.
const (
	Top    SliceAnchor = "top"    // starts at the first entry
	After  SliceAnchor = "after"  // starts right after Edge, which need not be in the ranking
	Before SliceAnchor = "before" // ends right before Edge, which need not be in the ranking
	Around SliceAnchor = "around" // starts ⌊Limit/2⌋ entries before ID
)

// SliceRequest selects up to Limit adjacent entries of a ranking, in ranking order. Edge is
// for After and Before; ID is for Around.
type SliceRequest struct {
	Anchor SliceAnchor
	Limit  int
	Edge   RankedEntry // without Aggregates
	ID     string
}

// BoardState describes a board at the moment of a read.
type BoardState struct {
	LedgerPos      int64  // ledger position up to which the board has applied the rows
	LedgerDay      string // the ledger's open day; empty before the ledger's first row
	FirstDay       string // first ledger day; empty before the ledger's first row
	OldestDay      string // oldest day with boards; earlier days are read from the ledger
	WindowFirstDay string // first day of the served board of a rolling window; empty for other boards
	Span           string // the requested span; for OpenDay the date, or empty before the ledger's first row
	AsOf           int64  // commit time of the board's newest row, epoch ms; 0 on an empty board
	Total          int64  // number of entries in the ranking
}

// RankingSlice holds the entries that a SliceRequest selects.
type RankingSlice struct {
	BoardState
	StartIndex  int64 // index of the first of Entries in the ranking, from 0
	BetterCount int64 // number of entries with a better key than the first of Entries
	Entries     []RankedEntry
}

// RankedEntry is an entry with its key in a ranking. Rankings sort by Key, then by Newest, both
// in ascending order.
type RankedEntry struct {
	BoardEntry
	Key float64
}

// edge returns e without its Aggregates.
func (e RankedEntry) edge() RankedEntry {
	e.Aggregates = Aggregates{}
	return e
}

// compare returns -1 if e comes before other in the ranking, 1 if it comes after, else 0.
func (e RankedEntry) compare(other RankedEntry) int {
	return cmp.Or(cmp.Compare(e.Key, other.Key), cmp.Compare(e.Newest, other.Newest))
}

// StandingsRequest asks for the standings of a few entries. WithNextKey adds the key of the
// next better rank, WithTie the place among equal entries. Each of these doubles the cost for
// Redis.
type StandingsRequest struct {
	IDs                  []string
	WithNextKey, WithTie bool
}

// StandingsResult answers a StandingsRequest. Entries are the ranked ones among the
// requested ids, in the order of the request.
type StandingsResult struct {
	BoardState
	Entries []StandingEntry
}

// StandingEntry is the standing of one entry. BetterCount is the number of entries with a
// better key, so the rank is BetterCount+1. Index is the place in the ranking, from 0.
// EqualCount is the number of entries with the same key, itself included. NextBetterKey is
// the key of the next better rank; it is 0 if BetterCount is 0. Index and EqualCount are
// set only with WithTie, NextBetterKey only with WithNextKey.
type StandingEntry struct {
	RankedEntry
	BetterCount, Index, EqualCount int64
	NextBetterKey                  float64
}

// RankingSource reads boards. Each call shows the board at one moment. Safe for concurrent
// use. The error is ErrNotReady if no boards of the configuration are served.
type RankingSource interface {
	// ReadSlice returns ErrNotRanked and the BoardState for a request around an entry that is
	// not ranked.
	ReadSlice(ctx context.Context, rankingID RankingID, request SliceRequest) (RankingSlice, error)
	ReadStandings(ctx context.Context, rankingID RankingID, request StandingsRequest) (StandingsResult, error)
	ServedConfigSource
}

// ServedConfigSource knows the configurations whose boards are served.
type ServedConfigSource interface {
	// ServedConfig returns the configuration of the served boards of a game that were written
	// last; others are abandoned. found is false if there are none. It has no time zone.
	ServedConfig(ctx context.Context, game string) (cfg Config, found bool, err error)
}

// fallbackConfig returns the configuration of the served boards that were written last, with
// the game and the time zone of newestConfig. It may equal newestConfig by now. found is false
// if no boards are served.
func fallbackConfig(ctx context.Context, source ServedConfigSource, newestConfig Config) (fallback Config, found bool, err error) {
	fallback, found, err = source.ServedConfig(ctx, newestConfig.Game)
	fallback.Game, fallback.Location = newestConfig.Game, newestConfig.Location
	return fallback, found, err
}
