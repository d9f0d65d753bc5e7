package redisqueue

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"laststand/internal/eventq"
)

func TestItemsComeOutAsTheyWentIn(t *testing.T) {
	each(t, func(l *queueTest) {
		first := l.ownItems("a", "u", "start:m_1:p_2", "-", strings.Repeat("_.:-", 16))
		second := l.postedItems("b", "off:0", "o")
		second[1].At, second[1].QueuedAt, second[1].Body = -3, 7, []byte(`{"data":{"a b":"c\nd p e 猫 100%"}}`)
		checkPushed(t, l.push(first), eventq.PushResult{Queued: 5, Length: 5})
		checkPushed(t, l.push(second), eventq.PushResult{Queued: 3, Length: 8})
		want := slices.Concat(first, second)
		if got, err := l.Peek(l.Context(), l.terms.Game, 100); err != nil || !reflect.DeepEqual(got, want) {
			l.Errorf("peeked %+v, want %+v, %v", got, want, err)
		}
		if got := l.take("b1").Items; !reflect.DeepEqual(got, want) {
			l.Errorf("took %+v, want %+v", got, want)
		}
	})
}

// A push may be larger than what the stack of the embedded Redis holds.
func TestALargePushIsStored(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.MaxLen = 1000
		items := l.postedItems(ids(0, 300)...)
		for i := range items {
			items[i].Body = []byte(`{"data":"` + strings.Repeat("x", 200) + `"}`)
		}
		checkPushed(t, l.push(items), eventq.PushResult{Queued: 300, Length: 300})
		if got, err := l.Peek(l.Context(), l.terms.Game, 300); err != nil || !reflect.DeepEqual(got, items) {
			l.Errorf("peeked %d items, %v", len(got), err)
		}
	})
}

func TestAFullQueueDropsTheOldest(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.MaxLen = 5
		l.push(l.ownItems(ids(0, 5)...))
		checkPushed(t, l.push(l.ownItems(ids(5, 3)...)), eventq.PushResult{Queued: 3, Length: 5}) // one push, many dropped
		l.queued(ids(3, 5)...)
		checkPushed(t, l.push(l.ownItems(ids(8, 7)...)), eventq.PushResult{Queued: 5, Dropped: dropCounts{eventq.QueueFull: 2}, Length: 5})
		l.queued(ids(10, 5)...)
		l.count(eventq.Counts{Offered: 15, Queued: 5, Dropped: dropCounts{eventq.QueueFull: 10}})
	})
}

func TestAFullQueueDropsTheNewest(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.MaxLen, l.terms.Overflow = 5, eventq.DropNewest
		l.push(l.postedItems(ids(0, 4)...))
		checkPushed(t, l.push(l.postedItems(ids(3, 4)...)), // one is known, one fits
			eventq.PushResult{Queued: 1, Dropped: dropCounts{eventq.QueueFull: 2, eventq.Duplicate: 1}, Length: 5})
		l.queued(ids(0, 5)...)
		l.remembered(ids(0, 5)...)
		l.count(eventq.Counts{Offered: 8, Queued: 5, Dropped: dropCounts{eventq.QueueFull: 2, eventq.Duplicate: 1}})
	})
}

func TestAPostIsRefusedThatDoesNotFitWhole(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.MaxLen, l.terms.Overflow = 5, eventq.Reject
		l.push(l.postedItems(ids(0, 4)...))
		post := eventq.Push{ID: "p1", Items: l.postedItems(ids(5, 2)...), Posted: true, Refused: dropCounts{eventq.Invalid: 3}, Now: l.now}
		if _, err := l.Push(l.Context(), l.terms, post); !errors.Is(err, eventq.ErrFull) {
			l.Errorf("refused with %v", err)
		}
		l.queued(ids(0, 4)...)
		l.remembered(ids(0, 4)...)
		l.count(eventq.Counts{Offered: 4, Queued: 4})

		checkPushed(t, l.push(l.postedItems(ids(3, 2)...)), eventq.PushResult{Queued: 1, Dropped: dropCounts{eventq.Duplicate: 1}, Length: 5})
		checkPushed(t, l.push(l.postedItems(ids(0, 5)...)), eventq.PushResult{Dropped: dropCounts{eventq.Duplicate: 5}, Length: 5})
		l.terms.MaxLen = 3
		checkPushed(t, l.push(l.postedItems(ids(4, 1)...)), eventq.PushResult{Dropped: dropCounts{eventq.Duplicate: 1}, Length: 3})
		l.take("b1")
		pushed, err := l.Push(l.Context(), l.terms, post) // there was no verdict to repeat
		if err != nil {
			l.Fatal(err)
		}
		checkPushed(t, pushed, eventq.PushResult{Queued: 2, Length: 2})
	})
}

