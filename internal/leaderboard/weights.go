package leaderboard

import (
	"errors"
	"fmt"
)

// Weights are the factors from which Value computes the value of an entry. Each is 0 to
// MaxWeight.
type Weights struct {
	Score    int64
	Accuracy int64
	Speed    int64
	Matches  int64
}

// MaxWeight is the largest weight. With it, values stay far below 2^53, up to which keys
// are exact.
const MaxWeight = 1_000_000

// DefaultWeights make the value the score.
var DefaultWeights = Weights{Score: 1}

// problems returns what is wrong with the weights.
func (w Weights) problems() (errs []error) {
	if w == (Weights{}) {
		errs = append(errs, errors.New("all weights are 0; set at least one"))
	}
	for _, term := range Explain(Aggregates{}, w) {
		if term.Weight < 0 || term.Weight > MaxWeight {
			errs = append(errs, fmt.Errorf("weight %s %d is out of range; use 0 to %d", term.Name, term.Weight, MaxWeight))
		}
	}
	return errs
}

// Term is one summand of a value: Value = Weight · Amount.
type Term struct {
	Name   string `json:"name"` // score, accuracy, speed, matches
	Weight int64  `json:"weight"`
	Amount int64  `json:"amount"`
	Value  int64  `json:"value"`
}

// Value returns the weighted sum that the wire contract defines, in integers:
//
//	score·w + ⌊10000·correct/asked⌋·w + ⌊10000·(1 - time_ms/limit_ms)⌋·w + matches·w
//
// Each term has its own weight w. If no question was asked, the accuracy and speed terms
// are 0.
func Value(aggregates Aggregates, weights Weights) int64 {
	var sum int64
	for _, term := range newTerms(aggregates, weights) {
		sum += term.Value
	}
	return sum
}

// Explain lists the terms of Value, including those with weight 0. They add up to the
// value.
func Explain(aggregates Aggregates, weights Weights) []Term {
	terms := newTerms(aggregates, weights)
	return terms[:]
}

// newTerms is Explain without an allocation.
func newTerms(aggregates Aggregates, weights Weights) [4]Term {
	return [...]Term{
		newTerm("score", weights.Score, aggregates.Score),
		newTerm("accuracy", weights.Accuracy, tenThousandths(aggregates.Correct, aggregates.Asked, aggregates.Asked)),
		newTerm("speed", weights.Speed, tenThousandths(aggregates.LimitMS-aggregates.TimeMS, aggregates.LimitMS, aggregates.Asked)),
		newTerm("matches", weights.Matches, aggregates.Matches),
	}
}

func newTerm(name string, weight, amount int64) Term {
	return Term{Name: name, Weight: weight, Amount: amount, Value: weight * amount}
}

// tenThousandths returns ⌊10000·part/whole⌋. It returns 0 if no question was asked or whole
// is not positive.
func tenThousandths(part, whole, asked int64) int64 {
	if asked == 0 || whole <= 0 {
		return 0
	}
	return floorDiv(10000*part, whole)
}
