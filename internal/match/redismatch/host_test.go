package redismatch

import (
	"testing"

	"laststand/internal/match"
)

// The deadline moves only while the match waits for the host.
func TestPostponeHostDeadline(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		late := int64(epoch + 1_000_000)
		expect := func(when string, moves bool) {
			p.Helper()
			before := p.read()
			late += 1000
			if err := p.PostponeHostDeadline(p.Context(), p.plan.ID, late); err != nil {
				p.Fatal(err)
			}
			want := before.DueAt
			if moves {
				want = late
			}
			if v := p.read(); v.DueAt != want || p.due() != want || v.Version != before.Version {
				p.Errorf("%s: due at %d and %d, want %d; %+v", when, v.DueAt, p.due(), want, v.State)
			}
		}
		reveal := func(question int, alive int64) {
			p.applyStep(match.Sealed, question)
			s := p.step(p.read().State, match.Revealed, question)
			s.To.Alive = alive
			if _, err := p.Step(p.Context(), s); err != nil {
				p.Fatal(err)
			}
		}
		p.seat("p_ada", "p_bob")
		expect("lobby", false)
		s := p.step(p.read().State, match.Countdown, -1)
		s.To.HostPaced = true
		if _, err := p.Step(p.Context(), s); err != nil {
			p.Fatal(err)
		}
		expect("countdown", true)
		if err := p.PostponeHostDeadline(p.Context(), p.plan.ID, late-1); err != nil || p.due() != late {
			p.Errorf("moved back to %d, %v", p.due(), err)
		}
		p.applyStep(match.Open, 0)
		expect("open", false)
		reveal(0, 2)
		expect("revealed", true)
		p.applyStep(match.Open, 1)
		reveal(1, 1)
		expect("with one left", false)
		p.applyStep(match.Open, 2)
		reveal(2, 2)
		expect("after the last question", false)
		if err := p.PostponeHostDeadline(p.Context(), "m_none", late); err != nil {
			p.Error(err)
		}
	})
}

func TestAnArenaOnItsOwnPaceHasNoHost(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.applyStep(match.Countdown, -1)
		due := p.due()
		if err := p.PostponeHostDeadline(p.Context(), p.plan.ID, due+1000); err != nil || p.due() != due {
			p.Errorf("moved to %d, %v", p.due(), err)
		}
	})
}
