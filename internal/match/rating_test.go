package match

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func checkNear(t *testing.T, label string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance {
		t.Errorf("%s = %.6f, want %.6f ± %g", label, got, want, tolerance)
	}
}

// The worked example of Glickman's paper.
func TestUpdateComputesThePapersExample(t *testing.T) {
	t.Parallel()
	player := Rating{R: 1500, RD: 200, Sigma: 0.06}
	got := UpdateRating(player, []RatedGame{
		{Opponent: Rating{R: 1400, RD: 30, Sigma: 0.06}, Score: 1},
		{Opponent: Rating{R: 1550, RD: 100, Sigma: 0.06}, Score: 0},
		{Opponent: Rating{R: 1700, RD: 300, Sigma: 0.06}, Score: 0},
	})
	checkNear(t, "R", got.R, 1464.06, 0.01)
	checkNear(t, "RD", got.RD, 151.52, 0.01)
	checkNear(t, "Sigma", got.Sigma, 0.05999, 0.00001)
}

// The first duel of two new players, computed by hand: φ = 2.014762, g =
// 0.669069, E = 0.5, v = 8.935475; σ hardly changes.
func TestUpdateRatesADuelOfNewcomers(t *testing.T) {
	t.Parallel()
	won := UpdateRating(DefaultRating(), []RatedGame{{Opponent: DefaultRating(), Score: 1}})
	lost := UpdateRating(DefaultRating(), []RatedGame{{Opponent: DefaultRating(), Score: 0}})
	checkNear(t, "the winner's R", won.R, 1662.31, 0.01)
	checkNear(t, "the loser's R", lost.R, 1337.69, 0.01)
	checkNear(t, "the winner's RD", won.RD, 290.32, 0.01)
	checkNear(t, "the loser's RD", lost.RD, 290.32, 0.01)
}

func TestARatingPeriodWithoutGamesGrowsTheDeviation(t *testing.T) {
	t.Parallel()
	player := Rating{R: 1700, RD: 60, Sigma: 0.06}
	got := UpdateRating(player, nil)
	checkNear(t, "RD", got.RD, math.Hypot(60, 0.06*173.7178), 1e-9)
	if got.R != player.R || got.Sigma != player.Sigma {
		t.Errorf("R or Sigma changed: %+v", got)
	}
}

func TestZeroRatingCountsAsDefault(t *testing.T) {
	t.Parallel()
	fromZero := UpdateRating(Rating{}, []RatedGame{{Score: 1}})
	fromDefault := UpdateRating(DefaultRating(), []RatedGame{{Opponent: DefaultRating(), Score: 1}})
	if fromZero != fromDefault {
		t.Errorf("from the zero Rating %+v, from Default %+v", fromZero, fromDefault)
	}
	fromROnly := UpdateRating(Rating{R: 1500}, []RatedGame{{Score: 1}})
	if fromROnly != fromDefault {
		t.Errorf("without RD and Sigma %+v, from Default %+v", fromROnly, fromDefault)
	}
}

// A game with a certain outcome contains no information and must not cause a
// division by zero.
func TestUpdateSurvivesExtremeRatingDifferences(t *testing.T) {
	t.Parallel()
	strongest := Rating{R: 1e9, RD: 30, Sigma: 0.06}
	got := UpdateRating(DefaultRating(), []RatedGame{{Opponent: strongest, Score: 0}})
	if got != DefaultRating() {
		t.Errorf("a loss to a rating of %v gives %+v, want no change", strongest.R, got)
	}
}

func TestJSONIsTheStoredForm(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(DefaultRating())
	if err != nil || string(got) != `{"r":1500,"rd":350,"sigma":0.06}` {
		t.Errorf("Marshal = %s, %v", got, err)
	}
}

func drawRating(t *rapid.T, label string) Rating {
	return Rating{
		R:     rapid.Float64Range(0, 4000).Draw(t, label+" R"),
		RD:    rapid.Float64Range(minRD, maxRD).Draw(t, label+" RD"),
		Sigma: rapid.Float64Range(0.01, 0.2).Draw(t, label+" sigma"),
	}
}

func rateDuel(player, opponent Rating, score float64) Rating {
	return UpdateRating(player, []RatedGame{{Opponent: opponent, Score: score}})
}

func TestWinnersGainAndLosersLose(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		player, opponent := drawRating(t, "player"), drawRating(t, "opponent")
		won, drawn, lost := rateDuel(player, opponent, 1), rateDuel(player, opponent, 0.5), rateDuel(player, opponent, 0)
		if won.R < player.R || lost.R > player.R {
			t.Fatalf("from %v: won %v, lost %v", player.R, won.R, lost.R)
		}
		if drawn.R < lost.R || drawn.R > won.R {
			t.Fatalf("a draw (%v) is outside loss %v and win %v", drawn.R, lost.R, won.R)
		}
	})
}

func TestUpdateStaysWithinLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		player := drawRating(t, "player")
		for range rapid.IntRange(1, 40).Draw(t, "periods") {
			games := make([]RatedGame, rapid.IntRange(0, 5).Draw(t, "games"))
			for i := range games {
				games[i].Opponent = drawRating(t, "opponent")
				games[i].Score = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "score")
			}
			player = UpdateRating(player, games)
			if !(player.RD >= minRD && player.RD <= maxRD) {
				t.Fatalf("RD %v", player.RD)
			}
			if !(player.Sigma > 0 && player.Sigma < 1) || math.IsNaN(player.R) || math.IsInf(player.R, 0) {
				t.Fatalf("rating %+v", player)
			}
		}
	})
}

func TestADrawOfEqualsChangesNoRating(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		player, opponent := drawRating(t, "player"), drawRating(t, "opponent")
		opponent.R = player.R
		after := rateDuel(player, opponent, 0.5)
		if math.Abs(after.R-player.R) > 1e-9 {
			t.Fatalf("R changed from %v to %v", player.R, after.R)
		}
		if after.Sigma > player.Sigma*(1+1e-9) { // rounding
			t.Fatalf("sigma grew from %v to %v after the expected result", player.Sigma, after.Sigma)
		}
	})
}

// In a duel of two equal players, one gains the points that the other loses.
func TestADuelOfEqualsIsSymmetric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		player := drawRating(t, "twin")
		won, lost := rateDuel(player, player, 1), rateDuel(player, player, 0)
		if math.Abs((won.R-player.R)-(player.R-lost.R)) > 1e-6 || math.Abs(won.RD-lost.RD) > 1e-6 {
			t.Fatalf("from %+v: won %+v, lost %+v", player, won, lost)
		}
	})
}
