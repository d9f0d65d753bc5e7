package match

// Reasons why a question closed.
const (
	closeReasonAllAnswered  = "all_answered"
	closeReasonTimeout      = "timeout"
	closeReasonFirstCorrect = "first_correct"
	closeReasonHost         = "host"
)

// nextStep returns the step that is due. It returns false if none is due. It is a pure
// function of the view and contains the complete flow of a match. lostMS is how
// long the calling node could not reach the store until now.
//
// Example: a duel whose question 0 opened at 1000 with a limit of 10,000 is
// revealed at 11,150 (closes_at 11,000 plus answerGraceMS), and question 1 opens RevealMS
// later.
func nextStep(plan *Plan, view View, now, lostMS int64) (step Step, due bool) {
	step, due = computeStep(plan, view, now, lostMS)
	step.From = view.State // not that of a copy with the reason of the step
	return step, due
}

func computeStep(plan *Plan, view View, now, lostMS int64) (Step, bool) {
	switch view.Phase {
	case PhaseLobby:
		if view.isDue(now) { // the host never started the match
			return closeArenaStep(plan, view, now)
		}
	case PhaseStarting:
		return announceMatchStep(plan, view, now), true
	case PhaseCountdown:
		if view.isDue(now) {
			return openDueStep(plan, view, 0, now), true
		}
	case PhaseOpen:
		return closeQuestionStep(plan, view, now, lostMS)
	case PhaseSealed:
		if view.EndReason == ReasonForfeit {
			return endStep(plan, view, now), true
		}
		return revealStep(plan, view, now), true
	case PhaseRevealed:
		return afterRevealStep(plan, view, now)
	}
	return Step{}, false
}

// sufficesForNextStep reports whether a view without records and totals is
// sufficient to compute the next step.
func (v View) sufficesForNextStep(plan *Plan) bool {
	if v.Records != nil {
		return true
	}
	switch v.Phase {
	case PhaseCountdown:
		return plan.Arena == nil
	case PhaseRevealed:
		return !v.isLastQuestion(plan) && !v.HostPaced // a present host moves the deadline
	}
	return false
}

// closeQuestionStep reveals a question that everyone has answered or whose time is
// over. Time lost to an outage is added to the question once, if there is no
// answer yet.
//
// Once everyone has answered, no answer is accepted any more, and a player of an arena
// who leaves raises the version that the reveal compares.
func closeQuestionStep(plan *Plan, view View, now, lostMS int64) (Step, bool) {
	if view.hasAllAnswers() {
		view.CloseReason = closeReasonAllAnswered
		return revealStep(plan, view, now), true
	}
	extensionMS, isDue := min(lostMS, now-view.OpensAt), view.isDue(now)
	if isDue {
		extensionMS = max(extensionMS, now-view.DueAt)
	}
	switch {
	case extensionMS >= minOutageMS && view.canExtend():
		return extendStep(plan, view, extensionMS, now), true
	case !isDue:
		return Step{}, false
	}
	view.CloseReason = closeReasonTimeout
	step := revealStep(plan, view, now)
	step.Version = view.Version // fails if an answer came after the read, or another node has extended the question
	return step, true
}

// afterRevealStep returns the step that follows a reveal.
func afterRevealStep(plan *Plan, view View, now int64) (Step, bool) {
	switch {
	case view.EndReason != "":
		return endStep(plan, view, now), true
	case !view.isDue(now):
		return Step{}, false
	case view.isLastQuestion(plan):
		return endStep(plan, view, now), true
	}
	return openDueStep(plan, view, view.Question+1, now), true
}

// openDueStep opens a due question at its deadline, or now if that has passed.
// If a host had to open it, the host was away.
func openDueStep(plan *Plan, view View, question int, now int64) Step {
	opensAt := view.DueAt
	if view.HostPaced || now-opensAt > maxLateOpeningMS {
		opensAt = now
	}
	view.HostPaced = false
	return openStep(plan, view, question, opensAt)
}
