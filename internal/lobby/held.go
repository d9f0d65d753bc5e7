package lobby

import (
	"time"

	"laststand/internal/timer"
)

// held is a ticket that this node sees to.
type held struct {
	next *timer.Timer // try
	of   waiter
}

// waiter is a player with a ticket.
type waiter struct{ game, player string }

// track sets the next try of a ticket of this node.
func (l *Lobby) track(t Ticket, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if former, ok := l.tickets[t.ID]; ok {
		former.next.Stop()
	}
	of := waiter{t.Game, t.Seat.Player}
	l.tickets[t.ID] = held{l.Wheel.After(wait, func() { l.try(t) }), of}
	l.waiting[of] = t.ID
	l.metrics.held.Set(float64(len(l.tickets)))
}

func (l *Lobby) untrack(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t, ok := l.tickets[id]; ok {
		t.next.Stop()
		if l.waiting[t.of] == id {
			delete(l.waiting, t.of)
		}
	}
	delete(l.tickets, id)
	if len(l.tickets) == 0 { // of a rush the maps would keep all the room
		l.tickets, l.waiting = make(map[string]held), make(map[waiter]string)
	}
	l.metrics.held.Set(float64(len(l.tickets)))
}

// Waits says whether this node sees to a ticket of a player's.
func (l *Lobby) Waits(game, player string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, waits := l.waiting[waiter{game, player}]
	return waits
}
