package eventq

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"laststand/internal/timer"
)

const (
	maxWorkers        = 512             // that serve games, without those that need no place
	maxWorkersPerGame = 8               // that serve one game at a time
	maxLag            = 3 * time.Second // with more, a game gets another worker

	maxMessages  = 16                    // of one take
	takeSendTime = 20 * time.Millisecond // the attempts of one take may last this long together, judged by the last one
)

// sender takes batches of due games, sends them, and finishes them in the store.
// Its workers are goroutines that exist only while there is work. Waiting ones
// get a place in turn.
type sender struct {
	*shared
	members *membership
	places  *semaphore.Weighted
}

// dispatch lets another worker serve a due game, unless so many do. Only goroutines
// that the service counts as running may call it.
func (s *sender) dispatch(ctx context.Context, g *game, most int32) {
	if !g.sending.addWorker(most) {
		return
	}
	s.running.Go(func() {
		var finishing sync.WaitGroup // the batch before, along with the next take
		more, next := true, int64(0)
		for more && ctx.Err() == nil {
			more, next = s.serve(ctx, g, &finishing)
		}
		finishing.Wait()
		g.sending.workers.Add(-1)
		if waitUntil(next, s.Now(), pollInterval) < pollInterval {
			timer.Wake(g.partition.pollNow)
		}
	})
}

// serve makes one take, sends its messages, and reports what became of them. It
// returns whether the worker goes on, or else when to take again; 0: unknown. A take
// without an answer is repeated: it may have happened.
func (s *sender) serve(ctx context.Context, g *game, finishing *sync.WaitGroup) (more bool, next int64) {
	b := &batch{game: g, result: BatchResult{Batch: s.ids.next()}}
	var t TakeResult
	s.untilAnswered(ctx, b, func() (err error) {
		t, more, err = s.takeAndSend(ctx, b)
		return err
	})
	switch {
	case more && b.result.CoolUntil == 0 && len(b.result.Requeue) == 0:
		finishing.Wait()
		finishing.Go(func() { s.finish(ctx, b) })
	case len(t.Items) > 0:
		s.finish(ctx, b)
	}
	return more, t.Next
}

// takeAndSend makes a take in a place of the pool, and sends its messages. The result more
// says whether the worker must go on, because another full batch waits and the other
// workers are not enough. If the service ends before there is a place, it takes nothing new.
func (s *sender) takeAndSend(ctx context.Context, b *batch) (t TakeResult, more bool, err error) {
	g := b.game
	if !g.Hot && !g.sending.isShared() {
		if s.places.Acquire(ctx, 1) == nil {
			defer s.places.Release(1)
		} else if b.takenAt.IsZero() {
			return t, false, nil
		}
	}
	t, err = s.take(ctx, b)
	if len(t.Items) == 0 {
		switch {
		case err == nil && t.Next == 0:
			s.maintain(ctx, g.Policy) // it is due because a lease has ended
		case t.Left > 0:
			s.metrics.limited.Inc()
		}
		return t, false, err
	}
	more = t.Left >= g.BatchSize && t.Next <= s.Now()
	lag := time.Duration(s.Now()-t.Items[0].QueuedAt-g.FlushMS) * time.Millisecond
	if more && lag > maxLag {
		s.dispatch(ctx, g, maxWorkersPerGame)
	}
	s.sendBatch(ctx, b)
	return t, more && (lag > maxLag/2 || !g.sending.isShared()), nil
}

// sendState is what this node knows about sending one game's items.
type sendState struct {
	workers  atomic.Int32 // that serve the game, or wait in the pool for that
	messages atomic.Int32 // to take together; 0: the last attempt failed, or there was none
	drains   atomic.Int32 // operators that drain it
}

// addWorker counts another worker, and reports whether it may start: not beyond the
// given number, and only one while attempts fail, because more do not help then.
func (c *sendState) addWorker(most int32) bool {
	n := c.workers.Load()
	return n < most && (n == 0 || c.messages.Load() > 0) && c.workers.CompareAndSwap(n, n+1)
}

// isShared reports whether several workers serve the game, as it is behind.
func (c *sendState) isShared() bool { return c.workers.Load() > 1 }

// recordSend records an attempt and its duration.
func (c *sendState) recordSend(good bool, took time.Duration) {
	messages := time.Duration(0)
	if good {
		messages = min(1+takeSendTime/max(took, 1), maxMessages)
	}
	c.messages.Store(int32(messages))
}

// takeSize returns how many messages to take together.
func (c *sendState) takeSize() int { return max(int(c.messages.Load()), 1) }
