package redismatch

import (
	"reflect"
	"testing"

	"laststand/internal/match"
)

// stepWithAnswer returns a step that reveals the open question with its last answer.
func (m *testMatch) stepWithAnswer(open match.State, version int64) match.Step {
	answer := match.StepAnswer{Attempt: m.attempt(open, "p_bob", 20), Totals: match.Totals{Score: 5, Answered: 1, LastAnswered: 1}}
	step := m.step(open, match.PhaseRevealed, 0)
	step.Version, step.Answer, step.NewState.Answered, step.NewState.Right = version, &answer, 2, 1
	return step
}

// A step stores the last answer as if it were accepted alone. It does so once.
func TestStepAcceptsLastAnswer(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		open := m.applyStep(match.PhaseOpen, 0)
		first := m.accept(m.attempt(open, "p_ada", 10))
		step := m.stepWithAnswer(open, first.Version)
		for range 2 {
			if result, err := m.Step(m.Context(), step); err != nil || !result.Applied || result.Version != first.Version+1 || result.FirstSeq != first.FirstSeq+1 {
				m.Errorf("%+v, %v after %+v", result, err, first)
			}
		}
		view := m.read()
		if view.Phase != match.PhaseRevealed || view.Answered != 2 || view.Right != 1 || view.Totals["p_bob"] != step.Answer.Totals || !reflect.DeepEqual(view.Records["p_bob"], step.Answer.Record) {
			m.Errorf("%+v", view)
		}
		m.checkLog()
	})
}

// A step stores no last answer if the match has changed since the answer was judged.
func TestStepOfAnotherVersionAcceptsNoAnswer(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		open := m.applyStep(match.PhaseOpen, 0)
		first := m.accept(m.attempt(open, "p_ada", 10))
		before := m.read()
		m.checkNotApplied(m.stepWithAnswer(open, first.Version-1))
		if after := m.read(); !reflect.DeepEqual(after, before) {
			m.Errorf("%+v became %+v", before, after)
		}
		m.accept(m.attempt(open, "p_bob", 30))
	})
}

// After a fail-over that lost writes, a version can repeat. A step does not replace the answer
// that the store has.
func TestStepReplacesNoAnswer(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		open := m.applyStep(match.PhaseOpen, 0)
		accepted := m.attempt(open, "p_bob", 10)
		m.accept(accepted)
		m.must(m.client.HSet(m.Context(), m.keys.match(), "version", open.Version).Err())
		m.checkNotApplied(m.stepWithAnswer(open, open.Version))
		if record := m.read().Records["p_bob"]; !reflect.DeepEqual(record, accepted.Record) {
			m.Errorf("%+v became %+v", accepted.Record, record)
		}
	})
}
