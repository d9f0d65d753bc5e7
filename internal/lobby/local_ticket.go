package lobby

import "time"

// scheduleTry makes this node handle a ticket: it tries to pair the ticket after a
// wait. It replaces an earlier schedule.
func (l *Lobby) scheduleTry(t Ticket, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scheduleTryLocked(t, wait)
}

// scheduleTryLocked is scheduleTry. The caller holds mu.
func (l *Lobby) scheduleTryLocked(t Ticket, wait time.Duration) {
	if former, ok := l.tickets[t.ID]; ok {
		former.tryTimer.Stop()
	}
	key := playerKey{t.Game, t.Seat.Player}
	l.tickets[t.ID] = localTicket{l.Wheel.After(wait, func() { l.tryPairing(t, nil) }), key}
	l.ticketIDs[key] = t.ID
	l.metrics.tickets.Set(float64(len(l.tickets)))
}

// rescheduleTry schedules the next try of a ticket, unless this node stopped handling it
// during the last one.
func (l *Lobby) rescheduleTry(t Ticket, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.tickets[t.ID]; ok {
		l.scheduleTryLocked(t, wait)
	}
}

// dropTicket makes this node stop handling a ticket.
func (l *Lobby) dropTicket(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t, ok := l.tickets[id]; ok {
		t.tryTimer.Stop()
		if l.ticketIDs[t.key] == id {
			delete(l.ticketIDs, t.key)
		}
	}
	delete(l.tickets, id)
	if len(l.tickets) == 0 { // new maps, because maps never shrink
		l.tickets, l.ticketIDs = make(map[string]localTicket), make(map[playerKey]string)
	}
	l.metrics.tickets.Set(float64(len(l.tickets)))
}

// claim reserves tickets for one try of this node. It returns false if another try has
// reserved one of them.
func (l *Lobby) claim(tickets []Ticket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range tickets {
		if l.claimed[t.ID] {
			return false
		}
	}
	for _, t := range tickets {
		l.claimed[t.ID] = true
	}
	return true
}

func (l *Lobby) release(tickets []Ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range tickets {
		delete(l.claimed, t.ID)
	}
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
	_, waiting := l.ticketIDs[playerKey{game, player}]
	return waiting
}

// LocalTickets returns how many tickets this node handles.
func (l *Lobby) LocalTickets() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.tickets))
}
