package redisqueue

import (
	"slices"
	"testing"
	"time"

	"laststand/internal/eventq"
)

// pushFrom makes a push of a process that pushes one at a time.
func (l *queueTest) pushFrom(from, id string, items ...string) eventq.PushResult {
	l.Helper()
	pushed, err := l.Push(l.Context(), l.terms, eventq.Push{ID: id, From: from, Items: l.ownItems(items...), Now: l.now})
	if err != nil {
		l.Fatal(err)
	}
	return pushed
}

func TestTheLastPushOfAProcessMayBeRepeated(t *testing.T) {
	each(t, func(l *queueTest) {
		for range 2 {
			checkPushed(t, l.pushFrom("n1", "p1", "a", "b"), eventq.PushResult{Queued: 2, Length: 2})
		}
		for range 2 { // the usual one
			checkPushed(t, l.pushFrom("n1", "p2", "c"), eventq.PushResult{Queued: 1, Length: 3})
		}
		l.pushFrom("n1", "p1", "a", "b") // on its way for long, with nobody who waits
		checkPushed(t, l.pushFrom("n2", "p0", "d"), eventq.PushResult{Queued: 1, Length: 4})
		l.queued("a", "b", "c", "d")
		if ttl := l.client.PTTL(l.Context(), l.keys.lastPushes("n2")).Val(); ttl <= 0 || ttl > repeatMS*time.Millisecond {
			l.Errorf("what was pushed is known for %v", ttl)
		}
		if n := l.client.Exists(l.Context(), l.keys.reply("p1"), l.keys.reply("p2")).Val(); n != 0 {
			l.Errorf("%d verdicts are kept by themselves", n)
		}
	})
}

// Games whose push is simple are pushed together. For other games nothing changes,
// and their pushes are made one by one.
func TestPushesOfSeveralGames(t *testing.T) {
	each(t, func(l *queueTest) {
		number := partitionOf(l.terms.Game)
		var games []*queueTest
		for range 6 {
			other := *l
			other.terms.Game = gameIn(number)
			games = append(games, &other)
		}
		usual, empty, full, due, vanished, idle := games[0], games[1], games[2], games[3], games[4], games[5]
		idle.push(l.ownItems("a"))
		l.now += 1000 // since it was kept alive
		for _, g := range games {
			g.now = l.now
		}
		full.terms.MaxLen = 2
		for _, g := range []*queueTest{usual, full, due, vanished} {
			g.push(l.ownItems("a"))
		}
		due.push(l.ownItems(ids(0, 7)...))
		l.client.Del(l.Context(), l.keys.queue(vanished.terms.Game))

		var all []eventq.GamePush
		for _, g := range games {
			all = append(all, eventq.GamePush{Policy: g.terms, Push: eventq.Push{ID: "p1", From: "n1", Items: l.ownItems("x", "y"), Now: l.now}})
		}
		for range 2 {
			pushed, err := l.PushAll(l.Context(), all)
			if err != nil {
				l.Fatal(err)
			}
			checkPushed(t, pushed[0], eventq.PushResult{Queued: 2, Length: 3})
			for i, other := range pushed[1:] {
				checkPushed(t, other, eventq.PushResult{})
				if got := games[i+1].status().Counts; got.Offered != []int64{0, 1, 8, 1, 1}[i] {
					l.Errorf("game %d: %+v", i+1, got)
				}
			}
		}
		usual.queued("a", "x", "y")
		for _, g := range games {
			g.pushFrom("n1", "p1", "x", "y") // for the first, again
		}
		usual.queued("a", "x", "y")
		empty.queued("x", "y")
		full.queued("x", "y")
		due.queued(slices.Concat([]string{"a"}, ids(0, 7), []string{"x", "y"})...)
		due.due(l.now)
		vanished.queued("x", "y")
		idle.queued("a", "x", "y")
		if total := l.total(); total.Offered != 24 || total.Queued != 22 || total.Dropped[eventq.QueueFull] != 1 || total.Dropped[eventq.Expired] != 1 {
			l.Errorf("counts of the partition %+v", total)
		}
	})
}
