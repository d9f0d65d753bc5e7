package match

import (
	"context"
	"errors"
	"slices"
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

// settledNotices tells players that the result of their match is settled. The match
// in the store says so, too. So a node with its players finds out even if the node that
// settled the match died, or its message was lost.
type settledNotices struct{ *registry }

// settledNotice is a settlement and its match, nil if this node does not hold that.
type settledNotice struct {
	Settlement
	local *localMatch
}

// NotifySettled notifies the players of matches of one game, on all nodes, that their
// results are settled and on the leaderboards. It finds the players' sessions at this node
// even if this node does not hold the match. It logs errors.
func (n *settledNotices) NotifySettled(ctx context.Context, results []Result) {
	notices, messages := make([]settledNotice, len(results)), make(map[string][]byte, len(results))
	for i, result := range results {
		settlement := Settlement{Game: result.Game, Match: result.Match, Ratings: result.Ratings(), Sessions: make(map[string]Subscriber)}
		for _, player := range result.HumanPlayers() {
			if session, ok := n.Presence.Find(result.Game, player); ok {
				settlement.Sessions[player] = session
			}
		}
		notices[i] = settledNotice{settlement, n.findLocalMatch(result.Match)}
		messages[result.Match] = messageHeader{Match: result.Match, Ratings: settlement.Ratings}.encode()
	}
	n.notifyHere(ctx, notices...)
	n.sendToOtherNodes(ctx, kindSettled, messages)
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
		n.notifyHere(ctx, settledNotice{Settlement{
			Game: local.plan.Game, Match: local.plan.ID, Ratings: ratings, Sessions: local.playerSessions(), LeaderboardsMayLag: leaderboardsMayLag,
		}, local})
	})
}

// notifyHere notifies the sessions of settlements, except those of matches that were
// notified before. After an error the checks of the matches go on.
func (n *settledNotices) notifyHere(ctx context.Context, notices ...settledNotice) {
	notices = slices.DeleteFunc(notices, func(notice settledNotice) bool { return notice.local != nil && notice.local.settled.setNotified(true) })
	if len(notices) == 0 {
		return
	}
	settlements := make([]Settlement, len(notices))
	for i, notice := range notices {
		settlements[i] = notice.Settlement
	}
	err := n.OnSettled(ctx, settlements)
	if err == nil {
		return
	}
	n.Logger.Warn("settled pushes failed; the node retries while it holds the matches", "matches", len(notices), "error", err)
	for _, notice := range notices {
		if notice.local != nil {
			notice.local.settled.setNotified(false)
		}
	}
}

// waitsForSettlement reports whether sessions here can expect that the result is settled.
func (l *localMatch) waitsForSettlement() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.plan.CountsForLeaderboards && l.state.hasClosedQuestion() && l.state.Phase.hasEnded() && !l.state.isAbandoned() && len(l.sessions) > 0
}

// checkSettled notifies players whose result is settled but whose notification
// did not arrive.
func (n *settledNotices) checkSettled(ctx context.Context) error {
	now := n.Now()
	return forEach(n.filterLocalMatches(func(local *localMatch) bool { return local.waitsForSettlement() && local.settled.isDue(now) }), func(local *localMatch) error {
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
