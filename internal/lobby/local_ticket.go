package lobby

import (
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

// scheduleTry makes this node handle a ticket: it tries to pair the ticket after a
// wait. It replaces an earlier schedule, and an earlier ticket of the player.
func (l *Lobby) scheduleTry(t Ticket, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scheduleTryLocked(t, wait)
}

// scheduleTryLocked is scheduleTry. The caller holds mu.
func (l *Lobby) scheduleTryLocked(t Ticket, wait time.Duration) {
	if former, ok := l.tickets[t.key()]; ok {
		former.tryTimer.Stop()
	}
	l.tickets[t.key()] = localTicket{t.ID, l.Wheel.After(wait, func() { l.tryPairing(t, nil) })}
	l.metrics.tickets.Set(float64(len(l.tickets)))
}

// rescheduleTry schedules the next try of a ticket, unless this node stopped handling it
// during the last one.
func (l *Lobby) rescheduleTry(t Ticket, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tickets[t.key()].id == t.ID {
		l.scheduleTryLocked(t, wait)
	}
}

// dropTicket makes this node stop handling a ticket.
func (l *Lobby) dropTicket(key playerKey, id string) {
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
	l.metrics.tickets.Set(float64(len(l.tickets)))
}

// claim reserves tickets for one try of this node until it calls release. It returns false
// if another try has reserved one of them.
func (l *Lobby) claim(tickets []Ticket) (release func(), ok bool) {
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

func (l *Lobby) isClaimed(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claimed[id]
}

// HasTicket reports whether this node handles a ticket of the player.
func (l *Lobby) HasTicket(game, player string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, waiting := l.tickets[playerKey{game, player}]
	return waiting
}

// LocalTickets returns how many tickets this node handles.
func (l *Lobby) LocalTickets() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.tickets))
}
