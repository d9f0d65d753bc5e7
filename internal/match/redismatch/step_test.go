package redismatch

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
)

func TestStep(t *testing.T) {
	each(t, func(p *testMatch) {
		s := p.step(p.read().State, match.Open, 0)
		s.Pushes = append(s.Pushes, s.Pushes[0])
		s.To.CloseReason, s.To.EndReason, s.To.Leaver = "why", match.Forfeit, "p_ada"
		s.To.HostPaced, s.To.Extended, s.To.Voids, s.To.LastDecided, s.To.StartsAt = true, true, []int{0, 12}, 1, 77
		s.To.Answered, s.To.Right, s.To.EndedPlaces, s.To.Seq, s.To.Version = 9, 9, 9, 9, 9 // fields of the store
		s.To.Players, s.To.LeftSeats, s.To.Locked, s.To.First = 9, 9, true, new(match.First)
		done, err := p.Step(p.Context(), s)
		if err != nil || !reflect.DeepEqual(done, match.StepResult{Applied: true, FirstSeq: 2, Version: 2}) {
			p.Fatalf("%+v, %v", done, err)
		}
		want := s.To
		want.Answered, want.Right, want.EndedPlaces, want.Seq, want.Version = 0, 0, 0, 3, 2
		want.Players, want.LeftSeats, want.Locked, want.First = 2, 0, false, nil
		if v := p.read(); !reflect.DeepEqual(v.State, want) || string(v.Frames[2]) != string(s.Pushes[1].Frame(3)) {
			p.Errorf("%+v, want %+v; %s", v.State, want, v.Frames[2])
		}
		if p.due() != s.To.DueAt {
			p.Errorf("due at %d", p.due())
		}
		p.checkLog()
	})
}

// A step is applied only at its phase and question.
func TestStepComparesPhaseAndQuestion(t *testing.T) {
	each(t, func(p *testMatch) {
		p.applyStep(match.Open, 0)
		before := p.read()
		for _, from := range []match.State{
			{Phase: match.Countdown, Question: -1}, {Phase: match.Open, Question: 1}, {Phase: match.Open, Question: -1}, {Phase: match.Sealed},
		} {
			done, err := p.Step(p.Context(), p.step(from, match.Over, 0))
			if err != nil || done.Applied {
				p.Errorf("from %s of %d: %+v, %v", from.Phase, from.Question, done, err)
			}
		}
		if after := p.read(); !reflect.DeepEqual(after, before) {
			p.Errorf("%+v became %+v", before, after)
		}
		if waits, err := p.IsPending(p.Context(), p.plan.ID); waits || err != nil {
			p.Errorf("a result of a step not taken: %v, %v", waits, err)
		}
		missing := p.step(match.State{Phase: match.Open}, match.Sealed, 0)
		missing.Match = "m_none"
		if _, err := p.Step(p.Context(), missing); !errors.Is(err, match.ErrNotFound) {
			p.Errorf("no such match: %v", err)
		}
	})
}

func TestRepeatedStep(t *testing.T) {
	each(t, func(p *testMatch) {
		s := p.step(p.read().State, match.Open, 0)
		first, err := p.Step(p.Context(), s)
		if err != nil {
			p.Fatal(err)
		}
		open := p.read().State
		p.commit(p.attempt(open, "p_ada", 10), match.Accepted) // raises the number
		before := p.read()
		again, err := p.Step(p.Context(), s)
		if err != nil || again.FirstSeq != first.FirstSeq || !again.Applied {
			p.Errorf("%+v, %v, at first %+v", again, err, first)
		}
		if after := p.read(); !reflect.DeepEqual(after, before) {
			p.Errorf("%+v became %+v", before, after)
		}
		p.applyStep(match.Sealed, 0)
		if lost, err := p.Step(p.Context(), s); err != nil || lost.Applied {
			p.Errorf("after the next: %+v, %v", lost, err)
		}
		p.checkLog()
	})
}

// Twenty nodes try the same step while answers arrive. One applies it, and no
// push number is used twice.
func TestOneStepIsApplied(t *testing.T) {
	each(t, func(p *testMatch) {
		open := p.applyStep(match.Open, 0)
		steps := make([]match.Step, 20)
		for i := range steps {
			steps[i] = p.step(open, match.Sealed, 0)
		}
		attempts := []match.Attempt{p.attempt(open, "p_ada", 10), p.attempt(open, "p_bob", 10)}
		applied := make([]bool, len(steps))
		var accepted, counted int64
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range steps {
			all.Go(func() {
				done, err := p.Step(p.Context(), steps[i])
				if err != nil {
					p.Error(err)
				}
				applied[i] = done.Applied
			})
		}
		for i := range attempts {
			all.Go(func() {
				out, err := p.Commit(p.Context(), attempts[i])
				mu.Lock()
				defer mu.Unlock()
				if err != nil || out.Verdict != match.Accepted && out.Verdict != match.Late {
					p.Errorf("%+v, %v", out, err)
				}
				if out.Verdict == match.Accepted {
					accepted++
				}
			})
		}
		all.Wait()
		winners := 0
		for _, won := range applied {
			if won {
				winners++
			}
		}
		v := p.read()
		for _, totals := range v.Totals {
			counted += totals.Answered
		}
		if winners != 1 || v.Answered != accepted || counted != accepted || v.Seq != 3+accepted {
			p.Errorf("%d took it; %d accepted, %d counted, at %+v", winners, accepted, counted, v.State)
		}
		p.checkLog()
	})
}

