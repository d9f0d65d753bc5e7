package match

import (
	"context"
	"errors"
	"time"
)

const (
	// settledTimeout limits the notification that a message of another node causes.
	settledTimeout = 5 * time.Second
	// firstSettledCheckDelayMS is how long a node waits for the notification that a
	// result is settled before it checks the store itself. The delay doubles with
	// every check while the match is kept.
	firstSettledCheckDelayMS = 3000
)

// Settlement is a match whose result is settled, with the sessions of its
// players at this node.
type Settlement struct {
	Game, Match string
	Ratings     map[string]int // final, by player; nil if the match is not rated
	Sessions    map[string]Subscriber
}

// settledNotices tells players that the result of their match is settled.
type settledNotices struct{ *registry }

// NotifySettled notifies the players of a match, on all nodes, that its result is
// settled. It finds the players' sessions at this node even if this node does not
// hold the match. It also stores that the match is settled, because a node may miss
// the message. It logs errors.
func (n *settledNotices) NotifySettled(ctx context.Context, result Result) {
	sessions, ratings := make(map[string]Subscriber), result.Ratings()
	for _, player := range result.HumanPlayers() {
		if session, ok := n.Presence.Find(result.Game, player); ok {
			sessions[player] = session
		}
	}
	if local := n.findLocalMatch(result.Match); local != nil {
		local.claimSettled()
	}
	if err := n.OnSettled(ctx, Settlement{Game: result.Game, Match: result.Match, Ratings: ratings, Sessions: sessions}); err != nil {
		n.Logger.Warn("settled push failed; the leaderboards are up to date", "match", result.Match, "error", err)
	}
	nodes, err := n.Results.SetSettledNotified(ctx, result.Match, ratings)
	if err != nil {
		n.Logger.Warn("settled notification to other nodes failed; they find out by themselves", "match", result.Match, "error", err)
		return
	}
	n.Bus.Send(ctx, nodes, kindSettled, messageHeader{Match: result.Match, Ratings: ratings}.encode())
}

// onSettled notifies the players at this node after another node has settled a
// match.
func (n *settledNotices) onSettled(local *localMatch, header messageHeader, _ [][]byte) {
	n.Wheel.After(0, func() {
		ctx, cancel := context.WithTimeout(context.Background(), settledTimeout)
		defer cancel()
		if err := n.notifyLocalSettled(ctx, local, header.Ratings); err != nil {
			n.Logger.Warn("settled push failed; retrying", "match", header.Match, "error", err)
		}
	})
}

// notifyLocalSettled notifies the players of a match at this node, unless they were
// notified before. After an error the checks start again.
func (n *settledNotices) notifyLocalSettled(ctx context.Context, local *localMatch, ratings map[string]int) error {
	if !local.claimSettled() {
		return nil
	}
	err := n.OnSettled(ctx, Settlement{Game: local.plan.Game, Match: local.plan.ID, Ratings: ratings, Sessions: local.playerSessions()})
	if err != nil {
		local.mu.Lock()
		defer local.mu.Unlock()
		local.settledNotified, local.settledCheckAt, local.settledCheckDelayMS = false, 0, 0
	}
	return err
}

// claimSettled reports whether the sessions here still need the notification that the
// result is settled. The caller must then send it.
func (l *localMatch) claimSettled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	notified := l.settledNotified
	l.settledNotified = true
	return !notified
}

// isSettledCheckDue reports whether sessions here wait for the notification that the
// result is settled, and it is time to check the store for it.
func (l *localMatch) isSettledCheckDue(now int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	isExpected := l.plan.CountsForLeaderboards && l.state.hasClosedQuestion() && l.state.Phase.hasEnded() && !l.isAbandoned()
	if !isExpected || l.settledNotified || len(l.sessions) == 0 || now < l.settledCheckAt {
		return false
	}
	isDue := l.settledCheckAt > 0
	l.settledCheckDelayMS = max(2*l.settledCheckDelayMS, firstSettledCheckDelayMS)
	l.settledCheckAt = now + l.settledCheckDelayMS
	return isDue
}

// checkSettled notifies players whose result is settled but whose notification
// did not arrive.
func (n *settledNotices) checkSettled(ctx context.Context) error {
	now := n.Now()
	return forEach(n.filterLocalMatches(func(local *localMatch) bool { return local.isSettledCheckDue(now) }), func(local *localMatch) error {
		view, err := n.Matches.Read(ctx, ReadQuery{Match: local.plan.ID, AfterSeq: -1})
		switch {
		case errors.Is(err, ErrNotFound):
			return nil
		case err != nil || !view.SettledNotified:
			return err
		}
		return n.notifyLocalSettled(ctx, local, view.Ratings)
	})
}
