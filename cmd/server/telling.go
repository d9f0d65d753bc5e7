package main

import (
	"context"
	"log/slog"
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
	t.engine.Told(r.Match)
	if err := t.tellHere(ctx, r.Game, r.Match, here); err != nil {
		t.log.Warn("players could not be told that a result is settled; the boards show it", "match", r.Match, "error", err)
	}
	nodes, err := t.matches.Told(ctx, r.Match)
	if err != nil {
		t.log.Warn("players of other nodes could not be told that a result is settled; the boards show it", "match", r.Match, "error", err)
		return
	}
	t.inbox.Send(ctx, nodes, kindSettled, []byte(r.Match))
}

// onSettled tells the players here of a match that another node has settled.
func (t teller) onSettled(payload []byte) {
	id := string(payload)
	t.wheel.After(0, func() {
		ctx, cancel := context.WithTimeout(context.Background(), tellWithin)
		defer cancel()
		if err := t.engine.TellSettled(ctx, id); err != nil {
			t.log.Warn("players could not be told that a result is settled; trying again", "match", id, "error", err)
		}
	})
}

// tellHere implements match.Config's Settled.
func (t teller) tellHere(ctx context.Context, game, id string, here map[string]match.Subscriber) error {
	if len(here) == 0 {
		return nil
	}
	ids := make([]string, 0, len(here))
	for player := range here {
		ids = append(ids, player)
	}
	places, _, err := t.boards.Places(ctx, game, ids)
	if err != nil {
		return err
	}
	for player, sub := range here {
		settled := protocol.Settled{Match: id, Standings: make(map[string]protocol.SettledStanding)}
		for window, place := range places[player] {
			settled.Standings[string(window)] = protocol.SettledStanding(place)
		}
		sub.Push("", protocol.EncodePush(protocol.TypeSettled, settled))
	}
	return nil
}
