package redismatch

import (
	"testing"

	"laststand/internal/match"
)

// extend lets the open question close a second later.
func (m *testMatch) extend(open match.State) match.State {
	step := m.step(open, match.PhaseOpen, open.Question)
	step.NewState.Extended, step.NewState.OpensAt, step.NewState.ClosesAt = true, open.OpensAt, open.ClosesAt+1000
	m.apply(step)
	return m.read().State
}

// After a late answer to an arena the store accepts none that another node received in time, by
// any of the ways to accept one. An extension gives the player another chance.
func TestRefusalOfLateAnswerIsFinal(t *testing.T) {
	for _, mode := range []match.Mode{match.Buzzer, match.Survival, match.Race} {
		run := func(m *testMatch) {
			m.addSeats("p_ada", "p_bob")
			open := m.startArena()
			submit := m.commit
			if mode == match.Buzzer {
				submit = m.commitIfFirst
			}
			submit(m.attempt(open, "p_ada", open.ClosesAt-open.OpensAt+1), match.VerdictLate)
			submit(m.attempt(open, "p_ada", 10), match.VerdictLate)
			m.commit(wrongAnswer(m.attempt(open, "p_ada", 10)), match.VerdictLate)
			if view := m.read(); view.Answered != 0 || len(view.Records) != 0 {
				m.Errorf("%s: %+v", mode, view)
			}
			if _, found, err := m.Record(m.Context(), m.plan.ID, "p_ada", 0); found || err != nil {
				m.Errorf("%s: a record: %t, %v", mode, found, err)
			}
			if records, unreadable, err := m.RecordsOf(m.Context(), m.plan.ID, []string{"p_ada"}, 1); len(records)+unreadable != 0 || err != nil {
				m.Errorf("%s: %+v, %d unreadable, %v", mode, records, unreadable, err)
			}
			if ttl := m.client.PTTL(m.Context(), m.keys.answers()).Val(); ttl <= 0 {
				m.Errorf("%s: the refusal never expires: %v", mode, ttl)
			}
			open = m.extend(open)
			submit(m.attempt(open, "p_ada", 10), match.VerdictAccepted)
			m.checkLog()
		}
		t.Run(string(mode), func(t *testing.T) { runArenaOnEachRedis(t, mode, run) })
	}
}

// A late answer at one node makes a race fail that another node has begun for the same player.
func TestRefusalStopsRace(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		m.addSeats("p_ada", "p_bob")
		open := m.startArena()
		for _, refuse := range []func(match.Attempt, match.Verdict) match.Outcome{m.commitIfFirst, func(a match.Attempt, v match.Verdict) match.Outcome { return m.commit(wrongAnswer(a), v) }} {
			n := m.nodeChangingMatch(func() { refuse(m.attempt(open, "p_ada", open.ClosesAt-open.OpensAt+1), match.VerdictLate) })
			if out, err := n.CommitIfFirst(m.Context(), m.firstAttempt(open, "p_ada", 10)); err != nil || out.Verdict != match.VerdictLate {
				m.Errorf("%+v, %v", out, err)
			}
			open = m.extend(open)
		}
	})
}
