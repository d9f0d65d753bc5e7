package lobby

import (
	"laststand/internal/match"
)

// Filter narrows the questions that a player wants. An empty field matches any.
type Filter struct {
	Category   string `json:"category,omitempty"`
	Lang       string `json:"lang,omitempty"`
	Difficulty string `json:"difficulty,omitempty"`
}

// IsCompatible reports whether one match can meet both filters.
func (w Filter) IsCompatible(o Filter) bool {
	compatible := func(a, b string) bool { return a == "" || b == "" || a == b }
	return compatible(w.Category, o.Category) && compatible(w.Lang, o.Lang) && compatible(w.Difficulty, o.Difficulty)
}

// Merge returns the filter that meets both of two compatible filters.
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
	BotAt    int64      `json:"bot_at"`    // when a bot may play, cluster time; 0 means never

	// Address is a keyed hash of the player's address. It is empty if the game
	// counts duels between players of one address.
	Address string `json:"address,omitempty"`
}

// Pairing is two tickets, or one ticket and a bot, whose match is about to be
// created.
type Pairing struct {
	Match   string   `json:"match"`
	At      int64    `json:"at"` // cluster time
	Tickets []Ticket `json:"tickets"`
}

// Rating is the number by which tickets are matched.
func (t Ticket) Rating() float64 {
	if t.Seat.Rating == nil {
		return unratedRating
	}
	return t.Seat.Rating.R
}

// unratedRating is the rating of a player without one, for matching.
const unratedRating = 1500

const (
	firstWindow     = 100.0 // rating points in both directions for a new ticket
	widerPerSecond  = 50.0  // the window grows by this much per second of waiting
	anyoneAfterSecs = 15.0  // after this wait any rating is accepted
)

// pickOpponent returns the best opponent among the candidates. The rating
// difference must be within the window of whichever ticket has waited longer.
// The nearest rating wins; among equals, the longest wait.
//
// Example: after 4 s of waiting the window is 100 + 4·50 = 300 rating points.
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
