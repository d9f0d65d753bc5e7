package eventq

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func (n *node) workers(game string) int { return int(n.games[game].sending.workers.Load()) }

// isServed reports whether a worker serves a game, or repeats a call of the store.
func (n *node) isServed(game string) bool { return n.workers(game) > 0 }

// A game that falls behind gets more workers, even if its receiver is slow, until it
// keeps up again.
func TestGameThatFallsBehindGetsMoreWorkers(t *testing.T) {
	t.Parallel()
	for name, isHot := range map[string]bool{"hot from the start": true, "like all others": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				policy := policyOf("a")
				policy.Hot, policy.MaxLen = isHot, 100_000
				w := newCluster(t, policy, policyOf("b"))
				w.sink("a").answer = answerSlowly(200 * time.Millisecond)
				n := w.start("n")
				defer n.stop()
				n.offer("a", 0, 60_000)
				n.offer("b", 0, 1)
				time.Sleep(40 * time.Second) // one would take 94 s
				w.want("a", Counts{Offered: 60_000, Sent: 60_000})
				if most := w.sink("a").maxRunning; most < 4 || most > maxWorkersPerGame {
					t.Errorf("%d tries at a time", most)
				}
				for i := range 300 { // it keeps up, and needs no more than one
					n.offer("a", 60_000+i*MaxBatch, MaxBatch)
					time.Sleep(250 * time.Millisecond)
					if got := n.workers("a"); got > 1 {
						t.Fatalf("%d workers while it keeps up", got)
					}
				}
			})
		})
	}
}

// Items that wait because of a ban do not get a game more workers.
func TestBannedGameGetsNoMoreWorkers(t *testing.T) {
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
			if n.workers("a") > 1 {
				t.Fatal("it has several workers")
			}
		}
	})
}

func TestRateIsNotBeatenByMoreWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hot := policyOf("a")
		hot.Hot, hot.PerSecond, hot.Burst = true, 8, 8
		w := newCluster(t, hot)
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 10_000)
		time.Sleep(8 * time.Second)
		if tries := len(w.sink("a").allAttempts()); tries < 64 || tries > 73 || n.workers("a") > 1 {
			t.Errorf("%d tries, %d workers", tries, n.workers("a"))
		}
	})
}
