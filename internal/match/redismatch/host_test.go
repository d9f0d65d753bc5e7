package redismatch

import (
	"testing"

	"laststand/internal/match"
)

// The deadline moves only while the match waits for the host.
func TestPostponeHostDeadline(t *testing.T) {
	eachRedisWithArena(t, match.Survival, func(m *testMatch) {
		late := int64(epoch + 1_000_000)
		expect := func(when string, moves bool) {
			m.Helper()
			before := m.read()
			late += 1000
			if err := m.PostponeHostDeadline(m.Context(), m.plan.ID, late); err != nil {
				m.Fatal(err)
			}
			want := before.DueAt
			if moves {
				want = late
			}
			if view := m.read(); view.DueAt != want || m.due() != want || view.Version != before.Version {
				m.Errorf("%s: due at %d and %d, want %d; %+v", when, view.DueAt, m.due(), want, view.State)
			}
		}
		reveal := func(question int, alive int64) {
			m.applyStep(match.PhaseSealed, question)
			step := m.step(m.read().State, match.PhaseRevealed, question)
			step.NewState.Alive = alive
			if _, err := m.Step(m.Context(), step); err != nil {
				m.Fatal(err)
			}
		}
		m.addSeats("p_ada", "p_bob")
		expect("lobby", false)
		step := m.step(m.read().State, match.PhaseCountdown, -1)
		step.NewState.HostPaced = true
		if _, err := m.Step(m.Context(), step); err != nil {
			m.Fatal(err)
		}
		expect("countdown", true)
		if err := m.PostponeHostDeadline(m.Context(), m.plan.ID, late-1); err != nil || m.due() != late {
			m.Errorf("moved back to %d, %v", m.due(), err)
		}
		m.applyStep(match.PhaseOpen, 0)
		expect("open", false)
		reveal(0, 2)
		expect("revealed", true)
		m.applyStep(match.PhaseOpen, 1)
		reveal(1, 1)
		expect("revealed, one survivor is left", false)
		m.applyStep(match.PhaseOpen, 2)
		reveal(2, 2)
		expect("after the last question", false)
		if err := m.PostponeHostDeadline(m.Context(), "m_none", late); err != nil {
			m.Error(err)
		}
	})
}

func TestPostponeHostDeadlineNeedsHostPace(t *testing.T) {
	eachRedisWithArena(t, match.Buzzer, func(m *testMatch) {
		m.applyStep(match.PhaseCountdown, -1)
		due := m.due()
		if err := m.PostponeHostDeadline(m.Context(), m.plan.ID, due+1000); err != nil || m.due() != due {
			m.Errorf("moved to %d, %v", m.due(), err)
		}
	})
}
