package redismatch

import (
	"reflect"
	"sync"
	"testing"

	"laststand/internal/match"
)

func TestCommit(t *testing.T) {
	each(t, func(p *testMatch) {
		open := p.applyStep(match.Open, 0)
		a := p.attempt(open, "p_ada", 1000)
		out := p.commit(a, match.Accepted)
		if !reflect.DeepEqual(out.Record, a.Record) || out.Answered != 1 || out.Alive != 2 || out.Seq != 3 || out.Version != 3 {
			p.Errorf("%+v", out)
		}
		if p.due() != open.DueAt {
			p.Errorf("due at %d after one of two", p.due())
		}
		v := p.read()
		if string(v.Frames[2]) != string(a.Push.Frame(3)) || v.Answered != 1 || v.Right != 1 {
			p.Errorf("%+v, last frame %s", v.State, v.Frames[2])
		}
		b := p.attempt(open, "p_bob", 2000)
		b = wrong(b)
		if out := p.commit(b, match.Accepted); out.Answered != 2 || out.Seq != 4 {
			p.Errorf("%+v", out)
		}
		if p.due() != b.Record.At {
			p.Errorf("due at %d, the last answer came at %d", p.due(), b.Record.At)
		}
		if v := p.read(); v.Answered != 2 || v.Right != 1 || v.Totals["p_bob"] != (match.Totals{Answered: 1, LastAnswered: 1}) {
			p.Errorf("%+v", v)
		}
		p.checkLog()
	})
}

// The verdict of an attempt in each state of the match.
func TestVerdicts(t *testing.T) {
	each(t, func(p *testMatch) {
		early := p.attempt(match.State{Question: 0, OpensAt: epoch}, "p_ada", 0)
		p.commit(early, match.Early)
		open := p.applyStep(match.Open, 0)

		stale := p.attempt(open, "p_ada", 0)
		stale.OpensAt--
		p.commit(stale, match.Stale)
		late := p.attempt(open, "p_ada", 10_001)
		p.commit(late, match.Late)
		missing := p.attempt(open, "p_ada", 0)
		missing.Match = "m_none"
		p.commit(missing, match.Gone)
		if v := p.read(); v.Seq != 2 || v.Answered != 0 || v.Totals["p_ada"] != (match.Totals{}) {
			p.Errorf("a refused one left %+v", v)
		}
		next := p.attempt(match.State{Question: 1, OpensAt: open.OpensAt}, "p_ada", 0)
		p.commit(next, match.Early)
		inTime := p.attempt(open, "p_ada", 10_000)
		p.commit(inTime, match.Accepted)

		for _, phase := range []match.Phase{match.Sealed, match.Revealed} {
			p.applyStep(phase, 0)
			p.commit(p.attempt(open, "p_bob", 10), match.Late)
			if out := p.commit(p.attempt(open, "p_ada", 10), match.Duplicate); out.Record.At != inTime.Record.At {
				p.Errorf("%s: duplicate of %+v", phase, out.Record)
			}
		}
		second := p.applyStep(match.Open, 1)
		p.commit(p.attempt(open, "p_bob", 10), match.Late)
		behind := p.attempt(open, "p_bob", 10) // also with the right opening time
		behind.OpensAt = second.OpensAt
		p.commit(behind, match.Late)
		p.applyStep(match.Over, 1)
		p.commit(p.attempt(second, "p_bob", 10), match.Late)
		if v := p.read(); v.Totals["p_bob"] != (match.Totals{}) || v.Totals["p_ada"].Answered != 1 {
			p.Errorf("%+v", v.Totals)
		}
		p.checkLog()
	})
}

// An attempt that the client library repeats is accepted again and changes
// nothing. Its push number is not returned, because others may have pushed in
// between.
func TestRepeatedCommit(t *testing.T) {
	each(t, func(p *testMatch) {
		open := p.applyStep(match.Open, 0)
		a := p.attempt(open, "p_ada", 1000)
		p.commit(a, match.Accepted)
		for _, then := range []func(){
			func() {}, func() { p.commit(p.attempt(open, "p_bob", 10), match.Accepted) },
			func() { p.applyStep(match.Sealed, 0) }, func() { p.applyStep(match.Revealed, 0) }, func() { p.applyStep(match.Open, 1) },
		} {
			then()
			before := p.read()
			out := p.commit(a, match.Accepted)
			if !reflect.DeepEqual(out.Record, a.Record) || out.Seq != 0 {
				p.Errorf("%+v", out)
			}
			if after := p.read(); !reflect.DeepEqual(after, before) {
				p.Errorf("it changed\n%+v to\n%+v", before, after)
			}
		}
		p.checkLog()
	})
}

func TestCommitWithoutAPush(t *testing.T) {
	each(t, func(p *testMatch) {
		a := p.attempt(p.applyStep(match.Open, 0), "p_ada", 10)
		a.Push = nil
		if out := p.commit(a, match.Accepted); out.Seq != 0 || out.Answered != 1 {
			p.Errorf("%+v", out)
		}
		p.checkLog()
	})
}

// Fifty devices of one player answer at the same time. One answer is accepted,
// and the others get it in their reply.
func TestOneAnswerIsAccepted(t *testing.T) {
	each(t, func(p *testMatch) {
		open := p.applyStep(match.Open, 0)
		attempts := make([]match.Attempt, 50)
		outs := make([]match.Outcome, len(attempts))
		var all sync.WaitGroup
		for i := range attempts {
			attempts[i] = p.attempt(open, "p_ada", int64(i))
		}
		for i := range attempts {
			all.Go(func() {
				var err error
				if outs[i], err = p.Commit(p.Context(), attempts[i]); err != nil {
					p.Error(err)
				}
			})
		}
		all.Wait()
		accepted := -1
		for i, out := range outs {
			if out.Verdict == match.Accepted && accepted >= 0 {
				p.Fatalf("%d and %d were accepted", accepted, i)
			}
			if out.Verdict == match.Accepted {
				accepted = i
			}
		}
		if accepted < 0 {
			p.Fatal("none was accepted")
		}
		for i, out := range outs {
			if !reflect.DeepEqual(out.Record, attempts[accepted].Record) || i != accepted && out.Verdict != match.Duplicate {
				p.Errorf("%d: %+v", i, out)
			}
		}
		if v := p.read(); v.Answered != 1 || v.Totals["p_ada"].Answered != 1 || v.Totals["p_ada"].Score != 190 {
			p.Errorf("%+v", v)
		}
		p.checkLog()
	})
}

// Record runs as a script on the shared pipeline, because it is as frequent as
// answers.
func TestARecordIsFoundByAScript(t *testing.T) {
	each(t, func(p *testMatch) {
		a := p.attempt(p.applyStep(match.Open, 0), "p_ada", 10)
		p.commit(a, match.Accepted)
		shared := New(nil, p.client)
		if r, found, err := shared.Record(p.Context(), p.plan.ID, "p_ada", 0); err != nil || !found || !reflect.DeepEqual(r, a.Record) {
			p.Errorf("%+v, %v, %v", r, found, err)
		}
		if r, found, err := shared.Record(p.Context(), p.plan.ID, "p_bob", 0); err != nil || found {
			p.Errorf("%+v, %v", r, err)
		}
	})
}
