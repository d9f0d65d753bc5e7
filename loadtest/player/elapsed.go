package player

import "laststand/internal/protocol"

// earlyMS is how far the clocks of two nodes may differ.
const earlyMS = 50

// Elapsed is the elapsed_ms of an accepted answer by its stamp: 0 for one
// stamped up to earlyMS before the opening, the limit for an earlier one.
func Elapsed(q protocol.Question, at int64) int64 {
	if at < q.OpensAt-earlyMS {
		return q.ClosesAt - q.OpensAt
	}
	return max(at-q.OpensAt, 0)
}
