package match

import "laststand/internal/protocol"

const (
	// sealGraceMS is how long after closes_at a question is sealed, for the
	// answers stamped in time that are still on their way.
	sealGraceMS = 150
	// lateMS is how late a question may open and still be said to have opened
	// when it was due; a later one opens when it does.
	lateMS = 100
	// keepMS is how long a match can be read after it is over.
	keepMS = 6 * 60 * 1000
)

// Reasons of a question's close.
const (
	allAnswered = "all_answered"
	timeout     = "timeout"
)

// next is the step that is due at an instant, and whether one is: the whole
// course of a match as one pure function of what was read of it.
func next(p *Plan, v View, now int64) (Step, bool) {
	switch v.Phase {
	case Countdown:
		if now >= v.DueAt {
			return open(p, v, 0, now), true
		}
	case Open:
		if v.Answered >= int64(len(p.Seats)) {
			return seal(p, v, allAnswered, now), true
		}
		if now >= v.DueAt {
			return seal(p, v, timeout, now), true
		}
	case Sealed:
		if v.Ending != "" {
			return end(p, v, now), true
		}
		return reveal(p, v, now), true
	case Revealed:
		if now < v.DueAt {
			break
		}
		if v.Question+1 < len(p.Questions) {
			return open(p, v, v.Question+1, now), true
		}
		return end(p, v, now), true
	}
	return Step{}, false
}

// enough says whether the state alone tells the next step, without the records
// and totals of the players.
func (v View) enough(p *Plan) bool {
	switch v.Phase {
	case Countdown:
		return true
	case Open:
		return v.Answered >= int64(len(p.Seats))
	case Revealed:
		return v.Question+1 < len(p.Questions)
	}
	return false
}

// leave is the step by which a player forfeits; false where another step has
// to come first, or where the match is over. What stands open then is sealed
// first, so that no answer can slip in while the result is reckoned, and
// counts for nobody. Once the last question is revealed nothing is left to
// forfeit: the match ends as it stands.
func leave(p *Plan, v View, player string, now int64) (Step, bool) {
	if v.Phase == Revealed && v.Question+1 == len(p.Questions) {
		return end(p, v, now), true
	}
	v.Ending, v.Leaver = Forfeit, player
	switch v.Phase {
	case Open:
		return seal(p, v, string(Forfeit), now), true
	case Countdown, Revealed:
		return end(p, v, now), true
	}
	return Step{}, false
}

func open(p *Plan, v View, question int, now int64) Step {
	opens := v.DueAt
	if now-opens > lateMS {
		opens = now
	}
	to := v.State
	to.Phase, to.Question, to.Reason = Open, question, ""
	to.Answered, to.Right = 0, 0
	to.OpensAt, to.ClosesAt = opens, opens+p.LimitMS
	to.DueAt = to.ClosesAt + sealGraceMS
	if question == 0 {
		to.StartedAt = opens
	}
	s := step(p, v, to)
	s.Pushes = []protocol.Numbered{push(p, protocol.TypeQuestion, questionView(p, to))}
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
	s := step(p, v, to)
	s.Pushes = []protocol.Numbered{push(p, protocol.TypeQuestionClosed, closedView(p, v))}
	return s
}

func end(p *Plan, v View, now int64) Step {
	asked, totals := v.Question+1, v.revealed()
	if v.unrevealed() { // sealed by leaving: it counts for nobody
		asked--
	}
	to := v.State
	to.Phase, to.DueAt = Over, 0
	s := step(p, v, to)
	s.Result = duelResult(p, to, totals, asked, now)
	s.Pushes = []protocol.Numbered{push(p, protocol.TypeMatchOver, overView(s.Result))}
	s.KeepMS = keepMS
	return s
}

func step(p *Plan, v View, to State) Step {
	return Step{Match: p.ID, From: v.Phase, Question: v.Question, To: to}
}

func push(p *Plan, kind string, data any) protocol.Numbered {
	return protocol.EncodeNumbered(p.ID, kind, data)
}

// unrevealed says whether the question that the match stands at is not
// revealed yet, or never will be, because a player left while it was open.
func (v View) unrevealed() bool {
	return v.Phase == Open || v.Phase == Sealed || v.Reason == string(Forfeit)
}

// revealed are the totals as of the last reveal.
func (v View) revealed() map[string]Totals {
	if !v.unrevealed() {
		return v.Totals
	}
	totals := make(map[string]Totals, len(v.Totals))
	for player, t := range v.Totals {
		if r, ok := v.Records[player]; ok {
			t = t.less(r)
		}
		totals[player] = t
	}
	return totals
}
