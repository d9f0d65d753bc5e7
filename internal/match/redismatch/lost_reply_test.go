package redismatch

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"laststand/internal/match"
)

// nodeChangingMatch returns a node that calls a function before each of its EXECs.
func (m *testMatch) nodeChangingMatch(change func()) node {
	m.Helper()
	return m.nodeWithFates(func(written []byte) int32 {
		if bytes.Contains(written, []byte("\nexec\r\n")) {
			change()
		}
		return delivered
	})
}

// The outcome of a race is correct for every kind of loss.
func TestOutcomeIsCorrectAfterLostExec(t *testing.T) {
	for name, fate := range map[string]int32{"not sent": unsent, "reply lost": lostReply} {
		runNamedArenaOnEachRedis(t, name, match.Buzzer, func(m *testMatch) {
			open := m.startArena("p_ada", "p_bob")
			before := m.read().Version
			attempt := m.firstAttempt(open, "p_ada", 10)
			n := m.nodeLosingWrite("exec", fate)
			outcome, err := n.CommitIfFirst(m.Context(), attempt)
			attempt.Record.First = true
			if err != nil || outcome.Verdict != match.VerdictAccepted || !outcome.Sealed || !reflect.DeepEqual(outcome.Record, attempt.Record) || n.losses() != 1 {
				m.Errorf("%+v, %v, %d lost", outcome, err, n.losses())
			}
			view := m.read()
			if outcome.Version != view.Version || view.Version != before+1 || outcome.Answered != 1 || outcome.Alive != 2 || view.Answered != 1 ||
				view.Totals["p_ada"].Answered != 1 || view.Teams["red"].Score != 1 || view.First.Player != "p_ada" {
				m.Errorf("%+v, %+v", outcome, view)
			}
			if repeated := m.commitIfFirst(attempt, match.VerdictAccepted); !repeated.Sealed || !reflect.DeepEqual(m.read(), view) {
				m.Errorf("run again: %+v, %+v", repeated, m.read())
			}
			m.checkLog()
		})
	}
}

// If the outcome cannot be read, CommitIfFirst fails. A repeated attempt finds it.
func TestLostExecWithoutConnectionFails(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		attempt := m.firstAttempt(m.startArena("p_ada", "p_bob"), "p_ada", 10)
		n := m.nodeLosingWrite("exec", lostReply)
		n.connections.onLoss = func() { n.connections.isDown.Store(true) }
		if out, err := n.CommitIfFirst(m.Context(), attempt); err == nil {
			m.Errorf("%+v", out)
		}
		n.connections.isDown.Store(false)
		if out, err := n.CommitIfFirst(m.Context(), attempt); err != nil || out.Verdict != match.VerdictAccepted || !out.Sealed {
			m.Errorf("%+v, %v", out, err)
		}
		if view := m.read(); view.Answered != 1 {
			m.Errorf("%+v", view.State)
		}
	})
}

// CommitIfFirst detects every relevant change between its snapshot and its EXEC.
func TestRaceDetectsChangesBeforeExec(t *testing.T) {
	for name, test := range map[string]struct {
		change func(m *testMatch, open match.State)
		want   match.Verdict
	}{
		"the question is sealed": {func(m *testMatch, _ match.State) { m.applyStep(match.PhaseSealed, 0) }, match.VerdictLate},
		"another answer is first": {func(m *testMatch, open match.State) {
			m.commitIfFirst(m.firstAttempt(open, "p_bob", 10), match.VerdictAccepted)
		}, match.VerdictLate},
		"the player answers wrong": {func(m *testMatch, open match.State) {
			m.commit(wrongAnswer(m.attempt(open, "p_ada", 10)), match.VerdictAccepted)
		}, match.VerdictDuplicate},
		"the team is locked out": {func(m *testMatch, open match.State) {
			fault := inTeam(red, wrongAnswer(m.attempt(open, "p_bob", 10)))
			fault.LockoutMS = 60_000
			m.commit(fault, match.VerdictAccepted)
		}, match.VerdictLockedOut},
		"another team answers wrong": {func(m *testMatch, open match.State) {
			m.commit(inTeam(blue, wrongAnswer(m.attempt(open, "p_bob", 10))), match.VerdictAccepted)
		}, match.VerdictAccepted},
		"the question is extended": {func(m *testMatch, _ match.State) { m.applyStep(match.PhaseOpen, 0) }, match.VerdictAccepted},
	} {
		runNamedArenaOnEachRedis(t, name, match.Buzzer, func(m *testMatch) {
			open := m.startArena("p_ada", "p_bob")
			var once sync.Once
			n := m.nodeChangingMatch(func() { once.Do(func() { test.change(m, open) }) })
			attempt := m.firstAttempt(open, "p_ada", 10)
			attempt.LockoutMS = 60_000
			out, err := n.CommitIfFirst(m.Context(), attempt)
			if err != nil || out.Verdict != test.want {
				m.Errorf("%+v, %v", out, err)
			}
			if view := m.read(); (view.Totals["p_ada"].Correct == 1) != (test.want == match.VerdictAccepted) {
				m.Errorf("%+v", view.Totals)
			}
		})
	}
}

// A race whose watched keys change during every attempt ends without effect.
func TestRaceWithChangingKeysFails(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		attempt := m.firstAttempt(m.startArena("p_ada"), "p_ada", 10)
		n := m.nodeChangingMatch(func() { m.client.Set(m.Context(), m.keys.first(0), "1", time.Minute) })
		if out, err := n.CommitIfFirst(m.Context(), attempt); !errors.Is(err, errRaceContended) {
			m.Errorf("%+v, %v", out, err)
		}
		if view := m.read(); view.Answered != 0 {
			m.Errorf("%+v", view.State)
		}
	})
}

// If the caller gives up during EXEC, the outcome is still found.
func TestOutcomeIsFoundAfterCallerCancels(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		ctx, cancel := context.WithCancel(m.Context())
		n := m.nodeLosingWrite("exec", lostReply)
		n.connections.onLoss = cancel
		attempt := m.firstAttempt(m.startArena("p_ada", "p_bob"), "p_ada", 10)
		if out, err := n.CommitIfFirst(ctx, attempt); err != nil || out.Verdict != match.VerdictAccepted {
			m.Errorf("%+v, %v", out, err)
		}
	})
}
