package eventq

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// chaosSink answers at random, and records what it accepted.
type chaosSink struct {
	mu   sync.Mutex
	rng  *rand.Rand
	took map[string]int
}

func (c *chaosSink) answer(ctx context.Context, _ int, b Batch) Outcome {
	c.mu.Lock()
	o := Outcome{Code: "x", Items: make([]Delivery, len(b.Items))}
	kind, delay := c.rng.IntN(6), time.Duration(c.rng.IntN(3000))*time.Millisecond
	for i, item := range b.Items {
		o.Items[i] = []Delivery{Delivered, Delivered, Refused, TryAgain}[c.rng.IntN(4)]
		switch kind {
		case 0, 1:
			o.Items[i] = Delivered
		case 2:
			o.Items[i] = TryAgain
		}
		if o.Items[i] == Delivered {
			c.took[item.ID]++
		}
	}
	if kind == 3 {
		o.RetryAfter = time.Second
	}
	c.mu.Unlock()
	wait(ctx, delay)
	return o
}

// Receivers and the store fail at random. If an item counts as sent, its receiver
// got it exactly once. A batch has at most 128 items, all still fresh. The
// counters account for all items.
func TestNothingIsLostUncounted(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { disturb(t, seed) })
		})
	}
}

func disturb(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	games := []string{"a", "b", "c", "d"}
	var all []Policy
	for _, game := range games {
		policy := policyOf(game)
		policy.PerSecond, policy.Burst, policy.BatchSize, policy.MaxLen = 20, 20, 1+rng.IntN(MaxBatch), 400
		all = append(all, policy)
	}
	w := newCluster(t, all...)
	c := &chaosSink{rng: rand.New(rand.NewPCG(seed, 1)), took: map[string]int{}}
	for _, game := range games {
		w.sink(game).answer = c.answer
	}
	calls := rand.New(rand.NewPCG(seed, 2)) // guarded by the memory
	faulty := func(string, string) error {
		if calls.IntN(20) == 0 {
			return errStore
		}
		return nil
	}
	w.set(func() { w.fault = faulty })
	nodes := []*node{w.start("x"), w.start("y")}
	offered := 0
	for range 200 {
		n := 1 + rng.IntN(40)
		nodes[rng.IntN(2)].offer(games[rng.IntN(len(games))], offered, n)
		offered += n
		time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
	}
	w.set(func() { w.fault = nil })
	time.Sleep(time.Second)
	nodes[0].stop()
	time.Sleep(4 * time.Minute)
	nodes[1].stop()
	var sum Counts
	for _, game := range games {
		got := w.counts(game)
		sum.Offered += got.Offered
		sum.Sent += got.Sent
		if got.Queued+got.InFlight != 0 {
			t.Errorf("%s: %+v is left", game, got)
		}
		for _, try := range w.sink(game).allAttempts() {
			if len(try.ids) > MaxBatch || try.oldest > MaxAgeMS || len(slices.Compact(slices.Sorted(slices.Values(try.ids)))) != len(try.ids) {
				t.Errorf("a batch of %d, the oldest of %d ms", len(try.ids), try.oldest)
			}
		}
	}
	if sum.Offered != int64(offered) || sum.Sent != int64(len(c.took)) {
		t.Errorf("%d offered and %d sent are counted: %d and %d were", sum.Offered, sum.Sent, offered, len(c.took))
	}
	for id, times := range c.took {
		if times != 1 {
			t.Errorf("%s was sent %d times", id, times)
		}
	}
}
