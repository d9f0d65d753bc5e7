package ws

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

// Back and forth between two nodes through a whole match: each connection
// closes the one before, nothing is missing, nothing comes twice.
func TestReplacedAtAnotherNode(t *testing.T) {
	t.Parallel()
	n := start(t)
	nodes := []*node{n, n.node()}
	a, b := n.duel("d")
	a.cuts = true
	a.handle(a.expect(protocol.TypeMatchFound))
	together(func() { b.play(nil) }, func() {
		for hops := 1; !a.over; hops++ {
			former := a.client
			nodes[hops%2].reenter(a)
			former.closes(4409)
			left := rand.N(3) + 1
			a.play(func(frame) bool { left--; return left == 0 && hops < 10 })
		}
	})
	n.alike(a, b, duel.Questions)
}

// A ticket goes over to the newer connection, at whatever node.
func TestTicketAtAnotherNode(t *testing.T) {
	t.Parallel()
	n := start(t)
	other := n.node()
	former := newPlayer(n.enter("ada"), "ada")
	former.join("c")
	newer := other.enter("ada")
	former.closes(4409)
	n.eventually("the former has ended", func() bool { return len(n.all()) == 0 })
	newer.ask(protocol.TypeDuelJoin, protocol.Empty{})
	newer.refused(protocol.CodeAlreadyQueued)
}

// A former connection that ends without a word of the newer one does not
// withdraw what that has entered.
func TestTicketOfTheNewer(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.deaf.Store(true)
	other := n.node()
	former := n.enter("ada")
	newer := newPlayer(other.enter("ada"), "ada")
	newer.join("c")
	former.cut()
	n.eventually("the former has ended", func() bool { return len(n.all()) == 0 })
	if n.busy("ada") == (lobby.Activity{}) {
		t.Error("the ticket is gone")
	}
}

// Where word of a newer connection was lost a beat finds it.
func TestWordOfTheNewerIsLost(t *testing.T) {
	t.Parallel()
	n := start(t, func(c *Config, _ *lobby.Duel) { c.PingEvery = 200 * time.Millisecond })
	n.deaf.Store(true)
	other := n.node()
	former := n.enter("ada")
	other.enter("ada")
	former.closes(4409)
	if n.closed("4409") != 1 || other.closed("4409") != 0 {
		t.Errorf("closed here %v, there %v", n.labels("closes_total"), other.labels("closes_total"))
	}
}

func TestReplaced(t *testing.T) {
	t.Parallel()
	n := start(t)
	c := n.enter("ada")
	number := n.session("ada").number
	n.Replaced("demo", "ada", number-1) // late word of a former one
	n.Replaced("demo", "ada", number)   // of itself
	n.Replaced("demo", "bob", number+1)
	c.alive()
	n.Replaced("demo", "ada", number+1)
	c.closes(4409)
}

// late holds the first number back that it gives.
type late struct {
	Numbers
	taken   chan struct{} // closed when the first was given
	free    chan struct{}
	numbers atomic.Int32
}

func (l *late) Next(ctx context.Context, game, player string) (int64, string, error) {
	number, former, err := l.Numbers.Next(ctx, game, player)
	if l.numbers.Add(1) == 1 {
		close(l.taken)
		<-l.free
	}
	return number, former, err
}

// Of two that say hello at once the one that was numbered later stays, also
// where the other comes last.
func TestOlderComesLast(t *testing.T) {
	t.Parallel()
	held := &late{taken: make(chan struct{}), free: make(chan struct{})}
	n := start(t, func(c *Config, _ *lobby.Duel) { held.Numbers, c.Numbers = c.Numbers, held })
	older := n.dial()
	older.hello("ada", nil)
	<-held.taken
	newer := n.enter("ada")
	close(held.free)
	if before, _ := older.closes(4409); len(before) > 0 {
		t.Errorf("%s came before", before[0].raw)
	}
	newer.alive()
}
