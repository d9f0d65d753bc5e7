package redisqueue

import (
	"errors"
	"slices"
	"testing"

	"laststand/internal/eventq"
)

// reap maintains the queue, and checks how many items are lost then.
func (l *queueTest) reap(want int64) {
	l.Helper()
	before := l.status().Counts.Dropped[eventq.NodeLost]
	l.maintain()
	if lost := l.status().Counts.Dropped[eventq.NodeLost] - before; lost != want {
		l.Errorf("reaped %d, want %d", lost, want)
	}
}

func (l *queueTest) wantNotInFlight(s eventq.BatchResult) {
	l.Helper()
	if err := l.Finish(l.Context(), l.terms, s); !errors.Is(err, eventq.ErrNotInFlight) {
		l.Errorf("settle %+v: %v", s, err)
	}
}

func TestABatchIsFinishedOnce(t *testing.T) {
	each(t, func(l *queueTest) {
		l.push(l.ownItems(ids(0, 10)...))
		items := l.take("b1").Items
		s := eventq.BatchResult{Batch: "b1", Sent: 4, Dropped: dropCounts{eventq.Rejected: 3, eventq.TooOld: 1}, Requeue: items[8:], Now: l.now}
		l.finish(s)
		s.Now++
		l.finish(s) // the same
		other := s
		other.Batch = "b2"
		l.wantNotInFlight(other)
		l.queued(ids(8, 2)...)
		l.count(eventq.Counts{Offered: 10, Sent: 4, Queued: 2, Dropped: dropCounts{eventq.Rejected: 3, eventq.TooOld: 1}})
		l.reap(0)
	})
}

func TestABatchResultCoversAllItems(t *testing.T) {
	each(t, func(l *queueTest) {
		l.push(l.ownItems("a", "b", "c"))
		l.take("b1")
		for _, sent := range []int64{2, 4} {
			err := l.Finish(l.Context(), l.terms, eventq.BatchResult{Batch: "b1", Sent: sent, Now: l.now})
			if err == nil || errors.Is(err, eventq.ErrNotInFlight) {
				l.Errorf("%d of 3 were settled: %v", sent, err)
			}
		}
		l.count(eventq.Counts{Offered: 3, InFlight: 3})
		l.finish(eventq.BatchResult{Batch: "b1", Sent: 3})
	})
}

func TestItemsGoBackToTheHead(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.MaxLen = 5
		l.push(l.postedItems(ids(0, 4)...))
		items := l.take("b1").Items
		l.due(0)
		l.push(l.ownItems("x", "y"))
		l.finish(eventq.BatchResult{Batch: "b1", Dropped: dropCounts{eventq.TooOld: 1}, Requeue: items[1:]})
		l.queued("i0001", "i0002", "i0003", "x", "y")
		l.due(l.now + 1000)

		items = l.take("b2").Items // and those that have come meanwhile go before them
		l.push(l.ownItems("z1", "z2"))
		l.finish(eventq.BatchResult{Batch: "b2", Requeue: items})
		l.queued("i0003", "x", "y", "z1", "z2")
		l.remembered("i0000", "i0003")
		l.count(eventq.Counts{Offered: 8, Queued: 5, Dropped: dropCounts{eventq.TooOld: 1, eventq.QueueFull: 2}})
	})
}

// The largest batch can be dropped with all its ids, or requeued. Redis and the embedded one
// limit the arguments of a call in a script.
func TestTheLargestBatchIsFinished(t *testing.T) {
	each(t, func(l *queueTest) {
		const most = 16 * eventq.MaxBatch
		l.terms.MaxLen, l.terms.BatchSize = 2*most, eventq.MaxBatch
		for first := 0; first < most; first += 1024 {
			l.push(l.postedItems(ids(first, 1024)...))
		}
		takeAll := func(batch string) []eventq.Item {
			taken, err := l.Take(l.Context(), l.terms, eventq.Take{Batch: batch, Messages: 16, Now: l.now, Lease: 20_000})
			if err != nil || len(taken.Items) != most {
				l.Fatalf("took %d items, %v", len(taken.Items), err)
			}
			return taken.Items
		}
		l.finish(eventq.BatchResult{Batch: "b1", Requeue: takeAll("b1")})
		takeAll("b2")
		l.finish(eventq.BatchResult{Batch: "b2", Dropped: dropCounts{eventq.RetriesExhausted: most}, ForgetIDs: ids(0, most)})
		l.remembered()
		l.count(eventq.Counts{Offered: most, Dropped: dropCounts{eventq.RetriesExhausted: most}})
	})
}

