package redismatch

import (
	"maps"
	"testing"

	"laststand/internal/match"
)

// A player of a race learns the distance to the next higher score, also with no points.
func TestDistanceToTheNextScoreOfARace(t *testing.T) {
	runArenaOnEachRedis(t, match.Race, func(m *testMatch) {
		open := m.startArena("p_ada", "p_bob", "p_cyd", "p_dan", "p_eve")
		for player, points := range map[string]int64{"p_ada": 180, "p_bob": 150, "p_cyd": 150, "p_dan": 0} {
			attempt := m.attempt(open, player, 100)
			attempt.Record.Points, attempt.Record.Correct = points, points > 0
			m.commit(attempt, match.VerdictAccepted)
		}
		m.applyStep(match.PhaseRevealed, 0)
		view, err := m.Read(m.Context(), match.ReadQuery{
			Match: m.plan.ID, Players: []string{"p_ada", "p_bob", "p_cyd", "p_dan", "p_eve"}, WantRanks: true, AfterSeq: -1,
		})
		want := map[string]int64{"p_bob": 30, "p_cyd": 30, "p_dan": 150, "p_eve": 150}
		if err != nil || !maps.Equal(view.Gaps, want) {
			m.Errorf("distances %v, want %v; ranks %v, %v", view.Gaps, want, view.Ranks, err)
		}
	})
}
