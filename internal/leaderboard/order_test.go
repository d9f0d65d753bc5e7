package leaderboard

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawAggregates draws aggregates whose accuracy and mean time have distinct keys by the
// promise of Key. Two of them are often close to each other.
func drawAggregates(t *rapid.T, name string, asked int64) Aggregates {
	p := Aggregates{Asked: rapid.Int64Range(1, asked).Draw(t, name+" asked")}
	p.Correct = rapid.Int64Range(0, p.Asked).Draw(t, name+" correct")
	p.TimeMS = rapid.Int64Range(0, 131_000*p.Asked).Draw(t, name+" time")
	return p
}

func TestKeysOrderAsExactFractionsDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.SampledFrom([]Order{ByAccuracy, ByTime}).Draw(t, "order")
		most := map[Order]int64{ByAccuracy: 94_000_000, ByTime: 262_000}[order]
		a := drawAggregates(t, "a", most)
		b := drawAggregates(t, "b", most)
		if rapid.Bool().Draw(t, "neighbours") { // a/n and the nearest fractions to it
			b = Aggregates{Asked: max(1, a.Asked-1), Correct: min(a.Correct, max(1, a.Asked-1)), TimeMS: a.TimeMS - a.TimeMS/a.Asked}
		}
		better := func(p Aggregates) *big.Rat {
			if order == ByAccuracy {
				return big.NewRat(-p.Correct, p.Asked)
			}
			return big.NewRat(p.TimeMS, p.Asked)
		}
		ka, kb := Key(order, a, Weights{}), Key(order, b, Weights{})
		got := 0
		if ka < kb {
			got = -1
		} else if ka > kb {
			got = 1
		}
		if want := better(a).Cmp(better(b)); got != want {
			t.Fatalf("%s of %+v and %+v: keys %v %v order %d, fractions %d", order, a, b, ka, kb, got, want)
		}
	})
}

func TestEqualFractionsHaveEqualKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := drawAggregates(t, "a", 100_000)
		n := rapid.Int64Range(2, 1000).Draw(t, "times")
		b := Aggregates{Asked: n * a.Asked, Correct: n * a.Correct, TimeMS: n * a.TimeMS}
		for _, order := range []Order{ByAccuracy, ByTime} {
			if ka, kb := Key(order, a, Weights{}), Key(order, b, Weights{}); ka != kb {
				t.Fatalf("%s of %+v and %d times that: %v and %v", order, a, n, ka, kb)
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
		for _, o := range Orders() {
			if Rankable(o, Aggregates{Matches: 1, Asked: tt.asked}, tt.min) {
				got = append(got, o)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("asked %d of %d: ranked in %v, want %v", tt.asked, tt.min, got, tt.want)
		}
	}
}

// A member is the position in 16 digits at least, a colon and the id.
func TestMembersHaveTheFormatOfScripts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := BoardEntry{ID: rapid.StringMatching(`[A-Za-z0-9_.:-]{1,64}`).Draw(t, "id")}
		h.Newest = rapid.Int64Range(0, 1<<62).Draw(t, "newest") >> rapid.IntRange(0, 62).Draw(t, "bits")
		if want := fmt.Sprintf("%016d:%s", h.Newest, h.ID); h.Member() != want {
			t.Fatalf("%q, want %q", h.Member(), want)
		}
	})
}
