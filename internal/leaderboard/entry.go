package leaderboard

// Entry is one entry of a leaderboard, as the wire contract has it. Nickname
// is the caller's to fill in.
type Entry struct {
	Rank     int64  `json:"rank"` // from 1; equals share a rank
	ID       string `json:"id"`
	Nickname string `json:"nickname"`
	Value    int64  `json:"value"`
	Score    int64  `json:"score"`
	TimeMS   int64  `json:"time_ms"`
	Matches  int64  `json:"matches"`
	Asked    int64  `json:"asked"`
	Answered int64  `json:"answered"`
	Correct  int64  `json:"correct"`

	Accuracy float64 `json:"accuracy"` // rounded half up to 4 decimals
}

// Page is a leaderboard query's answer, read at one moment. The cursors are
// there while the board goes on in their direction. Kind is the caller's to
// fill in.
type Page struct {
	Game       string  `json:"game"`
	Window     Window  `json:"window"`
	Order      Order   `json:"order"`
	Kind       Kind    `json:"kind"`
	From       string  `json:"from"`  // first day that the entries sum over
	To         string  `json:"to"`    // last day
	AsOf       int64   `json:"as_of"` // when the newest result on the board was settled, epoch ms; 0 without any
	Total      int64   `json:"total"` // entries ranked in this order
	Entries    []Entry `json:"entries"`
	NextCursor string  `json:"next_cursor,omitempty"`
	PrevCursor string  `json:"prev_cursor,omitempty"`
}

// Standing is one player's entry and what it means. Percentile is the share of
// entries ranked below or equal, 0 to 100. ToNext is what is missing to the
// next better rank, in what the order compares: value, score and matches
// whole, accuracy as a share of 1 and time as ms a question, both rounded up
// to 4 decimals; nil at rank 1.
type Standing struct {
	Entry
	Total      int64        `json:"total"`
	Percentile float64      `json:"percentile"`
	ToNext     *float64     `json:"to_next,omitempty"`
	Explain    *Explanation `json:"explain,omitempty"`
}

// Explanation says how an entry comes by its value and, where others share
// its rank, by its place among them.
type Explanation struct {
	Parts []Term `json:"parts"` // their values add up to the entry's
	Tie   *Tie   `json:"tie,omitempty"`
}

// Tie says how equals are ordered: the lower ledger position of the newest
// result stands first.
type Tie struct {
	SharedBy int64 `json:"shared_by"` // entries of this rank, this one too
	Place    int64 `json:"place"`     // among them, from 1
	Position int64 `json:"position"`  // ledger position of the newest result
}

// Place is a player's rank and value, as `settled` tells it.
type Place struct {
	Rank  int64 `json:"rank"`
	Value int64 `json:"value"`
}

// Listing is what leaderboards a game has.
type Listing struct {
	Windows  []ListedWindow `json:"windows"`
	Kinds    []Kind         `json:"kinds"`
	TimeZone string         `json:"time_zone"`
	Day      string         `json:"day"` // the open day
}

// ListedWindow is one of them.
type ListedWindow struct {
	ID     Window  `json:"id"`
	Orders []Order `json:"orders"`
}

func (c Config) entry(h Held, rank int64) Entry {
	p := h.Parts
	return Entry{
		Rank: rank, ID: h.ID, Value: Value(p, c.Weights),
		Score: p.Score, TimeMS: p.TimeMS, Matches: p.Matches,
		Asked: p.Asked, Answered: p.Answered, Correct: p.Correct,
		Accuracy: p.Accuracy(),
	}
}
