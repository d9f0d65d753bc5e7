package match

import (
	"context"
	"errors"
)

// firstSettledCheckDelayMS is how long a node waits for the notification that a
// result is settled before it checks the store itself. The delay doubles with
// every check while the match is kept.
const firstSettledCheckDelayMS = 3000

// Settlement is a match whose result is settled, with the sessions of its
// players at this node.
type Settlement struct {
	Game, Match string
	Ratings     map[string]int // final, by player; nil if the match is not rated
	Sessions    map[string]Subscriber
}

// MarkSettledNotified records that the players at this node were notified of
// the settled result.
func (e *Engine) MarkSettledNotified(match string) {
	if local := e.findLocalMatch(match); local != nil {
		local.claimSettledNotice()
	}
}

// NotifySettled notifies the players at this node that the result is settled,
// with their final ratings. It does nothing if they were notified before or if
// this node does not hold the match.
func (e *Engine) NotifySettled(ctx context.Context, match string, ratings map[string]int) error {
	local := e.findLocalMatch(match)
	if local == nil || !local.claimSettledNotice() {
		return nil
	}
	err := e.OnSettled(ctx, Settlement{Game: local.plan.Game, Match: match, Ratings: ratings, Sessions: local.playerSessions()})
	if err != nil {
		local.releaseSettledNotice()
	}
	return err
}

// checkSettled notifies players whose result is settled but whose notification
// did not arrive.
func (e *Engine) checkSettled(ctx context.Context) error {
	now := e.Now()
	return forEach(e.filterLocalMatches(func(local *localMatch) bool { return local.shouldCheckSettled(now) }), func(local *localMatch) error {
		view, err := e.Store.Read(ctx, ReadQuery{Match: local.plan.ID, AfterSeq: -1})
		switch {
		case errors.Is(err, ErrNotFound):
			return nil
		case err != nil || !view.SettledNotified:
			return err
		}
		return e.NotifySettled(ctx, local.plan.ID, view.Ratings)
	})
}

// shouldCheckSettled reports whether it is time to check whether the result of
// a match is settled.
func (l *localMatch) shouldCheckSettled(now int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.plan.CountsForLeaderboards || !l.state.hasClosedQuestion() || l.settledNotified || !l.state.Phase.hasEnded() || l.isAbandoned() || len(l.sessions) == 0 {
		return false
	}
	due := l.settledCheckAt > 0 && now >= l.settledCheckAt
	if due || l.settledCheckAt == 0 {
		l.settledCheckDelayMS = max(2*l.settledCheckDelayMS, firstSettledCheckDelayMS)
		l.settledCheckAt = now + l.settledCheckDelayMS
	}
	return due
}

// claimSettledNotice reports whether players at this node still need the
// notification; the caller must then send it. releaseSettledNotice undoes the
// claim and restarts the checks.
func (l *localMatch) claimSettledNotice() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	notified := l.settledNotified
	l.settledNotified = true
	return !notified
}

func (l *localMatch) releaseSettledNotice() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settledNotified, l.settledCheckAt, l.settledCheckDelayMS = false, 0, 0
}
