package lobby

import (
	"context"
	"time"

	"laststand/internal/match"
)

// adoptFor bounds how long a match that is being formed is waited for: longer
// than it takes to undo its pairing.
const adoptFor = 2 * undoAfter * time.Millisecond

// Adopt has this node look after what a player waits for whose session has come
// from another node: the ticket, or the match that is being formed of it. It
// returns once that is under way.
func (l *Lobby) Adopt(ctx context.Context, game, player string) error {
	busy, err := l.Store.Where(ctx, game, player)
	if err != nil || busy == (Busy{}) {
		return err
	}
	if busy.Ticket != "" {
		t, waits, err := l.Store.Ticket(ctx, game, busy.Ticket)
		if err != nil {
			return err
		}
		if waits {
			l.track(t, tryEvery)
			return nil
		}
		busy.Forming = true // it has just been paired
	}
	if busy.Forming {
		l.await(game, player, time.Now().Add(adoptFor))
		return nil
	}
	if _, held, err := l.holds(ctx, busy.Match, player); err != nil || !held {
		return err
	}
	return l.Matches.AttachSession(ctx, game, busy.Match, player)
}

// await leads a player into the match that is being formed, once it is.
func (l *Lobby) await(game, player string, until time.Time) {
	l.Wheel.After(tryEvery, func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		forming, err := l.follow(ctx, Ticket{Game: game, Seat: match.Seat{Player: player}})
		if err != nil {
			l.Logger.Warn("a player could not be led into a match; trying again", "error", err)
		}
		if (forming || err != nil) && time.Now().Before(until) {
			l.await(game, player, until)
		}
	})
}
