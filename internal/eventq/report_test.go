package eventq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var errSink = errors.New("the far side is ill")

func failAlways(context.Context, int, Batch) Outcome { return Outcome{Code: "500", Err: errSink} }

func TestBatchesLeaveBySizeAndByAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		n := w.start("n")
		defer n.stop()
		began := time.Now()
		n.offer("a", 0, 2*MaxBatch+30)
		time.Sleep(300 * time.Millisecond)
		if got := w.sink("a").sizes(); !slices.Equal(got, []int{MaxBatch, MaxBatch}) {
			t.Fatalf("batches of %v at first, want two full ones", got)
		}
		time.Sleep(2 * time.Second)
		tries := w.sink("a").allAttempts()
		if len(tries) != 3 || len(tries[2].ids) != 30 || tries[2].at.Sub(began) < time.Second || tries[2].at.Sub(began) > 1300*time.Millisecond {
			t.Fatalf("the rest left as %+v", tries[2:])
		}
		if !slices.Equal(w.sink("a").ids(), ids(0, 2*MaxBatch+30)) {
			t.Error("the order is lost")
		}
		w.want("a", Counts{Offered: 286, Sent: 286})
		if size, age := n.metric(t, "flushes_total", "size"), n.metric(t, "flushes_total", "age"); size != 2 || age != 1 {
			t.Errorf("%v flushes by size, %v by age", size, age)
		}
	})
}

func TestBatchHasOneGameAndAtMost128(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		greedy := policyOf("a")
		greedy.BatchSize = 129
		w := newCluster(t, greedy, policyOf("b"))
		n := w.start("n")
		for i := range 1000 {
			n.Offer([]string{"a", "b"}[i%2], Behaviour{ID: id(i), Type: Online, Account: Guest})
		}
		time.Sleep(3 * time.Second)
		n.stop()
		for g, game := range []string{"a", "b"} {
			for _, try := range w.sink(game).allAttempts() {
				if len(try.ids) > MaxBatch {
					t.Errorf("a batch of %d", len(try.ids))
				}
			}
			for i, got := range w.sink(game).ids() {
				if got != id(2*i+g) {
					t.Fatalf("%s was reported %s as number %d", game, got, i)
				}
			}
			w.want(game, Counts{Offered: 500, Sent: 500})
		}
	})
}

func TestStaleAtTheTake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := policyOf("a")
		policy.PerSecond, policy.Burst = 0.001, 1
		w := newCluster(t, policy)
		n := w.start("n")
		defer n.stop()
		n.Offer("a", Behaviour{ID: "old", Type: Online, Account: Guest, At: w.now() - 169_500})
		n.Offer("a", Behaviour{ID: "older", Type: Online, Account: Guest, At: w.now() - 171_000})
		n.Offer("a", Behaviour{ID: "ahead", Type: Online, Account: Guest, At: w.now() + 6000})
		time.Sleep(2 * time.Second)
		w.want("a", Counts{Offered: 3, Dropped: map[Reason]int64{TooOld: 2, Future: 1}})
		n.offer("a", 0, 1) // for which the try that was not used is there yet
		time.Sleep(2 * time.Second)
		if got := w.sink("a").ids(); !slices.Equal(got, ids(0, 1)) {
			t.Errorf("sent %v", got)
		}
	})
}

func TestStaleBeforeARetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.sink("a").answer = func(context.Context, int, Batch) Outcome {
			return Outcome{Code: "429", RetryAfter: 20 * time.Second, Err: errSink}
		}
		n := w.start("n")
		defer n.stop()
		for i, age := range []int64{0, 160_000, 130_000} {
			n.Offer("a", Behaviour{ID: id(i), Type: Online, Account: Guest, At: w.now() - age})
		}
		time.Sleep(3 * time.Minute)
		w.want("a", Counts{Offered: 3, Dropped: map[Reason]int64{TooOld: 2, RetriesExhausted: 1}})
		tries := w.sink("a").allAttempts()
		if len(tries[0].ids) != 3 || !slices.Equal(tries[1].ids, []string{id(0), id(2)}) || !slices.Equal(tries[7].ids, ids(0, 1)) {
			t.Errorf("tried %+v", tries)
		}
		for i, try := range tries {
			if try.oldest > 170_000 || try.batch != tries[0].batch {
				t.Errorf("try %d as %s, with one of %d ms", i, try.batch, try.oldest)
			}
			if i > 0 && try.at.Sub(tries[i-1].at) < 20*time.Second {
				t.Errorf("try %d came in the cool-down", i)
			}
		}
	})
}

func TestRetriesEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.sink("a").answer = failAlways
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 3)
		time.Sleep(150 * time.Second)
		w.want("a", Counts{Offered: 3, Dropped: map[Reason]int64{RetriesExhausted: 3}})
		tries := w.sink("a").allAttempts()
		if len(tries) != maxAttempts {
			t.Fatalf("%d tries", len(tries))
		}
		for _, try := range tries {
			if try.batch != tries[0].batch {
				t.Error("the batch has another id")
			}
		}
		if got := n.metric(t, "retries_total", ""); got != maxAttempts-1 {
			t.Errorf("%v retries counted", got)
		}
	})
}

// A failed message keeps its place, its id and its items, also if more behaviours are
// offered before it is sent again.
func TestAFailedMessageKeepsItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.sink("a").answer = func(_ context.Context, n int, _ Batch) Outcome {
			if n <= 3 {
				return Outcome{Code: "500", Err: errSink}
			}
			return arrived
		}
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 10)
		time.Sleep(1200 * time.Millisecond)
		n.offer("a", 10, 3*MaxBatch)
		time.Sleep(time.Minute)
		w.want("a", Counts{Offered: 394, Sent: 394})
		tries := w.sink("a").allAttempts()
		for _, try := range tries[:4] {
			if !slices.Equal(try.ids, ids(0, 10)) || try.batch != tries[0].batch {
				t.Errorf("tried %d items as %s, want 10 as %s", len(try.ids), try.batch, tries[0].batch)
			}
		}
		if first, _ := firstTimes(w.sink("a").ids()); !slices.Equal(first, ids(0, 394)) {
			t.Error("the order is lost")
		}
	})
}

// Games whose receivers hang delay the retries of no other game.
func TestHangingGamesDelayNoRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := append(numbered(200), policyOf("quick"))
		w := newCluster(t, all...)
		for _, policy := range all[:200] {
			w.sink(policy.Game).answer = func(ctx context.Context, _ int, _ Batch) Outcome {
				<-ctx.Done()
				return Outcome{Code: "timeout", Err: errSink}
			}
		}
		n := w.start("n")
		defer n.stop()
		for _, policy := range all[:200] {
			n.offer(policy.Game, 0, 5*MaxBatch)
		}
		time.Sleep(15 * time.Second) // all of them wait for places
		w.sink("quick").answer = answerFirst(Outcome{Code: "500", Err: errSink})
		n.offer("quick", 0, 1)
		time.Sleep(2500 * time.Millisecond) // flush interval, backoff and polls
		w.want("quick", Counts{Offered: 1, Sent: 1})
	})
}

func TestPartialAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.sink("a").answer = func(_ context.Context, n int, _ Batch) Outcome {
			switch n {
			case 1:
				return Outcome{Code: "500", Err: errSink}
			case 2:
				return Outcome{Items: []Delivery{Delivered, TryAgain, Refused, TryAgain}, Code: "200", Err: errSink}
			}
			return arrived
		}
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 4)
		time.Sleep(10 * time.Second)
		w.want("a", Counts{Offered: 4, Sent: 3, Dropped: map[Reason]int64{Rejected: 1}})
		tries := w.sink("a").allAttempts()
		if len(tries) != 3 || tries[0].batch != tries[1].batch || tries[2].batch == tries[0].batch {
			t.Fatalf("tries %+v", tries)
		}
		if !slices.Equal(tries[2].ids, []string{id(1), id(3)}) {
			t.Errorf("tried again: %v", tries[2].ids)
		}
	})
}

func TestForbiddenCoolsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.sink("a").answer = answerFirst(Outcome{Delivery: Forbidden, Code: "401", Err: errSink})
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, MaxBatch+1)
		time.Sleep(50 * time.Second)
		w.want("a", Counts{Offered: 129, Queued: 1, Dropped: map[Reason]int64{Unauthorized: 128}})
		time.Sleep(12 * time.Second)
		w.want("a", Counts{Offered: 129, Sent: 1, Dropped: map[Reason]int64{Unauthorized: 128}})
	})
}

func TestPauseOutcomePausesTheGame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.sink("a").answer = func(context.Context, int, Batch) Outcome {
			return Outcome{Code: "410", Pause: true, Err: errSink}
		}
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 200)
		time.Sleep(10 * time.Second)
		w.want("a", Counts{Offered: 200, Queued: 200})
		if tries := w.sink("a").allAttempts(); len(tries) != 1 {
			t.Errorf("%d tries", len(tries))
		}
		if err := n.Drain(t.Context(), "a"); !errors.Is(err, ErrPaused) {
			t.Errorf("drain: %v", err)
		}
		if n.metric(t, "queue_paused", "a") != 1 || n.metric(t, "queued", "a") != 200 || n.metric(t, "max_age_seconds", "a") != 170 {
			t.Error("the metrics do not show it")
		}
	})
}

func TestPanicIsAFailedTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.sink("a").check = func(b Behaviour) error {
			if b.ID == id(1) {
				panic("check")
			}
			return nil
		}
		w.sink("a").answer = func(_ context.Context, n int, _ Batch) Outcome {
			if n == 1 {
				panic("send")
			}
			return arrived
		}
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 2)
		time.Sleep(5 * time.Second)
		w.want("a", Counts{Offered: 2, Sent: 1, Dropped: map[Reason]int64{Invalid: 1}})
		if n.metric(t, "sends_total", "panic") != 1 {
			t.Error("not counted")
		}
	})
}

func TestRateIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := policyOf("a")
		policy.PerSecond, policy.Burst = 8, 8
		w := newCluster(t, policy)
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 60*MaxBatch)
		time.Sleep(5 * time.Second)
		if tries := len(w.sink("a").allAttempts()); tries > 48 || tries < 40 {
			t.Errorf("%d tries in 5 s", tries)
		}
		time.Sleep(3 * time.Second)
		w.want("a", Counts{Offered: 60 * MaxBatch, Sent: 60 * MaxBatch})
	})
}

func TestSlowGamesHoldUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := []Policy{policyOf("quick")}
		for i := range 600 {
			all = append(all, policyOf(fmt.Sprint("slow", i)))
		}
		w := newCluster(t, all...)
		var running, most atomic.Int64
		for _, policy := range all[1:] {
			w.sink(policy.Game).answer = func(ctx context.Context, _ int, _ Batch) Outcome {
				most.Store(max(most.Load(), running.Add(1)))
				defer running.Add(-1)
				<-ctx.Done()
				return Outcome{Code: "timeout", Err: errSink}
			}
		}
		n := w.start("n")
		defer n.stop()
		for second := range 20 {
			for _, policy := range all {
				n.offer(policy.Game, second, 1)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(8 * time.Second)
		var worst int64
		for _, try := range w.sink("quick").allAttempts() {
			worst = max(worst, try.oldest)
		}
		if worst > 10_000 {
			t.Errorf("a behaviour of the quick game waited %d ms", worst)
		}
		w.want("quick", Counts{Offered: 20, Sent: 20})
		if most.Load() > maxWorkers {
			t.Errorf("%d attempts at a time", most.Load())
		}
	})
}
