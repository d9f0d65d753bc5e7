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
func (p *testMatch) newRaceHistory(open match.State, nodes []node) *raceHistory {
	c := &raceHistory{testMatch: p, open: open, players: playerIDs(rivals), sent: make(map[string]match.Record)}
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
	idle := node{Store: p.Store}
	c.seal()(idle)
	c.look(idle)
	for player := range rivals {
		c.recall(player)(idle)
	}
	return c
}

// operations returns all operations on a question, with attempts and seals
// twice.
func (c *raceHistory) operations() (operations []func(node)) {
	for player := range rivals {
		right, fault := c.try(player, true), c.try(player, false)
		operations = append(operations, right, right, fault, fault, c.try(player, true), c.recall(player))
	}
	seal := c.seal()
	flush := func(node) { c.client.ScriptFlush(c.Context()) }
	return append(operations, seal, seal, c.seal(), c.look, c.look, c.look, flush)
}

func (c *raceHistory) try(player int, right bool) func(node) {
	a := c.first(c.open, c.players[player], int64(len(c.sent)))
	if !right {
		a = wrong(a)
	}
	a.Record.Normal = a.ID
	accepted := a.Record
	accepted.First = right
	c.sent[a.ID] = accepted
	return func(n node) {
		c.record(try{a.ID, player, right}, func() (any, error) {
			submit := n.Commit
			if right {
				submit = n.Race
			}
			out, err := submit(c.Context(), a)
			return acceptedAnswer{out.Verdict, c.attemptOf(out.Record), out.Sealed}, err
		})
	}
}

// attemptOf returns the attempt with exactly this record.
func (c *raceHistory) attemptOf(r match.Record) string {
	if reflect.DeepEqual(r, match.Record{}) || reflect.DeepEqual(r, c.sent[r.Normal]) {
		return r.Normal
	}
	return "no attempt"
}

func (c *raceHistory) seal() func(node) {
	s := c.step(c.open, match.Sealed, c.open.Question)
	s.To.CloseReason = "timeout"
	return func(n node) {
		c.record(sealing{s.ID}, func() (any, error) {
			done, err := n.Step(c.Context(), s)
			return done.Applied, err
		})
	}
}

func (c *raceHistory) look(n node) {
	c.record(reading{}, func() (any, error) {
		v, err := n.Read(c.Context(), match.ReadQuery{Match: c.plan.ID, Players: c.players, After: -1})
		s := questionView{open: v.Phase == match.Open, answered: v.Answered, right: v.Right}
		for i, player := range c.players {
			s.held[i] = c.attemptOf(v.Records[player])
		}
		if v.First != nil {
			s.won = c.winner(*v.First, v.Records)
		}
		return s, err
	})
}

// winner returns the attempt that was first according to its record.
func (c *raceHistory) winner(f match.First, records map[string]match.Record) string {
	if r := records[f.Player]; r.First && r.Question == f.Question && r.At == f.At && r.ElapsedMS == f.ElapsedMS {
		return c.attemptOf(r)
	}
	return "no attempt"
}

func (c *raceHistory) recall(player int) func(node) {
	return func(n node) {
		c.record(recall{player}, func() (any, error) {
			r, _, err := n.Record(c.Context(), c.plan.ID, c.players[player], c.open.Question)
			return c.attemptOf(r), err
		})
	}
}

// The first and every answer are decided at one instant, whatever is lost.
func TestTheFirstIsLinearizable(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.seat(playerIDs(rivals)...)
		nodes := p.delayedNodes()
		open := p.start()
		won, failed := 0, 0
		const rounds = 20
		for range rounds {
			c := p.newRaceHistory(open, nodes)
			checkLinearizable(p.T, &c.history, questionModel{})
			failed += c.failed()
			if p.read().First != nil {
				won++
			}
			open = p.next()
		}
		p.checkLog()
		p.Logf("%d of %d were won; %d were lost, %d actions failed", won, rounds, losses(nodes), failed)
	})
}
