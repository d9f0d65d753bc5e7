package leaderboard

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestValueIsTheWeightedSumOfItsTerms(t *testing.T) {
	t.Parallel()
	ada := Aggregates{Score: 41000, TimeMS: 812345, LimitMS: 6_150_000, Matches: 41, Asked: 410, Answered: 405, Correct: 371}
	tests := []struct {
		name       string
		aggregates Aggregates
		weights    Weights
		want       int64
	}{
		{"the default is the score", ada, DefaultWeights, 41000},
		{"accuracy is truncated, not rounded", ada, Weights{Accuracy: 1}, 9048},  // 9048.78
		{"speed is the unused share of the limit", ada, Weights{Speed: 1}, 8679}, // 8679.11
		{"all four weights", ada, Weights{Score: 2, Accuracy: 3, Speed: 5, Matches: 7}, 82000 + 27144 + 43395 + 287},
		{"nothing asked", Aggregates{Matches: 3, LimitMS: 10}, Weights{Score: 1, Accuracy: 9, Speed: 9, Matches: 1}, 3},
		{"no limit", Aggregates{Asked: 1, Correct: 1}, Weights{Speed: 1}, 0},
		{"speed is rounded down, not towards 0", Aggregates{Asked: 1, TimeMS: 4, LimitMS: 3}, Weights{Speed: 1}, -3334},
	}
	for _, tt := range tests {
		if got := Value(tt.aggregates, tt.weights); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	if got := ada.Accuracy(); got != 0.9049 {
		t.Errorf("accuracy %v, want 0.9049", got)
	}
}

func TestAccuracyIsRoundedHalfUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		aggregates := Aggregates{Asked: rapid.Int64Range(1, 50_000).Draw(t, "asked")}
		aggregates.Correct = rapid.Int64Range(0, aggregates.Asked).Draw(t, "correct")
		half := new(big.Rat).Add(big.NewRat(10000*aggregates.Correct, aggregates.Asked), big.NewRat(1, 2))
		want := new(big.Int).Div(half.Num(), half.Denom()).Int64()
		if got := aggregates.Accuracy(); got != float64(want)/10000 {
			t.Fatalf("%d/%d is %v, want %d/10000", aggregates.Correct, aggregates.Asked, got, want)
		}
	})
	if got := (Aggregates{Asked: 20000, Correct: 1}).Accuracy(); got != 0.0001 {
		t.Errorf("half a ten-thousandth is shown as %v", got)
	}
}
