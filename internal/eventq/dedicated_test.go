package eventq

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func (n *node) dedicatedReporters(game string) int {
	c := &n.games[game].reporter
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dedicated
}

func (w *cluster) poolOf(game string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.game(game).pool
}

func TestHotGameIsFoundAndLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"), policyOf("b"))
		n := w.start("n")
		defer n.stop()
		first := 0
		for range 80 { // 20 full batches a second
			n.offer("a", first, 2*MaxBatch)
			first += 2 * MaxBatch
			n.offer("b", first, 1)
			time.Sleep(100 * time.Millisecond)
		}
		if n.dedicatedReporters("a") != 1 || n.dedicatedReporters("b") != 0 || w.poolOf("a") != dedicatedPool || w.poolOf("b") != "shared" {
			t.Errorf("%d and %d own reporters, lanes %s and %s", n.dedicatedReporters("a"), n.dedicatedReporters("b"), w.poolOf("a"), w.poolOf("b"))
		}
		time.Sleep(hotPeriod + 3*time.Second)
		if n.dedicatedReporters("a") != 0 {
			t.Error("it is hot still")
		}
		n.offer("a", first, 1)
		time.Sleep(2 * time.Second)
		if w.poolOf("a") != "shared" || !slices.Equal(w.sink("a").ids(), ids(0, first+1)) {
			t.Errorf("lane %s, or the order is lost", w.poolOf("a"))
		}
	})
}

func TestHotGameThatFallsBehindGetsMoreReporters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hot := policyOf("a")
		hot.Hot, hot.MaxLen = true, 100_000
		w := newCluster(t, hot)
		w.sink("a").answer = answerSlowly(200 * time.Millisecond)
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 60_000)
		time.Sleep(40 * time.Second) // one would take 94 s
		w.want("a", Counts{Offered: 60_000, Sent: 60_000})
		if most := w.sink("a").maxRunning; most < 4 || most > maxDedicated {
			t.Errorf("%d tries at a time", most)
		}
		for i := range 300 { // it keeps up, and needs no more than one
			n.offer("a", 60_000+i*MaxBatch, MaxBatch)
			time.Sleep(250 * time.Millisecond)
		}
		if got := n.dedicatedReporters("a"); got != 1 {
			t.Errorf("%d reporters at the end", got)
		}
	})
}

// A slow receiver does not make a game hot.
func TestGameThatFallsBehindBecomesHot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		many := policyOf("a")
		many.MaxLen = 100_000
		w := newCluster(t, many)
		w.sink("a").answer = answerSlowly(500 * time.Millisecond)
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 20_000)
		time.Sleep(30 * time.Second) // one would take 78 s
		w.want("a", Counts{Offered: 20_000, Sent: 20_000})
	})
}

// Items that wait because of a ban do not make a game hot.
func TestBannedGameGetsNoMoreReporters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.sink("a").answer = func(context.Context, int, Batch) Outcome {
			return Outcome{RetryAfter: 2 * time.Second, Code: "429", Err: errSink}
		}
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 3000)
		for range 50 {
			time.Sleep(100 * time.Millisecond)
			if n.dedicatedReporters("a") > 0 {
				t.Fatal("it has reporters of its own")
			}
		}
	})
}

func TestRateIsNotBeatenByReporters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hot := policyOf("a")
		hot.Hot, hot.PerSecond, hot.Burst = true, 8, 8
		w := newCluster(t, hot)
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 10_000)
		time.Sleep(8 * time.Second)
		if tries := len(w.sink("a").allAttempts()); tries < 64 || tries > 73 || n.dedicatedReporters("a") != 1 {
			t.Errorf("%d tries, %d reporters", tries, n.dedicatedReporters("a"))
		}
	})
}
