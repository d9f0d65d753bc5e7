package lobby

import (
	"context"
	"time"

	"laststand/internal/match"
)

// takeOverTimeout bounds how long a match that is being formed is waited for: longer
// than it takes to undo its pairing.
const takeOverTimeout = 2 * rollBackAfterMS * time.Millisecond

// TakeOver has this node look after what a player waits for whose session has come
// from another node: the ticket, or the match that is being formed of it. It
// returns once that is under way.
func (l *Lobby) TakeOver(ctx context.Context, game, player string) error {
	activity, err := l.Store.ReadActivity(ctx, game, player)
	if err != nil || activity == (Activity{}) {
		return err
	}
	if activity.Ticket != "" {
		t, waits, err := l.Store.ReadTicket(ctx, game, activity.Ticket)
		if err != nil {
			return err
		}
		if waits {
			l.scheduleTry(t, tryEvery)
			return nil
		}
		activity.Forming = true // it has just been paired
	}
	if activity.Forming {
		l.attachWhenFormed(game, player, time.Now().Add(takeOverTimeout))
		return nil
	}
	if _, seated, err := l.statusWithSeat(ctx, activity.Match, player); err != nil || !seated {
		return err
	}
	return l.Matches.AttachSession(ctx, game, activity.Match, player)
}

// attachWhenFormed leads a player into the match that is being formed, once it is.
func (l *Lobby) attachWhenFormed(game, player string, until time.Time) {
	l.Wheel.After(tryEvery, func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		forming, err := l.attachPaired(ctx, Ticket{Game: game, Seat: match.Seat{Player: player}})
		if err != nil {
			l.Logger.Warn("a player could not be led into a match; trying again", "error", err)
		}
		if (forming || err != nil) && time.Now().Before(until) {
			l.attachWhenFormed(game, player, until)
		}
	})
}
