package leaderboard

// RowKind says how a ledger row changes the boards.
type RowKind string

// Kinds of rows.
const (
	ResultRow     RowKind = "result"     // adds one result of a player or a team
	CorrectionRow RowKind = "correction" // subtracts a ResultRow, or changes its values
	MoveRow       RowKind = "move"       // moves the entries of an erased player to another id
	DayStartRow   RowKind = "day_start"  // starts Day; the rows that follow belong to it
)

// Aggregates are the values of an entry that are added up over its results. TimeMS is the
// time taken to answer, LimitMS the time allowed, both in ms. Asked, Answered and Correct
// are numbers of questions.
type Aggregates struct {
	Score    int64 `json:"score"`
	TimeMS   int64 `json:"time_ms"`
	LimitMS  int64 `json:"limit_ms"`
	Matches  int64 `json:"matches"`
	Asked    int64 `json:"asked"`
	Answered int64 `json:"answered"`
	Correct  int64 `json:"correct"`
}

// Fields returns pointers to the fields, in the order in which they are stored.
func (a *Aggregates) Fields() [7]*int64 {
	return [...]*int64{&a.Score, &a.TimeMS, &a.LimitMS, &a.Matches, &a.Asked, &a.Answered, &a.Correct}
}

// Add returns the sums of a and other, field by field.
func (a Aggregates) Add(other Aggregates) Aggregates {
	others := other.Fields()
	for i, field := range a.Fields() {
		*field += *others[i]
	}
	return a
}

// Sub returns a minus other, field by field.
func (a Aggregates) Sub(other Aggregates) Aggregates {
	others := other.Fields()
	for i, field := range a.Fields() {
		*field -= *others[i]
	}
	return a
}

// isPossible reports whether results can add up to a: no field is below 0, and without a
// match all fields are 0.
func (a Aggregates) isPossible() bool {
	smallest := min(a.Score, a.TimeMS, a.LimitMS, a.Matches, a.Asked, a.Answered, a.Correct)
	return smallest >= 0 && (a.Matches > 0 || a == Aggregates{})
}

// Accuracy returns correct/asked, rounded half up to 4 decimals, as clients see it. It
// is 0 if nothing was asked.
func (a Aggregates) Accuracy() float64 {
	if a.Asked == 0 {
		return 0
	}
	return float64(floorDiv(2*10000*a.Correct+a.Asked, 2*a.Asked)) / 10000
}

// floorDiv returns ⌊a/b⌋ for b > 0. For negative a, Go's own division rounds towards 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Row is one row of a game's ledger. Positions are in commit order, per game, from 1
// without gaps. ID is a random id of the row. If a ledger was rolled back and has grown
// again, the row at the same position has another ID.
type Row struct {
	Pos         int64
	ID          string
	Kind        RowKind
	Day         string     // ledger day at Pos: a civil date in the game's time zone, YYYY-MM-DD
	CommittedAt int64      // commit time by the database's clock, epoch ms
	HolderKind  Kind       // kind of the holder; empty for the start of a day
	Holder      string     // id of the player or team whose entry changes; empty for the start of a day
	Aggregates  Aggregates // zero for the start of a day; what a correction adds, often negative

	// For a correction: TargetDay is the day of the corrected result. Newest and
	// NewestOfTargetDay are the positions of the holder's newest remaining result, of
	// all days and of TargetDay; 0: no result is left.
	// For a move: the row changes the boards of the days from TargetDay to
	// LastMovedDay(TargetDay). If TargetDay is empty, the row changes the boards that
	// hold several days.
	TargetDay         string
	Newest            int64
	NewestOfTargetDay int64

	// For a move: the id that the holder had before. Empty: the ledger has wiped the id.
	FormerHolder string
}

// daysPerMove is the maximum number of days that one move row changes. It is so small that
// one transaction can apply the row.
const daysPerMove = 10

// LastMovedDay returns the last day that a move row with the given TargetDay changes.
func LastMovedDay(day string) string { return addDays(day, daysPerMove-1) }

// DaySum is the total of one holder's results on one day, without corrected results. It
// has at least one match.
type DaySum struct {
	HolderKind  Kind
	Holder      string
	Day         string
	Newest      int64 // ledger position of the newest result that was not corrected
	CommittedAt int64 // commit time of that result, epoch ms
	Aggregates  Aggregates
}

// Watermark says how far a game's ledger has been applied: all rows up to and including
// Pos. RowID is the ID of the row at Pos. Epoch identifies the ledger. In the zero value no
// row has been applied.
type Watermark struct {
	Epoch string
	Pos   int64
	RowID string
	Day   string // the ledger day at Pos
}
