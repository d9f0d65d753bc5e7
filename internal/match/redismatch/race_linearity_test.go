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
	open    match.State
	players []string
	sent    map[string]match.Record // accepted record of each attempt
}

// newRaceHistory plays an open question to its end.
func (m *testMatch) newRaceHistory(open match.State, nodes []node) *raceHistory {
	c := &raceHistory{testMatch: m, open: open, players: playerIDs(rivalCount), sent: make(map[string]match.Record)}
	actions := c.operations()
	rand.Shuffle(len(actions), func(i, j int) { actions[i], actions[j] = actions[j], actions[i] })
	const workers = 6
	var all sync.WaitGroup
	for hand := range workers {
		all.Go(func() {
			for i := hand; i < len(actions); i += workers {
				actions[i](nodes[rand.IntN(len(nodes))])
			}
		})
	}
	all.Wait()
	idle := node{Store: m.Store}
	c.seal()(idle)
	c.readMatch(idle)
	for player := range rivalCount {
		c.readRecord(player)(idle)
	}
	return c
}

// operations returns all operations on a question, with attempts and seals
// twice.
func (c *raceHistory) operations() (operations []func(node)) {
	for player := range rivalCount {
		right, fault := c.answerQuestion(player, true), c.answerQuestion(player, false)
		operations = append(operations, right, right, fault, fault, c.answerQuestion(player, true), c.readRecord(player))
	}
	seal := c.seal()
	flush := func(node) { c.client.ScriptFlush(c.Context()) }
	return append(operations, seal, seal, c.seal(), c.readMatch, c.readMatch, c.readMatch, flush)
}

func (c *raceHistory) answerQuestion(player int, right bool) func(node) {
	attempt := c.firstAttempt(c.open, c.players[player], int64(len(c.sent)))
	if !right {
		attempt = wrong(attempt)
	}
	attempt.Record.Normalized = attempt.ID
	accepted := attempt.Record
	accepted.First = right
	c.sent[attempt.ID] = accepted
	return func(n node) {
		c.record(answerOperation{attempt.ID, player, right}, func() (any, error) {
			submit := n.Commit
			if right {
				submit = n.CommitIfFirst
			}
			out, err := submit(c.Context(), attempt)
			return acceptedAnswer{out.Verdict, c.attemptOf(out.Record), out.Sealed}, err
		})
	}
}

// attemptOf returns the attempt with exactly this record.
func (c *raceHistory) attemptOf(record match.Record) string {
	if reflect.DeepEqual(record, match.Record{}) || reflect.DeepEqual(record, c.sent[record.Normalized]) {
		return record.Normalized
	}
	return "no attempt"
}

func (c *raceHistory) seal() func(node) {
	step := c.step(c.open, match.PhaseSealed, c.open.Question)
	step.NewState.CloseReason = "timeout"
	return func(n node) {
		c.record(sealOperation{step.ID}, func() (any, error) {
			done, err := n.Step(c.Context(), step)
			return done.Applied, err
		})
	}
}

func (c *raceHistory) readMatch(n node) {
	c.record(readOperation{}, func() (any, error) {
		view, err := n.Read(c.Context(), match.ReadQuery{Match: c.plan.ID, Players: c.players, AfterSeq: -1})
		s := questionView{open: view.Phase == match.PhaseOpen, answered: view.Answered, right: view.Right}
		for i, player := range c.players {
			s.held[i] = c.attemptOf(view.Records[player])
		}
		if view.First != nil {
			s.won = c.winner(*view.First, view.Records)
		}
		return s, err
	})
}

// winner returns the attempt that was first according to its record.
func (c *raceHistory) winner(f match.First, records map[string]match.Record) string {
	if r := records[f.Player]; r.First && r.Question == f.Question && r.ArrivedAt == f.ArrivedAt && r.ElapsedMS == f.ElapsedMS {
		return c.attemptOf(r)
	}
	return "no attempt"
}

func (c *raceHistory) readRecord(player int) func(node) {
	return func(n node) {
		c.record(recordOperation{player}, func() (any, error) {
			record, _, err := n.Record(c.Context(), c.plan.ID, c.players[player], c.open.Question)
			return c.attemptOf(record), err
		})
	}
}

// The first right answer and every other answer are decided at one instant, whatever
// commands and replies are lost.
func TestTheFirstIsLinearizable(t *testing.T) {
	eachRedisWithArena(t, match.Buzzer, func(m *testMatch) {
		m.addSeats(playerIDs(rivalCount)...)
		nodes := m.delayedNodes()
		open := m.startArena()
		won, failed := 0, 0
		const rounds = 20
		for range rounds {
			c := m.newRaceHistory(open, nodes)
			checkLinearizable(m.T, &c.history, questionModel{})
			failed += c.failed()
			if m.read().First != nil {
				won++
			}
			open = m.openNextQuestion()
		}
		m.checkLog()
		m.Logf("%d of %d questions were won; %d losses, %d failed operations", won, rounds, countLosses(nodes), failed)
	})
}
