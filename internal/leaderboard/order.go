package leaderboard

import (
	"errors"
	"fmt"
)

// Order is a sort key of a leaderboard.
type Order string

// Orders of the wire contract.
const (
	ByValue    Order = "value"    // the weighted sum, more is better
	ByScore    Order = "score"    // more is better
	ByAccuracy Order = "accuracy" // correct/asked, more is better
	ByTime     Order = "time"     // time_ms/asked, less is better
	ByMatches  Order = "matches"  // more is better
)

// Orders returns all orders.
func Orders() []Order {
	return []Order{ByValue, ByScore, ByAccuracy, ByTime, ByMatches}
}

// Rankable reports whether an order ranks an entry. Accuracy and time rank an entry only
// if at least minAnswers questions, and at least one, were asked.
func Rankable(order Order, aggregates Aggregates, minAnswers int64) bool {
	if order == ByAccuracy || order == ByTime {
		return aggregates.Asked > 0 && aggregates.Asked >= minAnswers
	}
	return true
}

// Key returns the number by which rankings sort, in ascending order. It is negated if more
// is better. The entry must be Rankable.
//
// Value, score and matches are exact up to 2^53. Accuracy and time are quotients of two
// such integers, divided once. IEEE 754 division rounds the exact quotient correctly. So
// equal fractions such as 1/3 and 2/6 have equal keys, and the order of unequal fractions
// is never reversed.
//
// Unequal fractions could only get the same key if they differ by less than the distance
// of neighbouring doubles. Fractions with denominators up to n differ by at least 1/n².
// Accuracies are at most 1, where doubles are at most 2^-53 apart: they are distinct up
// to 94 million questions. Mean times below 131 s, where doubles are at most 2^-36 ms
// apart, are distinct up to 262,000 questions; below 16 s up to 741,000.
func Key(order Order, aggregates Aggregates, weights Weights) float64 {
	switch order {
	case ByScore:
		return float64(-aggregates.Score)
	case ByAccuracy:
		return float64(-aggregates.Correct) / float64(aggregates.Asked)
	case ByTime:
		return float64(aggregates.TimeMS) / float64(aggregates.Asked)
	case ByMatches:
		return float64(-aggregates.Matches)
	}
	return float64(-Value(aggregates, weights))
}

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
