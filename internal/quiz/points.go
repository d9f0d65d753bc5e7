package quiz

// MaxPoints is the highest number of points for a right answer in duels and
// survival. A player gets it for an answer that took no time.
const MaxPoints = 200

// Points returns the points for a right answer in duels and survival: 100 +
// ⌊100·(limit - elapsed)/limit⌋. Both times are in ms. An elapsed time below 0
// counts as 0, and one above the limit as the limit. The result is 100 to
// MaxPoints. limitMS must be above 0 (and below 2^56).
//
// Example: Points(10000, 2500) = 100 + ⌊100·7500/10000⌋ = 175.
func Points(limitMS, elapsedMS int64) int {
	elapsed := min(max(elapsedMS, 0), limitMS)
	return 100 + int(100*(limitMS-elapsed)/limitMS)
}

// BuzzerPoints is the number of points for the first right answer to a question in
// a buzzer match.
const BuzzerPoints = 100