func TestABatchThatWasNotSentReturnsItsToken(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.PerSecond, l.terms.Burst = 1, 1
		l.push(l.ownItems(ids(0, 20)...))
		items := l.take("b1").Items
		l.due(l.now + 1000)
		l.finish(eventq.BatchResult{Batch: "b1", Dropped: dropCounts{eventq.TooOld: int64(len(items))}, Unused: 1})
		l.due(l.now)
		if got := l.take("b2"); len(got.Items) != 10 {
			l.Errorf("took %+v", got)
		}
		l.now += 1000 // there is no more than the burst
		l.finish(eventq.BatchResult{Batch: "b2", Requeue: l.ownItems(ids(10, 10)...), Unused: 1})
		l.take("b3")
		l.push(l.ownItems("x"))
		if got := l.take("b4"); got.Items != nil {
			l.Errorf("took %+v", got)
		}
	})
}

func TestABatchIsLostWithItsLease(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.BatchSize = 3
		l.push(l.postedItems(ids(0, 8)...))
		l.take("b1")
		l.now += 10_000
		l.take("b2")
		l.now += 9999
		l.reap(0)
		l.now++
		l.reap(3)
		l.reap(0)
		l.wantNotInFlight(eventq.BatchResult{Batch: "b1", Sent: 3})
		if got := l.take("b1"); got.Items != nil {
			l.Errorf("took %+v of a lost batch", got)
		}
		l.client.Del(l.Context(), l.keys.batch("b2")) // it has expired, as no node was there
		l.now += 10_000
		l.reap(3)
		l.count(eventq.Counts{Offered: 8, Queued: 2, Dropped: dropCounts{eventq.NodeLost: 6}})
		l.remembered(ids(0, 8)...) // they may have been sent
	})
}

// A game is due when a lease ends, also if it is empty or paused.
func TestAGameIsDueWhenALeaseEnds(t *testing.T) {
	each(t, func(l *queueTest) {
		l.push(l.ownItems("a"))
		l.take("b1")
		h := l.now + 20_000
		for _, paused := range []bool{false, true} {
			if paused {
				l.push(l.ownItems("b"))
				if err := l.Pause(l.Context(), l.terms.Game, "why"); err != nil {
					l.Fatal(err)
				}
			}
			if got := l.take("b2"); got.Items != nil || got.Next != 0 {
				l.Errorf("took %+v", got)
			}
			due, next, err := l.Due(l.Context(), partitionOf(l.terms.Game), h-1, 5)
			if err != nil || len(due) > 0 || next != h {
				l.Errorf("due %q, next %d, %v", due, next-epoch, err)
			}
		}
		l.now = h
		l.reap(1)
		if due, next, err := l.Due(l.Context(), partitionOf(l.terms.Game), h, 5); err != nil || len(due) > 0 || next != 0 {
			l.Errorf("at last due %q, next %d, %v", due, next-epoch, err)
		}
	})
}

func TestManyBatchesAreReaped(t *testing.T) {
	each(t, func(l *queueTest) {
		const batches = 105
		l.terms.BatchSize = 1
		l.push(l.ownItems(ids(0, batches)...))
		for _, id := range ids(0, batches) {
			l.take(id)
		}
		l.now += 20_000
		l.reap(batches)
		l.reap(0)
		l.count(eventq.Counts{Offered: batches, Dropped: dropCounts{eventq.NodeLost: batches}})
	})
}

