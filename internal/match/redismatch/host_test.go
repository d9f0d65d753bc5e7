package redismatch

import (
	"testing"

	"laststand/internal/match"
)

// The deadline moves only while the match waits for the host.
func TestDeadlineMovesOnlyWhileMatchWaitsForHost(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		newDeadline := int64(epoch + 1_000_000)
		checkPostponed := func(moment string, moves bool) {
			m.Helper()
			before := m.read()
			newDeadline += 1000
			m.must(m.PostponeHostDeadline(m.Context(), m.plan.ID, newDeadline))
			want := before.DueAt
			if moves {
				want = newDeadline
			}
			if view := m.read(); view.DueAt != want || m.indexedDueAt() != want || view.Version != before.Version {
				m.Errorf("%s: due at %d and %d, want %d; %+v", moment, view.DueAt, m.indexedDueAt(), want, view.State)
			}
		}
		reveal := func(question int, alive int64) {
			m.applyStep(match.PhaseSealed, question)
			step := m.step(m.read().State, match.PhaseRevealed, question)
			step.NewState.Alive = alive
			m.apply(step)
		}
		m.addSeats("p_ada", "p_bob")
		checkPostponed("lobby", false)
		step := m.step(m.read().State, match.PhaseCountdown, -1)
		step.NewState.HostPaced = true
		m.apply(step)
		checkPostponed("countdown", true)
		if err := m.PostponeHostDeadline(m.Context(), m.plan.ID, newDeadline-1); err != nil || m.indexedDueAt() != newDeadline {
			m.Errorf("moved back to %d, %v", m.indexedDueAt(), err)
		}
		m.applyStep(match.PhaseOpen, 0)
		checkPostponed("open", false)
		reveal(0, 2)
		checkPostponed("revealed", true)
		m.applyStep(match.PhaseOpen, 1)
		reveal(1, 1)
		checkPostponed("revealed, one survivor is left", false)
		m.applyStep(match.PhaseOpen, 2)
		reveal(2, 2)
		checkPostponed("after the last question", false)
		if err := m.PostponeHostDeadline(m.Context(), "m_none", newDeadline); err != nil {
			m.Error(err)
		}
	})
}

func TestPostponeHostDeadlineNeedsHostPace(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		m.applyStep(match.PhaseCountdown, -1)
		due := m.indexedDueAt()
		if err := m.PostponeHostDeadline(m.Context(), m.plan.ID, due+1000); err != nil || m.indexedDueAt() != due {
			m.Errorf("moved to %d, %v", m.indexedDueAt(), err)
		}
	})
}
