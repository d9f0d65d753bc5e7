package redismatch

import (
	"reflect"
	"testing"

	"laststand/internal/arena"
	"laststand/internal/match"
)

// Two questions: the players who are in or out, and the effect of answers.
func TestSurvivalVerdictsAndTotals(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		open := m.startArena("p_ada", "p_bob", "p_cyd", "p_dan")
		outcome := m.commit(inTeam(red, m.attempt(open, "p_ada", 1000)), match.VerdictAccepted)
		if outcome.Answered != 1 || outcome.Alive != 4 || outcome.Version != m.read().Version {
			m.Errorf("%+v", outcome)
		}
		slow := inTeam(blue, m.attempt(open, "p_bob", 3000))
		slow.Record.Points = 170
		m.commit(slow, match.VerdictAccepted)
		m.commit(wrongAnswer(m.attempt(open, "p_cyd", 500)), match.VerdictAccepted)
		if m.indexedDueAt() != open.DueAt {
			m.Errorf("due at %d after three of four answered", m.indexedDueAt())
		}
		view := m.read()
		if want := (match.Totals{Score: 190, Correct: 1, Answered: 1, SavedMS: 9000, LastCorrect: 1, LastAnswered: 1, Streak: 1}); view.Totals["p_ada"] != want {
			m.Errorf("%+v", view.Totals["p_ada"])
		}
		if want := (match.Totals{Answered: 1, LastAnswered: 1}); view.Totals["p_cyd"] != want {
			m.Errorf("%+v", view.Totals["p_cyd"])
		}
		if view.Ranks["p_ada"] != 1 || view.Ranks["p_bob"] != 2 || view.Teams["red"].Score != 190 || view.Teams["blue"].Score != 170 {
			m.Errorf("ranks %v, teams %v", view.Ranks, view.Teams)
		}
		next := m.openNextQuestion()
		m.commit(m.attempt(next, "p_cyd", 0), match.VerdictEliminated) // was wrong
		m.commit(m.attempt(next, "p_dan", 0), match.VerdictEliminated) // was silent
		m.commit(m.attempt(open, "p_cyd", 0), match.VerdictEliminated) // until then the answer is a duplicate
		m.commit(m.attempt(match.State{Question: 2}, "p_cyd", 0), match.VerdictEarly)
		m.commit(m.attempt(open, "p_bob", 0), match.VerdictDuplicate)
		m.commit(m.attempt(next, "p_eve", 0), match.VerdictGone)
		m.commit(m.attempt(next, "p_bob", 100), match.VerdictAccepted)
		m.commit(m.attempt(next, "p_bob", 200), match.VerdictDuplicate)
		if m.indexedDueAt() != next.DueAt {
			m.Errorf("due at %d after one of two answered", m.indexedDueAt())
		}
		last := m.attempt(next, "p_ada", 500)
		m.commit(last, match.VerdictAccepted)
		if m.indexedDueAt() != last.Record.ArrivedAt {
			m.Errorf("due at %d after all answered", m.indexedDueAt())
		}
		m.checkLog()
	})
}

// A question without a survivor eliminates no player.
func TestVoidQuestionEliminatesNobody(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		open := m.startArena("p_ada", "p_bob")
		m.commit(wrongAnswer(m.attempt(open, "p_ada", 10)), match.VerdictAccepted)
		next := m.openNextQuestion()
		if next.LastDecided != -1 || next.Alive != 2 {
			m.Errorf("%+v", next)
		}
		m.commit(m.attempt(next, "p_ada", 10), match.VerdictAccepted)
		m.commit(m.attempt(next, "p_bob", 10), match.VerdictAccepted)
		if view := m.read(); view.Totals["p_ada"].LastCorrect != 2 || view.Ranks["p_ada"] != 1 || view.Ranks["p_bob"] != 1 {
			m.Errorf("%+v, %v", view.Totals, view.Ranks)
		}
	})
}

// A repeated attempt returns the same outcome and changes nothing, also after
// its player is out or has left.
func TestRepeatedSurvivalAttemptChangesNothing(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		open := m.startArena("p_ada", "p_bob", "p_cyd")
		right, wrong := inTeam(red, m.attempt(open, "p_ada", 10)), wrongAnswer(m.attempt(open, "p_bob", 10))
		m.commit(right, match.VerdictAccepted)
		m.commit(wrong, match.VerdictAccepted)
		for _, change := range []func(){func() {}, func() { m.openNextQuestion() }, func() { m.removePlace("p_ada", arena.VerdictLeft) }} {
			change()
			before := m.read()
			for _, attempt := range []match.Attempt{right, wrong} {
				if out := m.commit(attempt, match.VerdictAccepted); !reflect.DeepEqual(out.Record, attempt.Record) {
					m.Errorf("%+v", out)
				}
			}
			if after := m.read(); !reflect.DeepEqual(after, before) {
				m.Errorf("%+v became %+v", before, after)
			}
		}
		m.checkLog()
	})
}

