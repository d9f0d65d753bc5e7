package players

import "context"

// SetDuellists changes the number of duel players. It starts new ones, or the newest
// leave when their match is over.
func (g *Group) SetDuellists(n int) {
	g.mu.Lock()
	for len(g.quits) > n {
		last := len(g.quits) - 1
		g.quits[last]()
		g.quits = g.quits[:last]
	}
	missing := n - len(g.quits)
	g.mu.Unlock()
	for range missing {
		if !g.awaitConnect() {
			return
		}
		g.addDuellist()
	}
}

func (g *Group) addDuellist() {
	leave, quit := context.WithCancel(g.closing)
	g.mu.Lock()
	g.quits = append(g.quits, quit)
	g.mu.Unlock()
	g.tasks.Go(func() {
		defer quit()
		p, err := g.newMember(leave, "player")
		if err == nil {
			err = p.playDuels(leave)
		}
		p.reportEnd(err)
		if g.closing.Err() == nil { // only this player leaves
			p.disconnect()
			return
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.duellists = append(g.duellists, p)
	})
}

// playDuels plays duels, and between them the arenas that offer a seat.
func (p *member) playDuels(leave context.Context) error {
	for leave.Err() == nil {
		if p.chance(p.group.Habits.MoveFirstShare) {
			p.dropConnection()
		}
		if err := p.play(&matchRun{leave: leave, seat: nextSeat(p.group.offers)}); err != nil {
			return err
		}
	}
	return nil
}

// nextSeat returns a seat that an arena offers to players of duels, nil for none.
func nextSeat(offers <-chan *seat) *seat {
	for {
		select {
		case s := <-offers:
			if !s.arena.isStarted.Load() {
				return s
			}
		default:
			return nil
		}
	}
}

// Rejoin lets all duel players enter the queue once more, after Wait, and leave it. A
// player that the server still counts in a match cannot do this. They enter one after
// another, so that no two of them meet.
func (g *Group) Rejoin() {
	for _, p := range g.duellists {
		if !p.isLost {
			p.reportEnd(p.play(&matchRun{leave: g.closing, isAlone: true}))
		}
	}
}
