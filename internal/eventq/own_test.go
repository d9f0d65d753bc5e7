package eventq

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func (n *node) own(game string) int {
	c := &n.games[game].course
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own
}

func (w *world) lane(game string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.game(game).lane
}

func TestHotGameIsFoundAndLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, terms("a"), terms("b"))
		n := w.start("n")
		defer n.stop()
		first := 0
		for range 80 { // 20 full batches a second
			n.offer("a", first, 2*MaxBatch)
			first += 2 * MaxBatch
			n.offer("b", first, 1)
			time.Sleep(100 * time.Millisecond)
		}
		if n.own("a") != 1 || n.own("b") != 0 || w.lane("a") != ownLane || w.lane("b") != "shared" {
			t.Errorf("%d and %d own reporters, lanes %s and %s", n.own("a"), n.own("b"), w.lane("a"), w.lane("b"))
		}
		time.Sleep(hotFor + 3*time.Second)
		if n.own("a") != 0 {
			t.Error("it is hot still")
		}
		n.offer("a", first, 1)
		time.Sleep(2 * time.Second)
		if w.lane("a") != "shared" || !slices.Equal(w.sink("a").ids(), ids(0, first+1)) {
			t.Errorf("lane %s, or the order is lost", w.lane("a"))
		}
	})
}

func TestHotGameThatFallsBehindGetsMoreReporters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hot := terms("a")
		hot.Hot, hot.MaxLen = true, 100_000
		w := newWorld(t, hot)
		w.sink("a").answer = slowly(200 * time.Millisecond)
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 60_000)
		time.Sleep(40 * time.Second) // one would take 94 s
		w.want("a", Counts{Offered: 60_000, Sent: 60_000})
		if most := w.sink("a").most; most < 4 || most > maxOwn {
			t.Errorf("%d tries at a time", most)
		}
		for i := range 300 { // it keeps up, and needs no more than one
			n.offer("a", 60_000+i*MaxBatch, MaxBatch)
			time.Sleep(250 * time.Millisecond)
		}
		if got := n.own("a"); got != 1 {
			t.Errorf("%d reporters at the end", got)
		}
	})
}

// A far side that takes long for each batch makes no game hot by its rate.
func TestGameThatFallsBehindBecomesHot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		many := terms("a")
		many.MaxLen = 100_000
		w := newWorld(t, many)
		w.sink("a").answer = slowly(500 * time.Millisecond)
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 20_000)
		time.Sleep(30 * time.Second) // one would take 78 s
		w.want("a", Counts{Offered: 20_000, Sent: 20_000})
	})
}

// What a ban holds up does not fall behind for want of reporters.
func TestBannedGameGetsNoMoreReporters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, terms("a"))
		w.sink("a").answer = func(context.Context, int, Batch) Outcome {
			return Outcome{After: 2 * time.Second, Code: "429", Err: errFar}
		}
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 3000)
		for range 50 {
			time.Sleep(100 * time.Millisecond)
			if n.own("a") > 0 {
				t.Fatal("it has reporters of its own")
			}
		}
	})
}

func TestRateIsNotBeatenByReporters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hot := terms("a")
		hot.Hot, hot.PerSecond, hot.Burst = true, 8, 8
		w := newWorld(t, hot)
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 10_000)
		time.Sleep(8 * time.Second)
		if tries := len(w.sink("a").tried()); tries < 64 || tries > 73 || n.own("a") != 1 {
			t.Errorf("%d tries, %d reporters", tries, n.own("a"))
		}
	})
}
