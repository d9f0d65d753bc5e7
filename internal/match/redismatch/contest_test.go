package redismatch

import (
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"laststand/internal/match"
)

// contest is many going for one open question, on several nodes.
type contest struct {
	*play
	history
	open    match.State
	players []string
	sent    map[string]match.Record // what each attempt has accepted
}

// contest plays an open question to its end.
func (p *play) contest(open match.State, nodes []node) *contest {
	c := &contest{play: p, open: open, players: crowd(rivals), sent: make(map[string]match.Record)}
	acts := c.acts()
	rand.Shuffle(len(acts), func(i, j int) { acts[i], acts[j] = acts[j], acts[i] })
	const hands = 6
	var all sync.WaitGroup
	for hand := range hands {
		all.Go(func() {
			for i := hand; i < len(acts); i += hands {
				acts[i](nodes[rand.IntN(len(nodes))])
			}
		})
	}
	all.Wait()
	calm := node{Store: p.Store}
	c.seal()(calm)
	c.look(calm)
	for player := range rivals {
		c.recall(player)(calm)
	}
	return c
}

// acts are all that is done to a question, attempts and seals twice over.
func (c *contest) acts() (acts []func(node)) {
	for player := range rivals {
		right, fault := c.try(player, true), c.try(player, false)
		acts = append(acts, right, right, fault, fault, c.try(player, true), c.recall(player))
	}
	seal := c.seal()
	flush := func(node) { c.client.ScriptFlush(c.Context()) }
	return append(acts, seal, seal, c.seal(), c.look, c.look, c.look, flush)
}

func (c *contest) try(player int, right bool) func(node) {
	a := c.first(c.open, c.players[player], int64(len(c.sent)))
	if !right {
		a = wrong(a)
	}
	a.Record.Normal = a.ID
	accepted := a.Record
	accepted.First = right
	c.sent[a.ID] = accepted
	return func(n node) {
		c.note(try{a.ID, player, right}, func() (any, error) {
			submit := n.Commit
			if right {
				submit = n.Race
			}
			out, err := submit(c.Context(), a)
			return told{out.Verdict, c.attemptOf(out.Record), out.Sealed}, err
		})
	}
}

// attemptOf is the attempt that a record is of, to the letter.
func (c *contest) attemptOf(r match.Record) string {
	if reflect.DeepEqual(r, match.Record{}) || reflect.DeepEqual(r, c.sent[r.Normal]) {
		return r.Normal
	}
	return "no attempt"
}

func (c *contest) seal() func(node) {
	s := c.step(c.open, match.Sealed, c.open.Question)
	s.To.Reason = "timeout"
	return func(n node) {
		c.note(sealing{s.ID}, func() (any, error) {
			done, err := n.Step(c.Context(), s)
			return done.Taken, err
		})
	}
}

func (c *contest) look(n node) {
	c.note(reading{}, func() (any, error) {
		v, err := n.Read(c.Context(), match.ReadQuery{Match: c.plan.ID, Players: c.players, After: -1})
		s := sight{open: v.Phase == match.Open, answered: v.Answered, right: v.Right}
		for i, player := range c.players {
			s.held[i] = c.attemptOf(v.Records[player])
		}
		if v.First != nil {
			s.won = c.winner(*v.First, v.Records)
		}
		return s, err
	})
}

// winner is the attempt that was the first, by the record of who is said to be.
func (c *contest) winner(f match.First, records map[string]match.Record) string {
	if r := records[f.Player]; r.First && r.Question == f.Question && r.At == f.At && r.ElapsedMS == f.ElapsedMS {
		return c.attemptOf(r)
	}
	return "no attempt"
}

func (c *contest) recall(player int) func(node) {
	return func(n node) {
		c.note(recall{player}, func() (any, error) {
			r, _, err := n.Record(c.Context(), c.plan.ID, c.players[player], c.open.Question)
			return c.attemptOf(r), err
		})
	}
}

// Who is the first is decided at one instant, and so is every answer, however
// rough the ways of the nodes are.
func TestTheFirstIsLinear(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *play) {
		p.seat(crowd(rivals)...)
		nodes := p.roughNodes()
		open := p.start()
		won, failed := 0, 0
		const rounds = 20
		for range rounds {
			c := p.contest(open, nodes)
			checkLinear(p.T, &c.history, question{})
			failed += c.failed()
			if p.read().First != nil {
				won++
			}
			open = p.next()
		}
		p.checkLog()
		p.Logf("%d of %d were won; %d were lost, %d acts failed", won, rounds, losses(nodes), failed)
	})
}
