package redisqueue

import (
	"fmt"
	"slices"
	"testing"

	"laststand/internal/eventq"
)

func TestGamesAreDueInTheirOrder(t *testing.T) {
	each(t, func(l *queueTest) {
		number := partitionOf(l.terms.Game)
		games := []string{gameIn(number), gameIn(number), gameIn(number)}
		for i, game := range games {
			l.terms.Game, l.terms.FlushMS = game, int64(3000-1000*i)
			l.push(l.ownItems("x"))
		}
		slices.Reverse(games)
		check := func(now int64, limit, want int, next int64) {
			l.Helper()
			got, later, err := l.Due(l.Context(), number, epoch+now, limit)
			if err != nil || !slices.Equal(got, games[:want]) || later != next {
				l.Errorf("at %d due %d games, next %d, %v; want %d, %d", now, len(got), later, err, want, next)
			}
		}
		check(999, 5, 0, epoch+1000)
		check(1000, 5, 1, epoch+2000)
		check(3000, 5, 3, 0)
		check(3000, 2, 2, epoch+3000)
		check(9000, 0, 0, epoch+1000)
	})
}

func TestAQueueIsDueByAgeOrByAFullBatch(t *testing.T) {
	each(t, func(l *queueTest) {
		l.push(l.ownItems(ids(0, 4)...))
		l.due(epoch + 1000)
		l.now += 500
		l.push(l.ownItems(ids(4, 5)...))
		l.due(epoch + 1000)
		l.push(l.ownItems(ids(9, 1)...))
		l.due(epoch + 500)
		l.push(l.ownItems(ids(10, 3)...))
		l.take("b1")
		l.due(epoch + 1500)
		l.client.ZRem(l.Context(), l.keys.due(), l.terms.Game) // lost
		l.maintain()
		l.due(epoch + 1500)
	})
}

func TestMaintainingANewGameWritesNothing(t *testing.T) {
	each(t, func(l *queueTest) {
		l.maintain()
		if n := l.client.Exists(l.Context(), l.keys.queueKeys(l.terms.Game)...).Val(); n != 0 {
			l.Errorf("%d keys", n)
		}
	})
}

func TestALowerMaxLenShrinksTheQueue(t *testing.T) {
	for _, overflow := range []eventq.Overflow{eventq.DropOldest, eventq.DropNewest} {
		t.Run(string(overflow), func(t *testing.T) {
			each(t, func(l *queueTest) {
				l.terms.Overflow = overflow
				l.push(l.ownItems(ids(0, 12)...))
				l.terms.MaxLen = 9
				l.maintain()
				l.queued(ids(3, 9)...)
				l.terms.MaxLen = 4
				l.push(l.ownItems("x"))
				want := []string{"i0009", "i0010", "i0011", "x"}
				if overflow == eventq.DropNewest {
					want = ids(8, 4)
				}
				l.queued(want...)
				l.count(eventq.Counts{Offered: 13, Queued: 4, Dropped: dropCounts{eventq.QueueFull: 9}})
			})
		})
	}
}

// A long queue shrinks in steps, because Redis serves no other client during a
// script.
func TestALongQueueShrinksInSteps(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.MaxLen = 10 * maxDropped
		const pushes, most = 5, 500
		for n := range pushes {
			l.push(l.postedItems(ids(most*n, most)...))
		}
		l.terms.MaxLen = 3
		if got := l.push(l.postedItems("x")).Length; got != 3 {
			t.Errorf("%d are left after a push", got)
		}
		l.terms.Overflow = eventq.DropNewest
		if got := l.push(l.postedItems("y")); got.Length != 3 || got.Queued != 0 {
			t.Errorf("%+v", got)
		}
		l.remembered("i2498", "i2499", "x")
		for n := range pushes {
			l.terms.MaxLen = 10 * maxDropped
			l.push(l.postedItems(ids(pushes*most+most*n, most)...))
		}
		l.terms.MaxLen = 3
		l.maintain()
		l.queued("i4997", "i4998", "i4999")
		l.count(eventq.Counts{Offered: 2*pushes*most + 2, Queued: 3, Dropped: dropCounts{eventq.QueueFull: 2*pushes*most - 1}})
	})
}

