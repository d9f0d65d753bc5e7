package match

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/protocol"
)

// bufferedSession is a player's websocket session. While it handles a request,
// it holds pushes back, because the reply must come first.
type bufferedSession struct {
	mu              sync.Mutex
	handlingRequest bool
	heldFrames      []heldFrame
	written         [][]byte
}

type heldFrame struct {
	match string
	frame []byte
}

func (s *bufferedSession) Push(match string, frames ...[]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.handlingRequest {
		s.written = append(s.written, frames...)
		return
	}
	for _, frame := range frames {
		s.heldFrames = append(s.heldFrames, heldFrame{match, frame})
	}
}

func (s *bufferedSession) DiscardUnsent(match string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []heldFrame
	for _, h := range s.heldFrames {
		if h.match != match {
			kept = append(kept, h)
		}
	}
	s.heldFrames = kept
}

func (s *bufferedSession) CanAttach(string) bool { return true }

func (s *bufferedSession) DuelChanged(bool) {}

// attach requests the match from a number on, like match.sync if it asks for the state.
func (s *bufferedSession) attach(c *cluster, n *node, request AttachRequest, wantsState bool) {
	s.mu.Lock()
	s.handlingRequest = true
	s.mu.Unlock()
	request.Session = s
	if wantsState {
		request.OnState = func(protocol.MatchState) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.written = append(s.written, protocol.EncodePush(protocol.TypeMatchState, protocol.Empty{}))
		}
	}
	err := n.Attach(c.Context(), request)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.heldFrames {
		s.written = append(s.written, h.frame)
	}
	s.handlingRequest, s.heldFrames = false, nil
	if err != nil {
		c.Errorf("%s: %v", request.Player, err)
	}
}

// sessionReader is what a player has read in all sessions together.
type sessionReader struct {
	lastSeq    int64 // number
	lastClosed int   // question
}

// readSession reads the frames of a session that started at the reader's position.
// After each state come the requested frames. No personal result comes before
// its close.
func (r *sessionReader) readSession(t *testing.T, session *bufferedSession) {
	t.Helper()
	session.mu.Lock()
	defer session.mu.Unlock()
	requestedFrom := r.lastSeq
	for i, raw := range session.written {
		received := decodeFrame(t, raw)
		switch {
		case received.Type == protocol.TypeMatchState:
			r.lastSeq = requestedFrom
		case received.Type == protocol.TypeOwn && received.Data.Question > r.lastClosed:
			t.Errorf("own of %d after the close of %d", received.Data.Question, r.lastClosed)
		case received.Seq > 0 && received.Seq != r.lastSeq+1:
			t.Errorf("frame %d of %d: number %d after %d", i, len(session.written), received.Seq, r.lastSeq)
		case received.Seq > 0:
			r.lastSeq = received.Seq
		}
		if received.Type == protocol.TypeQuestionClosed {
			r.lastClosed = received.Data.Question
		}
	}
}

// Sessions request the state again and again or reconnect at another node, during
// pushes and with a slow store, from the last number or from the start. No session loses
// a frame or gets one twice.
func TestSyncDuringPushesLosesNoFrame(t *testing.T) {
	t.Parallel()
	for name, testCase := range map[string]struct {
		players   int
		fromStart bool
	}{
		"a small match":                 {players: 4},
		"a large match":                 {players: 52},
		"a small match, from its start": {players: 4, fromStart: true},
	} {
		runNamedInCluster(t, name, func(c *cluster) {
			nodes := []*node{c.startNode(), c.startNode()}
			plan := newArena(Buzzer, 30)
			plan.RevealMS, plan.LimitMS = 20, 60
			c.createArenaWithPlayers(plan, testCase.players, nodes...)
			for _, n := range nodes {
				delayRead := func(method string) {
					if method == "Read" {
						time.Sleep(rand.N(15 * time.Millisecond))
					}
				}
				n.store.setFault(func(method, _ string) fault {
					delayRead(method)
					return noFault
				})
				n.store.setReplyDelay(delayRead)
			}
			c.requireNoError(nodes[0].StartArena(c.Context(), plan.ID))
			time.Sleep(2900 * time.Millisecond)
			var running sync.WaitGroup
			for i := range 4 {
				running.Go(func() { c.moveBetweenNodesUntilOver(nodes, plan, plan.arenaSeat(i).Player, testCase.fromStart) })
			}
			running.Wait()
			c.checkStepsAppliedOnce()
		})
	}
}

// moveBetweenNodesUntilOver lets a player's sessions sync and move until the match is
// over. Sometimes a new session does not ask for the state.
func (c *cluster) moveBetweenNodesUntilOver(nodes []*node, plan *Plan, player string, fromStart bool) {
	reader, over := sessionReader{lastClosed: -1}, false
	for round := 0; !over; round++ {
		over = c.store.state(plan.ID).Phase == PhaseOver
		n, s := nodes[round%len(nodes)], new(bufferedSession)
		n.Presence.Enter("demo", player, s)
		if fromStart {
			reader = sessionReader{lastClosed: -1}
		}
		for i := range 1 + rand.N(3) {
			s.attach(c, n, AttachRequest{Match: plan.ID, Player: player, AfterSeq: reader.lastSeq}, i > 0 || rand.N(2) == 0)
			time.Sleep(rand.N(60 * time.Millisecond))
		}
		n.Presence.Leave("demo", player, s)
		n.Detach("demo", player, s)
		reader.readSession(c.T, s)
	}
	if s := c.store.state(plan.ID); reader.lastSeq != s.Seq {
		c.Errorf("%s has seen %d of %d", player, reader.lastSeq, s.Seq)
	}
}

// A session that a newer one has replaced must not be attached again, nor by a sync.
func TestReplacedSessionIsNotAttached(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		former := n.openSession(ada)
		plan := n.startDuel(c, 1)
		newer := n.attach(plan, ada, 0)
		before := len(former.frames())
		c.requireNoError(n.Attach(c.Context(), AttachRequest{Match: plan.ID, Player: ada, Session: former}))
		c.requireNoError(n.Attach(c.Context(), AttachRequest{Match: plan.ID, Player: ada, Session: former, OnState: func(protocol.MatchState) {
			c.Error("the replaced session got the state")
		}}))
		n.Detach("demo", ada, former)
		c.passUntil(plan, PhaseOver, 0)
		c.checkWholeLog(plan, newer)
		if newFrames := len(former.frames()) - before; newFrames != 0 {
			c.Errorf("the replaced session got %d more frames", newFrames)
		}
		if !n.isAttached(ada) {
			c.Error("the newer session is no longer attached")
		}
	})
}

func (n *node) isAttached(player string) bool { return len(n.attachedMatches("demo", player)) > 0 }

// A session that ends during its attach must not stay attached.
func TestSessionThatEndsDuringAttachIsNotAttached(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		plan := n.startDuel(c, 1)
		for range 50 {
			session := n.openSession(ada)
			n.store.setFault(func(string, string) fault {
				time.Sleep(rand.N(3 * time.Millisecond))
				return noFault
			})
			var running sync.WaitGroup
			running.Go(func() {
				c.requireNoError(n.Attach(c.Context(), AttachRequest{Match: plan.ID, Player: ada, Session: session}))
			})
			running.Go(func() {
				time.Sleep(rand.N(3 * time.Millisecond))
				n.Presence.Leave("demo", ada, session)
				n.Detach("demo", ada, session)
			})
			running.Wait()
			synctest.Wait()
			if n.isAttached(ada) || n.findLocalMatch(plan.ID).sessions[ada] != nil {
				c.Fatal("the ended session is still attached")
			}
		}
	})
}
