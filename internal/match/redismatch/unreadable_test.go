package redismatch

import (
	"errors"
	"strings"
	"testing"

	"laststand/internal/match"
)

// setPlan replaces the stored plan.
func (m *testMatch) setPlan(change func(string) string) {
	m.Helper()
	raw, err := m.client.Get(m.Context(), m.keys.plan()).Result()
	if err == nil {
		err = m.client.Set(m.Context(), m.keys.plan(), change(raw), 0).Err()
	}
	if err != nil {
		m.Fatal(err)
	}
}

func withOlderForm(plan string) string { return strings.Replace(plan, `"form":4`, `"form":3`, 1) }

// For every fault of stored data the error reports that the match cannot be
// read, and why.
func TestUnreadableMatchErrorNamesReason(t *testing.T) {
	for name, plan := range map[string]string{match.ReasonOlderForm: `{"form":2}`, match.ReasonNewerForm: `{"form":99}`, match.ReasonCorrupt: `{"form":4`} {
		runNamedOnEachRedis(t, name, func(m *testMatch) {
			m.setPlan(func(string) string { return plan })
			_, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID, WantPlan: true, AfterSeq: -1})
			var unreadable *match.UnreadableError
			if !errors.Is(err, match.ErrNotFound) || !errors.As(err, &unreadable) || unreadable.Reason != name {
				m.Errorf("%v", err)
			}
		})
	}
	runNamedOnEachRedis(t, "without a plan", func(m *testMatch) {
		m.must(m.client.Del(m.Context(), m.keys.plan()).Err())
		if _, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID, WantPlan: true}); !errors.Is(err, match.ErrUnreadable) {
			m.Errorf("%v", err)
		}
	})
}

// An orphan is removed with all its keys. A match that was advanced or is over
// is not.
func TestOnlyOverdueOrphanIsRemoved(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		checkRemoved := func(before int64, want bool) {
			m.Helper()
			if removed, err := m.RemoveOrphan(m.Context(), m.plan.ID, before); err != nil || removed != want {
				m.Errorf("%v, %v", removed, err)
			}
		}
		open := m.applyStep(match.PhaseOpen, 0)
		checkRemoved(open.DueAt, false)
		checkRemoved(open.DueAt+1, true)
		checkRemoved(open.DueAt+1, false)
		remaining, err := m.client.Exists(m.Context(), append(m.keys.resultKeys(m.plan.Mode), m.keys.log(), m.keys.answers())...).Result()
		if err != nil || remaining != 0 {
			m.Errorf("%d keys are left, %v", remaining, err)
		}
		if exists, err := m.Tombstone(m.Context(), m.plan.ID); err != nil || !exists {
			m.Errorf("the removed match can be created again: %v", err)
		}
		m.checkNoProgress()
	})
}

// The result of a large match can be settled by a node of another form, because
// CompleteStandings does not need the plan.
func TestPagedResultIsCompletedByAnyForm(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		m.plan.Arena.MaxPlayers = 600
		players := playerIDs(60)
		m.startArena(players...)
		m.openNextQuestion()
		m.applyStep(match.PhaseSealed, 1)
		over := m.step(m.applyStep(match.PhaseRevealed, 1), match.PhaseOver, 1)
		over.Result.Paged, over.Result.Rules, over.Result.Mode, over.Result.Standings = true, &m.plan.Rules, m.plan.Mode, nil
		m.apply(over)
		m.setPlan(withOlderForm)
		result := m.completedResult()
		if !result.IsComplete() || len(result.Standings) != len(players) || result.Standings[0].TimeMS != result.Standings[0].LimitMS {
			m.Errorf("%+v", result)
		}
		m.setPlan(func(string) string { return "" })
		m.must(m.client.Del(m.Context(), m.keys.match()).Err())
		if result := m.completedResult(); result.IsComplete() {
			m.Error("a result without its match is complete")
		}
	})
}

// completedResult returns the result of the match as settlement finds it. Results of
// other tests on the same Redis may be unreadable.
func (m *testMatch) completedResult() match.Result {
	m.Helper()
	results, err := m.ReadResults(m.Context(), 100_000)
	for _, result := range results {
		if result.Match == m.plan.ID {
			return result
		}
	}
	m.Fatalf("the match is not among the results: %v", err)
	return match.Result{}
}
