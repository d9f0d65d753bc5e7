package match

import "math"

const (
	glickoScale  = 173.7178 // rating points in one unit of the Glicko-2 scale
	centerRating = 1500     // rating points at 0 of the Glicko-2 scale
)

// ratingEvidence is what the games of a period say about a player's strength, on the
// Glicko-2 scale.
type ratingEvidence struct {
	information float64 // Σ g²E(1−E): 1/v of step 3
	surprise    float64 // Σ g(s−E): Δ/v of step 4
}

// collectEvidence computes the evidence of a period's games for a player: steps 2 to 4 of
// Glickman's "Example of the Glicko-2 system".
func collectEvidence(player Rating, games []RatedGame) ratingEvidence {
	var total ratingEvidence
	mu := (player.R - centerRating) / glickoScale
	for _, game := range games {
		opponent := game.Opponent.withDefaults()
		phi := opponent.RD / glickoScale
		g := 1 / math.Sqrt(1+3*phi*phi/(math.Pi*math.Pi))
		expected := 1 / (1 + math.Exp(-g*(mu-(opponent.R-centerRating)/glickoScale)))
		total.information += g * g * expected * (1 - expected)
		total.surprise += g * (game.Score - expected)
	}
	return total
}

const (
	volatilityTolerance = 1e-6 // ε of step 5
	maxVolatilityRounds = 100  // limit of the search, which usually takes about five rounds
)

// newVolatility returns the player's new volatility σ by step 5 of the paper. It is
// exp(x/2) for the root x of f, which the Illinois variant of regula falsi finds.
func newVolatility(player Rating, period ratingEvidence) float64 {
	var (
		phi2   = player.RD / glickoScale * player.RD / glickoScale
		v      = 1 / period.information
		delta2 = v * period.surprise * v * period.surprise
		a      = math.Log(player.Sigma * player.Sigma)
	)
	f := func(x float64) float64 {
		e := math.Exp(x)
		d := phi2 + v + e
		return e*(delta2-d)/(2*d*d) - (x-a)/(ratingTau*ratingTau)
	}
	low, high := a, findBracket(f, a, delta2-phi2-v)
	fLow, fHigh := f(low), f(high)
	for range maxVolatilityRounds {
		if math.Abs(high-low) <= volatilityTolerance {
			break
		}
		estimate := low + (low-high)*fLow/(fHigh-fLow)
		fEstimate := f(estimate)
		if fEstimate*fHigh <= 0 {
			low, fLow = high, fHigh
		} else {
			fLow /= 2
		}
		high, fHigh = estimate, fEstimate
	}
	return math.Exp(low / 2)
}

// findBracket returns the second end of an interval that contains the root of f. The
// first end is a. excess is Δ²−φ²−v.
func findBracket(f func(float64) float64, a, excess float64) float64 {
	if excess > 0 {
		return math.Log(excess)
	}
	x := a - ratingTau
	for f(x) < 0 {
		x -= ratingTau
	}
	return x
}
