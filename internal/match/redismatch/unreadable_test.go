package redismatch

import (
	"errors"
	"strings"
	"testing"

	"laststand/internal/match"
)

// setPlan replaces the stored plan.
func (p *testMatch) setPlan(change func(string) string) {
	p.Helper()
	raw, err := p.client.Get(p.Context(), p.keys.plan()).Result()
	if err == nil {
		err = p.client.Set(p.Context(), p.keys.plan(), change(raw), 0).Err()
	}
	if err != nil {
		p.Fatal(err)
	}
}

func older(plan string) string { return strings.Replace(plan, `"form":3`, `"form":2`, 1) }

// For every fault of stored data the error reports that the match cannot be
// read, and why.
func TestUnreadable(t *testing.T) {
	for name, plan := range map[string]string{match.OlderForm: `{"form":2}`, match.NewerForm: `{"form":99}`, match.Corrupt: `{"form":3`} {
		t.Run(name, func(t *testing.T) {
			each(t, func(p *testMatch) {
				p.setPlan(func(string) string { return plan })
				_, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID, WantPlan: true, After: -1})
				var unreadable *match.UnreadableError
				if !errors.Is(err, match.ErrNotFound) || !errors.As(err, &unreadable) || unreadable.Reason != name {
					p.Errorf("%v", err)
				}
			})
		})
	}
	t.Run("without a plan", func(t *testing.T) {
		each(t, func(p *testMatch) {
			if err := p.client.Del(p.Context(), p.keys.plan()).Err(); err != nil {
				p.Fatal(err)
			}
			if _, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID, WantPlan: true}); !errors.Is(err, match.ErrUnreadable) {
				p.Errorf("%v", err)
			}
		})
	})
}

// An orphan is removed with all its keys. A match that was advanced or is over
// is not.
func TestRemoveOrphan(t *testing.T) {
	each(t, func(p *testMatch) {
		check := func(before int64, want bool) {
			p.Helper()
			if removed, err := p.RemoveOrphan(p.Context(), p.plan.ID, before); err != nil || removed != want {
				p.Errorf("%v, %v", removed, err)
			}
		}
		open := p.applyStep(match.Open, 0)
		check(open.DueAt, false)
		check(open.DueAt+1, true)
		check(open.DueAt+1, false)
		left, err := p.client.Exists(p.Context(), append(p.keys.rankingKeys(), p.keys.log(), p.keys.answers())...).Result()
		if err != nil || left != 0 {
			p.Errorf("%d keys are left, %v", left, err)
		}
		if exists, err := p.Tombstone(p.Context(), p.plan.ID); err != nil || !exists {
			p.Errorf("it can be created anew: %v", err)
		}
		if marks, err := p.ReadProgress(p.Context(), []string{p.plan.ID}); err != nil || len(marks) != 0 {
			p.Errorf("%v, %v", marks, err)
		}
	})
}

// The result of a large match can be settled by a node of another form, because
// CompleteStandings does not need the plan.
func TestAPagedResultIsCompletedByAnyForm(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.plan.Arena.MaxPlayers = 600
		players := playerIDs(60)
		p.seat(players...)
		p.start()
		p.next()
		p.applyStep(match.Sealed, 1)
		over := p.step(p.applyStep(match.Revealed, 1), match.Over, 1)
		over.Result.Paged, over.Result.LimitMS, over.Result.Mode, over.Result.Standings = true, p.plan.LimitMS, p.plan.Mode, nil
		if done, err := p.Step(p.Context(), over); err != nil || !done.Applied {
			p.Fatal(done, err)
		}
		p.setPlan(older)
		r := p.resultOf()
		if !r.IsComplete() || len(r.Standings) != len(players) || r.LimitMS != 0 || r.Standings[0].TimeMS != r.Standings[0].LimitMS {
			p.Errorf("%+v", r)
		}
		p.setPlan(func(string) string { return "" })
		if err := p.client.Del(p.Context(), p.keys.match()).Err(); err != nil {
			p.Fatal(err)
		}
		if r := p.resultOf(); r.IsComplete() {
			p.Error("without its match it is whole")
		}
	})
}

// resultOf returns the result of the match as settlement finds it. Results of
// other tests on the same Redis may be unreadable.
func (p *testMatch) resultOf() match.Result {
	p.Helper()
	results, err := p.Results(p.Context(), 100_000)
	for _, r := range results {
		if r.Match == p.plan.ID {
			return r
		}
	}
	p.Fatalf("it is not among the results: %v", err)
	return match.Result{}
}