func TestAnOperatorsMaxLen(t *testing.T) {
	each(t, func(l *queueTest) {
		bound := func(n int) {
			l.Helper()
			if err := l.SetMaxLen(l.Context(), l.terms.Game, n); err != nil {
				l.Fatal(err)
			}
			if got := l.status().MaxLen; got != n {
				l.Errorf("the bound is %d", got)
			}
		}
		l.terms.MaxLen = 6
		l.push(l.postedItems(ids(0, 6)...))
		bound(3)
		l.queued(ids(3, 3)...)
		l.remembered(ids(3, 3)...)
		l.push(l.postedItems(ids(6, 1)...))
		l.maintain()
		l.queued(ids(4, 3)...)
		bound(8) // above what is configured
		l.push(l.postedItems(ids(7, 5)...))
		l.maintain()
		l.queued(ids(4, 8)...)
		bound(0)
		l.maintain()
		l.queued(ids(6, 6)...)
		l.count(eventq.Counts{Offered: 12, Queued: 6, Dropped: dropCounts{eventq.QueueFull: 6}})
	})
}

func TestAnExpiredQueueIsCounted(t *testing.T) {
	moves := map[string]func(l *queueTest){
		"push":    func(l *queueTest) { l.push(nil) },
		"take":    func(l *queueTest) { l.take("b2") },
		"keep":    (*queueTest).maintain,
		"discard": func(l *queueTest) { _, _ = l.Discard(l.Context(), l.terms.Game, eventq.Shutdown) },
	}
	for name, move := range moves {
		t.Run(name, func(t *testing.T) {
			each(t, func(l *queueTest) {
				l.push(l.ownItems(ids(0, 12)...))
				l.take("b1")
				l.client.Del(l.Context(), l.keys.queue(l.terms.Game))
				for range 2 { // reading writes nothing
					counts := l.status().Counts
					if counts.Queued != 0 || counts.Dropped[eventq.Expired] != 2 {
						l.Errorf("counts %+v", counts)
					}
				}
				for range 2 {
					move(l)
					l.count(eventq.Counts{Offered: 12, InFlight: 10, Dropped: dropCounts{eventq.Expired: 2}})
					l.due(0)
				}
				l.push(l.ownItems("x"))
				l.count(eventq.Counts{Offered: 13, InFlight: 10, Queued: 1, Dropped: dropCounts{eventq.Expired: 2}})
			})
		})
	}
}

func TestAPushFindsAnExpiredQueue(t *testing.T) {
	each(t, func(l *queueTest) {
		l.push(l.ownItems("a", "b", "c"))
		l.push(l.ownItems("d"))
		l.client.Del(l.Context(), l.keys.queue(l.terms.Game))
		l.now += 10
		l.again.enabled.Store(true)
		checkPushed(t, l.push(l.ownItems("x")), eventq.PushResult{Queued: 1, Length: 1})
		l.queued("x")
		l.count(eventq.Counts{Offered: 5, Queued: 1, Dropped: dropCounts{eventq.Expired: 4}})
		l.due(l.now + 1000)
		if ttl := l.client.PTTL(l.Context(), l.keys.queue(l.terms.Game)).Val(); ttl <= 0 {
			l.Errorf("the list lives on for %v", ttl)
		}
	})
}

