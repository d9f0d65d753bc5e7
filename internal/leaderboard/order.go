package leaderboard

import (
	"fmt"
	"slices"
)

// Order is what a board sorts by.
type Order string

// The orders of the wire contract.
const (
	ByValue    Order = "value"    // the weighted mix, more is better
	ByScore    Order = "score"    // more is better
	ByAccuracy Order = "accuracy" // correct/asked, more is better
	ByTime     Order = "time"     // time_ms/asked, less is better
	ByMatches  Order = "matches"  // more is better
)

// Orders are all there are.
func Orders() []Order {
	return []Order{ByValue, ByScore, ByAccuracy, ByTime, ByMatches}
}

// ParseOrder returns the order of that name, or an error that lists them.
func ParseOrder(s string) (Order, error) {
	if o := Order(s); slices.Contains(Orders(), o) {
		return o, nil
	}
	return "", fmt.Errorf("unknown order %q: one of %v", s, Orders())
}

// Rankable reports whether an entry takes part in an order. Accuracy and time
// rank only who was asked at least minAnswers questions, and nobody who was
// asked none.
func Rankable(o Order, p Parts, minAnswers int64) bool {
	if o == ByAccuracy || o == ByTime {
		return p.Asked > 0 && p.Asked >= minAnswers
	}
	return true
}

// Key is what a board sorts entries by, ascending: negated where more is
// better. The entry must be Rankable.
//
// Value, score and matches are exact up to 2^53. Accuracy and time are
// fractions of two such integers, divided once: IEEE 754 division rounds the
// exact quotient correctly, so equal fractions give equal keys, however they
// are written (1/3, 2/6), and unequal ones are never swapped. They could only
// meet, where they differ by no more than the distance between neighbouring
// doubles. Fractions with denominators up to n differ by at least 1/n². So
// accuracies (at most 1, neighbours at most 2^-53 apart) are told apart up to
// 94 million questions asked, mean times below 131 s (neighbours at most
// 2^-36 ms apart) up to 262,000, below 16 s up to 741,000.
func Key(o Order, p Parts, w Weights) float64 {
	switch o {
	case ByScore:
		return float64(-p.Score)
	case ByAccuracy:
		return float64(-p.Correct) / float64(p.Asked)
	case ByTime:
		return float64(p.TimeMS) / float64(p.Asked)
	case ByMatches:
		return float64(-p.Matches)
	}
	return float64(-Value(p, w))
}
