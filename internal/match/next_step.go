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

// nextStep is the step that is due at an instant, and whether one is: the whole
// course of a match as one pure function of what was read of it. lostMS is how
// long the node that asks could not advance anything up to now.
func nextStep(p *Plan, v View, now, lostMS int64) (Step, bool) {
	switch v.Phase {
	case Lobby:
		if v.isDue(now) { // nobody has started it
			return closeArenaStep(p, v, now)
		}
	case Starting:
		return announceStep(p, v, now), true
	case Countdown:
		if v.isDue(now) {
			return openDueStep(p, v, 0, now), true
		}
	case Open:
		return closeQuestionStep(p, v, now, lostMS)
	case Sealed:
		if v.EndReason == Forfeit {
			return endStep(p, v, now), true
		}
		return revealStep(p, v, now), true
	case Revealed:
		return afterRevealStep(p, v, now)
	}
	return Step{}, false
}

// decidesNextStep says whether a view without records and totals tells the next step.
func (v View) decidesNextStep(p *Plan) bool {
	if v.Records != nil {
		return true
	}
	switch v.Phase {
	case Countdown:
		return p.Arena == nil
	case Open:
		return p.Arena == nil && v.hasAllAnswers()
	case Revealed:
		return !v.isLastQuestion(p) && !v.HostPaced // a host who is here moves its deadline
	}
	return false
}

// isLastQuestion says whether nothing is asked after the question.
func (v View) isLastQuestion(p *Plan) bool {
	return v.Question+1 >= len(p.Questions) || p.Mode == Survival && v.Alive <= 1
}

// closeQuestionStep ends a question that all have answered, or whose time is over. Time
// that an outage took is given back once, if nobody had answered. Where all of an
// arena have answered nothing is to be sealed before it is revealed: no answer is
// accepted any more, and who leaves meanwhile moves the version that the reveal is
// counted by.
func closeQuestionStep(p *Plan, v View, now, lostMS int64) (Step, bool) {
	switch {
	case v.hasAllAnswers() && p.Arena != nil:
		v.CloseReason = allAnswered
		return revealStep(p, v, now), true
	case v.hasAllAnswers():
		return sealStep(p, v, allAnswered, now), true
	}
	if !v.isDue(now) {
		return Step{}, false
	}
	if lost := max(now-v.DueAt, lostMS); lost >= outageMS && v.canExtend() {
		return extendStep(p, v, lost, now), true
	}
	s := sealStep(p, v, timeout, now)
	s.Version = v.Version // not if another node has given time back since
	return s, true
}

// afterRevealStep is what follows on a reveal.
func afterRevealStep(p *Plan, v View, now int64) (Step, bool) {
	switch {
	case v.EndReason != "":
		return endStep(p, v, now), true
	case !v.isDue(now):
		return Step{}, false
	case v.isLastQuestion(p):
		return endStep(p, v, now), true
	}
	return openDueStep(p, v, v.Question+1, now), true
}

// openDueStep opens a question that is due: at its instant, or now if that has
// passed. Where a host was to open it, the host has been away.
func openDueStep(p *Plan, v View, question int, now int64) Step {
	at := v.DueAt
	if v.HostPaced || now-at > lateMS {
		at = now
	}
	v.HostPaced = false
	return openStep(p, v, question, at)
}

func openStep(p *Plan, v View, question int, at int64) Step {
	to := v.State
	to.Phase, to.Question, to.CloseReason, to.Extended = Open, question, "", false
	to.Answered, to.Right, to.First = 0, 0, nil
	to.OpensAt, to.ClosesAt = at, at+p.LimitMS
	to.DueAt = to.ClosesAt + sealGraceMS
	if question == 0 {
		to.StartedAt = at
	}
	if p.Mode == Buzzer {
		to.Alive = v.Players - v.LeftSeats
	}
	s := newVersionedStep(p, v, to)
	s.Pushes = []protocol.Numbered{newPush(p, protocol.TypeQuestion, questionView(p, to))}
	return s
}

// canExtend says whether an outage of ours may be made up for.
func (v View) canExtend() bool { return v.Phase == Open && v.Answered == 0 && !v.Extended }

// extendStep gives time back to the open question, at most as much as it had. It
// is taken only if no answer comes in between.
func extendStep(p *Plan, v View, lostMS, now int64) Step {
	to := v.State
	to.Extended = true
	to.ClosesAt = max(v.ClosesAt, now) + min(lostMS, p.LimitMS)
	to.DueAt = to.ClosesAt + sealGraceMS
	s := newStep(p, v, to)
	s.Version = v.Version
	s.Pushes = []protocol.Numbered{newPush(p, protocol.TypeQuestionExtended,
		protocol.QuestionExtended{Question: v.Question, ClosesAt: to.ClosesAt})}
	return s
}

func sealStep(p *Plan, v View, reason string, now int64) Step {
	to := v.State
	to.Phase, to.CloseReason, to.DueAt = Sealed, reason, now
	return newStep(p, v, to)
}

func revealStep(p *Plan, v View, now int64) Step {
	to := v.State
	to.Phase, to.DueAt = Revealed, now+p.RevealMS
	if p.Mode == Survival {
		applySurvival(v, &to)
	}
	switch isLast := (View{State: to}).isLastQuestion(p); {
	case v.EndReason != "":
		to.DueAt = now
	case v.HostPaced && !isLast:
		to.DueAt = now + hostAwayMS
	}
	s := newVersionedStep(p, v, to)
	s.Pushes = []protocol.Numbered{newPush(p, protocol.TypeQuestionClosed, closedView(p, v))}
	if v.Players > FullView {
		s.Scores = encodeScores(p, v)
	}
	return s
}

func endStep(p *Plan, v View, now int64) Step {
	to := v.State
	to.Phase, to.DueAt = Over, 0
	s := newStep(p, v, to)
	result := resultOf(p, v, now)
	s.Pushes = []protocol.Numbered{newPush(p, protocol.TypeMatchOver, overView(p, v, result))}
	if p.leavesResult(v.State) {
		s.Result = result
	}
	s.KeepMS = keepMS
	return s
}

// leavesResult says whether a match that ends in a state leaves a result. A duel
// without a closed question leaves none: else a loop of duel.join and
// match.leave would fill the ledger.
func (p *Plan) leavesResult(s State) bool { return p.Mode != Duel || s.hasClosedQuestion() }

// abandonStep ends a match of which the store has forgotten something: nothing of
// it counts. Its push is not kept: the store does not know any more which
// numbers were given, so each node numbers it by what its players have seen.
func abandonStep(p *Plan, v View) Step {
	to := v.State
	to.Phase, to.DueAt, to.EndReason = Over, 0, Abandoned
	s := newStep(p, v, to)
	s.KeepMS = keepMS
	return s
}

func abandonedPush(p *Plan) protocol.Numbered {
	return newPush(p, protocol.TypeMatchOver, protocol.MatchOver{
		Reason: string(Abandoned), Standings: []protocol.OverStanding{},
	})
}

func newStep(p *Plan, v View, to State) Step {
	return Step{Match: p.ID, From: v.Phase, Question: v.Question, To: to, Large: v.Players > FullView, Buzzer: p.Mode == Buzzer}
}

// newVersionedStep is a step that says how many may answer: in an arena it holds only if
// nobody has left since the match was read.
func newVersionedStep(p *Plan, v View, to State) Step {
	s := newStep(p, v, to)
	if p.Arena != nil {
		s.Version = v.Version
	}
	return s
}

func newPush(p *Plan, kind string, data any) protocol.Numbered {
	return protocol.EncodeNumbered(p.ID, kind, data)
}
