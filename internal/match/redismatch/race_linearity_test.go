package redismatch

import (
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"laststand/internal/match"
)

// raceHistory records the competition for one open question on several nodes.
type raceHistory struct {
	*testMatch
	history
	openState       match.State
	players         []string
	recordByAttempt map[string]match.Record // accepted record of each attempt
}

// newRaceHistory plays an open question to its end.
func (m *testMatch) newRaceHistory(open match.State, nodes []node) *raceHistory {
	h := &raceHistory{testMatch: m, openState: open, players: playerIDs(rivalCount), recordByAttempt: make(map[string]match.Record)}
	operations := h.operations()
	rand.Shuffle(len(operations), func(i, j int) { operations[i], operations[j] = operations[j], operations[i] })
	const workers = 6
	var running sync.WaitGroup
	for worker := range workers {
		running.Go(func() {
			for i := worker; i < len(operations); i += workers {
				operations[i](nodes[rand.IntN(len(nodes))])
			}
		})
	}
	running.Wait()
	directNode := node{Store: m.Store}
	h.seal()(directNode)
	h.readMatch(directNode)
	for player := range rivalCount {
		h.readRecord(player)(directNode)
	}
	return h
}

// operations returns all operations on a question, with attempts and seals
// twice.
func (h *raceHistory) operations() (operations []func(node)) {
	for player := range rivalCount {
		right, wrong := h.answerQuestion(player, true), h.answerQuestion(player, false)
		operations = append(operations, right, right, wrong, wrong, h.answerQuestion(player, true), h.readRecord(player))
	}
	seal := h.seal()
	flush := func(node) { h.client.ScriptFlush(h.Context()) }
	return append(operations, seal, seal, h.seal(), h.readMatch, h.readMatch, h.readMatch, flush)
}

func (h *raceHistory) answerQuestion(player int, right bool) func(node) {
	attempt := h.firstAttempt(h.openState, h.players[player], int64(len(h.recordByAttempt)))
	if !right {
		attempt = wrongAnswer(attempt)
	}
	attempt.Record.Normalized = attempt.ID
	accepted := attempt.Record
	accepted.First = right
	h.recordByAttempt[attempt.ID] = accepted
	return func(n node) {
		h.recordOperation(answerOperation{attempt.ID, player, right}, func() (any, error) {
			submit := n.Commit
			if right {
				submit = n.CommitIfFirst
			}
			outcome, err := submit(h.Context(), attempt)
			return answerOutput{outcome.Verdict, h.attemptWithRecord(outcome.Record), outcome.Sealed}, err
		})
	}
}

// attemptWithRecord returns the attempt with exactly this record.
func (h *raceHistory) attemptWithRecord(record match.Record) string {
	if reflect.DeepEqual(record, match.Record{}) || reflect.DeepEqual(record, h.recordByAttempt[record.Normalized]) {
		return record.Normalized
	}
	return "no attempt"
}

func (h *raceHistory) seal() func(node) {
	step := h.step(h.openState, match.PhaseSealed, h.openState.Question)
	step.NewState.CloseReason = "timeout"
	return func(n node) {
		h.recordOperation(sealOperation{step.ID}, func() (any, error) {
			result, err := n.Step(h.Context(), step)
			return result.Applied, err
		})
	}
}

func (h *raceHistory) readMatch(n node) {
	h.recordOperation(readOperation{}, func() (any, error) {
		view, err := n.Read(h.Context(), match.ReadQuery{Match: h.plan.ID, Players: h.players, AfterSeq: -1})
		state := readOutput{open: view.Phase == match.PhaseOpen, answered: view.Answered, right: view.Right}
		for i, player := range h.players {
			state.acceptedAttempts[i] = h.attemptWithRecord(view.Records[player])
		}
		if view.First != nil {
			state.winningAttempt = h.winner(*view.First, view.Records)
		}
		return state, err
	})
}

// winner returns the attempt that was first according to its record.
func (h *raceHistory) winner(first match.First, records map[string]match.Record) string {
	if record := records[first.Player]; record.First && record.Question == first.Question && record.ArrivedAt == first.ArrivedAt && record.ElapsedMS == first.ElapsedMS {
		return h.attemptWithRecord(record)
	}
	return "no attempt"
}

func (h *raceHistory) readRecord(player int) func(node) {
	return func(n node) {
		h.recordOperation(recordOperation{player}, func() (any, error) {
			record, _, err := n.Record(h.Context(), h.plan.ID, h.players[player], h.openState.Question)
			return h.attemptWithRecord(record), err
		})
	}
}

// The first right answer and every other answer are decided at one instant, whatever
// commands and replies are lost.
func TestRacesForQuestionAreLinearizable(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		m.addSeats(playerIDs(rivalCount)...)
		nodes := m.delayedNodes()
		open := m.startArena()
		won, failed := 0, 0
		const rounds = 20
		for range rounds {
			h := m.newRaceHistory(open, nodes)
			checkLinearizable(m.T, &h.history, questionModel{})
			failed += h.countFailed()
			if m.read().First != nil {
				won++
			}
			open = m.openNextQuestion()
		}
		if view := m.read(); view.Teams["red"].Score != int64(won) || len(view.Firsts) != won {
			m.Errorf("%d questions were won: %v, %v", won, view.Teams, view.Firsts)
		}
		m.checkLog()
		m.Logf("%d of %d questions were won; %d losses, %d failed operations", won, rounds, countLosses(nodes), failed)
	})
}
