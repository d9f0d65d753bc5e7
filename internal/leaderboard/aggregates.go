package leaderboard

// Add returns the sums of a and other, field by field.
func (p Aggregates) Add(q Aggregates) Aggregates {
	return Aggregates{
		Score:    p.Score + q.Score,
		TimeMS:   p.TimeMS + q.TimeMS,
		LimitMS:  p.LimitMS + q.LimitMS,
		Matches:  p.Matches + q.Matches,
		Asked:    p.Asked + q.Asked,
		Answered: p.Answered + q.Answered,
		Correct:  p.Correct + q.Correct,
	}
}

// Sub returns a minus other, field by field.
func (p Aggregates) Sub(q Aggregates) Aggregates {
	return Aggregates{
		Score:    p.Score - q.Score,
		TimeMS:   p.TimeMS - q.TimeMS,
		LimitMS:  p.LimitMS - q.LimitMS,
		Matches:  p.Matches - q.Matches,
		Asked:    p.Asked - q.Asked,
		Answered: p.Answered - q.Answered,
		Correct:  p.Correct - q.Correct,
	}
}

// isPossible reports whether results can add up to a: no field is below 0, and without a
// match all fields are 0.
func (p Aggregates) isPossible() bool {
	smallest := min(p.Score, p.TimeMS, p.LimitMS, p.Matches, p.Asked, p.Answered, p.Correct)
	return smallest >= 0 && (p.Matches > 0 || p == Aggregates{})
}

// Accuracy returns correct/asked, rounded half up to 4 decimals, as clients see it. It
// is 0 if nothing was asked.
func (p Aggregates) Accuracy() float64 {
	if p.Asked == 0 {
		return 0
	}
	return float64(floorDiv(2*10000*p.Correct+p.Asked, 2*p.Asked)) / 10000
}

// floorDiv returns ⌊a/b⌋ for b > 0. For negative a, Go's own division rounds towards 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
