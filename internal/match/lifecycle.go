package match

import (
	"cmp"
	"maps"
	"slices"
)

// LifecycleEvent reports the start or the end of a match to the players of one
// node.
type LifecycleEvent struct {
	Game, Match string
	Mode        Mode
	Ended       bool     // false: the match started; true: it ended
	Reason      Reason   // why it ended
	At          int64    // cluster time: when question 0 opened, or when this node saw the end
	Players     []string // players with a seat and a session at this node
}

// scheduleLifecycle reports the start and the end of a match to OnLifecycle,
// each once. A match that never began has no end. Events from before this node
// loaded the match were reported by other nodes.
func (e *Engine) scheduleLifecycle(l *localMatch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.state
	if s.Question < 0 {
		return
	}
	var events []LifecycleEvent
	if !l.startReported {
		l.startReported = true
		events = append(events, LifecycleEvent{At: s.StartedAt})
	}
	if s.Phase.hasEnded() && !l.endReported {
		l.endReported = true
		events = append(events, LifecycleEvent{Ended: true, Reason: cmp.Or(s.EndReason, Finished), At: e.Now()})
	}
	if len(events) > 0 {
		e.Wheel.After(0, func() { e.reportLifecycle(l, events) })
	}
}

func (e *Engine) reportLifecycle(l *localMatch, events []LifecycleEvent) {
	players := slices.Collect(maps.Keys(l.playerSessions()))
	if len(players) == 0 {
		return
	}
	for _, event := range events {
		event.Game, event.Match, event.Mode, event.Players = l.plan.Game, l.plan.ID, l.plan.Mode, players
		e.OnLifecycle(event)
	}
}
