package redismatch

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"laststand/internal/match"
)

// stepHistory is a duel whose steps several nodes apply.
type stepHistory struct {
	*testMatch
	history
	questions int
	attempts  [][2][2]match.Attempt // two per player and question
}

// newStepHistory plays a duel to its end.
func (p *testMatch) newStepHistory(questions int, nodes []node) *stepHistory {
	c := &stepHistory{testMatch: p, questions: questions, attempts: make([][2][2]match.Attempt, questions)}
	for question := range c.attempts {
		for player, name := range []string{"p_ada", "p_bob"} {
			for i := range 2 {
				a := p.attempt(match.State{Question: question, OpensAt: epoch + int64(question)*20_000}, name, 10)
				a.Record.Normal = a.ID
				c.attempts[question][player][i] = a
			}
		}
	}
	var all sync.WaitGroup
	for hand := range 6 {
		all.Go(func() { c.runClient(hand, nodes) })
	}
	all.Wait()
	c.view(node{Store: p.Store})
	return c
}

// runClient applies the next step that it sees, with answers in between, until
// the duel is over. Sometimes it applies a step twice, on two nodes.
func (c *stepHistory) runClient(hand int, nodes []node) {
	mine := *c.testMatch // each client numbers its own steps
	for {
		n, other := nodes[rand.IntN(len(nodes))], nodes[rand.IntN(len(nodes))]
		v, err := c.view(n)
		if err != nil {
			continue
		}
		if v.Phase == match.Over {
			return
		}
		if rand.IntN(20) == 0 {
			c.client.ScriptFlush(c.Context())
		}
		if v.Phase == match.Open && rand.IntN(2) == 0 {
			c.answer(v.Question, rand.IntN(2), other)
		}
		s := mine.step(c.nextTarget(v.State))
		s.ID = fmt.Sprintf("%s of hand %d", s.ID, hand)
		for range rand.IntN(2) {
			s.Pushes = append(s.Pushes, s.Pushes[0])
		}
		c.applyStep(s, n)
		if rand.IntN(3) == 0 {
			c.applyStep(s, other)
		}
	}
}

// nextTarget returns what follows a state.
func (c *stepHistory) nextTarget(s match.State) (from match.State, to match.Phase, question int) {
	switch {
	case s.Phase == match.Open:
		return s, match.Sealed, s.Question
	case s.Phase == match.Sealed:
		return s, match.Revealed, s.Question
	case s.Question+1 < c.questions:
		return s, match.Open, s.Question + 1
	}
	return s, match.Over, s.Question
}

func (c *stepHistory) applyStep(s match.Step, n node) {
	operation := stepping{s.ID, s.From, s.To.Phase, s.Question, s.To.Question, int64(len(s.Pushes))}
	c.record(operation, func() (any, error) {
		lost := n.lost()
		done, err := n.Step(c.Context(), s)
		return stepOutput{done.Applied, done.FirstSeq, n.lost() > lost}, err
	})
}

func (c *stepHistory) answer(question, player int, n node) {
	a := c.attempts[question][player][rand.IntN(2)]
	c.record(answering{a.ID, player, question}, func() (any, error) {
		lost := n.lost()
		out, err := n.Commit(c.Context(), a)
		return answered{out.Verdict, out.Seq, n.lost() > lost}, err
	})
}

func (c *stepHistory) view(n node) (v match.View, err error) {
	c.record(viewing{}, func() (any, error) {
		v, err = n.Read(c.Context(), match.ReadQuery{Match: c.plan.ID, Players: []string{"p_ada", "p_bob"}})
		return viewed{
			phase: v.Phase, question: v.Question, seq: v.Seq, version: v.Version, log: logged(v.Frames),
			held: [2]string{v.Records["p_ada"].Normal, v.Records["p_bob"].Normal},
		}, err
	})
	return v, err
}

// logged counts the frames. It returns -1 unless they are numbered from 1
// without gaps.
func logged(frames [][]byte) int64 {
	for i, f := range frames {
		if !strings.Contains(string(f), fmt.Sprintf(`"seq":%d,`, i+1)) {
			return -1
		}
	}
	return int64(len(frames))
}

// Every step is applied once and every push keeps its number, in one order on
// which all nodes agree, whatever is lost.
func TestStepsAreLinearizable(t *testing.T) {
	each(t, func(p *testMatch) {
		nodes := p.delayedNodes()
		c := p.newStepHistory(8, nodes)
		checkLinearizable(p.T, &c.history, initialMatch)
		p.checkLog()
		p.Logf("%d acts, %d of them failed; %d losses", len(c.actions), c.failed(), losses(nodes))
	})
}
