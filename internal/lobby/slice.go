package lobby

import "math"

// Slice selects tickets on both sides of a rating: Count per side, without the
// nearest Skip.
type Slice struct{ Skip, Count int }

// searchSlices are the slices that a search reads one after the other. Nearly
// always one of the first few tickets is suitable, and each listed ticket costs
// time.
var searchSlices = []Slice{{0, 4}, {4, 28}, {32, 32}, {64, 32}, {96, 32}}

// distanceToUnseen returns the smallest rating distance, on either side, that a
// ticket outside the slices read so far can have. near is the content of the
// last slice. The distance is infinite if there are no more tickets. If very
// many tickets have expired, it may be infinite too early; the next try
// corrects that.
//
// Example: t has rating 1500, and the slice listed 1510, 1530 and 1480. Unread
// tickets are at least 30 above or 20 below.
func (s Slice) distanceToUnseen(t Ticket, near []Ticket) (higher, lower float64) {
	var highers, lowers int
	for _, c := range near {
		if c.Rating() >= t.Rating() {
			highers++
			higher = max(higher, distance(t, c))
		} else {
			lowers++
			lower = max(lower, distance(t, c))
		}
	}
	if highers < s.Count-1 { // one place may be t itself
		higher = math.Inf(1)
	}
	if lowers < s.Count {
		lower = math.Inf(1)
	}
	return higher, lower
}

// isCertainlyBest reports whether no unread ticket can be a better opponent of
// t. Among equals, the higher side lists the oldest first.
func isCertainlyBest(t, best Ticket, higher, lower float64) bool {
	gap := distance(t, best)
	return gap < lower && (gap < higher || gap == higher && best.Rating() >= t.Rating())
}
