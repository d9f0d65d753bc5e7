package redismatch

import (
	"reflect"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
	"laststand/internal/testenv"
)

// attempts returns attempts that get every verdict of the script for their mode.
func (m *testMatch) attempts(open match.State) []match.Attempt {
	stale := inTeam(blue, m.attempt(open, "p_eve", 20))
	stale.OpensAt--
	all := []match.Attempt{
		inTeam(red, m.attempt(open, "p_ada", 1000)),
		inTeam(red, wrong(m.attempt(open, "p_bob", 500))),
		inTeam(blue, m.attempt(open, "p_cyd", 10_001)),
		inTeam(red, m.attempt(open, "p_dan", 3000)),
		stale,
		inTeam(blue, m.attempt(open, "p_nobody", 30)),
		inTeam(blue, m.attempt(match.State{Question: 1}, "p_fay", 40)),
		inTeam(blue, wrong(m.attempt(open, "p_gus", 50))),
	}
	for i := range all {
		if all[i].LockoutMS = 60_000; m.plan.Mode == match.Buzzer {
			all[i] = wrong(all[i])
		}
	}
	return all
}

// outcomes returns the outcomes of the attempts at two questions, and the match
// afterwards.
func (m *testMatch) outcomes(commit func(all []match.Attempt) []match.Outcome) ([]match.Outcome, match.View) {
	m.Helper()
	if m.plan.Mode != match.Duel {
		m.addSeats("p_ada", "p_bob", "p_cyd", "p_dan", "p_eve", "p_fay", "p_gus")
		m.applyStep(match.PhaseStarting, -1)
		m.applyStep(match.PhaseCountdown, -1)
	}
	first := m.attempts(m.applyStep(match.PhaseOpen, 0))
	outs := commit(first)
	outs = append(outs, commit(first)...) // the client library may repeat a script
	outs = append(outs, commit(m.attempts(m.openNextQuestion()))...)
	view := m.read()
	view.Plan, view.Frames = nil, view.Frames[:0:0]
	m.checkLog()
	return outs, view
}

// Answers that share one script have the same outcomes as answers committed one
// after the other.
func TestABatchBehavesLikeSingleAnswers(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		store := newTestMatch(t, client, newPlan(), duelState())
		for _, mode := range []match.Mode{match.Duel, match.Survival, match.Buzzer} {
			plan, first := arenaPlan(mode), lobbyState()
			if mode == match.Duel {
				plan, first = newPlan(), duelState()
			}
			p := store.newMatch(plan, first)
			together, after := p.outcomes(func(all []match.Attempt) []match.Outcome {
				batch, outs := make([]*pendingAttempt, len(all)), make([]match.Outcome, len(all))
				for i := range all {
					batch[i] = &pendingAttempt{Attempt: &all[i]}
				}
				if err := p.commitBatch(p.Context(), batch); err != nil {
					t.Fatal(err)
				}
				for i, pending := range batch {
					outs[i] = pending.outcome
				}
				return outs
			})
			again := *plan
			again.ID += "_2"
			p = p.newMatch(&again, first)
			single, want := p.outcomes(func(all []match.Attempt) []match.Outcome {
				outs := make([]match.Outcome, len(all))
				for i, pending := range all {
					var err error
					if outs[i], err = p.Commit(p.Context(), pending); err != nil {
						t.Fatal(err)
					}
				}
				return outs
			})
			if !reflect.DeepEqual(after, want) {
				t.Errorf("%s: in one batch\n%+v, one by one\n%+v", mode, after, want)
			}
			for i := range single {
				for _, out := range []*match.Outcome{&together[i], &single[i]} {
					out.Version, out.RetryMS = 0, min(out.RetryMS, 1) // a batch reports the last count, and the remaining time differs
				}
				if !reflect.DeepEqual(together[i], single[i]) {
					t.Errorf("%s: attempt %d in a batch %+v, alone %+v", mode, i, together[i], single[i])
				}
			}
		}
	})
}
