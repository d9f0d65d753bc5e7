package match

import (
	"context"
	"errors"
	"time"
)

const (
	// settledTimeout limits a notification, except at the node that settled the match.
	settledTimeout = 5 * time.Second
	// firstSettledCheckDelayMS is how long a node waits for the notification that a
	// result is settled before it checks the store itself. The delay doubles with
	// every check while the match is kept.
	firstSettledCheckDelayMS = 3000
)

// Settlement is a match whose result is settled, with the sessions of its
// players at this node.
type Settlement struct {
	Game, Match        string
	Ratings            map[string]int // final, by player; nil if the match is not rated
	Sessions           map[string]Subscriber
	LeaderboardsMayLag bool // true: the leaderboards may not show the result yet
}

// settledNotices tells players that the result of their match is settled. The match
// in the store says so, too. So a node with its players finds out even if the node that
// settled the match died, or its message was lost.
type settledNotices struct{ *registry }

// NotifySettled notifies the players of a match, on all nodes, that its result is
// settled and on the leaderboards. It finds the players' sessions at this node even if
// this node does not hold the match. It logs errors.
func (n *settledNotices) NotifySettled(ctx context.Context, result Result) {
	settlement := Settlement{Game: result.Game, Match: result.Match, Ratings: result.Ratings(), Sessions: make(map[string]Subscriber)}
	for _, player := range result.HumanPlayers() {
		if session, ok := n.Presence.Find(result.Game, player); ok {
			settlement.Sessions[player] = session
		}
	}
	n.notifyHere(ctx, n.findLocalMatch(result.Match), settlement)
	n.sendToOtherNodes(ctx, result.Match, kindSettled, messageHeader{Match: result.Match, Ratings: settlement.Ratings}.encode())
}

// onSettled notifies the players at this node after another node has settled a
// match.
func (n *settledNotices) onSettled(local *localMatch, header messageHeader, _ [][]byte) {
	n.scheduleNotice(local, header.Ratings, false)
}

// scheduleNotice notifies the players of a match at this node soon. It does not block.
func (n *settledNotices) scheduleNotice(local *localMatch, ratings map[string]int, leaderboardsMayLag bool) {
	n.Wheel.After(0, func() {
		ctx, cancel := context.WithTimeout(context.Background(), settledTimeout)
		defer cancel()
		n.notifyHere(ctx, local, Settlement{
			Game: local.plan.Game, Match: local.plan.ID, Ratings: ratings, Sessions: local.playerSessions(), LeaderboardsMayLag: leaderboardsMayLag,
		})
	})
}

// notifyHere notifies the sessions of a settlement, unless those of the match were
// notified before. After an error the checks of the match go on. The match is nil if this
// node does not hold it.
func (n *settledNotices) notifyHere(ctx context.Context, local *localMatch, settlement Settlement) {
	if local != nil && !local.claimSettled() {
		return
	}
	err := n.OnSettled(ctx, settlement)
	if err == nil {
		return
	}
	n.Logger.Warn("settled push failed; the node retries while it holds the match", "match", settlement.Match, "error", err)
	if local != nil {
		local.mu.Lock()
		defer local.mu.Unlock()
		local.settledNotified = false
	}
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
		case err != nil || !view.Counted:
			return err
		}
		n.scheduleNotice(local, view.Ratings, true)
		return nil
	})
}
