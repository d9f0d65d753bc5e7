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
func (w *cluster) readFrames(n *node, p *Plan) (frames int) {
	for _, q := range n.link.recordReads() {
		if q.After >= 0 {
			frames += int(max(w.store.state(p.ID).Seq-q.After, 0))
		}
	}
	return frames
}

// Sessions request the complete match several times. The store returns its log only
// once.
func TestReplaysShareOneCopy(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		n.enter(ada)
		p := n.begin(w, 30)
		w.passUntil(p, Open, 20)
		n.link.recordReads()
		for range 150 {
			w.checkSync(n, p, 0)
			w.checkSync(n, p, 7)
		}
		if frames, all := w.readFrames(n, p), int(w.store.state(p.ID).Seq); frames > all {
			w.Errorf("the store gave %d frames of %d", frames, all)
		}
		w.passUntil(p, Over, 29)
		n.link.recordReads()
		for range 150 {
			w.checkSync(n, p, 0)
		}
		if frames := w.readFrames(n, p); frames > 30 {
			w.Errorf("the store gave %d frames of a match that is over", frames)
		}
		if n.replayBytes.Load() == 0 {
			w.Error("no copy is counted")
		}
		time.Sleep(10 * time.Minute)
		if bytes := n.replayBytes.Load(); bytes != 0 {
			w.Errorf("%d bytes are kept of a match that is gone", bytes)
		}
	})
}

// If the copies are too large in total, they are dropped and read again.
func TestReplayCopiesAreBounded(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		n.enter(ada)
		p := n.begin(w, 10)
		w.passUntil(p, Open, 9)
		n.replayBytes.Store(maxReplayBytes)
		w.checkSync(n, p, 0)
		if bytes := n.replayBytes.Load(); bytes > maxReplayBytes {
			w.Errorf("%d bytes", bytes)
		}
		w.checkSync(n, p, 0)
	})
}

// A refused replay pushes nothing and leaves the session as it was.
func TestAReplayIsRefusedByItsSize(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		n.enter(bob)
		p := n.begin(w, 10)
		w.passUntil(p, Open, 9)
		in, size, tooMuch := n.enter(ada), int64(0), errors.New("too much")
		a := Attachment{Match: p.ID, Player: ada, Sub: in, OnState: func(protocol.MatchState) { w.Error("it was told") }, CheckReplay: func(bytes int64) error {
			size = bytes
			return tooMuch
		}}
		if err := n.Attach(w.Context(), a); !errors.Is(err, tooMuch) || len(in.frames()) != 0 || n.hasFeed(ada) {
			w.Errorf("%v, %d frames", err, len(in.frames()))
		}
		w.checkSync(n, p, 0)
		if all := sizeOf(w.store.copyOf(p.ID).log); size != all {
			w.Errorf("it was told %d bytes of %d", size, all)
		}
		a.After = w.store.state(p.ID).Seq - 1
		last := w.store.copyOf(p.ID).log[a.After]
		if err := n.Attach(w.Context(), a); !errors.Is(err, tooMuch) || size != int64(len(last)) {
			w.Errorf("%v, %d bytes of %d", err, size, len(last))
		}
	})
}

// Sessions request the complete match again and again during pushes, with a
// slow store. Each gets everything once, in order.
func TestWholeReplaysDuringPushes(t *testing.T) {
	inBubble(t, func(w *cluster) {
		nodes := []*node{w.node(), w.node()}
		p := newArena(Buzzer, 30)
		p.RevealMS, p.LimitMS = 20, 60
		w.gather(p, 4, nodes...)
		for _, n := range nodes {
			n.link.set(func(method, _ string) fault {
				if method == "Read" {
					time.Sleep(rand.N(30 * time.Millisecond))
				}
				return works
			})
		}
		w.must(nodes[0].StartArena(w.Context(), p.ID))
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for over := false; !over; {
					over = w.store.state(p.ID).Phase == Over
					w.replayWhole(nodes[rand.N(2)], p, p.seatOf(i).Player)
				}
			})
		}
		all.Wait()
	})
}

func (w *cluster) replayWhole(n *node, p *Plan, player string) {
	s, r := new(bufferedSession), reader{closed: -1}
	n.Presence.Enter("demo", player, s)
	for range 1 + rand.N(3) {
		s.sync(w, n, p, player, 0)
		time.Sleep(rand.N(60 * time.Millisecond))
	}
	n.Presence.Leave("demo", player, s)
	n.Detach("demo", player, s)
	over := w.store.state(p.ID)
	if r.read(w.T, s); over.Phase == Over && r.last != over.Seq && r.last < over.Seq-3 {
		w.Errorf("%s has seen %d of %d", player, r.last, over.Seq)
	}
}
