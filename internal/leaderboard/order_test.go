package leaderboard

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawAggregates draws aggregates within the limits for which Key promises that different
// fractions have different keys.
func drawAggregates(t *rapid.T, name string, maxAsked int64) Aggregates {
	aggregates := Aggregates{Asked: rapid.Int64Range(1, maxAsked).Draw(t, name+" asked")}
	aggregates.Correct = rapid.Int64Range(0, aggregates.Asked).Draw(t, name+" correct")
	aggregates.TimeMS = rapid.Int64Range(0, 131_000*aggregates.Asked).Draw(t, name+" time")
	return aggregates
}

func TestKeysHaveTheOrderOfExactFractions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.SampledFrom([]Order{ByAccuracy, ByTime}).Draw(t, "order")
		maxAsked := map[Order]int64{ByAccuracy: 94_000_000, ByTime: 262_000}[order]
		first := drawAggregates(t, "a", maxAsked)
		second := drawAggregates(t, "b", maxAsked)
		if rapid.Bool().Draw(t, "neighbours") { // two fractions that are close to each other
			second = Aggregates{Asked: max(1, first.Asked-1), Correct: min(first.Correct, max(1, first.Asked-1)), TimeMS: first.TimeMS - first.TimeMS/first.Asked}
		}
		fraction := func(aggregates Aggregates) *big.Rat {
			if order == ByAccuracy {
				return big.NewRat(-aggregates.Correct, aggregates.Asked)
			}
			return big.NewRat(aggregates.TimeMS, aggregates.Asked)
		}
		firstKey, secondKey := Key(order, first, Weights{}), Key(order, second, Weights{})
		got := 0
		if firstKey < secondKey {
			got = -1
		} else if firstKey > secondKey {
			got = 1
		}
		if want := fraction(first).Cmp(fraction(second)); got != want {
			t.Fatalf("%s of %+v and %+v: keys %v %v order %d, fractions %d", order, first, second, firstKey, secondKey, got, want)
		}
	})
}

func TestEqualFractionsHaveEqualKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		small := drawAggregates(t, "a", 100_000)
		factor := rapid.Int64Range(2, 1000).Draw(t, "times")
		multiple := Aggregates{Asked: factor * small.Asked, Correct: factor * small.Correct, TimeMS: factor * small.TimeMS}
		for _, order := range []Order{ByAccuracy, ByTime} {
			if smallKey, multipleKey := Key(order, small, Weights{}), Key(order, multiple, Weights{}); smallKey != multipleKey {
				t.Fatalf("%s of %+v and %d times that: %v and %v", order, small, factor, smallKey, multipleKey)
			}
		}
	})
}

func TestMoreIsBetterExceptForTime(t *testing.T) {
	t.Parallel()
	good := Aggregates{Score: 300, Matches: 2, Asked: 10, Correct: 9, TimeMS: 1000, LimitMS: 10_000}
	poor := Aggregates{Score: 200, Matches: 1, Asked: 10, Correct: 8, TimeMS: 2000, LimitMS: 10_000}
	for _, order := range Orders() {
		if !(Key(order, good, DefaultWeights) < Key(order, poor, DefaultWeights)) {
			t.Errorf("%s ranks %+v behind %+v", order, good, poor)
		}
	}
}

func TestAccuracyAndTimeNeedEnoughQuestions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		asked, min int64
		want       []Order
	}{
		{asked: 0, min: 0, want: []Order{ByValue, ByScore, ByMatches}},
		{asked: 1, min: 0, want: Orders()},
		{asked: 19, min: 20, want: []Order{ByValue, ByScore, ByMatches}},
		{asked: 20, min: 20, want: Orders()},
	}
	for _, tt := range tests {
		var got []Order
		for _, order := range Orders() {
			if Rankable(order, Aggregates{Matches: 1, Asked: tt.asked}, tt.min) {
				got = append(got, order)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%d questions asked, minimum %d: ranked in %v, want %v", tt.asked, tt.min, got, tt.want)
		}
	}
}

// A member is the position with at least 16 digits, a colon and the id.
func TestMembersHaveTheFormatThatScriptsExpect(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entry := BoardEntry{ID: rapid.StringMatching(`[A-Za-z0-9_.:-]{1,64}`).Draw(t, "id")}
		entry.Newest = rapid.Int64Range(0, 1<<62).Draw(t, "newest") >> rapid.IntRange(0, 62).Draw(t, "bits")
		if want := fmt.Sprintf("%016d:%s", entry.Newest, entry.ID); entry.Member() != want {
			t.Fatalf("%q, want %q", entry.Member(), want)
		}
	})
}
