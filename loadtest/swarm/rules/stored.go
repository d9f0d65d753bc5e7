package rules

import "fmt"

// Entry is a player's place on a board.
type Entry struct {
	ID    string `json:"id"`
	Value int64  `json:"value"`
	Sums
}

// CompareBoard compares the entries of an all-time board with what players received. A
// player with no counted match must have no entry. It returns the differences.
func CompareBoard(want map[string]Sums, got []Entry) (differs []string) {
	shown := make(map[string]bool, len(got))
	for _, e := range got {
		w, known := want[e.ID]
		switch {
		case !known || w.Matches == 0:
			differs = append(differs, fmt.Sprintf("the board has %s with %+v, who has played nothing", e.ID, e.Sums))
		case shown[e.ID]:
			differs = append(differs, fmt.Sprintf("the board has %s twice", e.ID))
		case e.Sums != w:
			differs = append(differs, fmt.Sprintf("the board has %s with %+v, and the matches add up to %+v", e.ID, e.Sums, w))
		}
		shown[e.ID] = true
	}
	for id, w := range want {
		if w.Matches > 0 && !shown[id] {
			differs = append(differs, fmt.Sprintf("the board lacks %s, who has %+v", id, w))
		}
	}
	return differs
}

// Flow counts what happened to behaviours.
type Flow struct {
	Offered  int64 `json:"offered"`
	Sent     int64 `json:"sent"`
	Dropped  int64 `json:"dropped"`
	Queued   int64 `json:"queued"`
	InFlight int64 `json:"in_flight"`
}

// CheckBehaviours compares the flow with the posted behaviours that the server answered
// for, taken or dropped at intake. It returns the difference, or "".
func CheckBehaviours(posted int64, f Flow) string {
	switch {
	case f.Offered != f.Sent+f.Dropped+f.Queued+f.InFlight:
		return fmt.Sprintf("behaviours do not add up: %+v", f)
	case f.Offered != posted:
		return fmt.Sprintf("%d behaviours were answered for, and %d count as offered", posted, f.Offered)
	}
	return ""
}
