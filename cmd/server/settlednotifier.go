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
	presence *match.Presence
	engine   *match.Engine
	boards   *leaderboard.Reader
	matches  *redismatch.Store
	inbox    *redisx.Inbox
	wheel    *timer.Wheel
	log      *slog.Logger
}

const (
	kindSettled = "settled"
	// settledTimeout is the timeout of the push after a message from another node.
	settledTimeout = 5 * time.Second
)

// notify implements settle.Config.Notify: it notifies the players of a settled match. It also
// stores in Redis that the match is settled, because a node may miss the message.
func (t settledNotifier) notify(ctx context.Context, r match.Result) {
	here := make(map[string]match.Subscriber)
	for _, player := range humanPlayers(r) {
		if sub, ok := t.presence.Find(r.Game, player); ok {
			here[player] = sub
		}
	}
	t.engine.MarkSettledNotified(r.Match)
	ratings := r.Ratings()
	if err := t.push(ctx, match.Settlement{Game: r.Game, Match: r.Match, Ratings: ratings, Sessions: here}); err != nil {
		t.log.Warn("settled push failed; the leaderboards are up to date", "match", r.Match, "error", err)
	}
	nodes, err := t.matches.SetSettledNotified(ctx, r.Match, ratings)
	if err != nil {
		t.log.Warn("settled notification to other nodes failed; the leaderboards are up to date", "match", r.Match, "error", err)
		return
	}
	t.inbox.Send(ctx, nodes, kindSettled, settledMessage{r.Match, ratings}.encode())
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
func (t settledNotifier) onMessage(payload []byte) {
	var m settledMessage
	if err := json.Unmarshal(payload, &m); err != nil {
		t.log.Error("settled notification from another node ignored; it does not parse", "error", err)
		return
	}
	t.wheel.After(0, func() {
		ctx, cancel := context.WithTimeout(context.Background(), settledTimeout)
		defer cancel()
		if err := t.engine.NotifySettled(ctx, m.Match, m.Ratings); err != nil {
			t.log.Warn("settled push failed; retrying", "match", m.Match, "error", err)
		}
	})
}

// push implements match.Config.OnSettled. It sends the new standings and rating of each player to
// the sessions of s, all at this node.
func (t settledNotifier) push(ctx context.Context, s match.Settlement) error {
	if len(s.Sessions) == 0 {
		return nil
	}
	ids := slices.Collect(maps.Keys(s.Sessions))
	places, _, err := t.boards.WindowStandings(ctx, s.Game, ids)
	if err != nil {
		return err
	}
	for player, sub := range s.Sessions {
		settled := protocol.Settled{Match: s.Match, Standings: make(map[string]protocol.SettledStanding)}
		if final, rated := s.Ratings[player]; rated {
			settled.Rating = &final
		}
		for window, place := range places[player] {
			settled.Standings[string(window)] = protocol.SettledStanding(place)
		}
		sub.Push("", protocol.EncodePush(protocol.TypeSettled, settled))
	}
	return nil
}
