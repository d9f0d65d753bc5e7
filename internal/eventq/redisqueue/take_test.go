package redisqueue

import (
	"reflect"
	"slices"
	"testing"

	"github.com/oklog/ulid/v2"

	"laststand/internal/eventq"
)

func TestABatchIsNeverLargerThanItsTerms(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.BatchSize = eventq.MaxBatch
		l.push(l.ownItems(ids(0, 300)...))
		for i, want := range []eventq.TakeResult{{Left: 172, Next: l.now}, {Left: 44, Next: l.now + 1000}, {}} {
			got := l.take("b" + string(rune('0'+i)))
			n := min(128, 300-128*i)
			if !slices.Equal(idsOf(got.Items), ids(128*i, n)) || got.Left != want.Left || got.Next != want.Next {
				l.Errorf("batch %d: %d items from %s, %d left, next %d", i, len(got.Items), got.Items[0].ID, got.Left, got.Next)
			}
		}
		if got := l.take("b3"); got.Items != nil || got.Left != 0 || got.Next != 0 {
			l.Errorf("took %+v of nothing", got)
		}
		l.count(eventq.Counts{Offered: 300, InFlight: 300})
	})
}

func TestATakeMayBeRepeated(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.PerSecond, l.terms.Burst = 1, 2
		l.push(l.ownItems(ids(0, 15)...))
		first := l.take("b1")
		if again := l.take("b1"); !reflect.DeepEqual(again, first) || len(again.Items) != 10 {
			l.Errorf("again %+v, first %+v", again, first)
		}
		if got := l.take("b2"); len(got.Items) != 5 { // the second token is there
			l.Errorf("took %+v", got)
		}
		l.finish(eventq.BatchResult{Batch: "b1", Sent: 10})
		l.push(l.ownItems(ids(20, 1)...))
		l.now += 5000
		if got := l.take("b1"); got.Items != nil || got.Left != 1 {
			l.Errorf("took %+v of a batch that is settled", got)
		}
		l.count(eventq.Counts{Offered: 16, Sent: 10, Queued: 1, InFlight: 5})
	})
}

// tries returns the instants, from the epoch on, at which an attempt is allowed,
// out of those given.
func (l *queueTest) tries(at ...int64) (let []int64) {
	l.Helper()
	for _, at := range at {
		l.now = epoch + at
		l.push(l.ownItems("x"))
		if taken := l.take(ulid.Make().String()); len(taken.Items) > 0 {
			let = append(let, at)
		} else if taken.Next <= l.now {
			l.Errorf("at %d nothing is taken, and next at %d", at, taken.Next-epoch)
		}
	}
	return let
}

func TestTriesAreBoundedByTheRate(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.FlushMS, l.terms.PerSecond, l.terms.Burst = 10, 2.5, 2
		let := l.tries(0, 1, 2, 399, 400, 401, 799, 801, 5000, 5001, 5002)
		if want := []int64{0, 1, 400, 801, 5000, 5001}; !slices.Equal(let, want) {
			l.Errorf("let through at %v, want %v", let, want)
		}
		l.due(epoch + 5400) // not before the next token, though it was pushed to
		l.terms.Burst = 0   // none would be no queue
		if let := l.tries(60_000, 60_001, 60_399, 60_400); !slices.Equal(let, []int64{60_000, 60_400}) {
			l.Errorf("without a burst let through at %v", let)
		}
	})
}

func TestAClockThatJumpsBackGivesNoTries(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.PerSecond, l.terms.Burst = 1, 1
		if let := l.tries(10_000, 4000, 9000, 10_999, 4000, 11_000, 6000, 11_999, 12_000); !slices.Equal(let, []int64{10_000, 11_000, 12_000}) {
			l.Errorf("let through at %v", let)
		}
		l.terms.Burst = 2 // the second is left until the clock has caught up
		if let := l.tries(50_000, 4000, 49_999, 50_000, 50_999, 51_000); !slices.Equal(let, []int64{50_000, 50_000, 51_000}) {
			l.Errorf("let through at %v", let)
		}
	})
}

func TestAnUnboundedRate(t *testing.T) {
	each(t, func(l *queueTest) {
		if let := l.tries(0, 0, 0, 1); len(let) != 4 {
			l.Errorf("let through at %v", let)
		}
		if l.client.HExists(l.Context(), l.keys.state(l.terms.Game), "rate_at").Val() {
			l.Error("it has a rate")
		}
	})
}

func TestNothingIsTakenWhileAGameIsPausedOrCoolsDown(t *testing.T) {
	each(t, func(l *queueTest) {
		game := l.terms.Game
		l.push(l.ownItems(ids(0, 25)...))
		l.due(l.now)
		first := l.take("b0").Items
		l.fail("banned", l.now+5000)
		l.due(l.now + 5000)
		l.push(l.ownItems("x"))
		l.due(l.now + 5000)
		if got := l.take("b1"); got.Items != nil || got.Next != l.now+5000 || got.Left != 16 {
			l.Errorf("took %+v in the cool-down", got)
		}
		// the later end stands
		l.finish(eventq.BatchResult{Batch: "b0", Requeue: first, Error: "again", CoolUntil: l.now + 3000})
		if s := l.status(); s.CoolUntil != l.now+5000 || s.Error != "again" || s.ErrorAt != l.now {
			l.Errorf("status %+v", s)
		}
		if err := l.Pause(l.Context(), game, ""); err != nil {
			l.Fatal(err)
		}
		l.due(0)
		l.now += 5000
		l.push(l.ownItems("y"))
		l.maintain()
		l.due(0)
		if got := l.take("b1"); got.Items != nil || got.Next != 0 || got.Left != 27 {
			l.Errorf("took %+v in a pause", got)
		}
		if s := l.status(); s.Paused != "paused" || s.CoolUntil != 0 {
			l.Errorf("status %+v", s)
		}
		for range 2 {
			if err := l.Resume(l.Context(), game, l.now); err != nil {
				l.Fatal(err)
			}
			l.due(l.now)
		}
		if got := l.take("b1"); len(got.Items) != 10 {
			l.Errorf("took %+v", got)
		}
	})
}

