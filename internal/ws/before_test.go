package ws

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// farTickets are a node's way to the tickets of all: cut at first, so that the
// node's look for its ticket's opponent fails and is tried again; then its first
// reply to Where is held back until the test lets it go.
type farTickets struct {
	lobby.Store
	cut   atomic.Bool
	holds atomic.Bool
	told  chan struct{} // the reply is there
	goOn  chan struct{}
}

var errCut = errors.New("the tickets are out of reach")

func (f *farTickets) Near(ctx context.Context, t lobby.Ticket, s lobby.Slice, now int64) ([]lobby.Ticket, bool, error) {
	if f.cut.Load() {
		return nil, false, errCut
	}
	return f.Store.ListNearest(ctx, t, s, now)
}

func (f *farTickets) Where(ctx context.Context, game, player string) (lobby.Activity, error) {
	busy, err := f.Store.ReadActivity(ctx, game, player)
	if f.holds.CompareAndSwap(true, false) {
		close(f.told)
		<-f.goOn
	}
	return busy, err
}

// finder is the game of a lobby; it tells when a player was led into a match.
type finder struct {
	*match.Engine
	found chan string
}

func (f finder) AttachSession(ctx context.Context, game, id, player string) error {
	err := f.Engine.AttachSession(context.WithoutCancel(ctx), game, id, player)
	f.found <- id
	return err
}

// A node still looks after a ticket that another has paired, and finds out only
// when that match is over. The player's session that has come here since, and is
// in another match, gets nothing of the old one.
func TestALateNodeFindsAnOldMatch(t *testing.T) {
	t.Parallel()
	there := start(t, func(_ *Config, d *lobby.Duel) { d.Questions = 1 })
	far := &farTickets{Store: there.tickets, told: make(chan struct{}), goOn: make(chan struct{})}
	found := make(chan string, 100)
	there.tickets = far
	there.matched = func(e *match.Engine) lobby.Matches { return finder{e, found} }
	late := there.node()

	far.cut.Store(true)
	newPlayer(late.enter("ada"), "ada").join("one")
	ada, bob := newPlayer(there.enter("ada"), "ada"), newPlayer(there.enter("bob"), "bob")
	bob.join("one")
	together(func() { ada.play(nil) }, func() { bob.play(nil) })
	there.settle(ada.match)
	ada.cut()
	far.holds.Store(true)
	far.cut.Store(false)
	<-far.told

	c, w := late.resume("ada", nil)
	if w.Playing != nil {
		t.Fatalf("playing %+v after the end of %s", w.Playing, ada.match)
	}
	again, cyd := newPlayer(c, "ada"), newPlayer(late.enter("cyd"), "cyd")
	again.join("two")
	cyd.join("two")
	again.handle(again.expect(protocol.TypeMatchFound))
	close(far.goOn)
	for <-found != ada.match {
		continue
	}
	together(func() { again.play(nil) }, func() { cyd.play(nil) })
	late.alike(again, cyd, 1)
}

// settle does what settlement does once the ledger has a result.
func (n *node) settle(id string) {
	n.Helper()
	results, err := n.matches.Results(n.Context(), 100)
	if err != nil {
		n.Fatal(err)
	}
	for _, r := range results {
		if r.Match == id {
			err = errors.Join(err, n.matches.Settled(n.Context(), []match.Result{r}))
		}
	}
	if err != nil {
		n.Fatal(err)
	}
}
