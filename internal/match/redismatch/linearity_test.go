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
func (m *testMatch) newStepHistory(questions int, nodes []node) *stepHistory {
	c := &stepHistory{testMatch: m, questions: questions, attempts: make([][2][2]match.Attempt, questions)}
	for question := range c.attempts {
		for player, name := range []string{"p_ada", "p_bob"} {
			for i := range 2 {
				attempt := m.attempt(match.State{Question: question, OpensAt: epoch + int64(question)*20_000}, name, 10)
				attempt.Record.Normalized = attempt.ID
				c.attempts[question][player][i] = attempt
			}
		}
	}
	var all sync.WaitGroup
	for hand := range 6 {
		all.Go(func() { c.runClient(hand, nodes) })
	}
	all.Wait()
	c.view(node{Store: m.Store})
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
		if v.Phase == match.PhaseOver {
			return
		}
		if rand.IntN(20) == 0 {
			c.client.ScriptFlush(c.Context())
		}
		if v.Phase == match.PhaseOpen && rand.IntN(2) == 0 {
			c.answer(v.Question, rand.IntN(2), other)
		}
		step := mine.step(c.nextTarget(v.State))
		step.ID = fmt.Sprintf("%s of client %d", step.ID, hand)
		for range rand.IntN(2) {
			step.Pushes = append(step.Pushes, step.Pushes[0])
		}
		c.applyStep(step, n)
		if rand.IntN(3) == 0 {
			c.applyStep(step, other)
		}
	}
}

// nextTarget returns a state and the phase and question of the step after it.
func (c *stepHistory) nextTarget(state match.State) (from match.State, to match.Phase, question int) {
	switch {
	case state.Phase == match.PhaseOpen:
		return state, match.PhaseSealed, state.Question
	case state.Phase == match.PhaseSealed:
		return state, match.PhaseRevealed, state.Question
	case state.Question+1 < c.questions:
		return state, match.PhaseOpen, state.Question + 1
	}
	return state, match.PhaseOver, state.Question
}

func (c *stepHistory) applyStep(step match.Step, n node) {
	operation := stepOperation{step.ID, step.FromPhase, step.NewState.Phase, step.Question, step.NewState.Question, int64(len(step.Pushes))}
	c.record(operation, func() (any, error) {
		lost := n.lost()
		done, err := n.Step(c.Context(), step)
		return stepOutput{done.Applied, done.FirstSeq, n.lost() > lost}, err
	})
}

func (c *stepHistory) answer(question, player int, n node) {
	a := c.attempts[question][player][rand.IntN(2)]
	c.record(attemptOperation{a.ID, player, question}, func() (any, error) {
		lost := n.lost()
		out, err := n.Commit(c.Context(), a)
		return answered{out.Verdict, out.Seq, n.lost() > lost}, err
	})
}

func (c *stepHistory) view(n node) (view match.View, err error) {
	c.record(viewOperation{}, func() (any, error) {
		view, err = n.Read(c.Context(), match.ReadQuery{Match: c.plan.ID, Players: []string{"p_ada", "p_bob"}})
		return viewed{
			phase: view.Phase, question: view.Question, seq: view.Seq, version: view.Version, log: logLength(view.Frames),
			held: [2]string{view.Records["p_ada"].Normalized, view.Records["p_bob"].Normalized},
		}, err
	})
	return view, err
}

// logLength counts the frames. It returns -1 unless they are numbered from 1
// without gaps.
func logLength(frames [][]byte) int64 {
	for i, f := range frames {
		if !strings.Contains(string(f), fmt.Sprintf(`"seq":%d,`, i+1)) {
			return -1
		}
	}
	return int64(len(frames))
}

// Every step is applied once and every push keeps its number, in one order on
// which all nodes agree, whatever commands and replies are lost.
func TestStepsAreLinearizable(t *testing.T) {
	eachRedis(t, func(m *testMatch) {
		nodes := m.delayedNodes()
		c := m.newStepHistory(8, nodes)
		checkLinearizable(m.T, &c.history, initialMatch)
		m.checkLog()
		m.Logf("%d operations, %d of them failed; %d losses", len(c.actions), c.failed(), countLosses(nodes))
	})
}
