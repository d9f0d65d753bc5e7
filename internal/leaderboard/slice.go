package leaderboard

import "context"

// OpenDay is, as the span of a View's board, the day that the ledger is at.
const OpenDay = string(Day)

// View is one ranking to read. The span of its board is one of Board's, or
// OpenDay, or a rolling window: then the board of it that is served is read.
type View struct {
	Game, Form string
	Board      Board
	Ranking    Order
}

// From says where a Cut lies.
type From string

// The places to cut.
const (
	Top    From = "top"
	After  From = "after"  // starts next behind Edge, whether or not Edge is still there
	Since  From = "since"  // starts at Edge
	Before From = "before" // ends next before Edge
	Until  From = "until"  // ends at Edge
	Around From = "around" // ⌊Limit/2⌋ entries before ID, cut at the ends
)

// Cut is which entries of a ranking to read: up to Limit, in page order.
type Cut struct {
	From  From
	Limit int
	Edge  Ranked
	ID    string
}

// Read says what a read saw: one moment of one board.
type Read struct {
	Mark   Watermark
	First  string // first ledger day, empty before the first row
	Oldest string // the oldest day that has boards; those before are read from the ledger
	From   string // of a rolling window: the first day that the board holds
	Span   string // of the board, OpenDay resolved; empty before the first row
	AsOf   int64  // when the newest of the board's rows was committed, epoch ms; 0 on an empty board
	Total  int64  // ranked entries
}

// Slice is a cut that was read.
type Slice struct {
	Read
	Start  int64 // entries before the first
	Better int64 // of those, with another key than the first
	Rows   []SliceRow
}

// SliceRow is an entry of a slice.
type SliceRow struct {
	Held
	Key float64
}

// Ask wants the standings of a few entries in one ranking. Next asks for the next
// better one too, Tie for their places among equals: each costs Redis as much again.
type Ask struct {
	View      View
	IDs       []string
	Next, Tie bool
}

// Places are an Ask's answer: the ranked ones of its ids, in its order.
type Places struct {
	Read
	Rows []PlaceRow
}

// PlaceRow is one entry's place: its rank is Better+1. Where it was asked
// for, Next is the key of the next better rank, unless Better is 0; and Index counts
// from 0 in page order, Equal the entries of its key, itself too.
type PlaceRow struct {
	SliceRow
	Better, Index, Equal int64
	Next                 float64
}

// Source reads boards. Each Slice and each Places is one moment. Safe for
// concurrent use. ErrNotReady where no boards of the form are served.
type Source interface {
	// Slice returns ErrNotRanked for a cut around an entry that is not ranked.
	Slice(ctx context.Context, v View, c Cut) (Slice, error)
	// Places answers asks, in their order, in one round trip.
	Places(ctx context.Context, asks []Ask) ([]Places, error)
}
