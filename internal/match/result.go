package match

import (
	"slices"
)

// Result is the outcome of a match. The last step writes it and the ledger stores it. The
// ledger then decides the ratings, and whether the result counts. Standings and Teams are in rank order, Firsts in
// the order of questions.
type Result struct {
	Match                 string     `json:"match"`
	ArenaID               string     `json:"arena_id,omitempty"`
	Game                  string     `json:"game"`
	Mode                  Mode       `json:"mode"`
	StartedAt             int64      `json:"started_at"` // cluster time, epoch ms
	OverAt                int64      `json:"over_at"`    // cluster time, epoch ms
	Reason                Reason     `json:"reason"`
	Questions             int        `json:"questions"` // closed and not void
	CountsForLeaderboards bool       `json:"counts"`    // for the boards and the players' totals
	Winner                string     `json:"winner,omitempty"`
	Standings             []Standing `json:"standings"`
	// Paged reports that the standings are not in the result. They stay with
	// the match and are read in pages.
	Paged bool `json:"paged,omitempty"`
	// Undecodable is the stored text of a result that no program can decode, "" for others. The
	// other fields may be missing, except Match.
	Undecodable string `json:"undecodable,omitempty"`
	// Rules are nil in a result of a program before this field.
	Rules *Rules `json:"rules,omitempty"`

	Teams  []TeamResult `json:"teams,omitempty"`
	Firsts []First      `json:"firsts,omitempty"` // of a buzzer match
}

// IsComplete reports whether the result contains the standings, as the ledger
// requires.
func (r Result) IsComplete() bool {
	return r.Undecodable == "" && (!r.Paged || len(r.Standings) > 0)
}

// TeamResult is the result of one team.
type TeamResult struct {
	Rank  int    `json:"rank"` // from 1; equals share a rank
	ID    string `json:"id"`
	Name  string `json:"name,omitempty"`
	Score int64  `json:"score"`
}

// Standing is the result of one seat.
type Standing struct {
	Rank     int    `json:"rank"` // from 1; equals share a rank
	Player   string `json:"player"`
	Nickname string `json:"nickname"`
	Team     string `json:"team,omitempty"`
	Bot      bool   `json:"bot,omitempty"`
	Score    int64  `json:"score"`
	Correct  int    `json:"correct"`
	Answered int    `json:"answered"`
	Asked    int    `json:"asked"`
	TimeMS   int64  `json:"time_ms"`  // sum over questions: elapsed time of a right answer, else the full limit
	LimitMS  int64  `json:"limit_ms"` // limit × asked
	// Rating is nil unless the match is rated. It is provisional until the
	// ledger commits the result and computes it again.
	Rating *RatingChange `json:"rating,omitempty"`

	HasLeft  bool `json:"has_left,omitempty"` // true: the player left an arena
	survived int  // only for ranking: questions up to the last one survived
}

// IsRated reports whether the result changes ratings: it is a duel of two rated
// players.
func (r *Result) IsRated() bool {
	rated := func(s Standing) bool { return s.Rating != nil && !s.Bot }
	return r.Mode == Duel && len(r.Standings) == 2 && rated(r.Standings[0]) && rated(r.Standings[1])
}

// Rate computes the ratings of both players of a duel after the match, from the
// winner and the ratings before. It is a Glicko-2 rating period of one game.
// Copies of the result keep their ratings.
func (r *Result) Rate(ratingBefore func(Standing) Rating) {
	r.Standings = slices.Clone(r.Standings)
	old := [2]Rating{ratingBefore(r.Standings[0]), ratingBefore(r.Standings[1])}
	for i := range r.Standings {
		self, other := &r.Standings[i], r.Standings[1-i]
		score := 0.5
		switch {
		case self.Rank < other.Rank:
			score = 1
		case self.Rank > other.Rank:
			score = 0
		}
		after := UpdateRating(old[i], []RatedGame{{Opponent: old[1-i], Score: score}})
		self.Rating = &RatingChange{Before: old[i], After: after}
	}
}

// HumanPlayers lists the players of a result that are not bots.
func (r *Result) HumanPlayers() []string {
	ids := make([]string, 0, len(r.Standings))
	for _, s := range r.Standings {
		if !s.Bot {
			ids = append(ids, s.Player)
		}
	}
	return ids
}

// Ratings returns the players' ratings after a rated match, rounded; nil if the
// match is not rated.
func (r *Result) Ratings() map[string]int {
	if !r.IsRated() {
		return nil
	}
	ratings := make(map[string]int, len(r.Standings))
	for _, entry := range r.Standings {
		ratings[entry.Player] = entry.Rating.After.Rounded()
	}
	return ratings
}

// RatingChange is a rated player's rating before and after the match.
type RatingChange struct {
	Before Rating `json:"before"`
	After  Rating `json:"after"`
}

// First is the first right answer to a buzzer question: the player, and the time
// and node that decided it.
type First struct {
	Question  int    `json:"question"`
	Player    string `json:"player"`
	Nickname  string `json:"nickname"`
	Team      string `json:"team,omitempty"`
	ArrivedAt int64  `json:"at"` // when its frame arrived, cluster time
	ElapsedMS int64  `json:"elapsed_ms"`
	Node      string `json:"node"` // the node that received it
}
