package match

import "laststand/internal/protocol"

const (
	// sealGraceMS is the delay between closes_at and the seal of a question.
	// Answers that arrived in time may still be on their way to the store.
	sealGraceMS = 150
	// maxLateOpeningMS is the delay up to which a question is recorded as opened on time.
	// After a longer delay it opens at the actual time.
	lateMS = 100
	// minOutageMS is the delay of a seal that counts as an outage. The lost time
	// is then added to the question.
	outageMS = 1000
	// maxHostAbsenceMS is how long a host may be away before the arena continues
	// without one.
	hostAwayMS = 60_000
	// endedTTLMS is how long a match can be read after it is over.
	keepMS = 6 * 60 * 1000
)

// Reasons why a question closed.
const (
	allAnswered  = "all_answered"
	timeout      = "timeout"
	firstCorrect = "first_correct"
	byHost       = "host"
)

// nextStep returns the step that is due. It returns false if none is due. It is a pure
// function of the view and contains the complete flow of a match. lostMS is how
// long the calling node could not advance anything until now.
//
// Example: a duel whose question 0 opened at 1000 with a limit of 10,000 is
// sealed at 11,150 (closes_at 11,000 plus sealGraceMS). It is revealed immediately,
// and question 1 opens RevealMS later.
func nextStep(p *Plan, v View, now, lostMS int64) (Step, bool) {
	switch v.Phase {
	case Lobby:
		if v.isDue(now) { // the host never started the match
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

// decidesNextStep reports whether a view without records and totals is
// sufficient to compute the next step.
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
		return !v.isLastQuestion(p) && !v.HostPaced // a present host moves the deadline
	}
	return false
}

// isLastQuestion reports whether no question follows.
func (v View) isLastQuestion(p *Plan) bool {
	return v.Question+1 >= len(p.Questions) || p.Mode == Survival && v.Alive <= 1
}

// closeQuestionStep ends a question that everyone has answered or whose time is
// over. Time lost to an outage is added to the question once, if there is no
// answer yet.
//
// If everyone in an arena has answered, the question is revealed without a
// seal. No answer is accepted any more, and a player who leaves raises the
// version that the reveal compares.
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
	s.Version = v.Version // fails if another node has extended the question
	return s, true
}

// afterRevealStep returns the step that follows a reveal.
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

// openDueStep opens a due question at its deadline, or now if that has passed.
// If a host had to open it, the host was away.
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

// canExtend reports whether time lost to an outage may be added to the open
// question.
func (v View) canExtend() bool { return v.Phase == Open && v.Answered == 0 && !v.Extended }

// extendStep adds lost time to the open question, at most its full limit. The
// store refuses the step if an answer arrives first.
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

// leavesResult reports whether a match that ends in state s leaves a result. A
// duel without a closed question leaves none. Otherwise a loop of duel.join and
// match.leave could fill the ledger.
func (p *Plan) leavesResult(s State) bool { return p.Mode != Duel || s.hasClosedQuestion() }

// abandonStep ends a match of which the store has lost data. Nothing of the
// match counts. The step stores no push, because the store no longer knows
// which numbers were used. Each node numbers the final push by what its players
// have seen.
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

// newVersionedStep returns a step that depends on how many players may answer.
// In an arena the store refuses it if anyone has left since the match was read.
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
