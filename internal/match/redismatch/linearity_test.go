package redismatch

import (
	"fmt"
	"math/rand/v2"
	"slices"
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

var playerIDsOfDuel = []string{"p_ada", "p_bob"}

// newStepHistory plays a duel to its end.
func (m *testMatch) newStepHistory(questions int, nodes []node) *stepHistory {
	h := &stepHistory{testMatch: m, questions: questions, attempts: make([][2][2]match.Attempt, questions)}
	for question := range h.attempts {
		for player, id := range playerIDsOfDuel {
			for i := range 2 {
				attempt := m.attempt(match.State{Question: question, OpensAt: epoch + int64(question)*20_000}, id, 10)
				attempt.Record.Normalized = attempt.ID
				h.attempts[question][player][i] = attempt
			}
		}
	}
	var running sync.WaitGroup
	for client := range 6 {
		running.Go(func() { h.runClient(client, nodes) })
	}
	running.Wait()
	h.view(node{Store: m.Store})
	return h
}

// runClient applies the next step that it sees, with answers in between, until
// the duel is over. Sometimes it applies a step twice, on two nodes.
func (h *stepHistory) runClient(number int, nodes []node) {
	ownMatch := *h.testMatch // each client numbers its own steps
	for {
		n, other := nodes[rand.IntN(len(nodes))], nodes[rand.IntN(len(nodes))]
		view, err := h.view(n)
		if err != nil {
			continue
		}
		if view.Phase == match.PhaseOver {
			return
		}
		if rand.IntN(20) == 0 {
			h.client.ScriptFlush(h.Context())
		}
		if view.Phase == match.PhaseOpen && rand.IntN(2) == 0 {
			h.answer(view, rand.IntN(2), other)
		}
		step := ownMatch.step(h.nextTarget(view.State))
		step.ID = fmt.Sprintf("%s of client %d", step.ID, number)
		for range rand.IntN(2) {
			step.Pushes = append(step.Pushes, step.Pushes[0])
		}
		h.applyStep(step, n)
		if rand.IntN(3) == 0 {
			h.applyStep(step, other)
		}
	}
}

// nextTarget returns a state and the phase and question of the step after it.
func (h *stepHistory) nextTarget(state match.State) (from match.State, to match.Phase, question int) {
	switch {
	case state.Phase == match.PhaseOpen:
		return state, match.PhaseSealed, state.Question
	case state.Phase == match.PhaseSealed:
		return state, match.PhaseRevealed, state.Question
	case state.Question+1 < h.questions:
		return state, match.PhaseOpen, state.Question + 1
	}
	return state, match.PhaseOver, state.Question
}

func (h *stepHistory) applyStep(step match.Step, n node) {
	operation := stepOperation{step.ID, step.From.Phase, step.NewState.Phase, step.From.Question, step.NewState.Question, int64(len(step.Pushes)), step.Version, noPlayer}
	if step.Answer != nil {
		operation.player = slices.Index(playerIDsOfDuel, step.Answer.Record.Player)
	}
	h.recordOperation(operation, func() (any, error) {
		lossesBefore := n.losses()
		result, err := n.Step(h.Context(), step)
		return stepOutput{result.Applied, result.FirstSeq, n.losses() > lossesBefore}, err
	})
}

// answer submits one of two answers of a player, as a step from a view.
func (h *stepHistory) answer(view match.View, player int, n node) {
	h.applyStep(h.answerStep(view, h.attempts[view.Question][player][rand.IntN(2)]), n)
}

func (h *stepHistory) view(n node) (view match.View, err error) {
	h.recordOperation(viewOperation{}, func() (any, error) {
		view, err = n.Read(h.Context(), match.ReadQuery{Match: h.plan.ID, Players: []string{"p_ada", "p_bob"}})
		return viewOutput{
			phase: view.Phase, question: view.Question, seq: view.Seq, version: view.Version, logLength: logLength(view.Frames),
			acceptedAttempts: [2]string{view.Records["p_ada"].Normalized, view.Records["p_bob"].Normalized},
		}, err
	})
	return view, err
}

// logLength counts the frames. It returns -1 unless they are numbered from 1
// without gaps.
func logLength(frames [][]byte) int64 {
	for i, frame := range frames {
		if !strings.Contains(string(frame), fmt.Sprintf(`"seq":%d,`, i+1)) {
			return -1
		}
	}
	return int64(len(frames))
}

// Every step is applied once and every push keeps its number, in one order on
// which all nodes agree, whatever commands and replies are lost.
func TestStepsAreLinearizable(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		nodes := m.delayedNodes()
		h := m.newStepHistory(8, nodes)
		checkLinearizable(m.T, &h.history, initialMatch)
		m.checkLog()
		m.Logf("%d operations, %d of them failed; %d losses", len(h.operations), h.countFailed(), countLosses(nodes))
	})
}
