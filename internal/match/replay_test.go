package match

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"laststand/internal/protocol"
)

// countFramesRead counts the frames that the store has returned since recordReads
// was called.
func (c *cluster) countFramesRead(n *node, plan *Plan) (frames int) {
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
		if framesRead, logFrames := c.countFramesRead(n, plan), int(c.store.state(plan.ID).Seq); framesRead > logFrames {
			c.Errorf("the store returned %d frames of %d", framesRead, logFrames)
		}
		c.passUntil(plan, PhaseOver, 29)
		n.store.recordReads()
		for range 150 {
			c.checkSync(n, plan, 0)
		}
		if framesRead := c.countFramesRead(n, plan); framesRead > 30 {
			c.Errorf("the store returned %d frames of a match that is over", framesRead)
		}
	})
}

// The number of a node's copies is limited. The node reads a dropped copy again.
func TestReplayCopiesAreLimited(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		n.openSession(ada)
		plan := n.startDuel(c, 10)
		c.passUntil(plan, PhaseOpen, 9)
		n.logs.logs = make(map[string][][]byte)
		for i := range maxLogCopies {
			n.logs.logs[fmt.Sprint(i)] = nil
		}
		for range 2 {
			c.checkSync(n, plan, 0)
			if len(n.logs.logs) != 1 {
				c.Errorf("%d copies", len(n.logs.logs))
			}
		}
	})
}

// A refused replay pushes nothing and leaves the session as it was.
func TestTooLargeReplayIsRefused(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		n.openSession(bob)
		plan := n.startDuel(c, 10)
		c.passUntil(plan, PhaseOpen, 9)
		session, size, errTooLarge := n.openSession(ada), int64(0), errors.New("too much")
		request := AttachRequest{Match: plan.ID, Player: ada, Session: session, OnState: func(protocol.MatchState) { c.Error("the state was sent") }, CheckReplay: func(bytes int64) error {
			size = bytes
			return errTooLarge
		}}
		if err := n.Attach(c.Context(), request); !errors.Is(err, errTooLarge) || len(session.frames()) != 0 || n.isAttached(ada) {
			c.Errorf("%v, %d frames", err, len(session.frames()))
		}
		c.checkSync(n, plan, 0)
		if logBytes := int64(len(bytes.Join(c.store.copyMatch(plan.ID).log, nil))); size != logBytes {
			c.Errorf("CheckReplay got %d bytes of %d", size, logBytes)
		}
		request.AfterSeq = c.store.state(plan.ID).Seq - 1
		last := c.store.copyMatch(plan.ID).log[request.AfterSeq]
		if err := n.Attach(c.Context(), request); !errors.Is(err, errTooLarge) || size != int64(len(last)) {
			c.Errorf("%v, %d bytes of %d", err, size, len(last))
		}
	})
}
