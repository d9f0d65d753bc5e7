package redismatch

import (
	"testing"

	"laststand/internal/arena"
	"laststand/internal/match"
)

// A late player gets a seat in each phase of a match that allows it, with no points. An open
// question waits for the player. Whoever left gets no second seat.
func TestLateSeatInEveryPhase(t *testing.T) {
	runArenaOnEachRedis(t, match.Race, func(m *testMatch) {
		late := func(player string, want arena.Verdict) {
			m.Helper()
			request := m.seatRequest(player, "")
			request.AllowLate = true
			reply, err := m.AddSeat(m.Context(), request)
			m.checkPlace(player, want, reply, err)
		}
		m.addSeats("p_ada", "p_bob")
		m.applyStep(match.PhaseStarting, -1)
		m.addSeat("p_cyd", "", arena.VerdictStarted)
		late("p_cyd", arena.VerdictIn)
		m.applyStep(match.PhaseCountdown, -1)
		late("p_dan", arena.VerdictIn)
		open := m.applyStep(match.PhaseOpen, 0)
		before := m.read()
		late("p_eve", arena.VerdictIn)
		late("p_eve", arena.VerdictIn)
		if view := m.read(); view.Alive != before.Alive+1 || view.Players != 5 || view.Version != before.Version+1 || view.Teams["red"].Players+view.Teams["blue"].Players != 5 {
			m.Errorf("%+v, teams %v; before %+v", view.State, view.Teams, before.State)
		}
		outcome := m.commit(m.attempt(open, "p_eve", 100), match.VerdictAccepted)
		if outcome.Alive != before.Alive+1 || outcome.Answered != 1 {
			m.Errorf("%+v", outcome)
		}
		m.applyStep(match.PhaseRevealed, 0)
		late("p_fay", arena.VerdictIn)
		if view := m.read(); view.Totals["p_fay"].Score != 0 || len(view.Seats) != 6 {
			m.Errorf("%+v", view)
		}
		m.removePlace("p_fay", arena.VerdictLeft)
		late("p_fay", arena.VerdictStarted)
		m.must(m.LockLobby(m.Context(), m.plan.ID))
		late("p_gus", arena.VerdictLocked)
		m.applyStep(match.PhaseOver, 0)
		late("p_gus", arena.VerdictGone)
		m.checkLog()
	})
}
