package lobby

import "math"

// Slice is some of the tickets on either side of one, by rating: Count a side, but
// for the nearest that Skip leaves out.
type Slice struct{ Skip, Count int }

// searchSlices are what a ticket looks at, one after the other: nearly always one of
// the first few fits, and each that is listed costs.
var searchSlices = []Slice{{0, 4}, {4, 28}, {32, 32}, {64, 32}, {96, 32}}

// distanceToUnseen is how far from t the nearest may be, on either side, who is in none of
// the slices up to this one, which was listed as near: infinite where there are no
// more. Where very many have expired it may look so: the next try finds them gone.
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
	if highers < s.Count-1 { // one place may be the ticket's own
		higher = math.Inf(1)
	}
	if lowers < s.Count {
		lower = math.Inf(1)
	}
	return higher, lower
}

// isCertainlyBest says whether no ticket that far away can be a better opponent of t: of
// equals those on the higher side are listed oldest first.
func isCertainlyBest(t, best Ticket, higher, lower float64) bool {
	gap := distance(t, best)
	return gap < lower && (gap < higher || gap == higher && best.Rating() >= t.Rating())
}
