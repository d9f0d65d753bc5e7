package players

import (
	"sync"
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

// AddArenas starts a host for one arena after another, and the players of its arenas if
// they have some of their own.
func (g *Group) AddArenas(a Arenas) {
	offers := g.offers
	var playing sync.WaitGroup
	if a.OwnPlayers {
		offers = make(chan *seat, a.MaxPlayers)
		for range a.MaxPlayers {
			playing.Go(func() { playArenas(g, offers) })
		}
	}
	g.hosting.Add(1)
	g.tasks.Go(func() {
		defer g.hosting.Done()
		for n := 0; (n < a.Count || a.Count == 0) && g.closing.Err() == nil; n++ {
			if !holdArena(g, a, offers) {
				break
			}
		}
		if a.OwnPlayers {
			close(offers)
		}
		playing.Wait()
	})
}

// playArenas takes one seat after another, until no more are offered.
func playArenas(g *Group, offers <-chan *seat) {
	p, err := g.newPlayer(g.closing, "player")
	defer p.disconnect()
	for s := range offers {
		if err != nil || p.isLost || !p.isConnected && !g.awaitConnect() {
			s.decline()
			continue
		}
		err = p.play(&matchRun{leave: g.closing, seat: s})
		p.reportEnd(err)
	}
}

// hasOffer reports whether an arena offers a seat to a player of duels.
func (p *player) hasOffer() bool {
	for p.offer == nil || p.offer.arena.isStarted.Load() {
		select {
		case p.offer = <-p.group.offers:
		default:
			p.offer = nil
			return false
		}
	}
	return true
}

// takeSeat returns the seat that is offered to the player, nil for none.
func (p *player) takeSeat() *seat {
	if !p.hasOffer() {
		return nil
	}
	s := p.offer
	p.offer = nil
	return s
}
