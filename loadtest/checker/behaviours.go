package checker

import "fmt"

// Behaviours are a server's counts of behaviours.
type Behaviours struct {
	Offered, Sent, Dropped, Queued, InFlight int64
}

// CheckBehaviours compares the counts with the posted behaviours that the server
// answered for, accepted or dropped at intake. It returns the difference, or "".
func CheckBehaviours(posted int64, b Behaviours) string {
	switch {
	case b.Offered != b.Sent+b.Dropped+b.Queued+b.InFlight:
		return fmt.Sprintf("behaviours do not add up: %+v", b)
	case b.Offered != posted:
		return fmt.Sprintf("%d behaviours were answered for, and %d count as offered", posted, b.Offered)
	}
	return ""
}
