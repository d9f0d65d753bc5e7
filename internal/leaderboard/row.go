// Package leaderboard ranks players by what the ledger holds: windows of
// days, orders, weights, and the applier that keeps the boards a view of the
// ledger. Boards themselves live behind Store (redisboard).
package leaderboard

// RowKind says what a ledger row means to the boards.
type RowKind string

// The kinds of a row.
const (
	ResultRow RowKind = "result"   // one player's part of one result
	TurnRow   RowKind = "day.turn" // Day begins: rows that follow belong to it
)

// Parts are the additive parts of an entry: sums over the rows of a window.
type Parts struct {
	Score    int64 `json:"score"`
	TimeMS   int64 `json:"time_ms"`
	LimitMS  int64 `json:"limit_ms"`
	Matches  int64 `json:"matches"`
	Asked    int64 `json:"asked"`
	Answered int64 `json:"answered"`
	Correct  int64 `json:"correct"`
}

// Row is one row of a game's ledger, in commit order. Positions of a game
// count from 1 without gaps; ID is the row's own random id, by which a view
// tells a ledger that was rolled back and grew again from the one it applied.
type Row struct {
	Pos    int64
	ID     string
	Kind   RowKind
	Day    string // civil date of the game's zone, YYYY-MM-DD
	At     int64  // when it was committed, by the database's clock, epoch ms
	Player string // empty for a turn
	Parts  Parts  // zero for a turn
}

// Watermark says how far a view has applied a game's ledger: everything up
// to and including Pos, which held the row ID then, in the ledger of Epoch.
// The zero value is an empty view.
type Watermark struct {
	Epoch string
	Pos   int64
	RowID string
	Day   string // the ledger day at Pos
}
