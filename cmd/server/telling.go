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

// teller tells players that a result of theirs is on the boards: those who have
// a session at this node, and through their nodes the others.
type teller struct {
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
	// tellWithin bounds how long it may take to read the standings of those
	// that another node says are settled.
	tellWithin = 5 * time.Second
)

// tell implements settle.Config's Tell. A word that does not come to another
// node is made up for by the node itself, which looks for what is noted here.
func (t teller) tell(ctx context.Context, r match.Result) {
	here := make(map[string]match.Subscriber)
	for _, player := range people(r) {
		if sub, ok := t.presence.Find(r.Game, player); ok {
			here[player] = sub
		}
	}
	t.engine.MarkSettledNotified(r.Match)
	ratings := r.Ratings()
	if err := t.settled(ctx, match.Settlement{Game: r.Game, Match: r.Match, Ratings: ratings, Sessions: here}); err != nil {
		t.log.Warn("players could not be told that a result is settled; the boards show it", "match", r.Match, "error", err)
	}
	nodes, err := t.matches.SetSettledNotified(ctx, r.Match, ratings)
	if err != nil {
		t.log.Warn("players of other nodes could not be told that a result is settled; the boards show it", "match", r.Match, "error", err)
		return
	}
	t.inbox.Send(ctx, nodes, kindSettled, settledWord{r.Match, ratings}.encode())
}

// settledWord is how a node tells others that a match is settled.
type settledWord struct {
	Match   string         `json:"match"`
	Ratings map[string]int `json:"ratings,omitempty"` // final, by player
}

func (w settledWord) encode() []byte {
	raw, _ := json.Marshal(w) // texts and numbers always encode
	return raw
}

// onSettled tells the players here of a match that another node has settled.
func (t teller) onSettled(payload []byte) {
	var word settledWord
	if err := json.Unmarshal(payload, &word); err != nil {
		t.log.Error("a message of another node about a settled match is unreadable", "error", err)
		return
	}
	t.wheel.After(0, func() {
		ctx, cancel := context.WithTimeout(context.Background(), tellWithin)
		defer cancel()
		if err := t.engine.NotifySettled(ctx, word.Match, word.Ratings); err != nil {
			t.log.Warn("players could not be told that a result is settled; trying again", "match", word.Match, "error", err)
		}
	})
}

// settled implements match.Config's Settled.
func (t teller) settled(ctx context.Context, s match.Settlement) error {
	if len(s.Sessions) == 0 {
		return nil
	}
	ids := slices.Collect(maps.Keys(s.Sessions))
	places, _, err := t.boards.Places(ctx, s.Game, ids)
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
