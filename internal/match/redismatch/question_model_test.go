package redismatch

import "laststand/internal/match"

// rivalCount is how many players compete for a question.
const rivalCount = 4

// questionModel is a buzzer question. It is open until it is won or sealed.
type questionModel struct {
	winningAttempt   string             // the attempt that won it
	sealingStep      string             // the step that sealed it
	acceptedAttempts [rivalCount]string // id of the accepted attempt, by player
}

func (q questionModel) isOpen() bool { return q.winningAttempt == "" && q.sealingStep == "" }

// Operations on a question: an answer, the seal, a read of the match, and a
// read of a player's record.
type (
	answerOperation struct {
		id      string
		player  int
		isRight bool
	}
	sealOperation   struct{ id string }
	readOperation   struct{}
	recordOperation struct{ player int }
)

// answerOutput is the output of an answer. recordAttempt is the attempt whose record
// was returned.
type answerOutput struct {
	verdict       match.Verdict
	recordAttempt string
	sealed        bool
}

// readOutput is the output of a read of the match.
type readOutput struct {
	open             bool
	winningAttempt   string
	acceptedAttempts [rivalCount]string
	answered, right  int64
}

// applyTo allows repeated attempts: an attempt is accepted once, and each
// repetition returns that.
func (a answerOperation) applyTo(q questionModel, output any) (bool, questionModel) {
	accepted, after := q.acceptedAttempts[a.player], q
	canAccept := q.isOpen() && accepted == ""
	if canAccept {
		after.acceptedAttempts[a.player] = a.id
		if a.isRight {
			after.winningAttempt = a.id
		}
	}
	if output == nil {
		return true, after
	}
	switch result := output.(answerOutput); result.verdict {
	case match.VerdictAccepted:
		return (canAccept || accepted == a.id) && result.recordAttempt == a.id && result.sealed == a.isRight, after
	case match.VerdictDuplicate:
		return accepted != "" && accepted != a.id && accepted == result.recordAttempt, q
	case match.VerdictLate:
		return !q.isOpen() && accepted == "", q
	}
	return false, q
}

func (s sealOperation) applyTo(q questionModel, output any) (bool, questionModel) {
	after := q
	if q.isOpen() {
		after.sealingStep = s.id
	}
	if output == nil {
		return true, after
	}
	return output.(bool) == (after.sealingStep == s.id), after
}

func (readOperation) applyTo(q questionModel, output any) (bool, questionModel) {
	if output == nil {
		return true, q
	}
	want := readOutput{open: q.isOpen(), winningAttempt: q.winningAttempt, acceptedAttempts: q.acceptedAttempts}
	for _, attempt := range q.acceptedAttempts {
		if attempt != "" {
			want.answered++
		}
	}
	if q.winningAttempt != "" {
		want.right = 1
	}
	return output.(readOutput) == want, q
}

func (r recordOperation) applyTo(q questionModel, output any) (bool, questionModel) {
	return output == nil || output.(string) == q.acceptedAttempts[r.player], q
}