func TestOffersToAFullQueueAreDroppedWherePostsAreRefused(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.MaxLen, l.terms.Overflow = 5, eventq.Reject
		checkPushed(t, l.push(l.ownItems(ids(0, 7)...)), eventq.PushResult{Queued: 5, Dropped: dropCounts{eventq.QueueFull: 2}, Length: 5})
		l.queued(ids(0, 5)...)
		l.take("b1")
		pushed, err := l.Push(l.Context(), l.terms, eventq.Push{ID: "p1", Items: l.postedItems(ids(7, 6)...), Now: l.now})
		if err != nil { // such of the server's own that are taken once
			l.Fatal(err)
		}
		checkPushed(t, pushed, eventq.PushResult{Queued: 5, Dropped: dropCounts{eventq.QueueFull: 1}, Length: 5})
	})
}

func TestAPostedIDIsTakenOnceInThreeMinutes(t *testing.T) {
	each(t, func(l *queueTest) {
		duplicate := dropCounts{eventq.Duplicate: 1}
		checkPushed(t, l.push(l.postedItems("a", "a", "b")), eventq.PushResult{Queued: 2, Dropped: duplicate, Length: 2})
		l.queued("a", "b")
		l.take("b1")
		l.finish(eventq.BatchResult{Batch: "b1", Sent: 2})
		checkPushed(t, l.push(l.ownItems("a")), eventq.PushResult{Queued: 1, Length: 1}) // the server's own are not judged
		l.now += eventq.DedupeWindowMS - 1
		checkPushed(t, l.push(l.postedItems("a", "c")), eventq.PushResult{Queued: 1, Dropped: duplicate, Length: 2})
		l.now++
		checkPushed(t, l.push(l.postedItems("a", "c")), eventq.PushResult{Queued: 1, Dropped: duplicate, Length: 3})
		l.remembered("a", "c")
	})
}

func TestADroppedIDMayBePostedAgain(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.MaxLen = 3
		l.push(l.postedItems("a", "b", "cd"))
		l.push(l.ownItems("x"))
		l.remembered("b", "cd")
		l.push(l.postedItems("e", "f", "g", "h"))
		l.remembered("f", "g", "h")
		checkPushed(t, l.push(l.postedItems("a", "h")), eventq.PushResult{Queued: 1, Dropped: dropCounts{eventq.Duplicate: 1}, Length: 3})
		l.queued("g", "h", "a")

		l.take("b1")
		l.finish(eventq.BatchResult{Batch: "b1", Sent: 1, Dropped: dropCounts{eventq.TooOld: 2}, ForgetIDs: []string{"a", "g"}})
		l.remembered("h")
		l.push(l.postedItems("cd"))
		if _, err := l.Discard(l.Context(), l.terms.Game, eventq.Shutdown); err != nil {
			l.Fatal(err)
		}
		l.remembered("h")
	})
}

func TestAllOfALargePostIsRemembered(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.MaxLen = 1500
		l.push(l.postedItems(ids(0, 1000)...))
		l.remembered(ids(0, 1000)...)
		l.push(l.postedItems(ids(1000, 1000)...))
		l.remembered(ids(500, 1500)...)
		l.queued(ids(500, 1500)...)
		l.terms.MaxLen = 1
		l.maintain() // more than one LPOP
		l.remembered(ids(1999, 1)...)
		l.queued(ids(1999, 1)...)
	})
}

func TestIDsAreRememberedUpToABound(t *testing.T) {
	each(t, func(l *queueTest) {
		l.maxSeen = 3
		l.push(l.postedItems("a", "b"))
		l.terms.Overflow = eventq.Reject
		for range 2 {
			_, err := l.Push(l.Context(), l.terms, eventq.Push{ID: "p1", Items: l.postedItems("c", "d"), Posted: true, Now: l.now})
			if !errors.Is(err, eventq.ErrFull) {
				l.Errorf("the fourth id: %v", err)
			}
		}
		l.count(eventq.Counts{Offered: 2, Queued: 2})
		l.terms.Overflow = eventq.DropOldest
		for range 2 {
			pushed, err := l.Push(l.Context(), l.terms, eventq.Push{ID: "p2", Items: l.postedItems("c", "a", "d"), Posted: true, Now: l.now})
			if err != nil || pushed.Queued != 1 || pushed.Dropped[eventq.Duplicate] != 1 || pushed.Dropped[eventq.QueueFull] != 1 {
				l.Errorf("a push with the third and the fourth id: %+v, %v", pushed, err)
			}
		}
		l.push(l.ownItems("d", "e"))
		l.queued("a", "b", "c", "d", "e")
		l.now += eventq.DedupeWindowMS
		l.push(l.postedItems("d", "f", "g"))
	})
}

