package match

import (
	"context"
	"maps"
	"slices"

	"laststand/internal/protocol"
)

// ownChunk is how many players are read at once to be told their own.
const ownChunk = 200

// noteOwn has the players here of a match of many told what a question did to
// them, once it is revealed to them.
func (e *Engine) noteOwn(l *live) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.state
	if s.Players <= FullView || s.Phase != Revealed && !s.Phase.ended() || l.abandoned() || l.own >= s.Question {
		return
	}
	l.own = s.Question
	e.Wheel.After(0, func() { e.tellOwn(l, s.Question) })
}

// tellOwn reads what a question did to the players here, some at a time, and
// tells each.
func (e *Engine) tellOwn(l *live, question int) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	here := l.playersHere()
	for chunk := range slices.Chunk(slices.Collect(maps.Keys(here)), ownChunk) {
		v, err := e.Store.Read(ctx, ReadQuery{Match: l.plan.ID, Players: chunk, Ranks: true, After: -1, Seen: l.seen()})
		if err != nil {
			e.Logger.Warn("players could not be told their own; match.state says it", "match", l.plan.ID, "error", err)
			return
		}
		if v.Question != question {
			e.metrics.unowned.Inc()
			return
		}
		for _, player := range chunk {
			here[player].Push(l.plan.ID, protocol.EncodePush(protocol.TypeOwn, ownView(l.plan, v, player)))
		}
	}
}
