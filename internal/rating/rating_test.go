package rating_test

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/rating"
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
	player := rating.Rating{R: 1500, RD: 200, Sigma: 0.06}
	got := rating.Update(player, []rating.Game{
		{Opponent: rating.Rating{R: 1400, RD: 30, Sigma: 0.06}, Score: 1},
		{Opponent: rating.Rating{R: 1550, RD: 100, Sigma: 0.06}, Score: 0},
		{Opponent: rating.Rating{R: 1700, RD: 300, Sigma: 0.06}, Score: 0},
	})
	checkNear(t, "R", got.R, 1464.06, 0.01)
	checkNear(t, "RD", got.RD, 151.52, 0.01)
	checkNear(t, "Sigma", got.Sigma, 0.05999, 0.00001)
}

// The first duel of two new players, computed by hand: φ = 2.014762, g =
// 0.669069, E = 0.5, v = 8.935475; σ hardly changes.
func TestUpdateRatesADuelOfNewcomers(t *testing.T) {
	t.Parallel()
	won := rating.Update(rating.Default(), []rating.Game{{Opponent: rating.Default(), Score: 1}})
	lost := rating.Update(rating.Default(), []rating.Game{{Opponent: rating.Default(), Score: 0}})
	checkNear(t, "the winner's R", won.R, 1662.31, 0.01)
	checkNear(t, "the loser's R", lost.R, 1337.69, 0.01)
	checkNear(t, "the winner's RD", won.RD, 290.32, 0.01)
	checkNear(t, "the loser's RD", lost.RD, 290.32, 0.01)
}

func TestUpdateWithoutGamesEqualsAge(t *testing.T) {
	t.Parallel()
	player := rating.Rating{R: 1700, RD: 60, Sigma: 0.06}
	if got, want := rating.Update(player, nil), player.Age(1); got != want {
		t.Errorf("Update without games = %+v, want %+v", got, want)
	}
}

func TestAgeGrowsTheDeviation(t *testing.T) {
	t.Parallel()
	player := rating.Rating{R: 1700, RD: 50, Sigma: 0.06}
	checkNear(t, "RD after one period", player.Age(1).RD, math.Hypot(50, 0.06*173.7178), 1e-9)
	checkNear(t, "RD after no period", player.Age(0).RD, 50, 1e-9)
	checkNear(t, "RD after a negative number of periods", player.Age(-3).RD, 50, 1e-9)
	checkNear(t, "RD after 1e9 periods", player.Age(1e9).RD, rating.MaxRD, 0)
	if got := player.Age(9); got.R != player.R || got.Sigma != player.Sigma {
		t.Errorf("Age changed R or Sigma: %+v", got)
	}
}

func TestZeroRatingCountsAsDefault(t *testing.T) {
	t.Parallel()
	fromZero := rating.Update(rating.Rating{}, []rating.Game{{Score: 1}})
	fromDefault := rating.Update(rating.Default(), []rating.Game{{Opponent: rating.Default(), Score: 1}})
	if fromZero != fromDefault {
		t.Errorf("from the zero Rating %+v, from Default %+v", fromZero, fromDefault)
	}
	if aged := (rating.Rating{}).Age(1); aged != rating.Default() {
		t.Errorf("the zero Rating after Age(1) = %+v, want Default", aged)
	}
	fromROnly := rating.Update(rating.Rating{R: 1500}, []rating.Game{{Score: 1}})
	if fromROnly != fromDefault {
		t.Errorf("without RD and Sigma %+v, from Default %+v", fromROnly, fromDefault)
	}
}

// A game with a certain outcome contains no information and must not cause a
// division by zero.
func TestUpdateSurvivesExtremeRatingDifferences(t *testing.T) {
	t.Parallel()
	strongest := rating.Rating{R: 1e9, RD: 30, Sigma: 0.06}
	got := rating.Update(rating.Default(), []rating.Game{{Opponent: strongest, Score: 0}})
	if got != rating.Default() {
		t.Errorf("a loss to a rating of %v gives %+v, want no change", strongest.R, got)
	}
}

func TestJSONIsTheStoredForm(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(rating.Default())
	if err != nil || string(got) != `{"r":1500,"rd":350,"sigma":0.06}` {
		t.Errorf("Marshal = %s, %v", got, err)
	}
}

func drawRating(t *rapid.T, label string) rating.Rating {
	return rating.Rating{
		R:     rapid.Float64Range(0, 4000).Draw(t, label+" R"),
		RD:    rapid.Float64Range(rating.MinRD, rating.MaxRD).Draw(t, label+" RD"),
		Sigma: rapid.Float64Range(0.01, 0.2).Draw(t, label+" sigma"),
	}
}

func duel(player, opponent rating.Rating, score float64) rating.Rating {
	return rating.Update(player, []rating.Game{{Opponent: opponent, Score: score}})
}

func TestWinnersGainAndLosersLose(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		player, opponent := drawRating(t, "player"), drawRating(t, "opponent")
		won, drawn, lost := duel(player, opponent, 1), duel(player, opponent, 0.5), duel(player, opponent, 0)
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
			games := make([]rating.Game, rapid.IntRange(0, 5).Draw(t, "games"))
			for i := range games {
				games[i].Opponent = drawRating(t, "opponent")
				games[i].Score = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "score")
			}
			player = rating.Update(player, games)
			if !(player.RD >= rating.MinRD && player.RD <= rating.MaxRD) {
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
		after := duel(player, opponent, 0.5)
		if math.Abs(after.R-player.R) > 1e-9 {
			t.Fatalf("R changed from %v to %v", player.R, after.R)
		}
		if after.Sigma > player.Sigma {
			t.Fatalf("sigma grew from %v to %v after the expected result", player.Sigma, after.Sigma)
		}
	})
}

// In a duel of two equal players, one gains the points that the other loses.
func TestADuelOfEqualsIsSymmetric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		player := drawRating(t, "twin")
		won, lost := duel(player, player, 1), duel(player, player, 0)
		if math.Abs((won.R-player.R)-(player.R-lost.R)) > 1e-6 || math.Abs(won.RD-lost.RD) > 1e-6 {
			t.Fatalf("from %+v: won %+v, lost %+v", player, won, lost)
		}
	})
}

func TestAgeInStepsEqualsAgeInOneStep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		player := drawRating(t, "player")
		firstPeriods, secondPeriods := rapid.Float64Range(0, 500).Draw(t, "a"), rapid.Float64Range(0, 500).Draw(t, "b")
		inSteps, inOneStep := player.Age(firstPeriods).Age(secondPeriods), player.Age(firstPeriods+secondPeriods)
		if math.Abs(inSteps.RD-inOneStep.RD) > 1e-6 || inOneStep.RD < player.RD-1e-9 {
			t.Fatalf("RD in two steps %v, in one step %v, before %v", inSteps.RD, inOneStep.RD, player.RD)
		}
	})
}
