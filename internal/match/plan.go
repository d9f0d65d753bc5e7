package match

import (
	"laststand/internal/quiz"
	"laststand/internal/rating"
)

// Form is the version of a plan's and a state's form. A node takes no step of
// a match whose form is newer than its own.
const Form = 1

// Plan is what a match was made of. It is written once and never changes.
type Plan struct {
	Form        int             `json:"form"`
	ID          string          `json:"id"`
	Game        string          `json:"game"`
	Mode        Mode            `json:"mode"`
	Questions   []quiz.Question `json:"questions"` // drawn, their choices shuffled
	Seats       []Seat          `json:"seats"`
	StartsAt    int64           `json:"starts_at"` // cluster time
	LimitMS     int64           `json:"limit_ms"`  // of each question
	CountdownMS int64           `json:"countdown_ms"`
	RevealMS    int64           `json:"reveal_ms"`
	Rated       bool            `json:"rated"`
	Counts      bool            `json:"counts"` // for the boards
}

// Seat is a player's place in a match; it outlives a reconnect. Rating is the
// player's before the match, nil where there is none.
type Seat struct {
	Player   string         `json:"player"`
	Nickname string         `json:"nickname"`
	Team     string         `json:"team,omitempty"`
	Bot      bool           `json:"bot,omitempty"`
	Rating   *rating.Rating `json:"rating,omitempty"`
}

// Seat finds a player's seat.
func (p *Plan) Seat(player string) (Seat, bool) {
	for _, s := range p.Seats {
		if s.Player == player {
			return s, true
		}
	}
	return Seat{}, false
}

// players lists the players in seat order.
func (p *Plan) players() []string {
	ids := make([]string, len(p.Seats))
	for i, s := range p.Seats {
		ids[i] = s.Player
	}
	return ids
}

// longestMS is how long a match may take at the most, its outages left out.
func (p *Plan) longestMS() int64 {
	return p.CountdownMS + int64(len(p.Questions))*(p.LimitMS+sealGraceMS+p.RevealMS)
}
