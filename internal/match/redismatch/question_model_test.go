package redismatch

import "laststand/internal/match"

// rivalCount is how many players compete for a question.
const rivalCount = 4

// questionModel is a buzzer question. It is open until it is won or sealed.
type questionModel struct {
	won    string             // the attempt that won it
	sealed string             // the step that sealed it
	held   [rivalCount]string // id of the accepted attempt, by player
}

func (q questionModel) open() bool { return q.won == "" && q.sealed == "" }

// Operations on a question: an answer, the seal, a read of the match, and a
// read of a player's record.
type (
	answerOperation struct {
		id     string
		player int
		right  bool
	}
	sealOperation   struct{ id string }
	readOperation   struct{}
	recordOperation struct{ player int }
)

// answerOutput is the output of an answer. recordAttempt is the attempt whose record
// was returned.
type acceptedAnswer struct {
	verdict match.Verdict
	of      string
	sealed  bool
}

// questionView is the output of a read of the match.
type questionView struct {
	open            bool
	won             string
	held            [rivalCount]string
	answered, right int64
}

// applyTo allows repeated attempts: an attempt is accepted once, and each
// repetition returns that.
func (a answerOperation) applyTo(q questionModel, output any) (bool, questionModel) {
	held, after := q.held[a.player], q
	free := q.open() && held == ""
	if free {
		after.held[a.player] = a.id
		if a.right {
			after.won = a.id
		}
	}
	if output == nil {
		return true, after
	}
	switch out := output.(acceptedAnswer); out.verdict {
	case match.VerdictAccepted:
		return (free || held == a.id) && out.of == a.id && out.sealed == a.right, after
	case match.VerdictDuplicate:
		return held != "" && held != a.id && held == out.of, q
	case match.VerdictLate:
		return !q.open() && held == "", q
	}
	return false, q
}

func (s sealOperation) applyTo(q questionModel, output any) (bool, questionModel) {
	after := q
	if q.open() {
		after.sealed = s.id
	}
	if output == nil {
		return true, after
	}
	return output.(bool) == (after.sealed == s.id), after
}

func (readOperation) applyTo(q questionModel, output any) (bool, questionModel) {
	if output == nil {
		return true, q
	}
	is := questionView{open: q.open(), won: q.won, held: q.held}
	for _, held := range q.held {
		if held != "" {
			is.answered++
		}
	}
	if q.won != "" {
		is.right = 1
	}
	return output.(questionView) == is, q
}

func (r recordOperation) applyTo(q questionModel, output any) (bool, questionModel) {
	return output == nil || output.(string) == q.held[r.player], q
}
