package quiz

// FullPoints is the highest value of a right answer in duels and survival, for
// an answer that took no time.
const FullPoints = 200

// Points returns the value of a right answer in duels and survival: 100 +
// ⌊100·(limit - elapsed)/limit⌋. Both times are in ms, and elapsed is clamped
// to 0 to the limit. The result is 100 to FullPoints. limitMS must be above 0
// (and below 2^56).
//
// Example: Points(10000, 2500) = 100 + ⌊100·7500/10000⌋ = 175.
func Points(limitMS, elapsedMS int64) int {
	elapsed := min(max(elapsedMS, 0), limitMS)
	return 100 + int(100*(limitMS-elapsed)/limitMS)
}

// FirstPoints is the value of the first right answer in a buzzer match.
const FirstPoints = 100
