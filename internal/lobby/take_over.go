package lobby

import (
	"context"

	"laststand/internal/match"
)

// TakeOver makes this node responsible for a player whose session has moved here from
// another node. It handles the player's ticket from now on, or attaches the session to
// the running match. If the match is being created, the next tries of a ticket that is not in
// the store attach the session.
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
		l.scheduleTry(Ticket{ID: "forming", Game: game, Seat: match.Seat{Player: player}}, tryInterval, false)
		return nil
	}
	if _, hasSeat, err := l.statusWithSeat(ctx, activity.Match, player); err != nil || !hasSeat {
		return err
	}
	return l.Matches.AttachSession(ctx, game, activity.Match, player)
}
