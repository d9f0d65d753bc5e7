package attack

import "math/rand/v2"

// dice returns a random number below n.
func dice(n int) int { return rand.IntN(n) } //nolint:gosec // a guess is no secret
