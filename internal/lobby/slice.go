package lobby

import (
	"encoding/json"
	"fmt"
	"math"
)

// Slice selects tickets by rating: Count tickets with a higher or equal rating and
// Count with a lower one, each without the nearest Skip.
type Slice struct{ Skip, Count int }

// Listing is a slice of the waiting tickets near a ticket, without it. First come tickets
// with its rating or a higher one, the nearest first, and the oldest first among equals.
// Then come tickets with lower ratings, the nearest first, and the newest first among
// equals.
type Listing struct {
	Activity Activity // of the ticket's player, without Duel; the ticket waits if it is in there
	Waiting  int64    // how many tickets wait; 0 if the ticket does not
	Nearest  []ListedTicket
}

// ListedTicket is a ticket of a listing. Most are not decoded, because they are claimed.
type ListedTicket struct {
	ID     string
	Rating float64
	JSON   string // the Ticket
}

// Decode returns the ticket.
func (l ListedTicket) Decode() (t Ticket, err error) {
	if err = json.Unmarshal([]byte(l.JSON), &t); err != nil {
		err = fmt.Errorf("lobby: listed ticket %s: %w", l.ID, err)
	}
	return t, err
}

// FirstSlice is the first slice that a search reads.
var FirstSlice = Slice{0, 4}

// searchSlices are the slices that findOpponent reads one after the other. The first
// is small: nearly always one of the first few tickets is suitable, and each listed
// ticket takes time.
var searchSlices = []Slice{FirstSlice, {4, 12}, {16, 48}, {64, 64}}

// minUnreadDistances returns the smallest rating distances from ticket t that an unread
// ticket can have: among higher and among lower ratings. s is the last slice that was
// read, and listed has its tickets. A distance is infinite if no tickets are left on that
// side. If
// very many tickets have expired, it may be infinite too early; the next try corrects
// that.
//
// Example: t has rating 1500, and the slice listed 1510, 1530 and 1480. Unread
// tickets are at least 30 above or 20 below.
func (s Slice) minUnreadDistances(t Ticket, listed []ListedTicket) (higher, lower float64) {
	var higherCount, lowerCount int
	for _, ticket := range listed {
		if distance := ticket.Rating - t.Rating(); distance >= 0 {
			higherCount++
			higher = max(higher, distance)
		} else {
			lowerCount++
			lower = max(lower, -distance)
		}
	}
	if higherCount < s.Count-1 { // one place may be t itself
		higher = math.Inf(1)
	}
	if lowerCount < s.Count {
		lower = math.Inf(1)
	}
	return higher, lower
}

// isCertainlyBest reports whether no unread ticket can be a better opponent of t than
// best. higher and lower are the distances of minUnreadDistances. At an equal distance
// on the higher side, unread tickets are newer than best, so best remains the best.
func isCertainlyBest(t, best Ticket, higher, lower float64) bool {
	gap := ratingDistance(t, best)
	return gap < lower && (gap < higher || gap == higher && best.Rating() >= t.Rating())
}