func TestAFailureWithoutACoolDown(t *testing.T) {
	each(t, func(l *queueTest) {
		l.push(l.ownItems("a"))
		l.fail("once", 0)
		l.due(l.now + 1000)
		if s := l.status(); s.CoolUntil != 0 || s.Error != "once" {
			l.Errorf("status %+v", s)
		}
		l.fail("twice", l.now+10) // a cool-down makes the queue due no earlier
		l.due(l.now + 1000)
	})
}

// A clock that was ahead has left times in the far future.
func TestAClockThatGoesBackBlocksNothing(t *testing.T) {
	each(t, func(l *queueTest) {
		const hours = 3 * 3_600_000
		l.terms.PerSecond, l.terms.Burst = 1, 1
		l.now += hours
		l.push(l.ownItems("a", "b"))
		l.take("b1")
		l.push(l.ownItems("c"))
		l.now += 1000
		l.fail("slow down", l.now+60_000)
		if err := l.FlushNow(l.Context(), l.terms.Game, l.now); err != nil {
			l.Fatal(err)
		}
		l.now -= hours
		l.maintain()
		l.now += 1000 // for the token that was used
		l.due(l.now)
		if got := l.take("b2"); !slices.Equal(idsOf(got.Items), []string{"c"}) {
			l.Errorf("took %+v", got)
		}
	})
}

// After the clock goes back, lost items are still counted in time, and live leases
// stay.
func TestALeaseOfAClockThatHasGoneBack(t *testing.T) {
	each(t, func(l *queueTest) {
		l.push(l.ownItems(ids(0, 20)...))
		l.now += 1000
		lost, kept := "lost", "kept"
		l.take(lost)
		l.take(kept)
		l.now -= 3_600_000
		l.reap(0)
		l.now += longestLeaseMS - 1
		l.reap(0)
		l.finish(eventq.BatchResult{Batch: kept, Sent: 10})
		l.now++
		l.reap(10)
		l.count(eventq.Counts{Offered: 20, Sent: 10, Dropped: dropCounts{eventq.NodeLost: 10}})
	})
}

func (l *queueTest) takeSome(batch string, messages int) eventq.TakeResult {
	l.Helper()
	taken, err := l.Take(l.Context(), l.terms, eventq.Take{Batch: batch, Messages: messages, Now: l.now, Lease: 20_000})
	if err != nil {
		l.Fatal(err)
	}
	return taken
}

// Full messages are taken together. A smaller one is taken alone.
func TestMessagesAreTakenTogether(t *testing.T) {
	each(t, func(l *queueTest) {
		l.push(l.ownItems(ids(0, 17)...))
		l.push(l.postedItems(ids(17, 18)...)) // 35: three messages and a half
		for range 2 {                         // again the same
			got := l.takeSome("b1", 2)
			if !slices.Equal(idsOf(got.Items), ids(0, 20)) || got.Left != 15 || got.Next != l.now {
				l.Errorf("took %q, %d left, next %d", idsOf(got.Items), got.Left, got.Next)
			}
		}
		if got := l.takeSome("b3", 3); !slices.Equal(idsOf(got.Items), ids(20, 10)) || got.Left != 5 {
			l.Errorf("then %q, %d left", idsOf(got.Items), got.Left)
		}
		if got := l.takeSome("b6", 2); !slices.Equal(idsOf(got.Items), ids(30, 5)) || got.Left != 0 {
			l.Errorf("at last %q, %d left", idsOf(got.Items), got.Left)
		}
		l.finish(eventq.BatchResult{Batch: "b1", Sent: 10, Requeue: l.ownItems(ids(0, 10)...)})
		l.now += 20_000
		l.reap(15)
		l.count(eventq.Counts{Offered: 35, Sent: 10, Queued: 10, Dropped: dropCounts{eventq.NodeLost: 15}})
	})
}

func TestMessagesThatAreTakenTogetherHaveATryEach(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.PerSecond, l.terms.Burst = 1, 3
		l.push(l.ownItems(ids(0, 100)...))
		got := l.takeSome("b1", 4)
		if len(got.Items) != 30 || got.Next != l.now+1000 {
			l.Errorf("took %d items, next at %d", len(got.Items), got.Next-epoch)
		}
		if got := l.takeSome("b5", 2); got.Items != nil || got.Left != 70 {
			l.Errorf("took %+v without a try", got)
		}
		l.finish(eventq.BatchResult{Batch: "b1", Sent: 10, Requeue: got.Items[10:], Unused: 2})
		if got := l.takeSome("b7", 3); !slices.Equal(idsOf(got.Items), ids(10, 20)) {
			l.Errorf("took %q for the tries that were given back", idsOf(got.Items))
		}
	})
}
