package leaderboard

// Add returns the sums of a and other, field by field.
func (a Aggregates) Add(aggregates Aggregates) Aggregates {
	return Aggregates{
		Score:    a.Score + aggregates.Score,
		TimeMS:   a.TimeMS + aggregates.TimeMS,
		LimitMS:  a.LimitMS + aggregates.LimitMS,
		Matches:  a.Matches + aggregates.Matches,
		Asked:    a.Asked + aggregates.Asked,
		Answered: a.Answered + aggregates.Answered,
		Correct:  a.Correct + aggregates.Correct,
	}
}

// Sub returns a minus other, field by field.
func (a Aggregates) Sub(aggregates Aggregates) Aggregates {
	return Aggregates{
		Score:    a.Score - aggregates.Score,
		TimeMS:   a.TimeMS - aggregates.TimeMS,
		LimitMS:  a.LimitMS - aggregates.LimitMS,
		Matches:  a.Matches - aggregates.Matches,
		Asked:    a.Asked - aggregates.Asked,
		Answered: a.Answered - aggregates.Answered,
		Correct:  a.Correct - aggregates.Correct,
	}
}

// isPossible reports whether results can add up to a: no field is below 0, and without a
// match all fields are 0.
func (a Aggregates) isPossible() bool {
	smallest := min(a.Score, a.TimeMS, a.LimitMS, a.Matches, a.Asked, a.Answered, a.Correct)
	return smallest >= 0 && (a.Matches > 0 || a == Aggregates{})
}

// Accuracy returns correct/asked, rounded half up to 4 decimals, as clients see it. It
// is 0 if nothing was asked.
func (a Aggregates) Accuracy() float64 {
	if a.Asked == 0 {
		return 0
	}
	return float64(floorDiv(2*10000*a.Correct+a.Asked, 2*a.Asked)) / 10000
}

// floorDiv returns ⌊a/b⌋ for b > 0. For negative a, Go's own division rounds towards 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
