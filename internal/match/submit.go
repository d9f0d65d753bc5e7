package match

import (
	"context"
	"errors"

	"laststand/internal/protocol"
)

// commit submits a judged answer. If this node judged by an outdated opening
// time, it reads the match and judges again.
func (e *Engine) commit(ctx context.Context, l *localMatch, s Submission, j validAnswer) (Outcome, error) {
	a := e.newAttempt(l, j)
	state := l.knownState()
	for range 3 {
		if state.Question == j.question {
			a.Record, a.OpensAt, a.SeenVersion = judge(l.plan, state, j, s), state.OpensAt, l.knownVersion()
			a.Record.Node = e.Node
			out, err := e.submit(ctx, l, a)
			l.noteOutcome(out)
			if err != nil || out.Verdict != Stale {
				return out, e.handleLoss(ctx, l, err)
			}
		}
		v, err := e.read(ctx, l, -1, s.Player)
		if err != nil {
			return Outcome{}, e.handleLoss(ctx, l, err)
		}
		if j.question != v.Question {
			return e.outcomeOfOther(ctx, l, s.Player, j.question, v)
		}
		state = v.State
	}
	return Outcome{}, protocol.RetryAfter(protocol.CodeUnavailable, 100, "the question is changing; send the answer again")
}

// newAttempt returns an attempt without the record, which depends on the state.
func (e *Engine) newAttempt(l *localMatch, j validAnswer) Attempt {
	a := Attempt{
		Match: l.plan.ID, ID: e.attemptID(), Seat: j.seat, Mode: l.plan.Mode, Limit: l.plan.LimitMS,
		TTLMS: l.plan.maxDurationMS() + ttlSlackMS,
	}
	if l.plan.Arena != nil {
		a.LockoutMS = l.plan.Arena.TeamLockoutMS
	}
	if l.plan.Mode == Duel {
		seen := answerSeenPush(l.plan, j.question, j.seat.Player)
		a.Push = &seen
	}
	return a
}

func answerSeenPush(p *Plan, question int, player string) protocol.Numbered {
	return newPush(p, protocol.TypeAnswerSeen, protocol.AnswerSeen{Question: question, Player: player})
}

// submit passes an attempt to the store. A right answer in a buzzer match
// competes with those of all nodes for the question.
func (e *Engine) submit(ctx context.Context, l *localMatch, a Attempt) (Outcome, error) {
	if a.Mode == Buzzer && a.Record.Correct {
		return e.race(ctx, l, a)
	}
	return e.Store.Commit(ctx, a)
}

// race lets one right answer at a time from this node try to be first. If the
// question is known to be won, it only checks whether the answer repeats an
// accepted one.
func (e *Engine) race(ctx context.Context, l *localMatch, a Attempt) (Outcome, error) {
	out, raced, err := e.tryFirst(ctx, l, a)
	if err != nil || raced {
		return out, err
	}
	e.metrics.droppedRaces.Inc()
	return e.outcomeOfClosed(ctx, l, a.Record.Player, a.Record.Question)
}

func (e *Engine) tryFirst(ctx context.Context, l *localMatch, a Attempt) (out Outcome, raced bool, err error) {
	if l.isWon(a.Record.Question) {
		return Outcome{}, false, nil
	}
	select {
	case l.raceSlot <- struct{}{}:
	case <-ctx.Done():
		return Outcome{}, false, ctx.Err()
	}
	defer func() { <-l.raceSlot }()
	if l.isWon(a.Record.Question) {
		return Outcome{}, false, nil
	}
	out, err = e.Store.Race(ctx, a)
	if err == nil && (out.Verdict == Accepted || out.Verdict == Late) {
		l.noteWon(a.Record)
	}
	return out, true, err
}

// isWon reports whether no answer can be first on a question any more.
func (l *localMatch) isWon(question int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wonQuestion >= question || l.state.Question > question || l.state.Question == question && l.state.Phase != Open
}

// noteWon records that the question of an answer is won or closed. It ignores
// an answer that was late itself, because that says nothing about earlier
// answers.
func (l *localMatch) noteWon(r Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Question == l.state.Question && r.At <= l.state.ClosesAt {
		l.wonQuestion = max(l.wonQuestion, r.Question)
	}
}

// outcomeOfOther returns the outcome of an answer to a question that is not the
// current one. The question has not opened yet, or it is closed and may have
// been answered.
func (e *Engine) outcomeOfOther(ctx context.Context, l *localMatch, player string, question int, v View) (Outcome, error) {
	switch {
	case question > v.Question:
		return Outcome{Verdict: Early}, nil
	case l.plan.Mode == Survival && v.isEliminated(v.Totals[player]):
		return Outcome{Verdict: Eliminated}, nil
	}
	return e.outcomeOfClosed(ctx, l, player, question)
}

// outcomeOfClosed returns the outcome of an answer to a closed question.
func (e *Engine) outcomeOfClosed(ctx context.Context, l *localMatch, player string, question int) (Outcome, error) {
	r, ok, err := e.Store.Record(ctx, l.plan.ID, player, question)
	if err != nil {
		return Outcome{}, err
	}
	if ok {
		return Outcome{Verdict: Duplicate, Record: r}, nil
	}
	return Outcome{Verdict: Late}, nil
}

// asNotInMatch turns ErrNotFound into the refusal for a match that the player
// is not in.
func asNotInMatch(err error) error {
	if errors.Is(err, ErrNotFound) {
		return notInMatch()
	}
	return err
}