// The effect of leaving on the number of expected answers, by phase and by what
// the player has done.
func TestLeavingLowersExpectedAnswers(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		m.addSeats("p_ada", "p_bob", "p_cyd", "p_dan", "p_eve", "p_fay")
		checkCounts := func(moment string, alive, left, right int64) {
			m.Helper()
			if view := m.read(); view.Alive != alive || view.LeftSeats != left || view.EndedPlaces != left || view.Right != right || view.Answered != right {
				m.Errorf("%s: %d alive, %d left, %d right: %+v", moment, view.Alive, view.LeftSeats, view.Right, view.State)
			}
		}
		m.applyStep(match.PhaseStarting, -1)
		m.removePlace("p_fay", arena.VerdictLeft)
		m.applyStep(match.PhaseCountdown, -1)
		checkCounts("starting", 5, 1, 0)
		m.removePlace("p_eve", arena.VerdictLeft)
		checkCounts("countdown", 4, 2, 0)
		open := m.applyStep(match.PhaseOpen, 0)
		m.commit(m.attempt(open, "p_ada", 10), match.VerdictAccepted)
		m.commit(m.attempt(open, "p_bob", 10), match.VerdictAccepted)
		m.commit(m.attempt(open, "p_cyd", 10), match.VerdictAccepted)
		m.commit(m.attempt(open, "p_eve", 10), match.VerdictGone)
		for range 2 { // the client library may repeat it
			m.removePlace("p_cyd", arena.VerdictLeft)
		}
		checkCounts("open, was right", 3, 3, 2)
		if m.indexedDueAt() != open.DueAt {
			m.Errorf("due at %d", m.indexedDueAt())
		}
		m.removePlace("p_dan", arena.VerdictLeft)
		checkCounts("open, has not answered", 2, 4, 2)
		if m.indexedDueAt() > open.OpensAt {
			m.Errorf("due at %d, though all have answered", m.indexedDueAt())
		}
		m.applyStep(match.PhaseSealed, 0)
		m.removePlace("p_bob", arena.VerdictLeft)
		checkCounts("sealed, was right", 1, 5, 1)
		m.applyStep(match.PhaseRevealed, 0)
		checkCounts("revealed", 1, 5, 1)
		next := m.applyStep(match.PhaseOpen, 1)
		checkCounts("next question open", 1, 5, 0)
		m.commit(m.attempt(next, "p_bob", 10), match.VerdictGone)
		m.removePlace("p_ada", arena.VerdictLeft)
		checkCounts("the last player has left", 0, 6, 0)
		m.checkLog()
	})
}

// The unrevealed answer of a player who leaves is retracted, and the question
// counts only for those who stay. If the only player left was wrong, there is no
// survivor.
func TestLeavingRetractsUnrevealedAnswer(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		open := m.startArena("p_ada", "p_bob", "p_cyd")
		for _, player := range []string{"p_ada", "p_bob"} {
			m.commit(inTeam(red, m.attempt(open, player, 1000)), match.VerdictAccepted)
		}
		m.commit(inTeam(blue, m.attempt(open, "p_cyd", 1000)), match.VerdictAccepted)
		open = m.openNextQuestion()
		before := m.read()
		m.commit(inTeam(red, m.attempt(open, "p_ada", 0)), match.VerdictAccepted)
		m.commit(wrongAnswer(m.attempt(open, "p_bob", 0)), match.VerdictAccepted)
		m.commit(wrongAnswer(m.attempt(open, "p_cyd", 0)), match.VerdictAccepted)
		m.removePlace("p_ada", arena.VerdictLeft)
		m.removePlace("p_bob", arena.VerdictLeft)
		view := m.read()
		if view.Answered != 1 || view.Right != 0 || view.Alive != 1 || view.Teams["red"].Score != before.Teams["red"].Score {
			m.Errorf("%+v, %v", view.State, view.Teams)
		}
		for _, player := range []string{"p_ada", "p_bob"} {
			want := before.Totals[player]
			want.HasLeft = true
			if view.Totals[player] != want {
				m.Errorf("%s: %+v, want %+v", player, view.Totals[player], want)
			}
		}
		if view.Seats[0].Player != "p_cyd" || view.Ranks["p_ada"] != 2 || view.Ranks["p_bob"] != 2 {
			m.Errorf("%+v, %v", view.Seats, view.Ranks)
		}
		if next := m.openNextQuestion(); next.LastDecided != 0 || next.Alive != 1 {
			m.Errorf("%+v", next)
		}
		m.checkLog()
	})
}

// An eliminated player changes nothing by leaving.
func TestEliminatedPlayerChangesNothingByLeaving(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		open := m.startArena("p_ada", "p_bob", "p_cyd")
		m.commit(m.attempt(open, "p_ada", 10), match.VerdictAccepted)
		m.commit(m.attempt(open, "p_bob", 10), match.VerdictAccepted)
		m.openNextQuestion()
		m.removePlace("p_cyd", arena.VerdictLeft)
		if view := m.read(); view.Alive != 2 || view.LeftSeats != 1 {
			m.Errorf("%+v", view.State)
		}
	})
}

// A step that seals a question keeps that a player has left in between.
func TestSealingKeepsPlayersWhoLeft(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		seal := m.step(m.startArena("p_ada", "p_bob"), match.PhaseSealed, 0)
		m.removePlace("p_bob", arena.VerdictLeft)
		m.apply(seal)
		if view := m.read(); view.Alive != 1 {
			m.Errorf("%+v", view.State)
		}
	})
}
