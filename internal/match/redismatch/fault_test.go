package redismatch

import (
	"context"
	"reflect"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/arena"
	"laststand/internal/match"
)

// losing returns a node that loses the next write of a command once.
func (p *testMatch) losing(command string, fate int32) node {
	p.Helper()
	connections := &delayedConnections{fate: once(command, fate)}
	c := connections.client(p.T, p.client)
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
func (p *testMatch) checkDelayed(n node) {
	p.Helper()
	before := p.read()
	n.connections.arrive()
	if n.lost() != 1 || !reflect.DeepEqual(p.read(), before) {
		p.Errorf("%d losses; %+v became %+v", n.lost(), before, p.read())
	}
	p.checkLog()
}

// The client library repeats a script whose reply is lost, which did not get
// through, or which gets through too late. Each is applied once.
func TestAScriptIsRunTwiceByTheClientLibrary(t *testing.T) {
	for name, fate := range map[string]int32{"unsent": unsent, "lostReply": lostReply, "belated": delayed} {
		t.Run(name, func(t *testing.T) {
			each(t, func(p *testMatch) {
				n := p.losing("eval", fate)
				s := p.step(p.read().State, match.Open, 0)
				if done, err := n.Step(p.Context(), s); err != nil || !reflect.DeepEqual(done, match.StepResult{Applied: true, FirstSeq: 2, Version: 2}) {
					p.Errorf("%+v, %v", done, err)
				}
				p.checkDelayed(n)

				n = p.losing("eval", fate)
				a := p.attempt(p.read().State, "p_ada", 10)
				if out, err := n.Commit(p.Context(), a); err != nil || out.Verdict != match.Accepted || out.Answered != 1 || !reflect.DeepEqual(out.Record, a.Record) {
					p.Errorf("%+v, %v", out, err)
				}
				p.checkDelayed(n)
				if v := p.read(); v.Seq != 3 || v.Version != 3 || v.Totals["p_ada"].Score != 190 {
					p.Errorf("%+v", v)
				}
			})
		})
	}
}

// A seat that is requested twice is given once.
func TestASeatWhoseReplyIsLost(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		n := p.losing("eval", lostReply)
		reply, err := n.AddSeat(p.Context(), p.request("p_ada", ""))
		p.checkPlace("p_ada", arena.In, reply, err)
		p.checkDelayed(n)
		p.checkSeats(1)
	})
}

// The reply to a step is lost, and another node applies the next step. The
// repeated step is then reported as lost. Its pushes are in the log once.
func TestAStepIsOvertakenWhileItsReplyIsLost(t *testing.T) {
	each(t, func(p *testMatch) {
		n := p.losing("eval", lostReply)
		n.connections.meanwhile = func() { p.applyStep(match.Sealed, 0) }
		done, err := n.Step(p.Context(), p.step(p.read().State, match.Open, 0))
		if err != nil || done.Applied {
			p.Errorf("%+v, %v", done, err)
		}
		if v := p.read(); v.Phase != match.Sealed || v.Seq != 3 || v.Version != 3 {
			p.Errorf("%+v", v.State)
		}
		p.checkDelayed(n)
	})
}

// The seal or its reply is lost, and the first right answer arrives in between.
// One of the two closes the question, and both replies agree.
func TestALostSealRacesTheFirst(t *testing.T) {
	for name, test := range map[string]struct {
		fate int32
		want match.Verdict
	}{"unsent": {unsent, match.Accepted}, "lostReply": {lostReply, match.Late}, "belated": {delayed, match.Accepted}} {
		t.Run(name, func(t *testing.T) {
			eachArena(t, match.Buzzer, func(p *testMatch) {
				p.seat("p_ada", "p_bob")
				open := p.start()
				n := p.losing("eval", test.fate)
				n.connections.meanwhile = func() { p.race(p.first(open, "p_ada", 10), test.want) }
				seal := p.step(open, match.Sealed, 0)
				seal.To.CloseReason, seal.Pushes = "timeout", nil
				done, err := n.Step(p.Context(), seal)
				won := test.want == match.Accepted
				if v := p.read(); err != nil || done.Applied == won || (v.First != nil) != won || v.Phase != match.Sealed {
					p.Errorf("%+v, %v, %+v", done, err, v.State)
				}
				p.checkDelayed(n)
			})
		})
	}
}

// An EXEC that gets through after the race was repeated changes nothing,
// whatever the second run has found.
func TestADelayedExec(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(p *testMatch, open match.State)
		want      match.Verdict
	}{
		"and its race has won": {func(*testMatch, match.State) {}, match.Accepted},
		"and another has won": {func(p *testMatch, open match.State) {
			p.race(p.first(open, "p_bob", 10), match.Accepted)
		}, match.Late},
		"and its player was wrong": {func(p *testMatch, open match.State) {
			p.commit(wrong(p.first(open, "p_ada", 10)), match.Accepted)
		}, match.Duplicate},
		"and its player has left":    {func(p *testMatch, _ match.State) { p.removePlace("p_ada", arena.Left) }, match.Gone},
		"and the question is sealed": {func(p *testMatch, _ match.State) { p.applyStep(match.Sealed, 0) }, match.Late},
		"and the next is open":       {func(p *testMatch, _ match.State) { p.next() }, match.Late},
		"and the match is over":      {func(p *testMatch, _ match.State) { p.applyStep(match.Over, 0) }, match.Late},
	} {
		t.Run(name, func(t *testing.T) {
			eachArena(t, match.Buzzer, func(p *testMatch) {
				p.seat("p_ada", "p_bob")
				open := p.start()
				n := p.losing("exec", delayed)
				n.connections.meanwhile = func() { test.meanwhile(p, open) }
				out, err := n.Race(p.Context(), p.first(open, "p_ada", 20))
				if err != nil || out.Verdict != test.want {
					p.Errorf("%+v, %v", out, err)
				}
				p.checkDelayed(n)
			})
		})
	}
}
