package leaderboard

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
