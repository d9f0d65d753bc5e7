package match

import "laststand/internal/protocol"

const (
	// sealGraceMS is how long after closes_at a question is sealed, for the
	// answers stamped in time that are still on their way.
	sealGraceMS = 150
	// lateMS is how late a question may open and still be said to have opened
	// when it was due; a later one opens when it does.
	lateMS = 100
	// outageMS is how late a question's seal has to be for the time to count as
	// lost to an outage, and to be given back.
	outageMS = 1000
	// hostAwayMS is how long a host may be away before the arena goes on by
	// itself.
	hostAwayMS = 60_000
	// keepMS is how long a match can be read after it is over.
	keepMS = 6 * 60 * 1000
)

// Reasons of a question's close.
const (
	allAnswered  = "all_answered"
	timeout      = "timeout"
	firstCorrect = "first_correct"
	byHost       = "host"
)

// next is the step that is due at an instant, and whether one is: the whole
// course of a match as one pure function of what was read of it. lostMS is how
// long the node that asks could not advance anything up to now.
func next(p *Plan, v View, now, lostMS int64) (Step, bool) {
	switch v.Phase {
	case Lobby:
		if v.due(now) { // nobody has started it
			return shut(p, v, now)
		}
	case Starting:
		return announce(p, v, now), true
	case Countdown:
		if v.due(now) {
			return openDue(p, v, 0, now), true
		}
	case Open:
		return conclude(p, v, now, lostMS)
	case Sealed:
		if v.Ending == Forfeit {
			return end(p, v, now), true
		}
		return reveal(p, v, now), true
	case Revealed:
		return goOn(p, v, now)
	}
	return Step{}, false
}

// enough says whether a view without records and totals tells the next step.
func (v View) enough(p *Plan) bool {
	if v.Records != nil {
		return true
	}
	switch v.Phase {
	case Countdown:
		return p.Arena == nil
	case Open:
		return p.Arena == nil && v.allAnswered()
	case Revealed:
		return !v.last(p) && !v.HostPaced // a host who is here moves its deadline
	}
	return false
}

// last says whether nothing is asked after the question.
func (v View) last(p *Plan) bool {
	return v.Question+1 >= len(p.Questions) || p.Mode == Survival && v.Alive <= 1
}

// conclude ends a question that all have answered, or whose time is over. Time
// that an outage took is given back once, if nobody had answered. Where all of an
// arena have answered nothing is to be sealed before it is revealed: no answer is
// accepted any more, and who leaves meanwhile moves the version that the reveal is
// counted by.
func conclude(p *Plan, v View, now, lostMS int64) (Step, bool) {
	switch {
	case v.allAnswered() && p.Arena != nil:
		v.Reason = allAnswered
		return reveal(p, v, now), true
	case v.allAnswered():
		return seal(p, v, allAnswered, now), true
	}
	if !v.due(now) {
		return Step{}, false
	}
	if lost := max(now-v.DueAt, lostMS); lost >= outageMS && v.extendable() {
		return extend(p, v, lost, now), true
	}
	s := seal(p, v, timeout, now)
	s.Version = v.Version // not if another node has given time back since
	return s, true
}

// goOn is what follows on a reveal.
func goOn(p *Plan, v View, now int64) (Step, bool) {
	switch {
	case v.Ending != "":
		return end(p, v, now), true
	case !v.due(now):
		return Step{}, false
	case v.last(p):
		return end(p, v, now), true
	}
	return openDue(p, v, v.Question+1, now), true
}

// openDue opens a question that is due: at its instant, or now if that has
// passed. Where a host was to open it, the host has been away.
func openDue(p *Plan, v View, question int, now int64) Step {
	at := v.DueAt
	if v.HostPaced || now-at > lateMS {
		at = now
	}
	v.HostPaced = false
	return open(p, v, question, at)
}

