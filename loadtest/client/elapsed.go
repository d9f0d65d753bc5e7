package client

import "laststand/internal/protocol"

// earlyMS is how far the clocks of two nodes may differ.
const earlyMS = 50

// ElapsedMS returns the elapsed_ms of an accepted answer from its stamp. It is 0 for a
// stamp up to earlyMS before the opening, and the limit for an earlier stamp.
func ElapsedMS(q protocol.Question, at int64) int64 {
	if at < q.OpensAt-earlyMS {
		return q.ClosesAt - q.OpensAt
	}
	return max(at-q.OpensAt, 0)
}
