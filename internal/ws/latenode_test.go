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

// delayedTickets is a lobby.Store that first fails, so that the node searches for its
// ticket's opponent again. Later it delays one reply to ReadActivity until the test
// closes proceed.
type delayedTickets struct {
	lobby.Store
	broken     atomic.Bool
	delayNext  atomic.Bool
	replyReady chan struct{} // closed when the delayed reply is there
	proceed    chan struct{}
}

var errTicketsBroken = errors.New("the tickets are unreachable")

func (f *delayedTickets) ListNearest(ctx context.Context, t lobby.Ticket, s lobby.Slice, now int64) ([]lobby.Ticket, bool, error) {
	if f.broken.Load() {
		return nil, false, errTicketsBroken
	}
	return f.Store.ListNearest(ctx, t, s, now)
}

func (f *delayedTickets) ReadActivity(ctx context.Context, game, player string) (lobby.Activity, error) {
	activity, err := f.Store.ReadActivity(ctx, game, player)
	if f.delayNext.CompareAndSwap(true, false) {
		close(f.replyReady)
		<-f.proceed
	}
	return activity, err
}

// matchNotifier is the engine of a lobby. It reports the match to which a player was
// attached.
type matchNotifier struct {
	*match.Engine
	found chan string
}

func (f matchNotifier) AttachSession(ctx context.Context, game, id, player string) error {
	err := f.Engine.AttachSession(context.WithoutCancel(ctx), game, id, player)
	f.found <- id
	return err
}

// A node still searches for a ticket that another node has paired, and notices only
// after that match is over. By then the player has a new session here and is in another
// match. That session gets nothing of the old match.
func TestANodeJoinsAnOldMatch(t *testing.T) {
	t.Parallel()
	there := startNode(t, func(_ *Config, d *lobby.DuelSettings) { d.Questions = 1 })
	far := &delayedTickets{Store: there.tickets, replyReady: make(chan struct{}), proceed: make(chan struct{})}
	found := make(chan string, 100)
	there.tickets = far
	there.wrapEngine = func(e *match.Engine) lobby.Matches { return matchNotifier{e, found} }
	late := there.node()

	far.broken.Store(true)
	newPlayer(late.connectPlayer("ada"), "ada").join("one")
	ada, bob := newPlayer(there.connectPlayer("ada"), "ada"), newPlayer(there.connectPlayer("bob"), "bob")
	bob.join("one")
	runConcurrently(func() { ada.play(nil) }, func() { bob.play(nil) })
	there.settle(ada.match)
	ada.disconnect()
	far.delayNext.Store(true)
	far.broken.Store(false)
	<-far.replyReady

	c, w := late.resume("ada", nil)
	if w.Playing != nil {
		t.Fatalf("playing %+v after the end of %s", w.Playing, ada.match)
	}
	again, cyd := newPlayer(c, "ada"), newPlayer(late.connectPlayer("cyd"), "cyd")
	again.join("two")
	cyd.join("two")
	again.handle(again.expectFrame(protocol.TypeMatchFound))
	close(far.proceed)
	for <-found != ada.match {
		continue
	}
	runConcurrently(func() { again.play(nil) }, func() { cyd.play(nil) })
	late.checkSameFrames(again, cyd, 1)
}

// settle does the same as the settlement of a match whose result is in the ledger.
func (n *node) settle(id string) {
	n.Helper()
	results, err := n.matches.ReadResults(n.Context(), 100)
	if err != nil {
		n.Fatal(err)
	}
	for _, r := range results {
		if r.Match == id {
			err = errors.Join(err, n.matches.MarkSettled(n.Context(), []match.Result{r}))
		}
	}
	if err != nil {
		n.Fatal(err)
	}
}