func open(p *Plan, v View, question int, at int64) Step {
	to := v.State
	to.Phase, to.Question, to.Reason, to.Extended = Open, question, "", false
	to.Answered, to.Right, to.First = 0, 0, nil
	to.OpensAt, to.ClosesAt = at, at+p.LimitMS
	to.DueAt = to.ClosesAt + sealGraceMS
	if question == 0 {
		to.StartedAt = at
	}
	if p.Mode == Buzzer {
		to.Alive = v.Players - v.Left
	}
	s := counted(p, v, to)
	s.Pushes = []protocol.Numbered{push(p, protocol.TypeQuestion, questionView(p, to))}
	return s
}

// extendable says whether an outage of ours may be made up for.
func (v View) extendable() bool { return v.Phase == Open && v.Answered == 0 && !v.Extended }

// extend gives time back to the open question, at most as much as it had. It
// is taken only if no answer comes in between.
func extend(p *Plan, v View, lostMS, now int64) Step {
	to := v.State
	to.Extended = true
	to.ClosesAt = max(v.ClosesAt, now) + min(lostMS, p.LimitMS)
	to.DueAt = to.ClosesAt + sealGraceMS
	s := step(p, v, to)
	s.Version = v.Version
	s.Pushes = []protocol.Numbered{push(p, protocol.TypeQuestionExtended,
		protocol.QuestionExtended{Question: v.Question, ClosesAt: to.ClosesAt})}
	return s
}

func seal(p *Plan, v View, reason string, now int64) Step {
	to := v.State
	to.Phase, to.Reason, to.DueAt = Sealed, reason, now
	return step(p, v, to)
}

func reveal(p *Plan, v View, now int64) Step {
	to := v.State
	to.Phase, to.DueAt = Revealed, now+p.RevealMS
	if p.Mode == Survival {
		survive(v, &to)
	}
	switch last := (View{State: to}).last(p); {
	case v.Ending != "":
		to.DueAt = now
	case v.HostPaced && !last:
		to.DueAt = now + hostAwayMS
	}
	s := counted(p, v, to)
	s.Pushes = []protocol.Numbered{push(p, protocol.TypeQuestionClosed, closedView(p, v))}
	if v.Players > FullView {
		s.Scores = encodeScores(p, v)
	}
	return s
}

func end(p *Plan, v View, now int64) Step {
	to := v.State
	to.Phase, to.DueAt = Over, 0
	s := step(p, v, to)
	result := resultOf(p, v, now)
	s.Pushes = []protocol.Numbered{push(p, protocol.TypeMatchOver, overView(p, v, result))}
	if p.settles(v.State) {
		s.Result = result
	}
	s.KeepMS = keepMS
	return s
}

// settles says whether a match that ends in a state leaves a result. A duel
// without a closed question leaves none: else a loop of duel.join and
// match.leave would fill the ledger.
func (p *Plan) settles(s State) bool { return p.Mode != Duel || s.anyClosed() }

// abandon ends a match of which the store has forgotten something: nothing of
// it counts. Its push is not kept: the store does not know any more which
// numbers were given, so each node numbers it by what its players have seen.
func abandon(p *Plan, v View) Step {
	to := v.State
	to.Phase, to.DueAt, to.Ending = Over, 0, Abandoned
	s := step(p, v, to)
	s.KeepMS = keepMS
	return s
}

func abandoned(p *Plan) protocol.Numbered {
	return push(p, protocol.TypeMatchOver, protocol.MatchOver{
		Reason: string(Abandoned), Standings: []protocol.OverStanding{},
	})
}

func step(p *Plan, v View, to State) Step {
	return Step{Match: p.ID, From: v.Phase, Question: v.Question, To: to, Many: v.Players > FullView, Buzzer: p.Mode == Buzzer}
}

// counted is a step that says how many may answer: in an arena it holds only if
// nobody has left since the match was read.
func counted(p *Plan, v View, to State) Step {
	s := step(p, v, to)
	if p.Arena != nil {
		s.Version = v.Version
	}
	return s
}

func push(p *Plan, kind string, data any) protocol.Numbered {
	return protocol.EncodeNumbered(p.ID, kind, data)
}
