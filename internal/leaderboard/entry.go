package leaderboard

// Entry is one entry of a leaderboard, as clients see it. The caller fills in Nickname.
type Entry struct {
	Rank     int64  `json:"rank"` // from 1; equal entries share a rank
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

// Page is the answer to a leaderboard query, read at one moment. Each cursor is set if
// there are entries in its direction. The caller fills in Kind.
type Page struct {
	Game       string  `json:"game"`
	Window     Window  `json:"window"`
	Order      Order   `json:"order"`
	Kind       Kind    `json:"kind"`
	From       string  `json:"from"`  // first day of the sums
	To         string  `json:"to"`    // last day of the sums
	AsOf       int64   `json:"as_of"` // commit time of the newest result on the board, epoch ms; 0: no result
	Total      int64   `json:"total"` // entries ranked in this order
	Entries    []Entry `json:"entries"`
	NextCursor string  `json:"next_cursor,omitempty"`
	PrevCursor string  `json:"prev_cursor,omitempty"`

	rankingID RankingID     `json:"-"` // the ranking that was read
	rows      []RankedEntry `json:"-"` // Entries as they were read; empty if the query named players
}

// Standing is one entry with its place among all entries. Percentile is the percentage of
// entries that are not ranked better, itself included. ToNext is the distance to the next
// better rank; it is nil at rank 1. Its unit depends on the order: a whole number for
// value, score and matches, a fraction of 1 for accuracy, ms per question for time. The
// distances for accuracy and time are rounded up to 4 decimals.
type Standing struct {
	Entry
	Total      int64        `json:"total"`
	Percentile float64      `json:"percentile"`
	ToNext     *float64     `json:"to_next,omitempty"`
	Explain    *Explanation `json:"explain,omitempty"`
}

// Explanation says how an entry's value is computed, and how its place among entries with
// the same rank is decided.
type Explanation struct {
	Terms []Term `json:"parts"` // their values add up to the entry's value
	Tie   *Tie   `json:"tie,omitempty"`
}

// Tie is an entry's place among entries with the same rank. The entry whose newest result
// has the lower ledger position comes first.
type Tie struct {
	SharedBy int64 `json:"shared_by"` // entries of this rank, including this one
	Place    int64 `json:"place"`     // among the entries of this rank, from 1
	Position int64 `json:"position"`  // ledger position of the newest result
}

// WindowStanding is a player's rank and value in one window, as the `settled` push sends
// it.
type WindowStanding struct {
	Rank  int64 `json:"rank"`
	Value int64 `json:"value"`
}

// Listing describes the leaderboards of a game.
type Listing struct {
	Windows  []ListedWindow `json:"windows"`
	Kinds    []Kind         `json:"kinds"`
	TimeZone string         `json:"time_zone"`
	Day      string         `json:"day"` // the open day
}

// ListedWindow is one window of a Listing.
type ListedWindow struct {
	ID     Window  `json:"id"`
	Orders []Order `json:"orders"`
}

func (c Config) newEntry(entry BoardEntry, rank int64) Entry {
	aggregates := entry.Aggregates
	return Entry{
		Rank: rank, ID: entry.ID, Value: Value(aggregates, c.Weights),
		Score: aggregates.Score, TimeMS: aggregates.TimeMS, Matches: aggregates.Matches,
		Asked: aggregates.Asked, Answered: aggregates.Answered, Correct: aggregates.Correct,
		Accuracy: aggregates.Accuracy(),
	}
}

// newEntries returns the entries of a slice with their ranks. A rank is one more than the
// number of entries with better keys.
func (c Config) newEntries(slice RankingSlice) []Entry {
	entries := make([]Entry, len(slice.Entries))
	for i, row := range slice.Entries {
		rank := slice.StartIndex + int64(i) + 1
		switch {
		case i == 0:
			rank = slice.BetterCount + 1
		case row.Key == slice.Entries[i-1].Key:
			rank = entries[i-1].Rank
		}
		entries[i] = c.newEntry(row.BoardEntry, rank)
	}
	return entries
}
