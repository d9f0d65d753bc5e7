package redismatch

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/arena"
	"laststand/internal/match"
	"laststand/internal/testenv"
)

// doubleScripter runs every script twice, as the client library may, and
// returns the second reply.
type doubleScripter struct{ redis.Scripter }

func (s doubleScripter) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	s.Scripter.EvalSha(ctx, sha, keys, args...)
	return s.Scripter.EvalSha(ctx, sha, keys, args...)
}

func (s doubleScripter) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	s.Scripter.Eval(ctx, script, keys, args...)
	return s.Scripter.Eval(ctx, script, keys, args...)
}

// A match whose scripts all run twice has the same state as one whose scripts
// run once.
func TestEveryScriptIsRunTwice(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, c redis.UniversalClient) {
		p := &testMatch{T: t, Store: New(c, doubleScripter{c}), client: c}
		p.another(newPlan(), duelState()).runDuelTwice()
		p.another(arenaPlan(match.Survival), lobbyState()).runArenaTwice()
	})
}

func (p *testMatch) runDuelTwice() {
	p.Helper()
	open := p.applyStep(match.Open, 0)
	p.commit(p.attempt(open, "p_ada", 10), match.Accepted)
	p.commit(wrong(p.attempt(open, "p_bob", 10)), match.Accepted)
	p.applyStep(match.Sealed, 0)
	v := p.read()
	if v.Answered != 2 || v.Right != 1 || v.Version != 5 || v.Totals["p_ada"].Score != 190 || len(v.Frames) != 5 {
		p.Errorf("%+v", v)
	}
	p.checkLog()
}

func (p *testMatch) runArenaTwice() {
	p.Helper()
	p.seat("p_ada", "p_bob", "p_cyd", "p_dan")
	p.removePlace("p_dan", arena.Out)
	if err := p.LockLobby(p.Context(), p.plan.ID); err != nil {
		p.Fatal(err)
	}
	open := p.start()
	p.commit(inTeam(red, p.attempt(open, "p_ada", 10)), match.Accepted)
	p.removePlace("p_bob", arena.Left)
	p.commit(wrong(p.attempt(open, "p_cyd", 10)), match.Accepted)
	v := p.read()
	if v.Players != 3 || v.LeftSeats != 1 || v.Alive != 2 || v.Answered != 2 || v.Version != 13 || v.Teams["red"].Score != 190 {
		p.Errorf("%+v", v)
	}
	p.applyStep(match.Over, 0)
	p.checkLog()
	for range 2 {
		if err := p.Settled(p.Context(), []match.Result{{Match: p.plan.ID, ArenaID: p.plan.Arena.ID}}); err != nil {
			p.Error(err)
		}
	}
	if v := p.read(); v.Phase != match.Settled {
		p.Errorf("%+v", v.State)
	}
}
