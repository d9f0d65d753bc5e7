package redismatch

import (
	"reflect"
	"testing"

	"laststand/internal/match"
)

// runRaceOnEachRedis runs a test on every kind of Redis, with a race of two players in its countdown.
func runRaceOnEachRedis(t *testing.T, f func(m *testMatch)) {
	runArenaOnEachRedis(t, match.Race, func(m *testMatch) {
		m.addSeats("p_ada", "p_bob")
		m.applyStep(match.PhaseStarting, -1)
		m.applyStep(match.PhaseCountdown, -1)
		f(m)
	})
}

func TestCommitStoresAnswer(t *testing.T) {
	runRaceOnEachRedis(t, func(m *testMatch) {
		open := m.applyStep(match.PhaseOpen, 0)
		attempt := m.attempt(open, "p_ada", 1000)
		out := m.commit(attempt, match.VerdictAccepted)
		if !reflect.DeepEqual(out.Record, attempt.Record) || out.Answered != 1 || out.Alive != 2 || out.Version != open.Version+1 {
			m.Errorf("%+v", out)
		}
		if m.indexedDueAt() != open.DueAt {
			m.Errorf("due at %d after one of two", m.indexedDueAt())
		}
		view := m.read()
		if view.Seq != open.Seq || view.Answered != 1 || view.Right != 1 {
			m.Errorf("%+v", view.State)
		}
		wrongAttempt := m.attempt(open, "p_bob", 2000)
		wrongAttempt = wrongAnswer(wrongAttempt)
		if out := m.commit(wrongAttempt, match.VerdictAccepted); out.Answered != 2 {
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
	runRaceOnEachRedis(t, func(m *testMatch) {
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
		if view := m.read(); view.Version != open.Version || view.Answered != 0 || view.Totals["p_ada"] != (match.Totals{}) {
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

// An attempt that the client library repeats is accepted again and changes nothing.
func TestRepeatedCommitChangesNothing(t *testing.T) {
	runRaceOnEachRedis(t, func(m *testMatch) {
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
			if !reflect.DeepEqual(out.Record, attempt.Record) {
				m.Errorf("%+v", out)
			}
			if after := m.read(); !reflect.DeepEqual(after, before) {
				m.Errorf("the repetition changed\n%+v to\n%+v", before, after)
			}
		}
		m.checkLog()
	})
}
