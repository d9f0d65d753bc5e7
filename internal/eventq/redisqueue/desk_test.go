package redisqueue

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
)

func TestGamesAreDueInTheirOrder(t *testing.T) {
	each(t, func(l *line) {
		number := partitionOf(l.terms.Game)
		games := []string{gameIn(number), gameIn(number), gameIn(number)}
		for i, game := range games {
			l.terms.Game, l.terms.FlushMS = game, int64(3000-1000*i)
			l.push(l.own("x"))
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
	each(t, func(l *line) {
		l.push(l.own(ids(0, 4)...))
		l.due(epoch + 1000)
		l.now += 500
		l.push(l.own(ids(4, 5)...))
		l.due(epoch + 1000)
		l.push(l.own(ids(9, 1)...))
		l.due(epoch + 500)
		l.push(l.own(ids(10, 3)...))
		l.take("b1")
		l.due(epoch + 1500)
		l.client.ZRem(l.Context(), l.keys.due(), l.terms.Game) // lost
		l.keep()
		l.due(epoch + 1500)
	})
}

func TestKeepingANewGameWritesNothing(t *testing.T) {
	each(t, func(l *line) {
		l.keep()
		if n := l.client.Exists(l.Context(), l.keys.of(l.terms.Game)...).Val(); n != 0 {
			l.Errorf("%d keys", n)
		}
	})
}

func TestALowerBoundShrinksTheQueue(t *testing.T) {
	for _, overflow := range []eventq.Overflow{eventq.DropOldest, eventq.DropNewest} {
		t.Run(string(overflow), func(t *testing.T) {
			each(t, func(l *line) {
				l.terms.Overflow = overflow
				l.push(l.own(ids(0, 12)...))
				l.terms.MaxLen = 9
				l.keep()
				l.queued(ids(3, 9)...)
				l.terms.MaxLen = 4
				l.push(l.own("x"))
				want := []string{"i0009", "i0010", "i0011", "x"}
				if overflow == eventq.DropNewest {
					want = ids(8, 4)
				}
				l.queued(want...)
				l.count(eventq.Counts{Offered: 13, Queued: 4, Dropped: drops{eventq.QueueFull: 9}})
			})
		})
	}
}

// A long queue shrinks in steps, as nobody else is served meanwhile.
func TestALongQueueShrinksInSteps(t *testing.T) {
	each(t, func(l *line) {
		l.terms.MaxLen = 10 * dropMost
		const pushes, most = 5, 500
		for n := range pushes {
			l.push(l.posted(ids(most*n, most)...))
		}
		l.terms.MaxLen = 3
		if got := l.push(l.posted("x")).Length; got != pushes*most+1-2*dropMost {
			t.Errorf("%d are left after a push", got)
		}
		l.terms.Overflow = eventq.DropNewest
		if got := l.push(l.posted("y")); got.Length != 3 || got.Queued != 0 {
			t.Errorf("%+v", got)
		}
		l.remembered("i2498", "i2499", "x")
		for n := range pushes {
			l.terms.MaxLen = 10 * dropMost
			l.push(l.posted(ids(pushes*most+most*n, most)...))
		}
		l.terms.MaxLen = 3
		l.keep()
		l.queued("i4997", "i4998", "i4999")
		l.count(eventq.Counts{Offered: 2*pushes*most + 2, Queued: 3, Dropped: drops{eventq.QueueFull: 2*pushes*most - 1}})
	})
}

func TestAnOperatorsBound(t *testing.T) {
	each(t, func(l *line) {
		bound := func(n int) {
			l.Helper()
			if err := l.Bound(l.Context(), l.terms.Game, n); err != nil {
				l.Fatal(err)
			}
			if got := l.status().MaxLen; got != n {
				l.Errorf("the bound is %d", got)
			}
		}
		l.terms.MaxLen = 6
		l.push(l.posted(ids(0, 6)...))
		bound(3)
		l.queued(ids(3, 3)...)
		l.remembered(ids(3, 3)...)
		l.push(l.posted(ids(6, 1)...))
		l.keep()
		l.queued(ids(4, 3)...)
		bound(8) // above what is configured
		l.push(l.posted(ids(7, 5)...))
		l.keep()
		l.queued(ids(4, 8)...)
		bound(0)
		l.keep()
		l.queued(ids(6, 6)...)
		l.count(eventq.Counts{Offered: 12, Queued: 6, Dropped: drops{eventq.QueueFull: 6}})
	})
}

func TestAVanishedQueueIsCounted(t *testing.T) {
	moves := map[string]func(l *line){
		"push":    func(l *line) { l.push(nil) },
		"take":    func(l *line) { l.take("b2") },
		"keep":    (*line).keep,
		"discard": func(l *line) { _, _ = l.Discard(l.Context(), l.terms.Game, 5, eventq.Shutdown) },
	}
	for name, move := range moves {
		t.Run(name, func(t *testing.T) {
			each(t, func(l *line) {
				l.push(l.own(ids(0, 12)...))
				l.take("b1")
				l.client.Del(l.Context(), l.keys.queue(l.terms.Game))
				for range 2 { // reading writes nothing
					counts := l.status().Counts
					if counts.Queued != 0 || counts.Dropped[eventq.Expired] != 2 || l.total().Queued != 2 {
						l.Errorf("counts %+v, total %+v", counts, l.total())
					}
				}
				for range 2 {
					move(l)
					l.count(eventq.Counts{Offered: 12, InFlight: 10, Dropped: drops{eventq.Expired: 2}})
					l.due(0)
				}
				l.push(l.own("x"))
				l.count(eventq.Counts{Offered: 13, InFlight: 10, Queued: 1, Dropped: drops{eventq.Expired: 2}})
			})
		})
	}
}

func TestAPushFindsThatTheQueueHasVanished(t *testing.T) {
	each(t, func(l *line) {
		l.push(l.own("a", "b", "c"))
		l.push(l.own("d"))
		l.client.Del(l.Context(), l.keys.queue(l.terms.Game))
		l.now += 10
		l.again.on.Store(true)
		checkPushed(t, l.push(l.own("x")), eventq.Pushed{Queued: 1, Length: 1})
		l.queued("x")
		l.count(eventq.Counts{Offered: 5, Queued: 1, Dropped: drops{eventq.Expired: 4}})
		l.due(l.now + 1000)
		if ttl := l.client.PTTL(l.Context(), l.keys.queue(l.terms.Game)).Val(); ttl <= 0 {
			l.Errorf("the list lives on for %v", ttl)
		}
	})
}

func TestWhatIsQueuedIsHurried(t *testing.T) {
	each(t, func(l *line) {
		l.push(l.own(ids(0, 9)...))
		l.terms.BatchSize = 5
		l.terms.FlushMS = 60_000
		l.now += 10
		l.hurry()
		l.due(l.now)
		l.now += 10
		l.push(l.own("x"))
		l.due(l.now - 10) // as it was
		l.take("b1")
		l.due(l.now) // what is left was there too
		l.take("b2")
		l.due(0)
		l.push(l.own("y"))
		l.due(l.now + 60_000)
		if err := l.Pause(l.Context(), l.terms.Game, "why"); err != nil {
			l.Fatal(err)
		}
		l.hurry()
		l.due(0)
	})
}

func (l *line) hurry() {
	l.Helper()
	if err := l.Hurry(l.Context(), l.terms.Game, l.now); err != nil {
		l.Fatal(err)
	}
}

func TestACoolDownIsNotHurried(t *testing.T) {
	each(t, func(l *line) {
		l.push(l.own("x"))
		if err := l.Fault(l.Context(), l.terms.Game, "banned", l.now, l.now+9000); err != nil {
			l.Fatal(err)
		}
		l.hurry()
		l.due(l.now + 9000)
	})
}

func TestDiscard(t *testing.T) {
	each(t, func(l *line) {
		discard := func(most int, want int64) {
			l.Helper()
			if n, err := l.Discard(l.Context(), l.terms.Game, most, eventq.Shutdown); err != nil || n != want {
				l.Errorf("discarded %d, %v, want %d", n, err, want)
			}
		}
		l.terms.MaxLen = 3 * dropMost
		l.push(l.posted(ids(0, 10)...))
		discard(0, 0)
		l.again.on.Store(true)
		discard(4, 4)
		l.queued(ids(4, 6)...)
		l.remembered(ids(4, 6)...)
		for n := range dropMost / 500 {
			l.push(l.own(ids(10+500*n, 500)...))
		}
		discard(dropMost+5, dropMost+5)
		l.queued(ids(dropMost+9, 1)...)
		discard(7, 1)
		l.due(0)
		l.count(eventq.Counts{Offered: dropMost + 10, Dropped: drops{eventq.Shutdown: dropMost + 10}})
	})
}

func TestStatusOfManyGames(t *testing.T) {
	each(t, func(l *line) {
		var games []string
		for i := range 2 * statusAtOnce {
			games = append(games, l.terms.Game+fmt.Sprint(i))
		}
		first := l.terms
		l.terms.Game = games[70]
		l.push(l.own("a", "b"))
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

// The cluster's partitions are shared with tests that run beside this one and
// empty theirs before.
func TestTotalsAreOfAllGames(t *testing.T) {
	each(t, func(l *line) {
		another := lend(l.T, l.client)
		for _, number := range []int{another, another, partitionOf(l.terms.Game)} {
			batch := ulid.Make().String()
			l.terms.Game = gameIn(number)
			l.push(l.own(ids(0, 11)...))
			l.take(batch)
			l.settle(eventq.Settlement{Batch: batch, Sent: 7, Dropped: drops{eventq.Rejected: 3}})
		}
		totals, err := l.Totals(l.Context())
		if err != nil {
			l.Fatal(err)
		}
		if totals.Offered == 0 || totals.Offered != totals.Sent+lost(totals)+totals.Queued+totals.InFlight {
			l.Errorf("totals %+v", totals)
		}
		_, shared := l.client.(*redis.ClusterClient)
		want := eventq.Counts{Offered: 33, Sent: 21, Dropped: drops{eventq.Rejected: 9}, Queued: 3}
		if !shared && !reflect.DeepEqual(totals, want) {
			l.Errorf("totals %+v, want %+v", totals, want)
		}
	})
}

func TestNodes(t *testing.T) {
	each(t, func(l *line) {
		beat := func(node string, now int64, want ...string) {
			l.Helper()
			if alive, err := l.Beat(l.Context(), node, now); err != nil || !slices.Equal(alive, want) {
				l.Errorf("alive %q, %v, want %q", alive, err, want)
			}
		}
		beat("b", epoch, "b")
		beat("c", epoch+100, "b", "c")
		beat("a", epoch+eventq.NodeMS, "a", "b", "c")
		beat("a", epoch+eventq.NodeMS+1, "a", "c")
		if err := l.Bye(l.Context(), "c"); err != nil {
			l.Fatal(err)
		}
		beat("a", epoch+eventq.NodeMS+2, "a")
		if err := l.Bye(l.Context(), "a"); err != nil {
			l.Fatal(err)
		}
	})
}

func TestNodesWhoseClockWasAheadAreNotAliveForEver(t *testing.T) {
	each(t, func(l *line) {
		for _, b := range []struct {
			node string
			now  int64
			want []string
		}{
			{"dies", epoch, []string{"dies"}},
			{"a", epoch - 1000, []string{"a", "dies"}}, // clocks are a little apart
			{"a", epoch - time.Hour.Milliseconds(), []string{"a"}},
		} {
			if alive, err := l.Beat(l.Context(), b.node, b.now); err != nil || !slices.Equal(alive, b.want) {
				l.Errorf("alive %q, %v, want %q", alive, err, b.want)
			}
		}
	})
}
