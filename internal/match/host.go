package match

import "laststand/internal/protocol"

// startArenaStep returns the step after which an arena accepts no more seats. It
// returns false unless the arena is in its lobby.
func beginStep(p *Plan, v View, now int64) (Step, bool) {
	if v.Phase != Lobby {
		return Step{}, false
	}
	to := v.State
	to.Phase, to.DueAt = Starting, now
	return newStep(p, v, to), true
}

// announceStep announces the match of an arena that accepts no more seats. The
// announcement lists and counts the players, so the store refuses the step if
// anyone has left since the read.
func announceStep(p *Plan, v View, now int64) Step {
	to := v.State
	to.Phase, to.StartsAt = Countdown, now+p.CountdownMS
	to.Alive = v.Players - v.LeftSeats
	to.DueAt = to.StartsAt
	if v.HostPaced {
		to.DueAt += hostAwayMS
	}
	s := newVersionedStep(p, v, to)
	v.State = to
	s.Pushes = []protocol.Numbered{newPush(p, protocol.TypeMatchFound, foundView(p, v))}
	return s
}

// proceedStep returns the step that the host requests: it closes the open
// question, else opens the next one. It returns false unless after is the
// current question.
func proceedStep(p *Plan, v View, after int, now int64) (Step, bool) {
	if v.Question != after {
		return Step{}, false
	}
	switch {
	case v.Phase == Countdown && now >= v.StartsAt:
		return openStep(p, v, 0, now), true
	case v.Phase == Open:
		return sealStep(p, v, byHost, now), true
	case v.Phase == Revealed && v.isLastQuestion(p):
		return endStep(p, v, now), true
	case v.Phase == Revealed:
		return openStep(p, v, v.Question+1, now), true
	}
	return Step{}, false
}

// closeArenaStep returns the step by which a host ends an arena. It returns
// false if another step must come first or the arena is over. An open question
// is revealed and counts. An arena that has not begun leaves no result.
func closeArenaStep(p *Plan, v View, now int64) (Step, bool) {
	to := v.State
	to.EndReason = Closed
	switch v.Phase {
	case Lobby, Starting, Countdown:
		to.Phase, to.DueAt = Over, 0
		s := newStep(p, v, to)
		s.KeepMS = keepMS
		if v.Phase == Countdown {
			s.Pushes = []protocol.Numbered{newPush(p, protocol.TypeMatchOver, protocol.MatchOver{
				Reason: string(Closed), Standings: []protocol.OverStanding{},
			})}
		}
		return s, true
	case Open:
		to.Phase, to.CloseReason, to.DueAt = Sealed, byHost, now
		return newStep(p, v, to), true
	case Revealed:
		v.EndReason = Closed
		return endStep(p, v, now), true
	}
	return Step{}, false
}
