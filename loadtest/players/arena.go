package players

import (
	"sync/atomic"

	"laststand/internal/protocol"
)

// Arenas describes arenas that take place one after another, each with a new host.
type Arenas struct {
	Mode       string // buzzer or survival
	MinPlayers int
	MaxPlayers int
	Count      int  // how many arenas; 0: until the group stops
	OwnPlayers bool // MaxPlayers players play only these arenas; else the seats are offered to players of duels
}

// arena is one arena of a host.
type arena struct {
	mode string
	made protocol.ArenaMade
	size int

	taken     atomic.Int64 // seats that players have
	declined  atomic.Int64 // seats that their players will not take
	isStarted atomic.Bool  // the host has asked to start the match: no more seats
}

// seat is a seat in an arena that is offered to a player.
type seat struct {
	arena *arena
	team  string
}

func (s *seat) take()    { s.arena.taken.Add(1) }
func (s *seat) decline() { s.arena.declined.Add(1) }

// teams returns the teams of an arena of a mode.
func teams(mode string) []protocol.ArenaTeam {
	if mode != "buzzer" {
		return nil
	}
	return []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "green", Name: "Green"}, {ID: "blue", Name: "Blue"}}
}

// seats returns the seats of the arena; the players take the teams in turn.
func (a *arena) seats() []*seat {
	all := make([]*seat, a.size)
	for i := range all {
		all[i] = &seat{arena: a}
		if known := teams(a.mode); len(known) > 0 {
			all[i].team = known[i%len(known)].ID
		}
	}
	return all
}
