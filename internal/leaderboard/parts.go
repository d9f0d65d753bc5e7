package leaderboard

// Add returns the sums of both.
func (p Parts) Add(q Parts) Parts {
	return Parts{
		Score:    p.Score + q.Score,
		TimeMS:   p.TimeMS + q.TimeMS,
		LimitMS:  p.LimitMS + q.LimitMS,
		Matches:  p.Matches + q.Matches,
		Asked:    p.Asked + q.Asked,
		Answered: p.Answered + q.Answered,
		Correct:  p.Correct + q.Correct,
	}
}

// Sub returns what is left of p without q.
func (p Parts) Sub(q Parts) Parts {
	return Parts{
		Score:    p.Score - q.Score,
		TimeMS:   p.TimeMS - q.TimeMS,
		LimitMS:  p.LimitMS - q.LimitMS,
		Matches:  p.Matches - q.Matches,
		Asked:    p.Asked - q.Asked,
		Answered: p.Answered - q.Answered,
		Correct:  p.Correct - q.Correct,
	}
}

// possible reports whether sums of results can be these: none is below 0, and
// without a match there is nothing.
func (p Parts) possible() bool {
	least := min(p.Score, p.TimeMS, p.LimitMS, p.Matches, p.Asked, p.Answered, p.Correct)
	return least >= 0 && (p.Matches > 0 || p == Parts{})
}

// Accuracy is correct/asked rounded half up to 4 decimals, as it is shown; 0
// with nothing asked.
func (p Parts) Accuracy() float64 {
	if p.Asked == 0 {
		return 0
	}
	return float64(floorDiv(2*10000*p.Correct+p.Asked, 2*p.Asked)) / 10000
}

// floorDiv is ⌊a/b⌋ for b > 0, also below 0, where Go's own division rounds up.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