func TestFlushNowMakesQueuedItemsDue(t *testing.T) {
	each(t, func(l *queueTest) {
		l.push(l.ownItems(ids(0, 9)...))
		l.terms.BatchSize = 5
		l.terms.FlushMS = 60_000
		l.now += 10
		l.flushNow()
		l.due(l.now)
		l.now += 10
		l.push(l.ownItems("x"))
		l.due(l.now - 10) // as it was
		l.take("b1")
		l.due(l.now) // what is left was there too
		l.take("b2")
		l.due(0)
		l.push(l.ownItems("y"))
		l.due(l.now + 20_000) // a lease ends
		l.finish(eventq.BatchResult{Batch: "b1", Sent: 5})
		l.finish(eventq.BatchResult{Batch: "b2", Sent: 5})
		l.due(l.now + 60_000)
		if err := l.Pause(l.Context(), l.terms.Game, "why"); err != nil {
			l.Fatal(err)
		}
		l.flushNow()
		l.due(0)
	})
}

func (l *queueTest) flushNow() {
	l.Helper()
	if err := l.FlushNow(l.Context(), l.terms.Game, l.now); err != nil {
		l.Fatal(err)
	}
}

func TestFlushNowRespectsACoolDown(t *testing.T) {
	each(t, func(l *queueTest) {
		l.push(l.ownItems("x"))
		l.fail("banned", l.now+9000)
		l.flushNow()
		if got := l.take("b1"); got.Items != nil || got.Next != l.now+9000 {
			l.Errorf("took %+v in the cool-down", got)
		}
		l.due(l.now + 9000)
	})
}

func TestDiscard(t *testing.T) {
	each(t, func(l *queueTest) {
		discard := func(want int64) {
			l.Helper()
			if n, err := l.Discard(l.Context(), l.terms.Game, eventq.Shutdown); err != nil || n != want {
				l.Errorf("discarded %d, %v, want %d", n, err, want)
			}
			l.queued()
			l.remembered()
			l.due(0)
		}
		l.terms.MaxLen = 3 * maxDropped
		discard(0)
		l.push(l.postedItems(ids(0, 10)...))
		discard(10)
		for n := range maxDropped/500 + 1 {
			l.push(l.ownItems(ids(500*n, 500)...))
		}
		discard(maxDropped + 500)
		l.push(l.ownItems("x"))
		l.again.enabled.Store(true)
		discard(0) // the second run finds nothing
		l.count(eventq.Counts{Offered: maxDropped + 511, Dropped: dropCounts{eventq.Shutdown: maxDropped + 511}})
	})
}

func TestStatusOfManyGames(t *testing.T) {
	each(t, func(l *queueTest) {
		var games []string
		for i := range 2 * statusConcurrency {
			games = append(games, l.terms.Game+fmt.Sprint(i))
		}
		first := l.terms
		l.terms.Game = games[70]
		l.push(l.ownItems("a", "b"))
		all, err := l.Status(l.Context(), games, l.now)
		if err != nil || len(all) != len(games) {
			l.Fatal(len(all), err)
		}
		for i, status := range all {
			queued := int64(0)
			if i == 70 {
				queued = 2
			}
			if status.Game != games[i] || status.Counts.Queued != queued {
				l.Errorf("%d is %+v", i, status)
			}
		}
		if all[70].OldestAt != l.now || all[0].OldestAt != 0 {
			l.Errorf("the oldest is of %d, %d", all[70].OldestAt, all[0].OldestAt)
		}
		l.terms = first
	})
}

// By a policy that never fills a batch, a queue is due when its items are stale.
func TestAQueueWithoutAConfiguration(t *testing.T) {
	each(t, func(l *queueTest) {
		l.push(l.ownItems(ids(0, 20)...))
		l.due(l.now)
		l.terms.MaxLen, l.terms.BatchSize = eventq.MaxQueueLen, eventq.MaxQueueLen
		l.terms.FlushMS, l.terms.MaxAgeMS = eventq.MaxAgeMS+eventq.MaxAheadMS, eventq.MaxAgeMS
		l.maintain()
		l.due(l.now + l.terms.FlushMS)
		l.queued(ids(0, 20)...)
		l.now += l.terms.FlushMS
		l.maintain()
		l.due(0)
		l.count(eventq.Counts{Offered: 20, Dropped: dropCounts{eventq.TooOld: 20}})
	})
}
