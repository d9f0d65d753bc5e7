package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/match/redismatch"
	"laststand/internal/protocol"
	"laststand/internal/redisx"
	"laststand/internal/timer"
)

// settledNotifier pushes `settled` to the players of a match when its result is on the
// leaderboards. It pushes to sessions at this node directly. It sends messages to the other
// nodes, which push to their sessions.
type settledNotifier struct {
	presence     *match.Presence
	engine       *match.Engine
	leaderboards *leaderboard.Reader
	matches      *redismatch.Store
	inbox        *redisx.Inbox
	wheel        *timer.Wheel
	log          *slog.Logger
}

const (
	kindSettled = "settled"
	// settledTimeout is the timeout of the push after a message from another node.
	settledTimeout = 5 * time.Second
)

// notify implements settle.Config.Notify: it notifies the players of a settled match. It also
// stores in Redis that the match is settled, because a node may miss the message.
func (n settledNotifier) notify(ctx context.Context, r match.Result) {
	localSessions := make(map[string]match.Subscriber)
	for _, player := range humanPlayers(r) {
		if sub, ok := n.presence.Find(r.Game, player); ok {
			localSessions[player] = sub
		}
	}
	n.engine.MarkSettledNotified(r.Match)
	ratings := r.Ratings()
	if err := n.push(ctx, match.Settlement{Game: r.Game, Match: r.Match, Ratings: ratings, Sessions: localSessions}); err != nil {
		n.log.Warn("settled push failed; the leaderboards are up to date", "match", r.Match, "error", err)
	}
	nodes, err := n.matches.SetSettledNotified(ctx, r.Match, ratings)
	if err != nil {
		n.log.Warn("settled notification to other nodes failed; the leaderboards are up to date", "match", r.Match, "error", err)
		return
	}
	n.inbox.Send(ctx, nodes, kindSettled, settledMessage{r.Match, ratings}.encode())
}

// settledMessage is the message to other nodes that a match is settled.
type settledMessage struct {
	Match   string         `json:"match"`
	Ratings map[string]int `json:"ratings,omitempty"` // after the match, by player
}

func (m settledMessage) encode() []byte {
	raw, _ := json.Marshal(m) // strings and numbers always encode
	return raw
}

// onMessage pushes to the players of this node after another node has settled a match.
func (n settledNotifier) onMessage(payload []byte) {
	var message settledMessage
	if err := json.Unmarshal(payload, &message); err != nil {
		n.log.Error("settled notification from another node ignored; it does not parse", "error", err)
		return
	}
	n.wheel.After(0, func() {
		ctx, cancel := context.WithTimeout(context.Background(), settledTimeout)
		defer cancel()
		if err := n.engine.NotifySettled(ctx, message.Match, message.Ratings); err != nil {
			n.log.Warn("settled push failed; retrying", "match", message.Match, "error", err)
		}
	})
}

// push implements match.Config.OnSettled. It sends the new standings and rating of each player to
// the sessions of s, all at this node.
func (n settledNotifier) push(ctx context.Context, s match.Settlement) error {
	if len(s.Sessions) == 0 {
		return nil
	}
	ids := slices.Collect(maps.Keys(s.Sessions))
	standings, _, err := n.leaderboards.WindowStandings(ctx, s.Game, ids)
	if err != nil {
		return err
	}
	for player, sub := range s.Sessions {
		settled := protocol.Settled{Match: s.Match, Standings: make(map[string]protocol.SettledStanding)}
		if rating, isRated := s.Ratings[player]; isRated {
			settled.Rating = &rating
		}
		for window, standing := range standings[player] {
			settled.Standings[string(window)] = protocol.SettledStanding(standing)
		}
		sub.Push("", protocol.EncodePush(protocol.TypeSettled, settled))
	}
	return nil
}
