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

// lobbyStores are the stores of a lobby.
type lobbyStores interface {
	lobby.TicketStore
	lobby.PairingStore
	lobby.ActivityStore
}

// delayedTickets are lobbyStores that first fail, so that the node searches for its
// ticket's opponent again. Later they delay one reply to ListNearest until the test
// closes proceed.
type delayedTickets struct {
	lobbyStores
	isUnreachable atomic.Bool
	delayNext     atomic.Bool
	replyReady    chan struct{} // closed when the delayed reply is there
	proceed       chan struct{}
}

var errTicketsUnreachable = errors.New("the tickets are unreachable")

func (d *delayedTickets) ListNearest(ctx context.Context, t lobby.Ticket, s lobby.Slice, now int64) (lobby.Listing, error) {
	if d.isUnreachable.Load() {
		return lobby.Listing{}, errTicketsUnreachable
	}
	listing, err := d.lobbyStores.ListNearest(ctx, t, s, now)
	if d.delayNext.CompareAndSwap(true, false) {
		close(d.replyReady)
		<-d.proceed
	}
	return listing, err
}

// matchNotifier is the engine of a lobby. It reports the match to which a player was
// attached.
type matchNotifier struct {
	*match.Engine
	attachedMatches chan string
}

func (n matchNotifier) AttachSession(ctx context.Context, game, id, player string) error {
	err := n.Engine.AttachSession(context.WithoutCancel(ctx), game, id, player)
	n.attachedMatches <- id
	return err
}

// A node still searches for a ticket that another node has paired, and notices only
// after that match is over. By then the player has a new session here and is in another
// match. That session gets nothing of the old match.
func TestSessionGetsNothingOfOldMatchPairedLate(t *testing.T) {
	pairingNode := startParallel(t, func(_ *Config, d *lobby.DuelSettings) { d.Questions = 1 })
	tickets := &delayedTickets{lobbyStores: pairingNode.tickets, replyReady: make(chan struct{}), proceed: make(chan struct{})}
	attachedMatches := make(chan string, 100)
	pairingNode.tickets = tickets
	pairingNode.wrapEngine = func(e *match.Engine) lobby.Matches { return matchNotifier{e, attachedMatches} }
	searchingNode := pairingNode.addNode()

	tickets.isUnreachable.Store(true)
	newPlayer(searchingNode.connectPlayer("ada"), "ada").joinDuel("one")
	ada, bob := newPlayer(pairingNode.connectPlayer("ada"), "ada"), newPlayer(pairingNode.connectPlayer("bob"), "bob")
	bob.joinDuel("one")
	runConcurrently(func() { ada.play(nil) }, func() { bob.play(nil) })
	pairingNode.markSettled(ada.match)
	ada.disconnect()
	tickets.delayNext.Store(true)
	tickets.isUnreachable.Store(false)
	<-tickets.replyReady

	c, welcome := searchingNode.connectAndResume("ada", nil)
	if welcome.Playing != nil {
		t.Fatalf("playing %+v after the end of %s", welcome.Playing, ada.match)
	}
	adaAgain, cyd := newPlayer(c, "ada"), newPlayer(searchingNode.connectPlayer("cyd"), "cyd")
	adaAgain.joinDuel("two")
	cyd.joinDuel("two")
	adaAgain.handle(adaAgain.expectFrame(protocol.TypeMatchFound))
	close(tickets.proceed)
	for <-attachedMatches != ada.match {
		continue
	}
	runConcurrently(func() { adaAgain.play(nil) }, func() { cyd.play(nil) })
	searchingNode.checkSameFrames(adaAgain, cyd, 1)
}

// markSettled does the same as the settlement of a match whose result is in the ledger.
func (n *node) markSettled(id string) {
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
