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
		question, newQuestion int   // number of the question before and after the step
		pushes, version       int64 // version that the duel must have; 0: any
		player                int   // whose answer the step accepts; noPlayer: none
	}
	viewOperation struct{}
)

const noPlayer = -1

// Outputs of these operations. If mayHaveRunTwice is true, a write or reply was lost, so
// the operation may have run more than once. The output is then that of the last run.
type (
	stepOutput struct {
		applied         bool
		firstSeq        int64
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
	applies, after := before.phase == s.from && before.question == s.question && (s.version == 0 || before.version == s.version), before
	if s.player != noPlayer {
		applies = applies && before.acceptedAttempts[s.player] == ""
	}
	if applies {
		after = matchModel{
			phase: s.to, question: s.newQuestion, seq: before.seq + s.pushes, version: before.version + 1,
			acceptedAttempts: before.acceptedAttempts, lastStepID: s.id, lastStepFirstSeq: before.seq + 1,
		}
	}
	switch {
	case applies && s.player != noPlayer:
		after.acceptedAttempts[s.player] = s.id
	case applies && s.to == match.PhaseOpen:
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

func (viewOperation) applyTo(before matchModel, output any) (bool, matchModel) {
	return output == nil || output.(viewOutput) == viewOutput{before.phase, before.question, before.seq, before.version, before.seq, before.acceptedAttempts}, before
}
