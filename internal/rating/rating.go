// Package rating rates players with Glicko-2: Mark E. Glickman, "Example of the
// Glicko-2 system" (revision of 22 November 2013). It is pure: no state, no
// clock.
//
// Words:
//
//   - Rating: what is known of a player's strength: R, the deviation RD and the
//     volatility Sigma.
//   - Rating period: the games that are rated together. A duel is a period of
//     one game.
//
// Start reading at Update; period.go contains the steps of the paper. This
// package must not know about matches or players' ids.
package rating

import "math"

// Tau is the system constant τ: how far one surprising result may change a
// volatility. The paper recommends 0.3 to 1.2 and uses 0.5 in its example.
// Smaller values change volatilities less.
const Tau = 0.5

// Limits of a rating deviation, in rating points.
const (
	// MaxRD is the deviation of an unknown player. A deviation never grows
	// beyond it.
	MaxRD = 350
	// MinRD keeps the rating of an experienced player changeable. Glickman
	// recommends 30 in "The Glicko system".
	MinRD = 30
)

// Rating is what is known of a player's strength: with 95 % certainty it is
// within R ± 2 RD. The zero Rating means not rated yet and counts as Default
// everywhere in this package. So does an RD or Sigma not above 0.
type Rating struct {
	R     float64 `json:"r"`     // rating points, 1500 is the middle
	RD    float64 `json:"rd"`    // deviation, in rating points
	Sigma float64 `json:"sigma"` // volatility: how much the results vary
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

// Update returns the player's rating after one rating period with these games.
// All ratings are those before the period. Both players of a duel (a period of
// one game) are therefore updated from the other's old rating. A period without
// games ages the rating by one period.
//
// Example: two new players (1500 ± 700) play a duel. The winner has about 1662
// afterwards, the loser about 1338.
func Update(player Rating, games []Game) Rating {
	player = player.withDefaults()
	evidence := weigh(player, games)
	if evidence.information == 0 { // no games, or only games with a certain outcome
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

// Age returns the rating after this many rating periods without a game;
// fractions are allowed. R and Sigma stay, RD grows up to MaxRD. Periods below
// 0 count as 0.
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

// Rounded is the rating as a whole number, as players see it.
func (r Rating) Rounded() int { return int(math.Round(r.withDefaults().R)) }
