package lobby

import (
	"context"
	"time"

	"laststand/internal/match"
	"laststand/internal/timer"
)

// localTicket is a ticket that this node handles.
type localTicket struct {
	tryTimer *timer.Timer // runs the next tryPairing
	key      playerKey
}

// playerKey identifies a player with a ticket.
type playerKey struct{ game, player string }

// scheduleTry makes this node handle a ticket: it tries to pair the ticket after a
// wait. It replaces an earlier schedule.
func (l *Lobby) scheduleTry(t Ticket, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if former, ok := l.tickets[t.ID]; ok {
		former.tryTimer.Stop()
	}
	key := playerKey{t.Game, t.Seat.Player}
	l.tickets[t.ID] = localTicket{l.Wheel.After(wait, func() { l.tryPairing(t) }), key}
	l.ticketIDs[key] = t.ID
	l.metrics.tickets.Set(float64(len(l.tickets)))
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

// takeOverTimeout limits the wait for a match that is being created. It is longer than
// the time after which a pairing is rolled back.
const takeOverTimeout = 2 * rollBackAfterMS * time.Millisecond

// TakeOver makes this node responsible for a player whose session has moved here from
// another node. It handles the player's ticket from now on, or attaches the session to
// the running match. If the match is being created, TakeOver returns and attaches the
// session later.
func (l *Lobby) TakeOver(ctx context.Context, game, player string) error {
	activity, err := l.Activities.ReadActivity(ctx, game, player)
	if err != nil || activity == (Activity{}) {
		return err
	}
	if activity.Ticket != "" {
		t, isWaiting, err := l.Tickets.ReadTicket(ctx, game, activity.Ticket)
		if err != nil {
			return err
		}
		if isWaiting {
			l.scheduleTry(t, tryInterval)
			return nil
		}
		activity.Forming = true // it was just paired
	}
	if activity.Forming {
		l.attachWhenFormed(game, player, time.Now().Add(takeOverTimeout))
		return nil
	}
	if _, hasSeat, err := l.statusWithSeat(ctx, activity.Match, player); err != nil || !hasSeat {
		return err
	}
	return l.Matches.AttachSession(ctx, game, activity.Match, player)
}

// attachWhenFormed attaches a player to a match once the match is created.
func (l *Lobby) attachWhenFormed(game, player string, deadline time.Time) {
	l.Wheel.After(tryInterval, func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		isForming, err := l.attachPaired(ctx, Ticket{Game: game, Seat: match.Seat{Player: player}})
		if err != nil {
			l.Logger.Warn("attaching a player to a match failed; retrying", "error", err)
		}
		if (isForming || err != nil) && time.Now().Before(deadline) {
			l.attachWhenFormed(game, player, deadline)
		}
	})
}