// A take that stops before a tried message, the last one of its queue, leaves the queue its
// time to live.
func TestATriedMessageThatStaysExpires(t *testing.T) {
	each(t, func(l *queueTest) {
		items := l.ownItems("a", "b")
		for i, batch := range []string{"b1", "b2"} {
			l.push(items[i : i+1])
			l.take(batch)
		}
		l.finish(eventq.BatchResult{Batch: "b1", Retry: items[:1], Tried: eventq.Tried{ID: "m", Attempts: 1}})
		l.finish(eventq.BatchResult{Batch: "b2", Requeue: items[1:]})
		if got := idsOf(l.take("b3").Items); !slices.Equal(got, []string{"b"}) {
			l.Errorf("took %q", got)
		}
		l.queued("a")
		if ttl := l.client.PTTL(l.Context(), l.keys.queue(l.terms.Game)).Val(); ttl <= 0 {
			l.Errorf("the queue lives on for %v", ttl)
		}
	})
}

// A message that was tried keeps its items, id and attempts in the queue. It leaves
// alone, and as soon as the cool-down ends.
func TestAFailedMessageIsTakenAlone(t *testing.T) {
	each(t, func(l *queueTest) {
		l.push(l.ownItems(ids(0, 30)...))
		items := l.takeSome("b1", 3).Items
		tried := eventq.Tried{ID: "m1", Attempts: 3}
		for range 2 { // repeated: the same
			l.finish(eventq.BatchResult{Batch: "b1", Sent: 10, Retry: items[10:14], Tried: tried, Requeue: items[14:], Error: "500", CoolUntil: l.now + 700})
		}
		l.queued(ids(10, 20)...)
		l.due(l.now + 700)
		if s := l.status(); s.Error != "500" || s.ErrorAt != l.now || s.CoolUntil != l.now+700 || s.Paused != "" {
			l.Errorf("status %+v", s)
		}
		if got := l.takeSome("b2", 3); got.Items != nil || got.Next != l.now+700 {
			l.Errorf("took %+v in the cool-down", got)
		}
		l.now += 700
		for range 2 {
			got := l.takeSome("b3", 3)
			if !slices.Equal(idsOf(got.Items), ids(10, 4)) || got.Tried != tried || got.Left != 16 {
				l.Errorf("took %q, %+v, %d left", idsOf(got.Items), got.Tried, got.Left)
			}
		}
		first := l.takeSome("b4", 1).Items
		l.finish(eventq.BatchResult{Batch: "b3", Retry: items[10:14], Tried: tried})
		l.finish(eventq.BatchResult{Batch: "b4", Requeue: first})
		if got := l.takeSome("b5", 1); !slices.Equal(idsOf(got.Items), ids(14, 10)) || got.Tried.ID != "" {
			l.Errorf("took %q, %+v before it", idsOf(got.Items), got.Tried)
		}
		l.due(l.now) // a message that was tried does not wait for others
		if got := l.takeSome("b6", 1); !slices.Equal(idsOf(got.Items), ids(10, 4)) || got.Tried != tried {
			l.Errorf("took %q, %+v", idsOf(got.Items), got.Tried)
		}
	})
}

// The oldest items of a message that was tried can be dropped. The others keep its
// id and attempts.
func TestAFailedMessageIsDividedByADrop(t *testing.T) {
	each(t, func(l *queueTest) {
		l.push(l.ownItems(ids(0, 12)...))
		items := l.take("b1").Items
		tried := eventq.Tried{ID: "m1", Attempts: 1}
		l.finish(eventq.BatchResult{Batch: "b1", Retry: items, Tried: tried})
		if err := l.SetMaxLen(l.Context(), l.terms.Game, 9); err != nil { // drops 3
			l.Fatal(err)
		}
		if got := l.take("b2"); !slices.Equal(idsOf(got.Items), ids(3, 7)) || got.Tried != tried {
			l.Errorf("took %q, %+v", idsOf(got.Items), got.Tried)
		}
	})
}

// A failure may pause the game. Its message waits for an operator.
func TestAFailureMayPauseTheGame(t *testing.T) {
	each(t, func(l *queueTest) {
		l.push(l.ownItems("a"))
		items := l.take("b1").Items
		l.finish(eventq.BatchResult{Batch: "b1", Retry: items, Tried: eventq.Tried{ID: "m", Attempts: 1}, Error: "410", Pause: true})
		l.due(0)
		if s := l.status(); s.Paused != "410" || s.Error != "410" {
			l.Errorf("status %+v", s)
		}
		if got := l.take("b2"); got.Items != nil {
			l.Errorf("took %+v in a pause", got)
		}
	})
}
