package redismatch

import (
	"fmt"
	"slices"
	"testing"

	"laststand/internal/arena"
	"laststand/internal/match"
)

// setExtra gives a player extra time and expects a verdict. It returns who has some, in order.
func (m *testMatch) setExtra(player string, percent int64, want arena.Verdict) []match.ExtraTime {
	m.Helper()
	reply, err := m.SetExtra(m.Context(), m.plan.ID, player, percent)
	m.checkPlace(player, want, reply, err)
	return m.read().Extra
}

// Only seated players of a lobby get extra time. It ends with the seat.
func TestExtraTimeOfSeats(t *testing.T) {
	runArenaOnEachRedis(t, match.Race, func(m *testMatch) {
		ada, bob := match.ExtraTime{Player: "p_ada", Nickname: "Nick of p_ada", Percent: 100}, match.ExtraTime{Player: "p_bob", Nickname: "Nick of p_bob", Percent: 25}
		m.addSeats("p_ada", "p_bob", "p_cyd")
		before := m.read().Version
		m.setExtra("p_eve", 50, arena.VerdictOut)
		m.setExtra("p_cyd", 0, arena.VerdictIn)
		if view := m.read(); view.Version != before || view.Extra != nil {
			m.Errorf("%+v", view.State)
		}
		m.setExtra("p_ada", 50, arena.VerdictIn)
		m.setExtra("p_ada", 100, arena.VerdictIn)
		m.setExtra("p_ada", 100, arena.VerdictIn)
		if extra := m.setExtra("p_bob", 25, arena.VerdictIn); !slices.Equal(extra, []match.ExtraTime{ada, bob}) || m.read().Version != before+3 {
			m.Errorf("%+v, version %d after %d", extra, m.read().Version, before)
		}
		m.removePlace("p_ada", arena.VerdictOut)
		m.addSeats("p_ada")
		if extra := m.read().Extra; !slices.Equal(extra, []match.ExtraTime{bob}) {
			m.Errorf("after the player came back: %+v", extra)
		}
		m.setExtra("p_ada", 100, arena.VerdictIn)
		if extra := m.setExtra("p_bob", 0, arena.VerdictIn); !slices.Equal(extra, []match.ExtraTime{ada}) {
			m.Errorf("%+v", extra)
		}
		m.startArena()
		m.setExtra("p_bob", 50, arena.VerdictStarted)
		m.openNextQuestion()
		if extra := m.read().Extra; !slices.Equal(extra, []match.ExtraTime{ada}) {
			m.Errorf("%+v", extra)
		}
		m.removePlace("p_ada", arena.VerdictLeft)
		if extra := m.read().Extra; extra != nil {
			m.Errorf("the player left: %+v", extra)
		}
		m.applyStep(match.PhaseSealed, 1)
		m.applyStep(match.PhaseOver, 1)
		m.setExtra("p_bob", 50, arena.VerdictGone)
	})
}

// The number of players with extra time is limited.
func TestExtraTimeIsLimited(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		m.plan.Arena.MaxPlayers = match.MaxExtraSeats + 1
		for i := range match.MaxExtraSeats + 1 {
			player := fmt.Sprintf("p_%03d", i)
			m.addSeats(player)
			want := arena.VerdictIn
			if i == match.MaxExtraSeats {
				want = arena.VerdictFull
			}
			m.setExtra(player, 50, want)
		}
		if extra := m.setExtra("p_000", 25, arena.VerdictIn); len(extra) != match.MaxExtraSeats {
			m.Errorf("%d players", len(extra))
		}
	})
}

// An answer is accepted up to the close of its own player.
func TestStoreComparesAnswersWithTheOwnClose(t *testing.T) {
	for _, mode := range []match.Mode{match.Race, match.Survival} {
		runNamedArenaOnEachRedis(t, string(mode), mode, func(m *testMatch) {
			for i := range 8 {
				m.addSeats(fmt.Sprint("p_", i))
			}
			open := m.startArena()
			limit := open.ClosesAt - open.OpensAt
			for i, percent := range []int64{0, 25, 50, 100} {
				extra := limit * percent / 100
				late, inTime := m.attempt(open, fmt.Sprint("p_", 2*i), limit+extra+1), m.attempt(open, fmt.Sprint("p_", 2*i+1), limit+extra)
				late.ExtraMS, inTime.ExtraMS = extra, extra
				m.commit(late, match.VerdictLate)
				m.commit(inTime, match.VerdictAccepted)
			}
		})
	}
}
