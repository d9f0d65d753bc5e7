package ws

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"laststand/internal/lobby"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// fakeDuelLimit is the limit of duels and hellos of a fakeShedder.
type fakeDuelLimit struct {
	refusesDuels  atomic.Bool // refuses joins
	refusesHellos atomic.Bool // refuses new hellos
	helloStates   chan error  // if set: AwaitHello blocks until its context ends, and sends its result here
}

func (l *fakeDuelLimit) AwaitHello(ctx context.Context) error {
	if l.helloStates != nil {
		l.helloStates <- nil // signals that AwaitHello blocks
		<-ctx.Done()
		l.helloStates <- ctx.Err()
		return ctx.Err()
	}
	return errorIf(l.refusesHellos.Load())
}

func (l *fakeDuelLimit) Acquire(overload.Kind) (release func(), err error) {
	return func() {}, errorIf(l.refusesDuels.Load())
}

func errorIf(refused bool) error {
	if refused {
		return protocol.RetryAfter(protocol.CodeOverloaded, 4000, "overloaded")
	}
	return nil
}

// countsPlayers waits until a number of players count for the limit of duels.
func (n *node) countsPlayers(players int64) {
	n.Helper()
	n.eventually(fmt.Sprint(players, " players count"), func() bool { return n.DuelPlayers() == players })
}

// A player above the limit of duels gets a retry time and stays connected. A player in
// a duel counts until it is over, also after reconnecting.
func TestDuelPlayersAreLimited(t *testing.T) {
	t.Parallel()
	shedder := &fakeShedder{}
	n := startNode(t, func(c *Config, d *lobby.DuelSettings) { c.LoadShedder, d.Questions = shedder, 2 })
	playerA, playerB := n.startDuel("d")
	shedder.refusesDuels.Store(true)
	late := n.connectPlayer("late")
	if e := late.requestRefused(protocol.TypeDuelJoin, map[string]any{}, protocol.CodeOverloaded); e.RetryAfterMS != 4000 {
		t.Errorf("%+v", e)
	}
	for _, p := range []*player{playerA, playerB} {
		p.match = p.expectFrame(protocol.TypeMatchFound).Match
	}
	playerA.sendRequest(protocol.TypeDuelJoin, map[string]any{})
	playerA.checkError(playerA.readUntilReply(), protocol.CodeAlreadyPlaying)
	n.countsPlayers(2)
	playerA.disconnect()
	n.countsPlayers(1)
	playerA.client, _ = n.connectAndResume(playerA.name, nil)
	n.countsPlayers(2)
	playerA.sendRequest(protocol.TypeMatchLeave, protocol.MatchLeave{Match: playerA.match})
	playerA.readUntil(protocol.TypeMatchOver)
	playerB.readUntil(protocol.TypeMatchOver)
	n.countsPlayers(0)
	shedder.refusesDuels.Store(false)
	late.request(protocol.TypeDuelJoin, map[string]any{}, protocol.TypeDuelQueued)
	n.countsPlayers(1)
	late.request(protocol.TypeDuelLeave, protocol.Empty{}, protocol.TypeDuelLeft)
	n.countsPlayers(0)
	late.requestRefused(protocol.TypeDuelJoin, map[string]any{"bot_after_ms": -1}, protocol.CodeBadRequest)
	n.countsPlayers(0)
}

// A new hello above the limit gets a retry time. A player in a match is admitted, with
// or without a resume.
func TestNewHellosAreRejectedUnderLoad(t *testing.T) {
	t.Parallel()
	shedder := &fakeShedder{}
	n := startNode(t, withShedder(shedder))
	playerA, _, matchID := n.startFoundDuel()
	shedder.refusesHellos.Store(true)
	c := n.dialAndGreet("late", nil)
	if ms := c.expectRetryLater(); ms != 4000 {
		t.Errorf("retry after %d ms", ms)
	}
	for _, resume := range []*protocol.Resume{nil, {Match: matchID}} {
		playerA.disconnect()
		if _, welcome := n.connectAndResume(playerA.name, resume); welcome.Playing == nil {
			t.Error("a player in a match has no match in the welcome")
		}
	}
}

// A player who returns to a ticket counts once.
func TestDuelLimitCountsTickets(t *testing.T) {
	t.Parallel()
	shedder := &fakeShedder{}
	n := startNode(t, withShedder(shedder))
	former := newPlayer(n.connectPlayer("ada"), "ada")
	former.joinDuel("c")
	newer := n.connectPlayer("ada")
	former.expectClose(4409)
	n.eventually("the former session has ended", func() bool { return len(n.openSessions()) == 1 })
	n.countsPlayers(1)
	shedder.refusesDuels.Store(true)
	newer.requestRefused(protocol.TypeDuelJoin, protocol.Empty{}, protocol.CodeAlreadyQueued)
	n.countsPlayers(1)
	newer.request(protocol.TypeDuelLeave, protocol.Empty{}, protocol.TypeDuelLeft)
	n.countsPlayers(0)
}

// A drain does not wait for hellos that wait for admission.
func TestDrainEndsWaitingHellos(t *testing.T) {
	t.Parallel()
	shedder := &fakeShedder{fakeDuelLimit: fakeDuelLimit{helloStates: make(chan error)}}
	n := startNode(t, withShedder(shedder))
	c := n.dialAndGreet("late", nil)
	if err := <-shedder.helloStates; err != nil {
		t.Error(err)
	}
	_, drained := n.startDrain()
	if err := <-shedder.helloStates; !errors.Is(err, context.Canceled) {
		t.Errorf("AwaitHello returned %v", err)
	}
	c.expectFrame(protocol.TypeDraining)
	if frames, _ := c.expectClose(protocol.CloseDraining); len(frames) > 0 {
		t.Errorf("%s before the close", frames[0].raw)
	}
	<-drained
}
