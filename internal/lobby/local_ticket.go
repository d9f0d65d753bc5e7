package lobby

import (
	"time"

	"laststand/internal/timer"
)

// localTicket is a ticket that this node handles.
type localTicket struct {
	nextTry *timer.Timer // runs the next tryPairing
	player  playerKey
}

// playerKey identifies a player with a ticket.
type playerKey struct{ game, player string }

// scheduleTry makes this node handle a ticket: it tries to pair the ticket after a
// wait. It replaces an earlier schedule.
func (l *Lobby) scheduleTry(t Ticket, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if former, ok := l.tickets[t.ID]; ok {
		former.nextTry.Stop()
	}
	key := playerKey{t.Game, t.Seat.Player}
	l.tickets[t.ID] = localTicket{l.Wheel.After(wait, func() { l.tryPairing(t) }), key}
	l.waiting[key] = t.ID
	l.metrics.tickets.Set(float64(len(l.tickets)))
}

// dropTicket makes this node stop handling a ticket.
func (l *Lobby) dropTicket(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t, ok := l.tickets[id]; ok {
		t.nextTry.Stop()
		if l.waiting[t.player] == id {
			delete(l.waiting, t.player)
		}
	}
	delete(l.tickets, id)
	if len(l.tickets) == 0 { // new maps, because maps never shrink
		l.tickets, l.waiting = make(map[string]localTicket), make(map[playerKey]string)
	}
	l.metrics.tickets.Set(float64(len(l.tickets)))
}

// HasTicket reports whether this node handles a ticket of the player.
func (l *Lobby) HasTicket(game, player string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, waiting := l.waiting[playerKey{game, player}]
	return waiting
}
