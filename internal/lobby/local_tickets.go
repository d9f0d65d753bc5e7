package lobby

import (
	"sync"
	"time"

	"laststand/internal/timer"
)

// playerKey identifies a player with a ticket.
type playerKey struct{ game, player string }

func (t Ticket) key() playerKey { return playerKey{t.Game, t.Seat.Player} }

// localTicket is a ticket that this node handles.
type localTicket struct {
	id       string
	tryTimer *timer.Timer // runs the next tryPairing
}

// localTickets are the tickets that this node handles, at most one per player. It is safe for
// concurrent use.
type localTickets struct {
	wheel *timer.Wheel

	mu      sync.Mutex
	tickets map[playerKey]localTicket
	claimed map[string]bool // ids of tickets of any node that a try of this node is pairing
}

func newLocalTickets(wheel *timer.Wheel) *localTickets {
	return &localTickets{wheel: wheel, tickets: make(map[playerKey]localTicket), claimed: make(map[string]bool)}
}

// schedule makes this node handle a ticket: it calls try after a wait. It replaces an earlier
// schedule, and an earlier ticket of the player. If isHandled is true, it does nothing
// unless this node handles the ticket already.
func (l *localTickets) schedule(t Ticket, wait time.Duration, isHandled bool, try func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	former, ok := l.tickets[t.key()]
	if isHandled && former.id != t.ID {
		return
	}
	if ok {
		former.tryTimer.Stop()
	}
	l.tickets[t.key()] = localTicket{t.ID, l.wheel.After(wait, try)}
}

// drop makes this node stop handling a ticket.
func (l *localTickets) drop(key playerKey, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ticket, ok := l.tickets[key]
	if !ok || ticket.id != id {
		return
	}
	ticket.tryTimer.Stop()
	delete(l.tickets, key)
	if len(l.tickets) == 0 { // a new map, because maps never shrink
		l.tickets = make(map[playerKey]localTicket)
	}
}

// claim reserves tickets for one try of this node until it calls release. It returns false
// if another try has reserved one of them.
func (l *localTickets) claim(tickets []Ticket) (release func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range tickets {
		if l.claimed[t.ID] {
			return nil, false
		}
	}
	for _, t := range tickets {
		l.claimed[t.ID] = true
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, t := range tickets {
			delete(l.claimed, t.ID)
		}
	}, true
}

func (l *localTickets) isClaimed(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claimed[id]
}

// HasTicket reports whether this node handles a ticket of the player.
func (l *localTickets) HasTicket(game, player string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, waiting := l.tickets[playerKey{game, player}]
	return waiting
}

// LocalTickets returns how many tickets this node handles.
func (l *localTickets) LocalTickets() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.tickets))
}
