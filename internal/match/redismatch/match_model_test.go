package redismatch

import "laststand/internal/match"

// matchModel is a duel as a register that steps compare and set. It numbers the
// pushes.
type matchModel struct {
	phase            match.Phase
	question         int
	seq, version     int64
	acceptedAttempts [2]string // id of the accepted attempt at the question, by player
	lastStepID       string    // id of the last applied step
	lastStepFirstSeq int64     // number of its first push
}

// initialMatch is a duel that was just created.
var initialMatch = matchModel{phase: match.PhaseCountdown, question: -1, seq: 1, version: 1}

// Operations on a duel.
type (
	stepOperation struct {
		id                    string
		from, to              match.Phase
		question, newQuestion int // number of the question before and after the step
		pushes                int64
	}
	attemptOperation struct {
		id               string
		player, question int
	}
	viewOperation struct{}
)

// Outputs of these operations. If mayHaveRunTwice is true, a write or reply was lost, so
// the operation may have run more than once. The output is then that of the last run.
type (
	stepOutput struct {
		applied         bool
		firstSeq        int64
		mayHaveRunTwice bool
	}
	attemptOutput struct {
		verdict         match.Verdict
		seq             int64
		mayHaveRunTwice bool
	}
	viewOutput struct {
		phase                   match.Phase
		question                int
		seq, version, logLength int64
		acceptedAttempts        [2]string
	}
)

func (s stepOperation) applyTo(before matchModel, output any) (bool, matchModel) {
	applies, after := before.phase == s.from && before.question == s.question, before
	if applies {
		after = matchModel{
			phase: s.to, question: s.newQuestion, seq: before.seq + s.pushes, version: before.version + 1,
			acceptedAttempts: before.acceptedAttempts, lastStepID: s.id, lastStepFirstSeq: before.seq + 1,
		}
	}
	if applies && s.to == match.PhaseOpen {
		after.acceptedAttempts = [2]string{}
	}
	if output == nil {
		return true, after
	}
	switch result := output.(stepOutput); {
	case before.lastStepID == s.id: // run again
		return result.applied && result.firstSeq == before.lastStepFirstSeq, before
	case result.applied:
		return applies && result.firstSeq == after.lastStepFirstSeq, after
	case result.mayHaveRunTwice: // it may have been applied and repeated after the next step
		return true, after
	}
	return !applies, before
}

func (a attemptOperation) applyTo(before matchModel, output any) (bool, matchModel) {
	isOpen, accepted, after := before.phase == match.PhaseOpen && before.question == a.question, "", before
	if before.question == a.question {
		accepted = before.acceptedAttempts[a.player]
	}
	canAccept := isOpen && accepted == ""
	if canAccept {
		after.acceptedAttempts[a.player], after.seq, after.version = a.id, before.seq+1, before.version+1
	}
	if output == nil {
		return true, after
	}
	result := output.(attemptOutput)
	switch {
	case result.verdict == match.VerdictAccepted && canAccept:
		return result.seq == after.seq || result.mayHaveRunTwice && result.seq == 0, after
	case result.verdict == match.VerdictAccepted: // run again
		return result.seq == 0 && (accepted == a.id || before.question > a.question), before
	case result.verdict == match.VerdictDuplicate:
		return accepted != "" && accepted != a.id || before.question > a.question, before
	}
	return result.verdict == match.VerdictLate && !isOpen && accepted == "", before
}

func (viewOperation) applyTo(before matchModel, output any) (bool, matchModel) {
	return output == nil || output.(viewOutput) == viewOutput{before.phase, before.question, before.seq, before.version, before.seq, before.acceptedAttempts}, before
}
