package redismatch

import (
	"context"
	"reflect"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/arena"
	"laststand/internal/match"
)

// losingNode returns a node that loses the next write of a command once.
func (m *testMatch) losingNode(command string, fate int32) node {
	m.Helper()
	connections := &delayedConnections{fate: once(command, fate)}
	c := connections.client(m.T, m.client)
	return node{New(c, uncachedScripter{c}), connections}
}

// uncachedScripter sends the complete text of every script, because other tests
// on the cluster influence which scripts a server has cached.
type uncachedScripter struct{ redis.Scripter }

func (uncachedScripter) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(redis.ErrNoScript)
	return cmd
}

// checkDelayed expects exactly one loss, and that nothing changes when the
// delayed write gets through.
func (m *testMatch) checkDelayed(n node) {
	m.Helper()
	before := m.read()
	n.connections.arrive()
	if n.lost() != 1 || !reflect.DeepEqual(m.read(), before) {
		m.Errorf("%d losses; %+v became %+v", n.lost(), before, m.read())
	}
	m.checkLog()
}

// The client library repeats a script whose reply is lost, which did not get
// through, or which gets through too late. Each is applied once.
func TestScriptRepeatedAfterLossIsAppliedOnce(t *testing.T) {
	for name, fate := range map[string]int32{"unsent": unsent, "lostReply": lostReply, "belated": delayed} {
		t.Run(name, func(t *testing.T) {
			eachRedis(t, func(m *testMatch) {
				n := m.losingNode("eval", fate)
				step := m.step(m.read().State, match.PhaseOpen, 0)
				if done, err := n.Step(m.Context(), step); err != nil || !reflect.DeepEqual(done, match.StepResult{Applied: true, FirstSeq: 2, Version: 2}) {
					m.Errorf("%+v, %v", done, err)
				}
				m.checkDelayed(n)

				n = m.losingNode("eval", fate)
				attempt := m.attempt(m.read().State, "p_ada", 10)
				if out, err := n.Commit(m.Context(), attempt); err != nil || out.Verdict != match.VerdictAccepted || out.Answered != 1 || !reflect.DeepEqual(out.Record, attempt.Record) {
					m.Errorf("%+v, %v", out, err)
				}
				m.checkDelayed(n)
				if view := m.read(); view.Seq != 3 || view.Version != 3 || view.Totals["p_ada"].Score != 190 {
					m.Errorf("%+v", view)
				}
			})
		})
	}
}

// A seat that is requested twice is given once.
func TestSeatWithLostReplyIsGivenOnce(t *testing.T) {
	eachRedisWithArena(t, match.Buzzer, func(m *testMatch) {
		n := m.losingNode("eval", lostReply)
		reply, err := n.AddSeat(m.Context(), m.seatRequest("p_ada", ""))
		m.checkPlace("p_ada", arena.VerdictIn, reply, err)
		m.checkDelayed(n)
		m.checkSeats(1)
	})
}

// The reply to a step is lost, and another node applies the next step. The
// repeated step is then reported as lost. Its pushes are in the log once.
func TestOvertakenStepIsReportedAsLost(t *testing.T) {
	eachRedis(t, func(m *testMatch) {
		n := m.losingNode("eval", lostReply)
		n.connections.meanwhile = func() { m.applyStep(match.PhaseSealed, 0) }
		done, err := n.Step(m.Context(), m.step(m.read().State, match.PhaseOpen, 0))
		if err != nil || done.Applied {
			m.Errorf("%+v, %v", done, err)
		}
		if view := m.read(); view.Phase != match.PhaseSealed || view.Seq != 3 || view.Version != 3 {
			m.Errorf("%+v", view.State)
		}
		m.checkDelayed(n)
	})
}

// The seal or its reply is lost, and the first right answer arrives in between.
// One of the two closes the question, and both replies agree.
func TestLostSealAndFirstAnswerAgree(t *testing.T) {
	for name, test := range map[string]struct {
		fate int32
		want match.Verdict
	}{"unsent": {unsent, match.VerdictAccepted}, "lostReply": {lostReply, match.VerdictLate}, "belated": {delayed, match.VerdictAccepted}} {
		t.Run(name, func(t *testing.T) {
			eachRedisWithArena(t, match.Buzzer, func(m *testMatch) {
				m.addSeats("p_ada", "p_bob")
				open := m.startArena()
				n := m.losingNode("eval", test.fate)
				n.connections.meanwhile = func() { m.race(m.firstAttempt(open, "p_ada", 10), test.want) }
				seal := m.step(open, match.PhaseSealed, 0)
				seal.NewState.CloseReason, seal.Pushes = "timeout", nil
				done, err := n.Step(m.Context(), seal)
				won := test.want == match.VerdictAccepted
				if view := m.read(); err != nil || done.Applied == won || (view.First != nil) != won || view.Phase != match.PhaseSealed {
					m.Errorf("%+v, %v, %+v", done, err, view.State)
				}
				m.checkDelayed(n)
			})
		})
	}
}

// An EXEC that gets through after the race was repeated changes nothing,
// whatever the second run has found.
func TestDelayedExecChangesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(m *testMatch, open match.State)
		want      match.Verdict
	}{
		"and its race has won": {func(*testMatch, match.State) {}, match.VerdictAccepted},
		"and another has won": {func(m *testMatch, open match.State) {
			m.race(m.firstAttempt(open, "p_bob", 10), match.VerdictAccepted)
		}, match.VerdictLate},
		"and its player was wrong": {func(m *testMatch, open match.State) {
			m.commit(wrong(m.firstAttempt(open, "p_ada", 10)), match.VerdictAccepted)
		}, match.VerdictDuplicate},
		"and its player has left":    {func(m *testMatch, _ match.State) { m.removePlace("p_ada", arena.VerdictLeft) }, match.VerdictGone},
		"and the question is sealed": {func(m *testMatch, _ match.State) { m.applyStep(match.PhaseSealed, 0) }, match.VerdictLate},
		"and the next is open":       {func(m *testMatch, _ match.State) { m.openNextQuestion() }, match.VerdictLate},
		"and the match is over":      {func(m *testMatch, _ match.State) { m.applyStep(match.PhaseOver, 0) }, match.VerdictLate},
	} {
		t.Run(name, func(t *testing.T) {
			eachRedisWithArena(t, match.Buzzer, func(m *testMatch) {
				m.addSeats("p_ada", "p_bob")
				open := m.startArena()
				n := m.losingNode("exec", delayed)
				n.connections.meanwhile = func() { test.meanwhile(m, open) }
				out, err := n.CommitIfFirst(m.Context(), m.firstAttempt(open, "p_ada", 20))
				if err != nil || out.Verdict != test.want {
					m.Errorf("%+v, %v", out, err)
				}
				m.checkDelayed(n)
			})
		})
	}
}
