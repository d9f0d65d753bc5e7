// Package leaderboard ranks players by what the ledger holds: windows of
// days, orders, weights, and the applier that keeps the boards a view of the
// ledger. Boards themselves live behind Store (redisboard).
package leaderboard

// RowKind says what a ledger row means to the boards.
type RowKind string

// The kinds of a row.
const (
	ResultRow     RowKind = "result"     // what one result gave a player or a team
	CorrectionRow RowKind = "correction" // takes back what a ResultRow gave
	MoveRow       RowKind = "move"       // gives the entries of an erased player another id
	TurnRow       RowKind = "day.turn"   // Day begins: rows that follow belong to it
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
	Day    string // the ledger's day at Pos: civil date of the game's zone, YYYY-MM-DD
	At     int64  // when it was committed, by the database's clock, epoch ms
	Whose  Kind   // of the holder; empty for a turn
	Holder string // id of the player or team whose entry changes; empty for a turn
	Parts  Parts  // zero for a turn, those of a correction negated

	// Of a correction alone: the day that the row counted on which it takes
	// back, and the positions of the holder's newest results that still count
	// after it, of all and of that day; 0 for none.
	Of              string
	Newest          int64
	NewestOfThatDay int64

	// Of a move alone: the id that the holder had before, "" once that is wiped. Of
	// is the first of the days whose boards it is about, up to LastMoved; "": the
	// boards that hold many days.
	From string
}

// movedDays is how many days one move is about: few enough for one step.
const movedDays = 10

// LastMoved is the last of the days that a move from a day on is about.
func LastMoved(day string) string { return addDays(day, movedDays-1) }

// Sum is what one holder has from one day: results less corrections. It has
// at least one match.
type Sum struct {
	Whose  Kind
	Holder string
	Day    string
	Newest int64 // ledger position of the newest result that counts
	At     int64 // when that was committed, epoch ms
	Parts  Parts
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
