package quiz

// FullPoints is the most that one right answer is worth in duels and survival;
// it is Points of an answer that took no time.
const FullPoints = 200

// Points returns what a right answer is worth in duels and survival:
// 100 + ⌊100·(limit - elapsed)/limit⌋, both in milliseconds, elapsed counting
// as at least 0 and at most the limit. So a right answer is worth 100 to
// FullPoints. limitMS must be above 0 (and below 2^56).
func Points(limitMS, elapsedMS int64) int {
	elapsed := min(max(elapsedMS, 0), limitMS)
	return 100 + int(100*(limitMS-elapsed)/limitMS)
}

// FirstPoints is what the first right answer is worth in a buzzer match.
const FirstPoints = 100
