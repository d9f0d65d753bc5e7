package rating

import "math"

const (
	scale  = 173.7178 // rating points in one unit of the Glicko-2 scale
	middle = 1500
)

// evidence is the information from the games of a period, on the Glicko-2
// scale.
type evidence struct {
	information float64 // Σ g²E(1−E): 1/v of step 3
	surprise    float64 // Σ g(s−E): Δ/v of step 4
}

// weigh implements steps 2 to 4 of Glickman's "Example of the Glicko-2 system".
func weigh(player Rating, games []Game) evidence {
	var sum evidence
	mu := (player.R - middle) / scale
	for _, game := range games {
		opponent := game.Opponent.withDefaults()
		phi := opponent.RD / scale
		g := 1 / math.Sqrt(1+3*phi*phi/(math.Pi*math.Pi))
		expected := 1 / (1 + math.Exp(-g*(mu-(opponent.R-middle)/scale)))
		sum.information += g * g * expected * (1 - expected)
		sum.surprise += g * (game.Score - expected)
	}
	return sum
}

const (
	tolerance = 1e-6 // ε of step 5
	maxRounds = 100  // the search usually takes about five rounds
)

// volatility implements step 5 of the paper: the new σ is the root of f, found
// by the Illinois variant of regula falsi.
func volatility(player Rating, games evidence) float64 {
	var (
		phi2   = player.RD / scale * player.RD / scale
		v      = 1 / games.information
		delta2 = v * games.surprise * v * games.surprise
		a      = math.Log(player.Sigma * player.Sigma)
	)
	f := func(x float64) float64 {
		e := math.Exp(x)
		d := phi2 + v + e
		return e*(delta2-d)/(2*d*d) - (x-a)/(Tau*Tau)
	}
	low, high := a, bracket(f, a, delta2-phi2-v)
	fLow, fHigh := f(low), f(high)
	for range maxRounds {
		if math.Abs(high-low) <= tolerance {
			break
		}
		next := low + (low-high)*fLow/(fHigh-fLow)
		fNext := f(next)
		if fNext*fHigh <= 0 {
			low, fLow = high, fHigh
		} else {
			fLow /= 2
		}
		high, fHigh = next, fNext
	}
	return math.Exp(low / 2)
}

// bracket returns the other end of an interval around the root of f that starts
// at a. excess is Δ²−φ²−v.
func bracket(f func(float64) float64, a, excess float64) float64 {
	if excess > 0 {
		return math.Log(excess)
	}
	x := a - Tau
	for f(x) < 0 {
		x -= Tau
	}
	return x
}
