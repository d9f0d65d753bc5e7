package redismatch

import (
	"reflect"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
	"laststand/internal/testenv"
)

// attempts returns attempts that cover every verdict of a script.
func (p *testMatch) attempts(open match.State) []match.Attempt {
	stale := inTeam(blue, p.attempt(open, "p_eve", 20))
	stale.OpensAt--
	all := []match.Attempt{
		inTeam(red, p.attempt(open, "p_ada", 1000)),
		inTeam(red, wrong(p.attempt(open, "p_bob", 500))),
		inTeam(blue, p.attempt(open, "p_cyd", 10_001)),
		inTeam(red, p.attempt(open, "p_dan", 3000)),
		stale,
		inTeam(blue, p.attempt(open, "p_nobody", 30)),
		inTeam(blue, p.attempt(match.State{Question: 1}, "p_fay", 40)),
		inTeam(blue, wrong(p.attempt(open, "p_gus", 50))),
	}
	for i := range all {
		if all[i].LockoutMS = 60_000; p.plan.Mode == match.Buzzer {
			all[i] = wrong(all[i])
		}
	}
	return all
}

// outcomes returns the outcomes of the attempts at two questions, and the match
// afterwards.
func (p *testMatch) outcomes(commit func(all []match.Attempt) []match.Outcome) ([]match.Outcome, match.View) {
	p.Helper()
	if p.plan.Mode != match.Duel {
		p.seat("p_ada", "p_bob", "p_cyd", "p_dan", "p_eve", "p_fay", "p_gus")
		p.applyStep(match.Starting, -1)
		p.applyStep(match.Countdown, -1)
	}
	first := p.attempts(p.applyStep(match.Open, 0))
	outs := commit(first)
	outs = append(outs, commit(first)...) // as the client library may
	outs = append(outs, commit(p.attempts(p.next()))...)
	v := p.read()
	v.Plan, v.Frames = nil, v.Frames[:0:0]
	p.checkLog()
	return outs, v
}

// Answers in one script have the same outcomes as one after the other.
func TestABatchBehavesLikeSingleAnswers(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, c redis.UniversalClient) {
		store := begin(t, c, newPlan(), duelState())
		for _, mode := range []match.Mode{match.Duel, match.Survival, match.Buzzer} {
			plan, first := arenaPlan(mode), lobbyState()
			if mode == match.Duel {
				plan, first = newPlan(), duelState()
			}
			p := store.another(plan, first)
			together, after := p.outcomes(func(all []match.Attempt) []match.Outcome {
				batch, outs := make([]*pendingAttempt, len(all)), make([]match.Outcome, len(all))
				for i := range all {
					batch[i] = &pendingAttempt{Attempt: &all[i]}
				}
				if err := p.commitBatch(p.Context(), batch); err != nil {
					t.Fatal(err)
				}
				for i, w := range batch {
					outs[i] = w.out
				}
				return outs
			})
			again := *plan
			again.ID += "_2"
			p = p.another(&again, first)
			single, want := p.outcomes(func(all []match.Attempt) []match.Outcome {
				outs := make([]match.Outcome, len(all))
				for i, a := range all {
					var err error
					if outs[i], err = p.Commit(p.Context(), a); err != nil {
						t.Fatal(err)
					}
				}
				return outs
			})
			if !reflect.DeepEqual(after, want) {
				t.Errorf("%s: together\n%+v, one by one\n%+v", mode, after, want)
			}
			for i := range single {
				for _, out := range []*match.Outcome{&together[i], &single[i]} {
					out.Version, out.RetryMS = 0, min(out.RetryMS, 1) // a batch reports the last count, and the remaining time differs
				}
				if !reflect.DeepEqual(together[i], single[i]) {
					t.Errorf("%s: attempt %d together %+v, alone %+v", mode, i, together[i], single[i])
				}
			}
		}
	})
}
