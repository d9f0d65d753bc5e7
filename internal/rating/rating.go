// Package rating rates players by Glicko-2: Mark E. Glickman, "Example of the
// Glicko-2 system" (revision of 22 November 2013). Pure: no state, no clock.
package rating

import "math"

// Tau is the system constant τ: how far one surprising result may move a
// volatility. The paper names 0.3 to 1.2 as sensible and reckons its example
// with 0.5; smaller values trust the present volatility more.
const Tau = 0.5

// The bounds of a rating deviation, in rating points.
const (
	// MaxRD is the deviation of a player nobody knows anything of. It never
	// grows beyond: more than nothing cannot be forgotten.
	MaxRD = 350
	// MinRD keeps the rating of a constant player able to move. Glickman
	// advises 30 in "The Glicko system".
	MinRD = 30
)

// Rating is what is known of a player's strength: with 95 % certainty it lies
// within R ± 2 RD. The zero Rating is a player not rated yet and counts as
// Default everywhere in this package; so does an RD or Sigma not above 0.
type Rating struct {
	R     float64 `json:"r"`     // rating points, 1500 is the middle
	RD    float64 `json:"rd"`    // deviation, in rating points
	Sigma float64 `json:"sigma"` // volatility: how erratic the results are
}

// Game is one game of a rating period, as the rated player saw it.
type Game struct {
	Opponent Rating  // before the period
	Score    float64 // 1 won, 0.5 drawn, 0 lost
}

// Default is the rating of a player without rated games.
func Default() Rating {
	return Rating{R: 1500, RD: MaxRD, Sigma: 0.06}
}

// Update gives the player's rating after one rating period with these games.
// All ratings are those before the period, so the two players of a duel (a
// period of one game) are each updated from the other's old rating. A period
// without games ages the rating by one period.
func Update(player Rating, games []Game) Rating {
	player = player.withDefaults()
	evidence := weigh(player, games)
	if evidence.information == 0 { // no game, or none whose end was in doubt
		return player.Age(1)
	}
	sigma := volatility(player, evidence)
	phi := math.Hypot(player.RD/scale, sigma)
	phi = 1 / math.Sqrt(1/(phi*phi)+evidence.information)
	return Rating{
		R:     player.R + scale*phi*phi*evidence.surprise,
		RD:    clampRD(scale * phi),
		Sigma: sigma,
	}
}

// Age gives the rating after so many rating periods without a game, fractions
// allowed: R and Sigma stay, RD grows up to MaxRD. Periods below 0 count as 0.
func (r Rating) Age(periods float64) Rating {
	r = r.withDefaults()
	phi := math.Hypot(r.RD/scale, r.Sigma*math.Sqrt(max(periods, 0)))
	r.RD = clampRD(scale * phi)
	return r
}

func (r Rating) withDefaults() Rating {
	defaults := Default()
	if r == (Rating{}) {
		return defaults
	}
	if r.RD <= 0 {
		r.RD = defaults.RD
	}
	if r.Sigma <= 0 {
		r.Sigma = defaults.Sigma
	}
	return r
}

func clampRD(rd float64) float64 {
	return min(max(rd, MinRD), MaxRD)
}

// Rounded is the rating as people see it: a whole number.
func (r Rating) Rounded() int { return int(math.Round(r.withDefaults().R)) }
