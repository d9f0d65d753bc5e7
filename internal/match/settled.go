package match

import (
	"context"
	"errors"
	"time"
)

// firstSettledCheckDelayMS is how long a node waits for the notification that a
// result is settled before it checks the store itself. The delay doubles with
// every check while the match is kept.
const firstSettledCheckDelayMS = 3000

// settledTimeout limits the notification that a message of another node causes.
const settledTimeout = 5 * time.Second

// Settlement is a match whose result is settled, with the sessions of its
// players at this node.
type Settlement struct {
	Game, Match string
	Ratings     map[string]int // final, by player; nil if the match is not rated
	Sessions    map[string]Subscriber
}

// NotifySettled notifies the players of a match, on all nodes, that its result is
// settled. It finds the players' sessions at this node even if this node does not
// hold the match. It also stores that the match is settled, because a node may miss
// the message. It logs errors.
func (e *Engine) NotifySettled(ctx context.Context, result Result) {
	sessions, ratings := make(map[string]Subscriber), result.Ratings()
	for _, player := range result.HumanPlayers() {
		if session, ok := e.Presence.Find(result.Game, player); ok {
			sessions[player] = session
		}
	}
	if local := e.findLocalMatch(result.Match); local != nil {
		local.claimSettledNotice()
	}
	if err := e.OnSettled(ctx, Settlement{Game: result.Game, Match: result.Match, Ratings: ratings, Sessions: sessions}); err != nil {
		e.Logger.Warn("settled push failed; the leaderboards are up to date", "match", result.Match, "error", err)
	}
	nodes, err := e.Index.SetSettledNotified(ctx, result.Match, ratings)
	if err != nil {
		e.Logger.Warn("settled notification to other nodes failed; they find out by themselves", "match", result.Match, "error", err)
		return
	}
	e.Bus.Send(ctx, nodes, kindSettled, messageHeader{Match: result.Match, Ratings: ratings}.encode())
}

// onSettled notifies the players at this node after another node has settled a
// match.
func (e *Engine) onSettled(payload []byte) {
	local, head, _ := e.findMatchForMessage(payload)
	if local == nil {
		return
	}
	e.Wheel.After(0, func() {
		ctx, cancel := context.WithTimeout(context.Background(), settledTimeout)
		defer cancel()
		if err := e.notifyLocalSettled(ctx, local, head.Ratings); err != nil {
			e.Logger.Warn("settled push failed; retrying", "match", head.Match, "error", err)
		}
	})
}

// notifyLocalSettled notifies the players of a match at this node, unless they were
// notified before.
func (e *Engine) notifyLocalSettled(ctx context.Context, local *localMatch, ratings map[string]int) error {
	if !local.claimSettledNotice() {
		return nil
	}
	err := e.OnSettled(ctx, Settlement{Game: local.plan.Game, Match: local.plan.ID, Ratings: ratings, Sessions: local.playerSessions()})
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
		return e.notifyLocalSettled(ctx, local, view.Ratings)
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
