package players

import (
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
)

type arena struct {
	mode string
	made protocol.ArenaMade
	size int
	wait time.Duration // for the last players

	givesExtra  bool                   // the first player gets extra time
	firstPlayer atomic.Pointer[string] // id
	taken       atomic.Int64           // seats that players have
	declined    atomic.Int64           // seats that their players will not take
	isStarted   atomic.Bool            // the host has asked to start the match: no more seats
}

// seat is a seat in an arena that is offered to a player.
type seat struct {
	arena *arena
	team  string
}

// teams are the teams of buzzer arenas. Their players take them in turn.
var teams = []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "green", Name: "Green"}, {ID: "blue", Name: "Blue"}}

func (a *arena) offerSeats(offers chan<- *seat) {
	for i := range a.size {
		s := &seat{arena: a}
		if a.mode == "buzzer" {
			s.team = teams[i%len(teams)].ID
		}
		select {
		case offers <- s:
		default: // there are more seats than players
			a.declined.Add(1)
		}
	}
}

// gatherTimeout is how long an arena waits for its last players, unless Arenas says otherwise.
const gatherTimeout = 10 * time.Second

// isReady reports whether the arena may start: all seats are taken or declined, or the wait
// for the last players is over. hasPlayers is false if no player came.
func (a *arena) isReady(waitedFor time.Duration) (isReady, hasPlayers bool) {
	taken, declined := int(a.taken.Load()), int(a.declined.Load())
	return taken+declined >= a.size || taken > 1 && waitedFor > a.wait, taken > 0
}
