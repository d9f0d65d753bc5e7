package leaderboard

import "context"

// OpenDay is a span for views: the board of the ledger's current day.
const OpenDay = string(Day)

// View identifies one ranking to read. The span of its board is one of Board's, or
// OpenDay, or a rolling window. For a rolling window, the served one of its two boards
// is read.
type View struct {
	Game, ConfigHash string
	Board            Board
	Ranking          Order
}

// CutFrom says which entries a Cut selects.
type CutFrom string

// Values of CutFrom.
const (
	Top    CutFrom = "top"
	After  CutFrom = "after"  // starts right after Edge, which need not be in the ranking
	Since  CutFrom = "since"  // starts at Edge
	Before CutFrom = "before" // ends right before Edge
	Until  CutFrom = "until"  // ends at Edge
	Around CutFrom = "around" // starts ⌊Limit/2⌋ entries before ID
)

// Cut selects up to Limit entries of a ranking, in page order.
type Cut struct {
	From  CutFrom
	Limit int
	Edge  Ranked
	ID    string
}

// BoardState describes a board at the moment of a read.
type BoardState struct {
	Mark   Watermark
	First  string // first ledger day, empty before the first row
	Oldest string // oldest day with boards; earlier days are read from the ledger
	From   string // first day of the served board; set for a rolling window
	Span   string // of the board; a date for OpenDay; empty before the first row
	AsOf   int64  // commit time of the board's newest row, epoch ms; 0 on an empty board
	Total  int64  // ranked entries
}

// Slice holds the entries of a cut.
type Slice struct {
	BoardState
	Start  int64 // entries before the first row
	Better int64 // of those, entries with a better key than the first row
	Rows   []SliceRow
}

// SliceRow is an entry of a slice.
type SliceRow struct {
	BoardEntry
	Key float64
}

// StandingsRequest asks for the standings of a few entries in one ranking. WithNext adds
// the key of the next better rank, WithTie the place among equal entries. Each doubles
// the cost for Redis.
type StandingsRequest struct {
	View              View
	IDs               []string
	WithNext, WithTie bool
}

// StandingsResult answers a StandingsRequest: the ranked entries among its ids, in their
// order.
type StandingsResult struct {
	BoardState
	Rows []StandingRow
}

// StandingRow is the standing of one entry. Its rank is Better+1. NextKey is the key of
// the next better rank; it is unset if Better is 0. Index counts from 0 in page order.
// Equal counts the entries with its key, including itself. The last three are set only
// if requested.
type StandingRow struct {
	SliceRow
	Better, Index, Equal int64
	NextKey              float64
}

// Source reads boards. Each call of ReadSlice, and each result of ReadStandings, is one
// moment. Safe for concurrent use. The error is ErrNotReady if no boards of the
// configuration are served.
type Source interface {
	// ReadSlice returns ErrNotRanked for a cut around an entry that is not ranked.
	ReadSlice(ctx context.Context, v View, c Cut) (Slice, error)
	// ReadStandings answers requests, in their order, in one round trip.
	ReadStandings(ctx context.Context, asks []StandingsRequest) ([]StandingsResult, error)
}
