package redismatch

import "laststand/internal/match"

// rivals is how many players go for a question at once.
const rivals = 4

// questionModel is a buzzer question, open while nobody has won or sealed it.
type questionModel struct {
	won    string         // the attempt that took it
	sealed string         // the step that sealed it
	held   [rivals]string // by player, the attempt that was accepted
}

func (q questionModel) open() bool { return q.won == "" && q.sealed == "" }

// The acts on a question: an answer, the seal, reading the match and reading a
// player's record.
type (
	try struct {
		id     string
		player int
		right  bool
	}
	sealing struct{ id string }
	reading struct{}
	recall  struct{ player int }
)

// acceptedAnswer is what an answer gives: of is the attempt whose record came with it.
type acceptedAnswer struct {
	verdict match.Verdict
	of      string
	sealed  bool
}

// questionView is what reading the match gives.
type questionView struct {
	open            bool
	won             string
	held            [rivals]string
	answered, right int64
}

// applyTo is as it is however often an attempt is run: it is accepted once and told
// so every time.
func (a try) applyTo(q questionModel, gave any) (bool, questionModel) {
	held, after := q.held[a.player], q
	free := q.open() && held == ""
	if free {
		after.held[a.player] = a.id
		if a.right {
			after.won = a.id
		}
	}
	if gave == nil {
		return true, after
	}
	switch out := gave.(acceptedAnswer); out.verdict {
	case match.Accepted:
		return (free || held == a.id) && out.of == a.id && out.sealed == a.right, after
	case match.Duplicate:
		return held != "" && held != a.id && held == out.of, q
	case match.Late:
		return !q.open() && held == "", q
	}
	return false, q
}

func (s sealing) applyTo(q questionModel, gave any) (bool, questionModel) {
	after := q
	if q.open() {
		after.sealed = s.id
	}
	if gave == nil {
		return true, after
	}
	return gave.(bool) == (after.sealed == s.id), after
}

func (reading) applyTo(q questionModel, gave any) (bool, questionModel) {
	if gave == nil {
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
	return gave.(questionView) == is, q
}

func (r recall) applyTo(q questionModel, gave any) (bool, questionModel) {
	return gave == nil || gave.(string) == q.held[r.player], q
}
