package leaderboard

// RowKind says how a ledger row changes the boards.
type RowKind string

// Kinds of rows.
const (
	ResultRow     RowKind = "result"     // adds one result of a player or a team
	CorrectionRow RowKind = "correction" // subtracts a ResultRow
	MoveRow       RowKind = "move"       // moves the entries of an erased player to another id
	DayStartRow   RowKind = "day.turn"   // starts Day; the rows that follow belong to it
)

// Aggregates are the additive values of an entry: sums over the rows of a window.
type Aggregates struct {
	Score    int64 `json:"score"`
	TimeMS   int64 `json:"time_ms"`
	LimitMS  int64 `json:"limit_ms"`
	Matches  int64 `json:"matches"`
	Asked    int64 `json:"asked"`
	Answered int64 `json:"answered"`
	Correct  int64 `json:"correct"`
}

// Row is one row of a game's ledger, in commit order. Positions of a game count from 1
// without gaps. ID is a random id of the row. A ledger that was rolled back and has
// grown again has another ID at the same position.
type Row struct {
	Pos         int64
	ID          string
	Kind        RowKind
	Day         string     // ledger day at Pos: a civil date in the game's time zone, YYYY-MM-DD
	CommittedAt int64      // commit time by the database's clock, epoch ms
	HolderKind  Kind       // kind of the holder; empty for the start of a day
	Holder      string     // id of the player or team whose entry changes; empty for the start of a day
	Aggregates  Aggregates // zero for the start of a day; negated for a correction

	// Of a correction: the day of the subtracted result, and the positions of the
	// holder's newest remaining results, of all days and of TargetDay; 0: none.
	// Of a move: TargetDay is the first of the days whose boards the row changes, up
	// to LastMovedDay; "": the row changes the boards that hold several days.
	TargetDay         string
	Newest            int64
	NewestOfTargetDay int64

	// Of a move: the id that the holder had before; "": the ledger has wiped it.
	FormerHolder string
}

// daysPerMove is the number of days that one move row changes: few enough for one step.
const daysPerMove = 10

// LastMovedDay returns the last day that a move row with the given target day changes.
func LastMovedDay(day string) string { return addDays(day, daysPerMove-1) }

// Sum is the total of one holder's results on one day, less corrections. It has at least
// one match.
type Sum struct {
	HolderKind  Kind
	Holder      string
	Day         string
	Newest      int64 // ledger position of the newest result that was not corrected
	CommittedAt int64 // commit time of that result, epoch ms
	Aggregates  Aggregates
}

// Watermark says how far a view has applied a game's ledger: all rows up to and
// including Pos, whose row id was RowID, of the ledger named Epoch. The zero value is an
// empty view.
type Watermark struct {
	Epoch string
	Pos   int64
	RowID string
	Day   string // the ledger day at Pos
}
