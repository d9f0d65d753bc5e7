// Package rating rates players with Glicko-2: Mark E. Glickman, "Example of the
// Glicko-2 system" (revision of 22 November 2013). It has no state and uses no
// clock.
//
// Words:
//
//   - Rating: the estimate of a player's strength: R, the deviation RD and the
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
	// MaxRD is the deviation of a player without rated games. A deviation never
	// grows above it.
	MaxRD = 350
	// MinRD keeps the rating of an experienced player changeable. Glickman
	// recommends 30 in "The Glicko system".
	MinRD = 30
)

// Rating is the estimate of a player's strength, which is within R ± 2 RD with
// 95 % certainty. The zero Rating means not rated yet: functions of this package
// use Default instead. An RD or Sigma of 0 or less also means its default.
type Rating struct {
	R     float64 `json:"r"`     // rating points; a new player has 1500
	RD    float64 `json:"rd"`    // deviation, in rating points
	Sigma float64 `json:"sigma"` // volatility: how much the results vary
}

// Game is one game of a rating period, from the view of the rated player.
type Game struct {
	Opponent Rating  // the opponent's rating before the period
	Score    float64 // 1 for a win, 0.5 for a draw, 0 for a loss
}

// Default returns the rating of a player without rated games.
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
	evidence := collectEvidence(player, games)
	if evidence.information == 0 { // no games, or only games with a certain outcome
		return player.Age(1)
	}
	sigma := newVolatility(player, evidence)
	phi := math.Hypot(player.RD/glickoScale, sigma)
	phi = 1 / math.Sqrt(1/(phi*phi)+evidence.information)
	return Rating{
		R:     player.R + glickoScale*phi*phi*evidence.surprise,
		RD:    clampRD(glickoScale * phi),
		Sigma: sigma,
	}
}

// Age returns the rating after this many rating periods without a game;
// fractions are allowed. R and Sigma do not change, RD grows up to MaxRD.
// Negative periods count as 0.
func (r Rating) Age(periods float64) Rating {
	r = r.withDefaults()
	phi := math.Hypot(r.RD/glickoScale, r.Sigma*math.Sqrt(max(periods, 0)))
	r.RD = clampRD(glickoScale * phi)
	return r
}

// withDefaults replaces a zero Rating, RD or Sigma by its default.
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

// Rounded returns the rating points as a whole number, as players see them.
func (r Rating) Rounded() int { return int(math.Round(r.withDefaults().R)) }