// A match that is over leaves a result, which waits until it is settled, even
// after the match has expired.
func TestAResultWaitsUntilItIsSettled(t *testing.T) {
	each(t, func(p *testMatch) {
		p.applyStep(match.Open, 0)
		p.applyStep(match.Over, 0)
		if due := p.due(); due != -1 {
			p.Errorf("it is due at %d", due)
		}
		p.expire()
		if _, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID}); !errors.Is(err, match.ErrNotFound) {
			p.Errorf("it is still there: %v", err)
		}
		p.checkPending(true)
		r := p.pending()
		if r == nil || r.OverAt != epoch+99 || len(r.Standings) != 1 {
			p.Fatalf("%+v", r)
		}
		for range 2 { // it may be repeated
			if err := p.Settled(p.Context(), []match.Result{*r}); err != nil {
				p.Error(err)
			}
			p.checkPending(false)
			if again := p.pending(); again != nil {
				p.Errorf("%+v", again)
			}
		}
		if marks, err := p.ReadProgress(p.Context(), []string{p.plan.ID}); err != nil || len(marks) != 0 {
			p.Errorf("%v, %v", marks, err)
		}
	})
}

func TestSettledMarksTheMatch(t *testing.T) {
	each(t, func(p *testMatch) {
		p.applyStep(match.Open, 0)
		p.applyStep(match.Over, 0)
		if err := p.Settled(p.Context(), []match.Result{{Match: "m_none"}, {Match: p.plan.ID}}); err != nil {
			p.Fatal(err)
		}
		if v := p.read(); v.Phase != match.Settled || v.Seq != 3 {
			p.Errorf("%+v", v.State)
		}
		if n := p.client.Exists(p.Context(), newKeys("m_none").match()).Val(); n != 0 {
			p.Error("a match came into being")
		}
	})
}

// pending returns the match's pending result.
func (p *testMatch) pending() *match.Result {
	p.Helper()
	results, err := p.Results(p.Context(), 100_000)
	if err != nil {
		p.Fatal(err)
	}
	for _, r := range results {
		if r.Match == p.plan.ID {
			return &r
		}
	}
	return nil
}

func (p *testMatch) checkPending(want bool) {
	p.Helper()
	waits, err := p.IsPending(p.Context(), p.plan.ID)
	if err != nil || waits != want {
		p.Errorf("pending: %v, %v", waits, err)
	}
	n, err := p.CountUnsettled(p.Context())
	_, shared := p.client.(*redis.ClusterClient)
	if err != nil || want && n < 1 || !want && !shared && n != 0 {
		p.Errorf("unsettled: %d, %v", n, err)
	}
}

// expire simulates the expiry of keys.
func (p *testMatch) expire() {
	p.Helper()
	for _, key := range append(p.keys.rankingKeys(), p.keys.playKeys()...) {
		if err := p.client.Del(p.Context(), key).Err(); err != nil {
			p.Fatal(err)
		}
	}
}

// Scripts are loaded again if a server has lost them.
func TestScriptsAreFlushed(t *testing.T) {
	each(t, func(p *testMatch) {
		flush := func(ctx context.Context, c redis.Cmdable) error { return c.ScriptFlush(ctx).Err() }
		for _, act := range []func(){
			func() { p.applyStep(match.Open, 0) },
			func() { p.commit(p.attempt(p.read().State, "p_ada", 10), match.Accepted) },
			func() { p.applyStep(match.Sealed, 0) },
			func() { p.applyStep(match.Over, 0) },
			func() { _ = p.Settled(p.Context(), []match.Result{{Match: p.plan.ID}}) },
		} {
			p.eachMaster(flush)
			act()
		}
		if v := p.read(); v.Phase != match.Settled {
			p.Errorf("%+v", v.State)
		}
	})
}

// eachMaster runs a command on all servers that hold keys.
func (p *testMatch) eachMaster(f func(ctx context.Context, c redis.Cmdable) error) {
	p.Helper()
	var err error
	if cluster, ok := p.client.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(p.Context(), func(ctx context.Context, c *redis.Client) error { return f(ctx, c) })
	} else {
		err = f(p.Context(), p.client)
	}
	if err != nil {
		p.Fatal(err)
	}
}

// Scripts of large matches use their own connection; others share round trips.
func TestLargeMatchesUseTheirOwnConnection(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		p.seat(playerIDs(51)...)
		shared := &countingScripter{Scripter: p.client}
		s := New(p.client, shared)
		for _, many := range []bool{true, false} {
			before := shared.runs.Load()
			step := p.step(p.read().State, match.Starting, -1)
			step.Large, step.Pushes = many, nil
			if _, err := s.Step(p.Context(), step); err != nil {
				p.Fatal(err)
			}
			q := match.ReadQuery{Match: p.plan.ID, Players: playerIDs(51), After: -1}
			if !many {
				q.Players = q.Players[:50]
			}
			if _, err := s.Read(p.Context(), q); err != nil {
				p.Fatal(err)
			}
			if runs := shared.runs.Load() - before; many && runs > 0 || !many && runs < 2 {
				p.Errorf("many %v: %d shared round trips", many, runs)
			}
		}
	})
}

// countingScripter counts the scripts that run on it.
type countingScripter struct {
	redis.Scripter
	runs atomic.Int64
}

func (c *countingScripter) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	c.runs.Add(1)
	return c.Scripter.EvalSha(ctx, sha, keys, args...)
}
