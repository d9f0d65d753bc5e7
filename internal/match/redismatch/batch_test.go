package redismatch

import (
	"reflect"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
	"laststand/internal/testenv"
)

// attemptsWithEveryVerdict returns attempts that get every verdict of the script for their mode.
func (m *testMatch) attemptsWithEveryVerdict(open match.State) []match.Attempt {
	stale := inTeam(blue, m.attempt(open, "p_eve", 20))
	stale.OpensAt--
	all := []match.Attempt{
		inTeam(red, m.attempt(open, "p_ada", 1000)),
		inTeam(red, wrongAnswer(m.attempt(open, "p_bob", 500))),
		inTeam(blue, m.attempt(open, "p_cyd", 10_001)),
		inTeam(red, m.attempt(open, "p_dan", 3000)),
		stale,
		inTeam(blue, m.attempt(open, "p_nobody", 30)),
		inTeam(blue, m.attempt(match.State{Question: 1}, "p_fay", 40)),
		inTeam(blue, wrongAnswer(m.attempt(open, "p_gus", 50))),
	}
	for i := range all {
		if all[i].LockoutMS = 60_000; m.plan.Mode == match.Buzzer {
			all[i] = wrongAnswer(all[i])
		}
	}
	return all
}

// commitTwoQuestions returns the outcomes of the attempts at two questions, and the match
// afterwards.
func (m *testMatch) commitTwoQuestions(commit func(all []match.Attempt) []match.Outcome) ([]match.Outcome, match.View) {
	m.Helper()
	first := m.attemptsWithEveryVerdict(m.startArena("p_ada", "p_bob", "p_cyd", "p_dan", "p_eve", "p_fay", "p_gus"))
	outcomes := commit(first)
	outcomes = append(outcomes, commit(first)...) // the client library may repeat a script
	outcomes = append(outcomes, commit(m.attemptsWithEveryVerdict(m.openNextQuestion()))...)
	view := m.read()
	view.Plan, view.Frames = nil, view.Frames[:0:0]
	m.checkLog()
	return outcomes, view
}

// Answers that share one script have the same outcomes as answers committed one
// after the other.
func TestBatchBehavesLikeSingleAnswers(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		store := newTestMatch(t, client, newPlan(), duelState())
		for _, mode := range []match.Mode{match.Survival, match.Buzzer, match.Race} {
			plan := arenaPlan(mode)
			m := store.newMatch(plan, lobbyState())
			batched, batchedView := m.commitTwoQuestions(func(all []match.Attempt) []match.Outcome {
				batch, outcomes := make([]*pendingAttempt, len(all)), make([]match.Outcome, len(all))
				for i := range all {
					batch[i] = &pendingAttempt{Attempt: &all[i]}
				}
				if err := m.commitBatch(m.Context(), batch); err != nil {
					t.Fatal(err)
				}
				for i, pending := range batch {
					outcomes[i] = pending.outcome
				}
				return outcomes
			})
			secondPlan := *plan
			secondPlan.ID += "_2"
			m = m.newMatch(&secondPlan, lobbyState())
			single, singleView := m.commitTwoQuestions(func(all []match.Attempt) []match.Outcome {
				outcomes := make([]match.Outcome, len(all))
				for i, pending := range all {
					var err error
					if outcomes[i], err = m.Commit(m.Context(), pending); err != nil {
						t.Fatal(err)
					}
				}
				return outcomes
			})
			if !reflect.DeepEqual(batchedView, singleView) {
				t.Errorf("%s: in one batch\n%+v, one by one\n%+v", mode, batchedView, singleView)
			}
			for i := range single {
				for _, outcome := range []*match.Outcome{&batched[i], &single[i]} {
					outcome.Version, outcome.RetryMS = 0, min(outcome.RetryMS, 1) // a batch reports the last count, and the remaining time differs
				}
				if !reflect.DeepEqual(batched[i], single[i]) {
					t.Errorf("%s: attempt %d in a batch %+v, alone %+v", mode, i, batched[i], single[i])
				}
			}
		}
	})
}
