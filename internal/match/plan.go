package match

import (
	"slices"

	"laststand/internal/quiz"
)

// Plan holds the fixed parameters of a match. It is written once and never
// changes.
type Plan struct {
	Form      int                  `json:"form"`
	ID        string               `json:"id"`
	Game      string               `json:"game"`
	Mode      Mode                 `json:"mode"`
	Questions []quiz.DrawnQuestion `json:"questions"`
	Seats     []Seat               `json:"seats"`     // duels only; the seats of an arena are in the store
	StartsAt  int64                `json:"starts_at"` // duels only, cluster time; the start of an arena is in State
	Rules
	ReadingMS             int64  `json:"reading_ms,omitempty"` // a question can be answered so long after it opens
	CountdownMS           int64  `json:"countdown_ms"`
	RevealMS              int64  `json:"reveal_ms"`
	Rated                 bool   `json:"rated"`
	CountsForLeaderboards bool   `json:"counts"` // true: the result counts for leaderboards
	Arena                 *Arena `json:"arena,omitempty"`
}

// Rules are the part of a plan that decides, together with the answers, about points and
// ranks. The ledger stores them with the result.
type Rules struct {
	LimitMS     int64         `json:"limit_ms"`              // time limit of each question without a limit of its own
	LimitsMS    []int64       `json:"limits_ms,omitempty"`   // time limit by question; nil: LimitMS for all
	Multipliers []int64       `json:"multipliers,omitempty"` // of the points by question; nil: 1 for all
	Scoring     *quiz.Scoring `json:"scoring,omitempty"`     // nil in a plan: the scoring of the mode
}

// Arena is the part of a plan that only matches with a join code have.
type Arena struct {
	ID            string `json:"id"`
	Code          string `json:"code"`
	Name          string `json:"name"`
	Host          string `json:"host"` // id of the creator: a player or a client with role host
	Teams         []Team `json:"teams,omitempty"`
	MaxPlayers    int    `json:"max_players"`
	TeamLockoutMS int64  `json:"team_lockout_ms,omitempty"`
	HostPaced     bool   `json:"host_paced,omitempty"` // the pace at the start
	LateJoin      bool   `json:"late_join,omitempty"`  // true: players may join during the match
}

// Team is a side that players of an arena join.
type Team struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Seat is a player's place in a match. It survives a reconnect. Rating is the
// player's rating before the match, or nil.
type Seat struct {
	Player   string  `json:"player"`
	Nickname string  `json:"nickname"`
	Team     string  `json:"team,omitempty"`
	Bot      bool    `json:"bot,omitempty"`
	Rating   *Rating `json:"rating,omitempty"`
}

// FullListPlayers is the largest match in which every player is listed. In a larger
// match only the first ShortListPlayers players are listed, and each player also gets
// a personal result.
const (
	FullListPlayers  = 50
	ShortListPlayers = 10
)

// FindSeat finds a player's seat in a duel.
func (p *Plan) FindSeat(player string) (Seat, bool) {
	if i := p.seatIndex(player); i >= 0 {
		return p.Seats[i], true
	}
	return Seat{}, false
}

// seatIndex returns the index of a player's seat in a duel, -1 without one.
func (p *Plan) seatIndex(player string) int {
	return slices.IndexFunc(p.Seats, func(seat Seat) bool { return seat.Player == player })
}

// duelPlayers lists the players of a duel in seat order.
func (p *Plan) duelPlayers() []string {
	ids := make([]string, len(p.Seats))
	for i, seat := range p.Seats {
		ids[i] = seat.Player
	}
	return ids
}

// Limit is the time limit of a question, in ms.
func (r Rules) Limit(question int) int64 {
	if r.LimitsMS == nil {
		return r.LimitMS
	}
	return r.LimitsMS[question]
}

// sumLimits adds the time limits of the first questions that are not void, count of them.
func (r Rules) sumLimits(count int, voids []int) (sum int64) {
	for question := 0; count > 0; question++ {
		if !slices.Contains(voids, question) {
			sum += r.Limit(question)
			count--
		}
	}
	return sum
}

// Multiplier multiplies the points of a question.
func (r Rules) Multiplier(question int) int64 {
	if r.Multipliers == nil {
		return 1
	}
	return r.Multipliers[question]
}

// scoring is the scoring of the match.
func (p *Plan) scoring() quiz.Scoring {
	switch {
	case p.Scoring != nil:
		return *p.Scoring
	case p.Mode == Buzzer:
		return quiz.BuzzerScoring
	}
	return quiz.DefaultScoring
}

// completeRules returns the rules of the match with its scoring.
func (p *Plan) completeRules() *Rules {
	rules, scoring := p.Rules, p.scoring()
	rules.Scoring = &scoring
	return &rules
}

// listedSeats are the seats of a duel, or those that the view of an arena
// lists.
func (p *Plan) listedSeats(view View) []Seat {
	if p.Arena != nil {
		return view.Seats
	}
	return p.Seats
}

// ExtraTime gives a player a longer time limit: Percent is the addition in percent of the
// limit. Only the player and the host may learn of it. Therefore every record holds the
// elapsed time as scaled to the limit of the others. Points, ranks and reports follow from
// it as for everybody, and do not show who has extra time. One thing cannot be hidden: who
// sees a question stay open after its time limit knows that somebody has extra time.
type ExtraTime struct {
	Player   string `json:"player"`
	Nickname string `json:"nickname"`
	Percent  int64  `json:"percent"`
}
