package match

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"laststand/internal/protocol"
)

// readFrames counts the frames that the store has returned since recordReads
// was called.
func (c *cluster) readFrames(n *node, plan *Plan) (frames int) {
	for _, query := range n.store.recordReads() {
		if query.AfterSeq >= 0 {
			frames += int(max(c.store.state(plan.ID).Seq-query.AfterSeq, 0))
		}
	}
	return frames
}

// Sessions request the complete match several times. The store returns its log only
// once.
func TestReplaysReadLogOnce(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		n.openSession(ada)
		plan := n.startDuel(c, 30)
		c.passUntil(plan, PhaseOpen, 20)
		n.store.recordReads()
		for range 150 {
			c.checkSync(n, plan, 0)
			c.checkSync(n, plan, 7)
		}
		if frames, all := c.readFrames(n, plan), int(c.store.state(plan.ID).Seq); frames > all {
			c.Errorf("the store returned %d frames of %d", frames, all)
		}
		c.passUntil(plan, PhaseOver, 29)
		n.store.recordReads()
		for range 150 {
			c.checkSync(n, plan, 0)
		}
		if frames := c.readFrames(n, plan); frames > 30 {
			c.Errorf("the store returned %d frames of a match that is over", frames)
		}
		if n.replayBytes.Load() == 0 {
			c.Error("no copy is counted")
		}
		time.Sleep(10 * time.Minute)
		if bytes := n.replayBytes.Load(); bytes != 0 {
			c.Errorf("%d bytes are kept for a match that was dropped", bytes)
		}
	})
}

// If the copies are too large in total, they are dropped and read again.
func TestReplayCopiesAreLimited(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		n.openSession(ada)
		plan := n.startDuel(c, 10)
		c.passUntil(plan, PhaseOpen, 9)
		n.replayBytes.Store(maxReplayBytes)
		c.checkSync(n, plan, 0)
		if bytes := n.replayBytes.Load(); bytes > maxReplayBytes {
			c.Errorf("%d bytes", bytes)
		}
		c.checkSync(n, plan, 0)
	})
}

// A refused replay pushes nothing and leaves the session as it was.
func TestTooLargeReplayIsRefused(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		n.openSession(bob)
		plan := n.startDuel(c, 10)
		c.passUntil(plan, PhaseOpen, 9)
		session, size, tooMuch := n.openSession(ada), int64(0), errors.New("too much")
		a := AttachRequest{Match: plan.ID, Player: ada, Session: session, OnState: func(protocol.MatchState) { c.Error("the state was sent") }, CheckReplay: func(bytes int64) error {
			size = bytes
			return tooMuch
		}}
		if err := n.Attach(c.Context(), a); !errors.Is(err, tooMuch) || len(session.frames()) != 0 || n.isAttached(ada) {
			c.Errorf("%v, %d frames", err, len(session.frames()))
		}
		c.checkSync(n, plan, 0)
		if all := totalBytes(c.store.copyMatch(plan.ID).log); size != all {
			c.Errorf("CheckReplay got %d bytes of %d", size, all)
		}
		a.AfterSeq = c.store.state(plan.ID).Seq - 1
		last := c.store.copyMatch(plan.ID).log[a.AfterSeq]
		if err := n.Attach(c.Context(), a); !errors.Is(err, tooMuch) || size != int64(len(last)) {
			c.Errorf("%v, %d bytes of %d", err, size, len(last))
		}
	})
}

// Sessions request the complete match again and again during pushes, with a
// slow store. Each gets everything once, in order.
func TestWholeReplaysDuringPushesAreComplete(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodes := []*node{c.startNode(), c.startNode()}
		plan := newArena(Buzzer, 30)
		plan.RevealMS, plan.LimitMS = 20, 60
		c.createArenaWithPlayers(plan, 4, nodes...)
		for _, n := range nodes {
			n.store.setFault(func(method, _ string) fault {
				if method == "Read" {
					time.Sleep(rand.N(30 * time.Millisecond))
				}
				return noFault
			})
		}
		c.requireNoError(nodes[0].StartArena(c.Context(), plan.ID))
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for over := false; !over; {
					over = c.store.state(plan.ID).Phase == PhaseOver
					c.requestWholeReplay(nodes[rand.N(2)], plan, plan.arenaSeat(i).Player)
				}
			})
		}
		all.Wait()
	})
}

func (c *cluster) requestWholeReplay(n *node, plan *Plan, player string) {
	s, r := new(bufferedSession), sessionReader{closed: -1}
	n.Presence.Enter("demo", player, s)
	for range 1 + rand.N(3) {
		s.sync(c, n, plan, player, 0)
		time.Sleep(rand.N(60 * time.Millisecond))
	}
	n.Presence.Leave("demo", player, s)
	n.Detach("demo", player, s)
	over := c.store.state(plan.ID)
	if r.read(c.T, s); over.Phase == PhaseOver && r.last != over.Seq && r.last < over.Seq-3 {
		c.Errorf("%s has seen %d of %d", player, r.last, over.Seq)
	}
}
