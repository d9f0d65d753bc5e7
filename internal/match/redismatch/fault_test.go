package redismatch

import (
	"context"
	"reflect"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/arena"
	"laststand/internal/match"
)

// nodeLosingWrite returns a node that loses its first write of a command.
func (m *testMatch) nodeLosingWrite(command string, fate int32) node {
	m.Helper()
	return m.nodeWithFates(loseFirst(command, fate))
}

func (m *testMatch) nodeWithFates(fate func(written []byte) int32) node {
	m.Helper()
	connections := &delayedConnections{fate: fate}
	client := connections.client(m.T, m.client)
	return node{New(client, uncachedScripter{client}), connections}
}

// uncachedScripter sends the complete text of every script, because other tests
// on the cluster influence which scripts a server has cached.
type uncachedScripter struct{ redis.Scripter }

func (uncachedScripter) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(redis.ErrNoScript)
	return cmd
}

// checkOneLossWithoutLaterEffect expects exactly one loss, and that nothing changes when the
// delayed write reaches Redis.
func (m *testMatch) checkOneLossWithoutLaterEffect(n node) {
	m.Helper()
	before := m.read()
	n.connections.deliverDelayed()
	if n.losses() != 1 || !reflect.DeepEqual(m.read(), before) {
		m.Errorf("%d losses; %+v became %+v", n.losses(), before, m.read())
	}
	m.checkLog()
}

// The client library repeats a script if its reply is lost, if it was not sent, or if
// it reaches Redis too late. Each script is applied once.
func TestScriptRepeatedAfterLossIsAppliedOnce(t *testing.T) {
	for name, fate := range map[string]int32{"not sent": unsent, "reply lost": lostReply, "delayed": delayed} {
		runNamedOnEachRedis(t, name, func(m *testMatch) {
			n := m.nodeLosingWrite("eval", fate)
			step := m.step(m.read().State, match.PhaseOpen, 0)
			if result, err := n.Step(m.Context(), step); err != nil || !reflect.DeepEqual(result, match.StepResult{Applied: true, FirstSeq: 2, Version: 2}) {
				m.Errorf("%+v, %v", result, err)
			}
			m.checkOneLossWithoutLaterEffect(n)

			n = m.nodeLosingWrite("eval", fate)
			step = m.answerStep(m.read(), m.attempt(m.read().State, "p_ada", 10))
			if result, err := n.Step(m.Context(), step); err != nil || !reflect.DeepEqual(result, match.StepResult{Applied: true, FirstSeq: 3, Version: 3}) {
				m.Errorf("%+v, %v", result, err)
			}
			m.checkOneLossWithoutLaterEffect(n)
			if view := m.read(); view.Seq != 3 || view.Version != 3 || view.Totals["p_ada"].Score != 190 {
				m.Errorf("%+v", view)
			}
		})
	}
}

// A player whose request for a seat is repeated gets one seat.
func TestSeatWithLostReplyIsGivenOnce(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		n := m.nodeLosingWrite("eval", lostReply)
		reply, err := n.AddSeat(m.Context(), m.seatRequest("p_ada", ""))
		m.checkPlace("p_ada", arena.VerdictIn, reply, err)
		m.checkOneLossWithoutLaterEffect(n)
		m.checkSeats(1)
	})
}

// The reply to a step is lost, and another node applies the next step. The repeated
// step is then reported as not applied. Its pushes are in the log once.
func TestRepeatedStepIsNotAppliedAfterNextStep(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		n := m.nodeLosingWrite("eval", lostReply)
		n.connections.onLoss = func() { m.applyStep(match.PhaseSealed, 0) }
		result, err := n.Step(m.Context(), m.step(m.read().State, match.PhaseOpen, 0))
		if err != nil || result.Applied {
			m.Errorf("%+v, %v", result, err)
		}
		if view := m.read(); view.Phase != match.PhaseSealed || view.Seq != 3 || view.Version != 3 {
			m.Errorf("%+v", view.State)
		}
		m.checkOneLossWithoutLaterEffect(n)
	})
}

// The seal or its reply is lost, and the first right answer arrives in between.
// One of the two closes the question, and both replies agree.
func TestLostSealAndFirstAnswerAgree(t *testing.T) {
	for name, test := range map[string]struct {
		fate int32
		want match.Verdict
	}{"not sent": {unsent, match.VerdictAccepted}, "reply lost": {lostReply, match.VerdictLate}, "delayed": {delayed, match.VerdictAccepted}} {
		runNamedArenaOnEachRedis(t, name, match.Buzzer, func(m *testMatch) {
			open := m.startArena("p_ada", "p_bob")
			n := m.nodeLosingWrite("eval", test.fate)
			n.connections.onLoss = func() { m.commitIfFirst(m.firstAttempt(open, "p_ada", 10), test.want) }
			seal := m.step(open, match.PhaseSealed, 0)
			seal.NewState.CloseReason, seal.Pushes = "timeout", nil
			result, err := n.Step(m.Context(), seal)
			answerIsFirst := test.want == match.VerdictAccepted
			if view := m.read(); err != nil || result.Applied == answerIsFirst || (view.First != nil) != answerIsFirst || view.Phase != match.PhaseSealed {
				m.Errorf("%+v, %v, %+v", result, err, view.State)
			}
			m.checkOneLossWithoutLaterEffect(n)
		})
	}
}

// An EXEC that reaches Redis after the attempt was repeated changes nothing, whatever
// the repeated attempt has found.
func TestDelayedExecChangesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		beforeRetry func(m *testMatch, open match.State)
		want        match.Verdict
	}{
		"the repeated attempt was first": {func(*testMatch, match.State) {}, match.VerdictAccepted},
		"another attempt was first": {func(m *testMatch, open match.State) {
			m.commitIfFirst(m.firstAttempt(open, "p_bob", 10), match.VerdictAccepted)
		}, match.VerdictLate},
		"the player has answered wrong": {func(m *testMatch, open match.State) {
			m.commit(wrongAnswer(m.firstAttempt(open, "p_ada", 10)), match.VerdictAccepted)
		}, match.VerdictDuplicate},
		"the player has left":       {func(m *testMatch, _ match.State) { m.removePlace("p_ada", arena.VerdictLeft) }, match.VerdictGone},
		"the question is sealed":    {func(m *testMatch, _ match.State) { m.applyStep(match.PhaseSealed, 0) }, match.VerdictLate},
		"the next question is open": {func(m *testMatch, _ match.State) { m.openNextQuestion() }, match.VerdictLate},
		"the match is over":         {func(m *testMatch, _ match.State) { m.applyStep(match.PhaseOver, 0) }, match.VerdictLate},
	} {
		runNamedArenaOnEachRedis(t, name, match.Buzzer, func(m *testMatch) {
			open := m.startArena("p_ada", "p_bob")
			n := m.nodeLosingWrite("exec", delayed)
			n.connections.onLoss = func() { test.beforeRetry(m, open) }
			out, err := n.CommitIfFirst(m.Context(), m.firstAttempt(open, "p_ada", 20))
			if err != nil || out.Verdict != test.want {
				m.Errorf("%+v, %v", out, err)
			}
			m.checkOneLossWithoutLaterEffect(n)
		})
	}
}
