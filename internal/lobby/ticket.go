package lobby

import (
	"math"

	"laststand/internal/match"
	"laststand/internal/quiz"
)

// Ticket is a player's request for an opponent.
type Ticket struct {
	ID       string      `json:"id"`
	Game     string      `json:"game"`
	Seat     match.Seat  `json:"seat"`
	Filter   quiz.Filter `json:"filter"`
	JoinedAt int64       `json:"joined_at"` // cluster time, epoch ms
	BotAt    int64       `json:"bot_at"`    // when a bot may be the opponent, cluster time, epoch ms; 0: never

	// Address is a keyed hash of the player's IP address. It is empty if the game
	// counts duels between players with the same address.
	Address string `json:"address,omitempty"`
}

// Pairing is two tickets, or one ticket and a bot, whose match is about to be
// created.
type Pairing struct {
	Match    string   `json:"match"` // id of the match
	PairedAt int64    `json:"at"`    // cluster time, epoch ms
	Tickets  []Ticket `json:"tickets"`
}

// Rating returns the rating by which the ticket is paired: unratedRating if its
// player has none.
func (t Ticket) Rating() float64 {
	if t.Seat.Rating == nil {
		return unratedRating
	}
	return t.Seat.Rating.R
}

// unratedRating is used to pair a player without a rating.
const unratedRating = 1500

const (
	initialWindow         = 100.0 // rating points up or down, for a new ticket
	windowGrowthPerSecond = 50.0  // rating points that the window grows per second of waiting
	anyRatingAfterSeconds = 15.0  // after this wait, in seconds, any rating is accepted
)

// pickOpponent returns the best opponent among the candidates, and false if none is
// suitable. The rating difference must be within the window of the ticket that has
// waited longer. The best has the nearest rating; among equals, it has waited
// longest. now is cluster time, epoch ms.
//
// Example: after 4 s of waiting the window is 100 + 4·50 = 300 rating points.
func pickOpponent(t Ticket, candidates []Ticket, now int64) (Ticket, bool) {
	best, found := Ticket{}, false
	for _, candidate := range candidates {
		if candidate.Seat.Player == t.Seat.Player || !t.Filter.IsCompatible(candidate.Filter) {
			continue
		}
		gap := ratingDistance(t, candidate)
		if gap > ratingWindow(now-min(t.JoinedAt, candidate.JoinedAt)) {
			continue
		}
		if !found || gap < ratingDistance(t, best) || gap == ratingDistance(t, best) && candidate.JoinedAt < best.JoinedAt {
			best, found = candidate, true
		}
	}
	return best, found
}

// ratingDistance returns the rating difference of two tickets, in rating points.
func ratingDistance(a, b Ticket) float64 { return math.Abs(a.Rating() - b.Rating()) }

// ratingWindow returns the largest accepted rating difference after a wait.
func ratingWindow(waitedMS int64) float64 {
	seconds := float64(waitedMS) / 1000
	if seconds >= anyRatingAfterSeconds {
		return 1e9
	}
	return initialWindow + windowGrowthPerSecond*seconds
}
