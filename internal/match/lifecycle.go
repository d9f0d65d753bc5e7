package match

import (
	"cmp"
	"maps"
	"slices"
)

// LifecycleEvent is the start or the end of a match, as a node sees it.
type LifecycleEvent struct {
	Game, Match string
	Mode        Mode
	Ended       bool     // it is its end
	Reason      Reason   // of the end
	At          int64    // cluster time: when question 0 has opened, or the end was seen
	Players     []string // with a seat in it, and a session here just now
}

// scheduleLifecycle has it told who is here when a match begins, and when it is over:
// one that never began has no end, and what was past when this node has taken
// the match up others have told.
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
