// Package lobby is where tickets wait and matches form: who may play whom, and
// the pairing that turns two tickets into one match, whichever nodes they came
// in at. Tickets live behind Store (redislobby).
package lobby

import (
	"laststand/internal/match"
)

// Filter narrows what a player wants to be asked; an empty field matches any.
type Filter struct {
	Category   string `json:"category,omitempty"`
	Lang       string `json:"lang,omitempty"`
	Difficulty string `json:"difficulty,omitempty"`
}

// IsCompatible says whether one match can meet both wishes.
func (w Filter) IsCompatible(o Filter) bool {
	compatible := func(a, b string) bool { return a == "" || b == "" || a == b }
	return compatible(w.Category, o.Category) && compatible(w.Lang, o.Lang) && compatible(w.Difficulty, o.Difficulty)
}

// Merge is the wish that meets two that fit.
func (w Filter) Merge(o Filter) Filter {
	firstSet := func(a, b string) string {
		if a != "" {
			return a
		}
		return b
	}
	return Filter{
		Category: firstSet(w.Category, o.Category), Lang: firstSet(w.Lang, o.Lang), Difficulty: firstSet(w.Difficulty, o.Difficulty),
	}
}

// Ticket is a player's request to be matched.
type Ticket struct {
	ID       string     `json:"id"`
	Game     string     `json:"game"`
	Seat     match.Seat `json:"seat"`
	Filter   Filter     `json:"wish"`
	JoinedAt int64      `json:"joined_at"` // cluster time
	BotAt    int64      `json:"bot_at"`    // when a bot may play; 0 for never

	// Address is a keyed hash of the player's address. It is empty if the game
	// counts duels between players of one address.
	Address string `json:"address,omitempty"`
}

// Pairing is two tickets, or one and a bot, on their way to a match.
type Pairing struct {
	Match   string   `json:"match"`
	At      int64    `json:"at"` // cluster time
	Tickets []Ticket `json:"tickets"`
}

// Rating is what a ticket is matched by.
func (t Ticket) Rating() float64 {
	if t.Seat.Rating == nil {
		return unratedRating
	}
	return t.Seat.Rating.R
}

// unratedRating is where a player without a rating stands among the others.
const unratedRating = 1500

const (
	firstWindow     = 100.0 // rating points either way for a ticket that is new
	widerPerSecond  = 50.0  // by how much it widens while the ticket waits
	anyoneAfterSecs = 15.0  // from then on anyone fits
)

// pickOpponent is the best opponent among the candidates at an instant: within the
// window of whichever of the two has waited longer, the nearest by rating,
// among equals who has waited longest.
func pickOpponent(t Ticket, candidates []Ticket, now int64) (Ticket, bool) {
	best, found := Ticket{}, false
	for _, c := range candidates {
		if c.Seat.Player == t.Seat.Player || !t.Filter.IsCompatible(c.Filter) {
			continue
		}
		gap := distance(t, c)
		if gap > window(now-min(t.JoinedAt, c.JoinedAt)) {
			continue
		}
		if !found || gap < distance(t, best) || gap == distance(t, best) && c.JoinedAt < best.JoinedAt {
			best, found = c, true
		}
	}
	return best, found
}

func distance(a, b Ticket) float64 {
	if d := a.Rating() - b.Rating(); d >= 0 {
		return d
	}
	return b.Rating() - a.Rating()
}

func window(waitedMS int64) float64 {
	seconds := float64(waitedMS) / 1000
	if seconds >= anyoneAfterSecs {
		return 1e9
	}
	return firstWindow + widerPerSecond*seconds
}
