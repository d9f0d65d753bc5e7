package redismatch

import (
	"reflect"
	"testing"

	"laststand/internal/match"
)

func TestCommitStoresAnswer(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		open := m.applyStep(match.PhaseOpen, 0)
		attempt := m.attempt(open, "p_ada", 1000)
		out := m.commit(attempt, match.VerdictAccepted)
		if !reflect.DeepEqual(out.Record, attempt.Record) || out.Answered != 1 || out.Alive != 2 || out.Seq != 3 || out.Version != 3 {
			m.Errorf("%+v", out)
		}
		if m.indexedDueAt() != open.DueAt {
			m.Errorf("due at %d after one of two", m.indexedDueAt())
		}
		view := m.read()
		if string(view.Frames[2]) != string(attempt.Push.Frame(3)) || view.Answered != 1 || view.Right != 1 {
			m.Errorf("%+v, last frame %s", view.State, view.Frames[2])
		}
		wrongAttempt := m.attempt(open, "p_bob", 2000)
		wrongAttempt = wrongAnswer(wrongAttempt)
		if out := m.commit(wrongAttempt, match.VerdictAccepted); out.Answered != 2 || out.Seq != 4 {
			m.Errorf("%+v", out)
		}
		if m.indexedDueAt() != wrongAttempt.Record.ArrivedAt {
			m.Errorf("due at %d, the last answer came at %d", m.indexedDueAt(), wrongAttempt.Record.ArrivedAt)
		}
		if view := m.read(); view.Answered != 2 || view.Right != 1 || view.Totals["p_bob"] != (match.Totals{Answered: 1, LastAnswered: 1}) {
			m.Errorf("%+v", view)
		}
		m.checkLog()
	})
}

// The verdict of an attempt in each state of the match.
func TestVerdictsOfCommit(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		early := m.attempt(match.State{Question: 0, OpensAt: epoch}, "p_ada", 0)
		m.commit(early, match.VerdictEarly)
		open := m.applyStep(match.PhaseOpen, 0)

		stale := m.attempt(open, "p_ada", 0)
		stale.OpensAt--
		m.commit(stale, match.VerdictStale)
		late := m.attempt(open, "p_ada", 10_001)
		m.commit(late, match.VerdictLate)
		unknownMatch := m.attempt(open, "p_ada", 0)
		unknownMatch.Match = "m_none"
		m.commit(unknownMatch, match.VerdictGone)
		if view := m.read(); view.Seq != 2 || view.Answered != 0 || view.Totals["p_ada"] != (match.Totals{}) {
			m.Errorf("a refused attempt changed the match: %+v", view)
		}
		next := m.attempt(match.State{Question: 1, OpensAt: open.OpensAt}, "p_ada", 0)
		m.commit(next, match.VerdictEarly)
		m.commit(m.attempt(open, "p_ada", 10_000), match.VerdictLate) // p_ada was refused
		open = m.extend(open)
		inTime := m.attempt(open, "p_ada", 10_000)
		m.commit(inTime, match.VerdictAccepted)

		for _, phase := range []match.Phase{match.PhaseSealed, match.PhaseRevealed} {
			m.applyStep(phase, 0)
			m.commit(m.attempt(open, "p_bob", 10), match.VerdictLate)
			if out := m.commit(m.attempt(open, "p_ada", 10), match.VerdictDuplicate); out.Record.ArrivedAt != inTime.Record.ArrivedAt {
				m.Errorf("%s: duplicate of %+v", phase, out.Record)
			}
		}
		second := m.applyStep(match.PhaseOpen, 1)
		m.commit(m.attempt(open, "p_bob", 10), match.VerdictLate)
		earlierQuestion := m.attempt(open, "p_bob", 10) // also with the right opening time
		earlierQuestion.OpensAt = second.OpensAt
		m.commit(earlierQuestion, match.VerdictLate)
		m.applyStep(match.PhaseOver, 1)
		m.commit(m.attempt(second, "p_bob", 10), match.VerdictLate)
		if view := m.read(); view.Totals["p_bob"] != (match.Totals{}) || view.Totals["p_ada"].Answered != 1 {
			m.Errorf("%+v", view.Totals)
		}
		m.checkLog()
	})
}

// An attempt that the client library repeats is accepted again and changes
// nothing. Its push number is not returned, because others may have pushed in
// between.
func TestRepeatedCommitChangesNothing(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		open := m.applyStep(match.PhaseOpen, 0)
		attempt := m.attempt(open, "p_ada", 1000)
		m.commit(attempt, match.VerdictAccepted)
		for _, change := range []func(){
			func() {}, func() { m.commit(m.attempt(open, "p_bob", 10), match.VerdictAccepted) },
			func() { m.applyStep(match.PhaseSealed, 0) }, func() { m.applyStep(match.PhaseRevealed, 0) }, func() { m.applyStep(match.PhaseOpen, 1) },
		} {
			change()
			before := m.read()
			out := m.commit(attempt, match.VerdictAccepted)
			if !reflect.DeepEqual(out.Record, attempt.Record) || out.Seq != 0 {
				m.Errorf("%+v", out)
			}
			if after := m.read(); !reflect.DeepEqual(after, before) {
				m.Errorf("the repetition changed\n%+v to\n%+v", before, after)
			}
		}
		m.checkLog()
	})
}

func TestCommitWithoutPush(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		attempt := m.attempt(m.applyStep(match.PhaseOpen, 0), "p_ada", 10)
		attempt.Push = nil
		if out := m.commit(attempt, match.VerdictAccepted); out.Seq != 0 || out.Answered != 1 {
			m.Errorf("%+v", out)
		}
		m.checkLog()
	})
}

// An answer to a question of a duel returns the totals, and the last one also the records of
// both players, as a read would.
func TestLastAnswerOfADuelReturnsAllRecords(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		for question := range 2 {
			open := m.applyStep(match.PhaseOpen, question)
			if outcome := m.commit(m.attempt(open, "p_ada", 1000), match.VerdictAccepted); outcome.Records != nil || outcome.Totals["p_ada"] != m.read().Totals["p_ada"] {
				m.Errorf("first answer: %+v", outcome)
			}
			outcome := m.commit(wrongAnswer(m.attempt(open, "p_bob", 2000)), match.VerdictAccepted)
			view := m.read()
			if !reflect.DeepEqual(outcome.Records, view.Records) || !reflect.DeepEqual(outcome.Totals, view.Totals) || len(view.Records) != 2 {
				m.Errorf("%+v, want %+v and %+v", outcome, view.Records, view.Totals)
			}
			m.applyStep(match.PhaseRevealed, question)
		}
	})
}
