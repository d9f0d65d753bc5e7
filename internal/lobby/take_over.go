package lobby

import (
	"context"
	"time"
)

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
			l.scheduleTry(t, tryInterval, false)
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
		activity, err := l.Activities.ReadActivity(ctx, game, player)
		isForming := false
		if err == nil {
			isForming, err = l.attachPaired(ctx, playerKey{game, player}, activity)
		}
		if err != nil {
			l.Logger.Warn("attaching a player to a match failed; retrying", "error", err)
		}
		if (isForming || err != nil) && time.Now().Before(deadline) {
			l.attachWhenFormed(game, player, deadline)
		}
	})
}
