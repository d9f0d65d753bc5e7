package match

import "math"

// ratingTau is the system constant τ: how far one surprising result may change a
// volatility. The paper recommends 0.3 to 1.2 and uses 0.5 in its example.
// Smaller values change volatilities less.
const ratingTau = 0.5

// Limits of a rating deviation, in rating points.
const (
	// maxRD is the deviation of a player without rated games. A deviation never
	// grows above it.
	maxRD = 350
	// minRD keeps the rating of an experienced player changeable. Glickman
	// recommends 30 in "The Glicko system".
	minRD = 30
)

// Rating is the Glicko-2 estimate of a player's strength (Mark E. Glickman, "Example of
// the Glicko-2 system", 22 November 2013). The strength is within R ± 2 RD with 95 %
// certainty. The zero Rating means not rated yet: functions of this package use
// DefaultRating instead. An RD or Sigma of 0 or less also means its default.
type Rating struct {
	R     float64 `json:"r"`     // rating points; a new player has 1500
	RD    float64 `json:"rd"`    // deviation, in rating points
	Sigma float64 `json:"sigma"` // volatility: how much the results vary
}

// RatedGame is one game of a rating period, from the view of the rated player.
type RatedGame struct {
	Opponent Rating  // the opponent's rating before the period
	Score    float64 // 1 for a win, 0.5 for a draw, 0 for a loss
}

// DefaultRating returns the rating of a player without rated games.
func DefaultRating() Rating {
	return Rating{R: 1500, RD: maxRD, Sigma: 0.06}
}

// UpdateRating returns the player's rating after one rating period with these games.
// All ratings are those before the period. Both players of a duel (a period of
// one game) are therefore updated from the other's old rating. A period without
// games only lets RD grow.
//
// Example: two new players (1500 ± 700) play a duel. The winner has about 1662
// afterwards, the loser about 1338.
func UpdateRating(player Rating, games []RatedGame) Rating {
	player = player.withDefaults()
	evidence := collectEvidence(player, games)
	if evidence.information == 0 { // no games, or only games with a certain outcome
		player.RD = clampRD(glickoScale * math.Hypot(player.RD/glickoScale, player.Sigma))
		return player
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

// withDefaults replaces a zero Rating, RD or Sigma by its default.
func (r Rating) withDefaults() Rating {
	defaults := DefaultRating()
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
	return min(max(rd, minRD), maxRD)
}

// Rounded returns the rating points as a whole number, as players see them.
func (r Rating) Rounded() int { return int(math.Round(r.withDefaults().R)) }
