package redismatch

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	"laststand/internal/arena"
	"laststand/internal/match"
)

// A hundred players answer right at the same time on two nodes. One of them is first
// and seals the question. The test plays three questions.
func TestOneOfConcurrentRightAnswersIsFirst(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		players := playerIDs(100)
		open := m.startArena(players...)
		for range 3 {
			before := m.read().Version
			attempts := make([]match.Attempt, len(players))
			for i, player := range players {
				attempts[i] = m.firstAttempt(open, player, int64(i))
			}
			first := m.requireOneFirst(attempts, m.commitAllIfFirst(attempts))
			view := m.read()
			if view.Phase != match.PhaseSealed || view.Answered != 1 || view.Right != 1 || view.Version != before+1 || view.First.Player != first {
				m.Errorf("%s was the first: %+v, %+v", first, view.State, view.First)
			}
			open = m.openNextQuestion()
		}
		view := m.read()
		if view.Teams["red"].Score != 3 || len(view.Firsts) != 3 {
			m.Errorf("%v, %v", view.Teams, view.Firsts)
		}
		m.checkLog()
	})
}

// commitAllIfFirst races on two nodes.
func (m *testMatch) commitAllIfFirst(attempts []match.Attempt) []match.Outcome {
	m.Helper()
	stores := []*Store{m.Store, New(m.client, m.client)}
	outcomes := make([]match.Outcome, len(attempts))
	var running sync.WaitGroup
	for i := range attempts {
		running.Go(func() {
			var err error
			if outcomes[i], err = stores[i%2].CommitIfFirst(m.Context(), attempts[i]); err != nil {
				m.Error(err)
			}
		})
	}
	running.Wait()
	return outcomes
}

// requireOneFirst expects one attempt to be first and all others to be late, and
// returns the first.
func (m *testMatch) requireOneFirst(attempts []match.Attempt, outcomes []match.Outcome) (first string) {
	m.Helper()
	for i, outcome := range outcomes {
		switch {
		case outcome.Verdict == match.VerdictAccepted && first == "" && outcome.Record.First && outcome.Sealed:
			first = attempts[i].Record.Player
		case outcome.Verdict != match.VerdictLate:
			m.Errorf("%s: %+v, and %q was the first", attempts[i].Record.Player, outcome, first)
		}
	}
	if first == "" {
		m.Error("nobody was the first")
	}
	return first
}

// Fifty devices of one player race. One wins, and the others get its record.
func TestOnePlayersConcurrentAnswersCountOnce(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		open := m.startArena("p_ada")
		attempts := make([]match.Attempt, 50)
		for i := range attempts {
			attempts[i] = m.firstAttempt(open, "p_ada", int64(i))
		}
		outcomes := m.commitAllIfFirst(attempts)
		winner := slices.IndexFunc(outcomes, func(outcome match.Outcome) bool { return outcome.Verdict == match.VerdictAccepted })
		for i, out := range outcomes {
			if i != winner && (out.Verdict != match.VerdictDuplicate || !reflect.DeepEqual(out.Record, outcomes[winner].Record)) {
				m.Errorf("%d: %+v", i, out)
			}
		}
		if view := m.read(); view.Answered != 1 || view.Totals["p_ada"].Answered != 1 || view.Teams["red"].Score != 1 {
			m.Errorf("%+v", view)
		}
	})
}

// Wrong answers arrive while a right answer wins the question. They do not delay it,
// and all accepted answers are counted.
func TestWrongAnswersDoNotDelayFirstRightAnswer(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		players := playerIDs(60)
		open := m.startArena(players...)
		outcomes := make([]match.Outcome, len(players))
		attempts := make([]match.Attempt, len(players))
		for i, player := range players {
			attempts[i] = m.firstAttempt(open, player, int64(i))
		}
		var running sync.WaitGroup
		for i := range players {
			running.Go(func() {
				var err error
				if i == 30 {
					outcomes[i], err = m.CommitIfFirst(m.Context(), attempts[i])
				} else {
					outcomes[i], err = m.Commit(m.Context(), wrongAnswer(attempts[i]))
				}
				if err != nil {
					m.Error(err)
				}
			})
		}
		running.Wait()
		accepted := int64(0)
		for i, out := range outcomes {
			if out.Verdict == match.VerdictAccepted {
				accepted++
			} else if i == 30 || out.Verdict != match.VerdictLate {
				m.Errorf("%d: %+v", i, out)
			}
		}
		view := m.read()
		if view.Answered != accepted || view.Right != 1 || view.First.Player != players[30] {
			m.Errorf("%d accepted, %+v", accepted, view.State)
		}
		m.checkLog()
	})
}

// A race competes with the step that seals. Exactly one of them closes the
// question.
func TestEitherFirstAnswerOrSealClosesQuestion(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		open := m.startArena("p_ada", "p_bob")
		won := 0
		for range 40 {
			seal := m.step(open, match.PhaseSealed, open.Question)
			seal.NewState.CloseReason, seal.Pushes = "timeout", nil
			attempt := m.firstAttempt(open, "p_ada", 10)
			var outcome match.Outcome
			var result match.StepResult
			var commitErr, stepErr error
			var running sync.WaitGroup
			running.Go(func() { outcome, commitErr = m.CommitIfFirst(m.Context(), attempt) })
			running.Go(func() { result, stepErr = m.Step(m.Context(), seal) })
			running.Wait()
			if commitErr != nil || stepErr != nil {
				m.Fatal(commitErr, stepErr)
			}
			view := m.read()
			first := outcome.Verdict == match.VerdictAccepted
			if first == result.Applied || !first && outcome.Verdict != match.VerdictLate || first != (view.CloseReason == "first_correct") || first != (view.First != nil) {
				m.Fatalf("%+v, %+v, %+v", outcome, result, view.State)
			}
			if first {
				won++
			}
			open = m.openNextQuestion()
		}
		if view := m.read(); view.Totals["p_ada"].Correct != int64(won) || view.Teams["red"].Score != int64(won) {
			m.Errorf("%d won, %+v", won, view.Totals)
		}
		m.Logf("%d of 40 questions were won", won)
		m.checkLog()
	})
}

// A player leaves while the player's own right answer tries to be first.
func TestPlayerLeavesDuringOwnFirstAnswer(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		open := m.startArena("p_ada", "p_bob")
		attempt := m.firstAttempt(open, "p_ada", 10)
		var running sync.WaitGroup
		var outcome match.Outcome
		running.Go(func() { outcome, _ = m.CommitIfFirst(m.Context(), attempt) })
		running.Go(func() { _, _ = m.RemovePlace(m.Context(), m.plan.ID, "p_ada", 0) })
		running.Wait()
		view := m.read()
		if first := outcome.Verdict == match.VerdictAccepted; first != (view.First != nil) || !first && outcome.Verdict != match.VerdictGone || view.LeftSeats != 1 {
			m.Errorf("%+v, %+v", outcome, view.State)
		}
		m.removePlace("p_ada", arena.VerdictLeft)
	})
}
