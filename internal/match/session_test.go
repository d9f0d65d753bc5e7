package match

import (
	"fmt"
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
	mu      sync.Mutex
	holding bool
	held    []heldFrame
	wrote   [][]byte
}

type heldFrame struct {
	match string
	frame []byte
}

func (s *bufferedSession) Push(match string, frames ...[]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.holding {
		s.wrote = append(s.wrote, frames...)
		return
	}
	for _, frame := range frames {
		s.held = append(s.held, heldFrame{match, frame})
	}
}

func (s *bufferedSession) DiscardHeld(match string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []heldFrame
	for _, h := range s.held {
		if h.match != match {
			kept = append(kept, h)
		}
	}
	s.held = kept
}

func (s *bufferedSession) CanAttach(string) bool { return true }

// sync requests the match from a number on, like match.sync.
func (s *bufferedSession) sync(w *cluster, n *node, p *Plan, player string, after int64) {
	s.mu.Lock()
	s.holding = true
	s.mu.Unlock()
	err := n.Attach(w.Context(), Attachment{Match: p.ID, Player: player, Sub: s, After: after, OnState: func(protocol.MatchState) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wrote = append(s.wrote, protocol.EncodePush(protocol.TypeMatchState, protocol.Empty{}))
	}})
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.held {
		s.wrote = append(s.wrote, h.frame)
	}
	s.holding, s.held = false, nil
	if err != nil {
		w.Errorf("%s: %v", player, err)
	}
}

// sessionReader is what a player has read in all sessions together.
type reader struct {
	last   int64 // number
	closed int   // question
}

// read reads the frames of a session that started at the reader's position.
// After each state come the requested frames. No personal result comes before
// its close.
func (r *reader) read(t *testing.T, s *bufferedSession) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := r.last
	for i, raw := range s.wrote {
		f := frameOf(t, raw)
		switch {
		case f.Type == protocol.TypeMatchState:
			r.last = asked
		case f.Type == protocol.TypeOwn && f.Data.Question > r.closed:
			t.Errorf("own of %d after the close of %d", f.Data.Question, r.closed)
		case f.Seq > 0 && f.Seq != r.last+1:
			t.Errorf("frame %d of %d: number %d after %d", i, len(s.wrote), f.Seq, r.last)
		case f.Seq > 0:
			r.last = f.Seq
		}
		if f.Type == protocol.TypeQuestionClosed {
			r.closed = f.Data.Question
		}
	}
}

// Sessions of a large match request the state again and again or reconnect at
// another node, during pushes and with a slow store. No session loses a frame
// or gets one twice.
func TestSyncDuringPushes(t *testing.T) {
	t.Parallel()
	for _, players := range []int{4, 52} {
		t.Run(fmt.Sprint(players), func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				nodes := []*node{w.node(), w.node()}
				p := newArena(Buzzer, 30)
				p.RevealMS, p.LimitMS = 20, 60
				w.gather(p, players, nodes...)
				for _, n := range nodes {
					dawdle := func(method string) {
						if method == "Read" {
							time.Sleep(rand.N(15 * time.Millisecond))
						}
					}
					n.link.set(func(method, _ string) fault {
						dawdle(method)
						return works
					})
					n.link.slow(dawdle)
				}
				w.must(nodes[0].StartArena(w.Context(), p.ID))
				time.Sleep(2900 * time.Millisecond)
				var all sync.WaitGroup
				for i := range 4 {
					all.Go(func() { w.moveBetweenNodes(nodes, p, p.seatOf(i).Player) })
				}
				all.Wait()
				w.checkStepsAppliedOnce()
			})
		})
	}
}

// moveBetweenNodes lets a player's sessions sync and move until the match is
// over.
func (w *cluster) moveBetweenNodes(nodes []*node, p *Plan, player string) {
	r, over := reader{closed: -1}, false
	for round := 0; !over; round++ {
		over = w.store.state(p.ID).Phase == Over
		n, s := nodes[round%len(nodes)], new(bufferedSession)
		n.Presence.Enter("demo", player, s)
		for range 1 + rand.N(3) {
			s.sync(w, n, p, player, r.last)
			time.Sleep(rand.N(60 * time.Millisecond))
		}
		n.Presence.Leave("demo", player, s)
		n.Detach("demo", player, s)
		r.read(w.T, s)
	}
	if s := w.store.state(p.ID); r.last != s.Seq {
		w.Errorf("%s has seen %d of %d", player, r.last, s.Seq)
	}
}

// A session that a newer one has replaced must not be attached again by a sync.
func TestSyncOfASessionThatWasReplaced(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		former := n.enter(ada)
		p := n.begin(w, 1)
		newer := n.enter(ada)
		w.must(n.Attach(w.Context(), Attachment{Match: p.ID, Player: ada, Sub: newer}))
		before := len(former.frames())
		w.must(n.Attach(w.Context(), Attachment{Match: p.ID, Player: ada, Sub: former, OnState: func(protocol.MatchState) {
			w.Error("the replaced session got the state")
		}}))
		n.Detach("demo", ada, former)
		w.passUntil(p, Over, 0)
		w.checkComplete(p, newer, 0)
		if more := len(former.frames()) - before; more != 0 {
			w.Errorf("the replaced session got %d more frames", more)
		}
		if !n.hasFeed(ada) {
			w.Error("the newer session is no longer attached")
		}
	})
}

func (n *node) hasFeed(player string) bool { return len(n.attachedMatches("demo", player)) > 0 }

// A session that ends during its attach must not stay attached.
func TestASessionThatGoesWhileItIsAttached(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		p := n.begin(w, 1)
		for range 50 {
			in := n.enter(ada)
			n.link.set(func(string, string) fault {
				time.Sleep(rand.N(3 * time.Millisecond))
				return works
			})
			var all sync.WaitGroup
			all.Go(func() { w.must(n.Attach(w.Context(), Attachment{Match: p.ID, Player: ada, Sub: in})) })
			all.Go(func() {
				time.Sleep(rand.N(3 * time.Millisecond))
				n.Presence.Leave("demo", ada, in)
				n.Detach("demo", ada, in)
			})
			all.Wait()
			synctest.Wait()
			if n.hasFeed(ada) || n.findLocal(p.ID).subs[ada] != nil {
				w.Fatal("the ended session is still attached")
			}
		}
	})
}