func TestItemsRefusedBeforeThePushAreCounted(t *testing.T) {
	each(t, func(l *queueTest) {
		push := eventq.Push{ID: "p1", Refused: dropCounts{eventq.Invalid: 2, eventq.Future: 1}, Now: l.now}
		for _, items := range [][]eventq.Item{nil, l.postedItems("a"), l.ownItems("b")} {
			push.ID, push.Items = push.ID+"+", items
			if _, err := l.Push(l.Context(), l.terms, push); err != nil {
				l.Fatal(err)
			}
		}
		l.count(eventq.Counts{Offered: 11, Queued: 2, Dropped: dropCounts{eventq.Invalid: 6, eventq.Future: 3}})
	})
}

func TestAPushMayBeRepeated(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.MaxLen = 3
		push := eventq.Push{ID: "p1", Items: l.postedItems("a", "b", "b", "c", "d"), Refused: dropCounts{eventq.TooOld: 1}, Now: l.now}
		want := eventq.PushResult{Queued: 3, Dropped: dropCounts{eventq.QueueFull: 1, eventq.Duplicate: 1}, Length: 3}
		for range 3 {
			pushed, err := l.Push(l.Context(), l.terms, push)
			if err != nil {
				l.Fatal(err)
			}
			checkPushed(t, pushed, want)
			l.take("b1")
		}
		l.count(eventq.Counts{Offered: 6, InFlight: 3, Dropped: dropCounts{eventq.QueueFull: 1, eventq.Duplicate: 1, eventq.TooOld: 1}})
	})
}

func TestAnUnusedQueueExpires(t *testing.T) {
	each(t, func(l *queueTest) {
		left := func(key string) time.Duration { return l.client.PTTL(l.Context(), key).Val() }
		kept := time.Duration(l.terms.MaxAgeMS+keepLateMS) * time.Millisecond
		l.push(l.postedItems("a"))
		if ttl := left(l.keys.queue(l.terms.Game)); ttl <= kept-time.Minute || ttl > kept {
			l.Errorf("the list lives on for %v", ttl)
		}
		if ttl := left(l.keys.seen(l.terms.Game)); ttl <= 0 || ttl > eventq.DedupeWindowMS*time.Millisecond {
			l.Errorf("the ids live on for %v", ttl)
		}
		l.take("b1")
		l.finish(eventq.BatchResult{Batch: "b1", Requeue: l.postedItems("a")})
		if ttl := left(l.keys.queue(l.terms.Game)); ttl <= kept-time.Minute || ttl > kept {
			l.Errorf("the list lives on for %v after it was given back to", ttl)
		}
		if _, err := l.Push(l.Context(), l.terms, eventq.Push{ID: "p", Now: l.now}); err != nil {
			l.Fatal(err)
		}
		if ttl := left(l.keys.lastPushes("p")); ttl <= 0 || ttl > repeatMS*time.Millisecond {
			l.Errorf("the verdict lives on for %v", ttl)
		}
		if ttl := left(l.keys.batch("b1")); ttl <= keepLateMS*time.Millisecond || ttl > (20_000+keepLateMS)*time.Millisecond {
			l.Errorf("what was settled lives on for %v", ttl)
		}
	})
}

func TestALargePushDropsAsMuchAsItBrings(t *testing.T) {
	each(t, func(l *queueTest) {
		l.terms.MaxLen = 1500
		l.push(l.ownItems(ids(0, 1000)...))
		checkPushed(t, l.push(l.ownItems(ids(1000, eventq.MaxOwnPush)...)),
			eventq.PushResult{Queued: 1500, Dropped: dropCounts{eventq.QueueFull: 2500}, Length: 1500})
		l.queued(ids(3500, 1500)...)
		checkPushed(t, l.push(l.ownItems(ids(5000, 1000)...)), eventq.PushResult{Queued: 1000, Length: 1500})
		l.queued(ids(4500, 1500)...)
		l.count(eventq.Counts{Offered: 6000, Queued: 1500, Dropped: dropCounts{eventq.QueueFull: 4500}})
	})
}
