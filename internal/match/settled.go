package match

import (
	"context"
	"errors"
)

// settledCheckAfterMS is how long the players of a match that is over wait for the word
// that its result is settled before this node looks for itself; then twice as
// long, and so on while the match is kept.
const settledCheckAfterMS = 3000

// Settlement is a match whose result is settled, with those of its players who
// have a session at this node.
type Settlement struct {
	Game, Match string
	Ratings     map[string]int // final, by player; nil where the match is not rated
	Sessions    map[string]Subscriber
}

// MarkSettledNotified notes that the players of a match here were told that its result is
// settled.
func (e *Engine) MarkSettledNotified(match string) {
	if l := e.findLocal(match); l != nil {
		l.claimSettledNotice()
	}
}

// NotifySettled has the players of a match here told that its result is settled, with
// their final ratings, unless they were; where this node does not hold it there is
// nobody to tell.
func (e *Engine) NotifySettled(ctx context.Context, match string, ratings map[string]int) error {
	l := e.findLocal(match)
	if l == nil || !l.claimSettledNotice() {
		return nil
	}
	err := e.OnSettled(ctx, Settlement{Game: l.plan.Game, Match: match, Ratings: ratings, Sessions: l.playerSessions()})
	if err != nil {
		l.releaseSettledNotice()
	}
	return err
}

// checkSettled tells those whose result is settled where the word of it has not
// come here.
func (e *Engine) checkSettled(ctx context.Context) error {
	now := e.Now()
	return forEach(e.filterLocal(func(l *localMatch) bool { return l.shouldCheckSettled(now) }), func(l *localMatch) error {
		v, err := e.Store.Read(ctx, ReadQuery{Match: l.plan.ID, After: -1})
		switch {
		case errors.Is(err, ErrNotFound):
			return nil
		case err != nil || !v.SettledNotified:
			return err
		}
		return e.NotifySettled(ctx, l.plan.ID, v.Ratings)
	})
}

// shouldCheckSettled says whether it is time to look whether the result of a match is settled.
func (l *localMatch) shouldCheckSettled(now int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.plan.Counts || !l.state.hasClosedQuestion() || l.settledNotified || !l.state.Phase.hasEnded() || l.isAbandoned() || len(l.subs) == 0 {
		return false
	}
	due := l.settledCheckAt > 0 && now >= l.settledCheckAt
	if due || l.settledCheckAt == 0 {
		l.settledCheckInMS = max(2*l.settledCheckInMS, settledCheckAfterMS)
		l.settledCheckAt = now + l.settledCheckInMS
	}
	return due
}

// claimSettledNotice says whether players here are still to be told, by the caller now;
// untell takes that back, and has it looked for anew.
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
	l.settledNotified, l.settledCheckAt, l.settledCheckInMS = false, 0, 0
}
