package match

import (
	"cmp"
	"maps"
	"slices"
)

// Turn is the start or the end of a match, as a node sees it.
type Turn struct {
	Game, Match string
	Mode        Mode
	Over        bool     // it is its end
	Reason      Reason   // of the end
	At          int64    // cluster time: when question 0 has opened, or the end was seen
	Players     []string // with a seat in it, and a session here just now
}

// noteTurn has it told who is here when a match begins, and when it is over:
// one that never began has no end, and what was past when this node has taken
// the match up others have told.
func (e *Engine) noteTurn(l *live) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.state
	if s.Question < 0 {
		return
	}
	var turns []Turn
	if !l.begun {
		l.begun = true
		turns = append(turns, Turn{At: s.StartedAt})
	}
	if s.Phase.ended() && !l.ceased {
		l.ceased = true
		turns = append(turns, Turn{Over: true, Reason: cmp.Or(s.Ending, Finished), At: e.Now()})
	}
	if len(turns) > 0 {
		e.Wheel.After(0, func() { e.tellTurns(l, turns) })
	}
}

func (e *Engine) tellTurns(l *live, turns []Turn) {
	here := slices.Collect(maps.Keys(l.playersHere()))
	if len(here) == 0 {
		return
	}
	for _, t := range turns {
		t.Game, t.Match, t.Mode, t.Players = l.plan.Game, l.plan.ID, l.plan.Mode, here
		e.Turned(t)
	}
}
