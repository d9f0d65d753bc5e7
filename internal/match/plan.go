package match

import (
	"laststand/internal/quiz"
	"laststand/internal/rating"
)

// Form is the version of a plan's and a state's form. A node takes no step of
// a match of another form than its own: it would misread it.
const Form = 3

// Plan is what a match was made of. It is written once and never changes.
type Plan struct {
	Form        int          `json:"form"`
	ID          string       `json:"id"`
	Game        string       `json:"game"`
	Mode        Mode         `json:"mode"`
	Questions   []quiz.Drawn `json:"questions"`
	Seats       []Seat       `json:"seats"`     // of a duel; those of an arena are in the store
	StartsAt    int64        `json:"starts_at"` // of a duel, cluster time; an arena's is part of its state
	LimitMS     int64        `json:"limit_ms"`  // of each question
	CountdownMS int64        `json:"countdown_ms"`
	RevealMS    int64        `json:"reveal_ms"`
	Rated       bool         `json:"rated"`
	Counts      bool         `json:"counts"` // for the boards
	Arena       *Arena       `json:"arena,omitempty"`
}

// Arena is what a match has that players join by a code.
type Arena struct {
	ID            string `json:"id"`
	Code          string `json:"code"`
	Name          string `json:"name"`
	Host          string `json:"host"` // who created it; a player or a client of role host
	Teams         []Team `json:"teams,omitempty"`
	MaxPlayers    int    `json:"max_players"`
	TeamLockoutMS int64  `json:"team_lockout_ms,omitempty"`
	HostPaced     bool   `json:"host_paced,omitempty"` // at its start
}

// Team is a side that players of an arena take.
type Team struct {
	ID   string `json:"id"`
	Name string `json:"name"`
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

// FullView is the most players of a match that everyone in it is told of; of
// more only the first ShortView are named, and each is told of itself.
const (
	FullView  = 50
	ShortView = 10
)

// Seat finds a player's seat in a duel.
func (p *Plan) Seat(player string) (Seat, bool) {
	for _, s := range p.Seats {
		if s.Player == player {
			return s, true
		}
	}
	return Seat{}, false
}

// players lists the players of a duel in seat order.
func (p *Plan) players() []string {
	ids := make([]string, len(p.Seats))
	for i, s := range p.Seats {
		ids[i] = s.Player
	}
	return ids
}

// maxDurationMS is how long a match may take at the most, its outages and what a
// host takes left out.
func (p *Plan) maxDurationMS() int64 {
	return p.CountdownMS + int64(len(p.Questions))*(p.LimitMS+sealGraceMS+p.RevealMS)
}
