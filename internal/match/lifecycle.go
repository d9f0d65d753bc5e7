package match

import (
	"cmp"
	"maps"
	"slices"
)

// lifecycle reports the starts and ends of matches.
type lifecycle struct{ *engineBase }

// scheduleLifecycle reports the start and the end of a match to OnLifecycle,
// each once. A match that never started has no end. Events from before this node
// loaded the match were reported by other nodes.
func (l *lifecycle) scheduleLifecycle(local *localMatch) {
	local.mu.Lock()
	defer local.mu.Unlock()
	state := local.state
	if state.Question < 0 {
		return
	}
	var events []LifecycleEvent
	if !local.startReported {
		local.startReported = true
		events = append(events, LifecycleEvent{OccurredAt: state.StartedAt})
	}
	if state.Phase.hasEnded() && !local.endReported {
		local.endReported = true
		events = append(events, LifecycleEvent{Ended: true, Reason: cmp.Or(state.EndReason, ReasonFinished), OccurredAt: l.Now()})
	}
	if len(events) > 0 {
		l.Wheel.After(0, func() { l.reportLifecycle(local, events) })
	}
}

func (l *lifecycle) reportLifecycle(local *localMatch, events []LifecycleEvent) {
	players := slices.Collect(maps.Keys(local.playerSessions()))
	if len(players) == 0 {
		return
	}
	for _, event := range events {
		event.Game, event.Match, event.Mode, event.Players = local.plan.Game, local.plan.ID, local.plan.Mode, players
		l.OnLifecycle(event)
	}
}
